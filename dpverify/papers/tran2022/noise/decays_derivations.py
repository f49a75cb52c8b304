"""Squared decays of the nodes of one noisy sum, derived: none is above 1, and the nodes are counted.

COMPOSE(1, s) has one node per set bit i of s, whose noise decays with ``(1-alpha)^(s mod 2^i)``; a window of N steps
has such a run of v steps behind one of p steps that goes up, p + v = N (NOTES.md, "COMPOSE in closed form").
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Eq, Integer, Mod, Sum, Symbol

from dpverify.papers.tran2022.trees.compose_derivations import DOWN, UP, by_concavity, i
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Bit, Log2, PopCount
from dpverify.symbolic.expressions.ranges import integer, real

ALPHA: Final = Symbol("alpha", positive=True)
N, T, STEP = (Symbol(name, integer=True, positive=True) for name in ("N", "T", "t"))
S: Final = Symbol("s", integer=True, nonnegative=True)


def decays(s: Any, alpha: Any) -> Any:
    """Squared decays of the nodes of COMPOSE(1, s)."""
    return Sum(Bit(s, i) * (1 - alpha) ** (2 * Mod(s, 2**i)), (i, 0, s))


def prefix() -> Derivation:
    """Derive ``log2(s + 1)`` for the squared decays of COMPOSE(1, s): none is above 1, and they are counted."""
    return _prefix("nodes of a prefix", 0, Step(Log2(S + 1), "<=", "popcount-log2", {"n": S}))


def prefix_after() -> Derivation:
    """Derive ``log2(N)`` for the squared decays of COMPOSE(1, r) and the steps after it, r the remainder of t by N."""
    r = Mod(STEP, N)
    citation = cite(prefix(), s=r)
    steps = (
        Step.within(HOLE * citation.lhs, Integer(1), "power-at-most-one", {"x": 1 - ALPHA, "p": 2 * (STEP - r)}),
        Step(citation.rhs, "<=", "premise", {}, ("the nodes",)),
        Step(Log2(N), "<=", "log2-monotone", {"a": r + 1, "b": N}),
    )
    ranges = {"N": integer(1, 40), "t": integer(1, 60), "alpha": real(0, 1, open_lo=True)}
    start = (1 - ALPHA) ** (2 * (STEP - r)) * citation.lhs
    return Derivation("the prefix and after", "ours", ranges, (ALPHA <= 1,), start, steps, {"the nodes": citation})


def run() -> Derivation:
    """Derive ``log2(T + 1)`` for the squared decays of COMPOSE(1, t), t <= T."""
    citation = cite(prefix(), s=STEP)
    steps = (
        Step(citation.rhs, "<=", "premise", {}, ("the nodes",)),
        Step(Log2(T + 1), "<=", "log2-monotone", {"a": STEP + 1, "b": T + 1}),
    )
    ranges = {"T": integer(1, 60), "t": integer(1, T), "alpha": real(0, 1, open_lo=True)}
    return Derivation("the run", "ours", ranges, (ALPHA <= 1, STEP <= T), citation.lhs, steps, {"the nodes": citation})


def _prefix(name: str, least: int, *counted: Step) -> Derivation:
    steps = (
        Step(Sum(Bit(S, i), (i, 0, S)), "<=", "power-at-most-one", {"x": 1 - ALPHA, "p": 2 * Mod(S, 2**i)}),
        Step(PopCount(S), "=", "bits-sum", {"s": S, "R": S}),
        *counted,
    )
    ranges = {"s": integer(least, 40), "alpha": real(0, 1, open_lo=True)}
    return Derivation(name, "ours", ranges, (ALPHA <= 1, least <= S), decays(S, ALPHA), steps)


def window() -> Derivation:
    """Derive ``2 log2(1 + N/2)`` for the squared decays of N steps: two runs of nodes, none with a decay above 1."""
    after = DOWN + UP - Mod(UP, 2 ** (i + 1))
    counted = Sum(Bit(UP, i), (i, 0, UP)), Sum(Bit(DOWN, i), (i, 0, DOWN))
    up = Sum(Bit(UP, i) * (1 - ALPHA) ** (2 * after), (i, 0, UP))
    down = decays(DOWN, ALPHA)
    steps = (
        Step(counted[0] + down, "<=", "power-at-most-one", {"x": 1 - ALPHA, "p": 2 * after}),
        Step(sum(counted), "<=", "power-at-most-one", {"x": 1 - ALPHA, "p": 2 * Mod(DOWN, 2**i)}),
        Step(PopCount(UP) + counted[1], "=", "bits-sum", {"s": UP, "R": UP}),
        Step(PopCount(UP) + PopCount(DOWN), "=", "bits-sum", {"s": DOWN, "R": DOWN}),
        *by_concavity(N),
    )
    ranges = {"N": integer(1, 40), "alpha": real(0, 1, open_lo=True), "p": integer(1, N), "v": integer(N - UP, N - UP)}
    return Derivation(
        "nodes of a window", "ours", ranges, (ALPHA <= 1, Eq(UP + DOWN, N)), up + down, steps, local=("p", "v")
    )
