"""Counts of nodes, and distances of iterates, derived: level by level, and step by step.

On a level b an example contributes to no more nodes than there are epochs, ceil(T/N) = floor((T-1)/N) + 1, and to no
more than there are nodes, floor(T/2^b). The first bound serves where a node is no longer than an epoch, b <=
floor(log2 N), the second above (NOTES_sensitivity.md, section 4): the levels above s = floor(log2 N) have fewer than 2
T/N nodes together. Theorems 6 and 8 make a logarithm of these sums: s + 3 is at most 4 log2 of what is at least
2^max(s, 1). The corrected Theorem 6 keeps ``(T/N) (log2 N + 3)``.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Lambda, Min, Rational, Sum, Symbol, floor

from dpverify.symbolic.derive.cited import Cited, cite
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import integer

b = Symbol("b", integer=True)
j = Symbol("j", integer=True)
APART = Symbol("k", integer=True, nonnegative=True)  # Steps between two iterates
LEVELS = Symbol("k", integer=True, nonnegative=True)  # Levels of nodes that are longer than an epoch
FROM = Symbol("short", integer=True, nonnegative=True)
TOP = Symbol("top", integer=True, nonnegative=True)
T = Symbol("T", integer=True, positive=True)
N = Symbol("N", integer=True, positive=True)
SHORT = floor(Log2(N))  # Highest level whose nodes are no longer than an epoch
HALF: Final = Rational(1, 2)
ABOVE: Final = "levels above"


def levels_above() -> Derivation:
    """Derive that the levels ``short + 1 .. top`` have at most ``T/2^short`` nodes, by a geometric sum."""
    first = T / 2 ** (FROM + 1)
    steps = (
        Step.within(Sum(HOLE, (j, FROM + 1, TOP)), T / 2**j, "floor-below", {"x": T / 2**j}),
        Step(first * Sum(HALF**j, (j, 0, TOP - FROM - 1)), "="),
        Step.within(first * HOLE, 2, "geometric-sum-bound", {"x": HALF, "m": TOP - FROM - 1}),
        Step(T / 2**FROM, "="),
    )
    ranges = {"T": integer(1, 300), "short": integer(0, 9), "top": integer(0, 12)}
    start = Sum(floor(T / 2**j), (j, FROM + 1, TOP))
    return Derivation("levels above", "ours", ranges, (), start, steps)


def _above(steps: Any, n: Any, top: Any) -> Cited:
    """Premise about the levels above floor(log2 N)."""
    return cite(levels_above(), T=steps, short=floor(Log2(n)), top=top)


def _to_ratio(low: Any, steps: Any, n: Any) -> tuple[Step, ...]:
    """From ``low + T/2^floor(log2 N)`` to ``low + 2 T/N``."""
    short = floor(Log2(n))
    half = low + 2 * steps / 2 ** (short + 1)
    return (
        Step(half, "="),
        Step.within(low + 2 * steps / HOLE, 2 ** Log2(n), "power-increasing", {"x": 2, "p": Log2(n), "q": short + 1}),
    )


def count() -> Derivation:
    """Derive ``(T/N) (log2 N + 3)`` as a bound on Theorem 6's V, whatever the depth of the tree is (appendix D.2)."""
    steps = T
    n = N
    depth = TOP
    short = floor(Log2(n))
    per = steps / n
    citation = _above(steps, n, depth)
    low = per * (Min(depth, short) + 1)
    bound = per * (Log2(n) + 3)
    deep = (
        Step(per * (short + 1) + citation.lhs, "="),
        Step(per * (short + 1) + citation.rhs, "<=", "premise", {}, (ABOVE,), context=per * (short + 1) + HOLE),
        *_to_ratio(per * (short + 1), steps, n),
        Step(per * (short + 3), "="),
        Step(bound, "<=", "floor-below", {"x": Log2(n)}, context=per * (HOLE + 3)),
    )
    none = (
        Step(low, "=", "empty-sum", _levels(steps, short, depth), context=low + HOLE),
        Step(per * (short + 1), "<=", "above-min", {"a": short, "b": depth}, context=per * (HOLE + 1)),
        Step(per * (short + 3), "<=", "drop-nonnegative", {"a": per * (short + 1), "b": 2 * per}, context=HOLE),
        Step(bound, "<=", "floor-below", {"x": Log2(n)}, context=per * (HOLE + 3)),
    )
    cases = Cases(bound, "<=", (Case(depth >= short + 1, deep), Case(depth <= short, none)))
    ranges = {"T": integer(1, 300), "N": integer(1, 300), "top": integer(0, 12)}
    return Derivation(
        "level by level",
        "ours",
        ranges,
        (),
        low + citation.lhs,
        (cases,),
        {ABOVE: citation},
        local=("top",),
        letters={"top": "R"},
    )


def _levels(steps: Any, short: Any, top: Any) -> dict[str, Any]:
    """Instance of a rule about the sum of ``floor(T/2^j)`` over the levels above ``short``."""
    return {"f": Lambda(j, floor(steps / 2**j)), "lo": short + 1, "hi": top}
