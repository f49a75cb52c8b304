"""Lemma 12, derived: the norm of a Gaussian vector, the squared decays of its nodes, and how many nodes there are.

NOISE_t has variance ``16 alpha^2 G^2 sigma^2 V F(t)`` in each coordinate, where F(t) is the sum over the set bits i of
t of ``(1-alpha)^(2 (t mod 2^i))`` (Algorithm 1). The paper stops at the number of nodes and takes log2 T for it; there
are up to log2(T + 1).
"""

from __future__ import annotations

from typing import Final

from sympy import Symbol, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.noise import decays_derivations as decays
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import Log2, Moment, PopCount
from dpverify.symbolic.expressions.ranges import FromPremises, GaussianNorm, Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_symbols

NODES: Final = "the nodes of the prefix"
RANGES: Final[dict[str, Variable]] = {
    "T": integer(1, 60), "alpha": real(0, 1, open_lo=True),
    **{name: real(0, 100, open_lo=True) for name in ("G", "sigma", "V")}, "d": integer(1, 1000),
}  # fmt: skip


def derive_lemma_12_var(statement: Statement) -> Derivation:
    """Derive the corrected equation 6, ``16 alpha^2 G^2 sigma^2 V log2(T + 1)`` (appendix D.2)."""
    symbols = sympy_symbols(statement)
    t, top, alpha = (symbols[name] for name in ("t", "T", "alpha"))
    node = 16 * alpha**2 * symbols["G"] ** 2 * symbols["sigma"] ** 2 * symbols["V"]
    given = cite(decays.prefix(), alpha=alpha, s=t)
    steps = (
        Step(node * given.rhs, "<=", "premise", {}, (NODES,)),
        Step(node * Log2(top + 1), "<=", "log2-monotone", {"a": t + 1, "b": top + 1}),
    )
    variables = {name: RANGES[name] for name in RANGES if name != "d"} | {"t": integer(1, top)}
    return Derivation(
        "count the nodes", "ours", variables, (alpha <= 1, t <= top), node * given.lhs, steps, {NODES: given}
    )


def derive_lemma_12(statement: Statement) -> Derivation:
    """Derive the corrected Lemma 12, ``4 alpha G sigma sqrt(d V log2(T + 1))`` (appendix D.2), from the variance."""
    symbols = sympy_symbols(statement)
    t, top, alpha, d = (symbols[name] for name in ("t", "T", "alpha", "d"))
    claim, variance, noise = "tran2022:lemma-12-var", Symbol("variance", nonnegative=True), Symbol("noise")
    given = refer(statement, claim, variance, "amended")
    steps = (
        Step(sqrt(d * variance), "<=", "chi-mean", {"X": noise, "d": d, "v": variance}),
        Step(sqrt(d * given.rhs), "<=", "premise", {}, (claim,)),
        Step(4 * alpha * symbols["G"] * symbols["sigma"] * sqrt(d * symbols["V"] * Log2(top + 1)), "="),
    )
    variables = {**RANGES, "t": integer(1, top), "variance": FromPremises(), "noise": GaussianNorm(d, variance)}
    return Derivation(
        "norm and variance", "ours", variables, (alpha <= 1, t <= top), Moment(noise, 1), steps, {claim: given},
        local=("noise", "variance"),
    )  # fmt: skip


def derive_lemma_12_count(statement: Statement) -> Derivation:
    """Derive the corrected number of nodes of COMPOSE(1, t), t <= T. Source: the proof of Lemma 12."""
    symbols = sympy_symbols(statement)
    t, steps = symbols["t"], symbols["T"]
    chain = (
        Step(Log2(t + 1), "<=", "popcount-log2", {"n": t}),
        Step(Log2(steps + 1), "<=", "log2-monotone", {"a": t + 1, "b": steps + 1}),
    )
    ranges: dict[str, Variable] = {"T": integer(1, 5000), "t": integer(1, steps)}
    return Derivation("set bits of t", "ours", ranges, (t <= steps,), PopCount(t), chain)
