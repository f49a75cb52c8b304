"""Lemma 12, derived: the norm of a Gaussian vector, the squared decays of its nodes, and how many nodes there are.

NOISE_t has variance ``16 alpha^2 G^2 sigma^2 V F(t)`` in each coordinate, where F(t) is the sum over the set bits i of
t of ``(1-alpha)^(2 (t mod 2^i))`` (Algorithm 1). The paper stops at the number of nodes and takes log2 T for it; there
are up to log2(T + 1).
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Mod, Sum, Symbol, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import Bit, Log2, Moment, PopCount
from dpverify.symbolic.expressions.ranges import GaussianNorm, Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_symbols

TOP = Symbol("top_bit", integer=True, nonnegative=True)  # Index of the highest bit of T; a bit above it is 0
INDEX = Symbol("i", integer=True)  # Index of the sums over bits


def _setting(statement: Statement) -> tuple[dict[str, Any], dict[str, Variable], tuple[Any, ...]]:
    symbols = dict(sympy_symbols(statement))
    variables: dict[str, Variable] = {
        "top_bit": integer(0, 12),
        "T": integer(1, 2 ** (TOP + 1) - 1),
        "t": integer(1, symbols["T"]),
        "alpha": real(0, 1, open_lo=True),
        "G": real(0, 100, open_lo=True),
        "sigma": real(0, 100, open_lo=True),
        "V": real(0, 100, open_lo=True),
        "d": integer(1, 1000),
    }
    t, steps = symbols["t"], symbols["T"]
    return symbols, variables, (symbols["alpha"] <= 1, t <= steps, steps <= 2 ** (TOP + 1) - 1)


NODES: Final = "Algorithm 3 returns a node for every set bit of t as in proposition-18-prefix"


def _squared_decays(symbols: dict[str, Any]) -> Any:
    """F(t), with one term per bit of T."""
    t = symbols["t"]
    return Sum(Bit(t, INDEX) * (1 - symbols["alpha"]) ** (2 * Mod(t, 2**INDEX)), (INDEX, 0, TOP))


def _count_nodes(symbols: dict[str, Any], around: Any) -> tuple[Step, ...]:
    """Bound F(t) by log2(T + 1); ``around(F)`` is the expression that it stands in."""
    t, steps, decay = symbols["t"], symbols["T"], 1 - symbols["alpha"]
    plain = around(Sum(Bit(t, INDEX), (INDEX, 0, TOP)))
    return (
        Step(plain, "<=", "power-at-most-one", {"x": decay, "p": 2 * Mod(t, 2**INDEX)}, note="no decay is above 1"),
        Step(around(PopCount(t)), "=", "bits-sum", {"s": t, "R": TOP}, premises=(NODES,)),
        Step(around(Log2(t + 1)), "<=", "popcount-log2", {"n": t}),
        Step(around(Log2(steps + 1)), "<=", "log2-monotone", {"a": t + 1, "b": steps + 1}),
    )


def derive_lemma_12_var(statement: Statement) -> Derivation:
    """Derive the corrected equation 6, ``16 alpha^2 G^2 sigma^2 V log2(T + 1)`` (appendix D.2)."""
    symbols, variables, assumptions = _setting(statement)
    node = 16 * symbols["alpha"] ** 2 * symbols["G"] ** 2 * symbols["sigma"] ** 2 * symbols["V"]
    start = node * _squared_decays(symbols)
    steps = _count_nodes(symbols, lambda count: node * count)
    return Derivation("count the nodes", "ours", variables, assumptions, start, steps, local=("top_bit",))


def derive_lemma_12(statement: Statement) -> Derivation:
    """Derive the corrected Lemma 12, ``4 alpha G sigma sqrt(d V log2(T + 1))`` (appendix D.2)."""
    symbols, variables, assumptions = _setting(statement)
    alpha, lipschitz, sigma, v, d = (symbols[name] for name in ("alpha", "G", "sigma", "V", "d"))
    decays = _squared_decays(symbols)
    variance = 16 * alpha**2 * lipschitz**2 * sigma**2 * v * decays
    noise = Symbol("NOISE_t")
    steps = (
        Step(sqrt(d * variance), "<=", "chi-mean", {"X": noise, "d": d, "v": variance}),
        Step(4 * alpha * lipschitz * sigma * sqrt(d * v * decays), "="),
        *_count_nodes(symbols, lambda count: 4 * alpha * lipschitz * sigma * sqrt(d * v * count)),
    )
    variables = {**variables, "NOISE_t": GaussianNorm(d, variance)}
    return Derivation(
        "norm and count", "ours", variables, assumptions, Moment(noise, 1), steps, local=("top_bit", "NOISE_t")
    )


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
