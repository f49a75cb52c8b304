"""Proposition 18, derived, and steps of Proposition 16 that other chains use: both count the set bits of a number.

For Proposition 18 the number of nodes is, in closed form, ``popcount(p) + popcount(v)`` with ``p + v = b - a + 1`` and
``p >= 1`` (NOTES.md, "COMPOSE in closed form").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy import Function, Integer, Lambda, Mod, Sum, Symbol, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2, PopCount
from dpverify.symbolic.expressions.ranges import integer
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_symbols

i, j, k = (Symbol(name, integer=True) for name in "ijk")
UP = Symbol("p", integer=True, positive=True)  # Steps from a to the multiple of 2^j inside the interval: p of NOTES.md
DOWN = Symbol("v", integer=True, nonnegative=True)  # Steps from there to b: v of NOTES.md


def derive_proposition_18(statement: Statement) -> Derivation:
    """Derive the count of COMPOSE(a, b): ``2 (1 + floor(log2 n))``, or ``2 log2(1 + n/2)``, for n = b - a + 1."""
    symbols = sympy_symbols(statement)
    a, b = symbols["a"], symbols["b"]
    n = b - a + 1
    last = {"t": integer(b, b + 3000)} if "t" in symbols else {}  # section-2-nodes: inside [1, t]
    return Derivation(
        "two runs of nodes",
        "ours",
        {"a": integer(1, 3000), "b": integer(a, a + 3000), **last, "p": integer(1, n), "v": integer(n - UP, n - UP)},
        (*sympy_conditions(statement), sympy.Eq(UP + DOWN, n)),
        PopCount(UP) + PopCount(DOWN),
        _by_digits(n) if statement.variant == "printed" else by_concavity(n),
        local=("p", "v"),
    )


def _by_digits(n: Any) -> tuple[Step | Cases, ...]:
    """Each run has at most as many nodes as its length has binary digits."""
    digits = floor(Log2(n))
    bound = 2 * (1 + digits)
    both = (
        Step(1 + digits + 1 + floor(Log2(DOWN)), "<=", "popcount-width", {"n": DOWN}),
        Step(1 + digits + 1 + digits, "<=", "order", {"a": DOWN, "b": n}),
    )
    one = (
        Step(1 + digits + Log2(DOWN + 1), "<=", "popcount-log2", {"n": DOWN}, note="the second run is empty"),
        Step.order(1 + digits + Log2(HOLE + 1), DOWN, Integer(0)),
        Step(bound, "<=", "drop-nonnegative", {"a": 1 + digits, "b": 1 + digits}),
    )
    return (
        Step(1 + floor(Log2(UP)) + PopCount(DOWN), "<=", "popcount-width", {"n": UP}),
        Step(1 + digits + PopCount(DOWN), "<=", "order", {"a": UP, "b": n}),
        Cases(bound, "<=", (Case(DOWN >= 1, both), Case(DOWN <= 0, one))),
    )


def by_concavity(n: Any) -> tuple[Step, ...]:
    """A number with c set bits is at least 2^c - 1, and log2 is concave."""
    return (
        Step(Log2(UP + 1) + PopCount(DOWN), "<=", "popcount-log2", {"n": UP}),
        Step(Log2(UP + 1) + Log2(DOWN + 1), "<=", "popcount-log2", {"n": DOWN}),
        Step(2 * Log2((UP + DOWN) / 2 + 1), "<=", "log2-concave", {"x": UP + 1, "y": DOWN + 1}),
        Step(2 * Log2(1 + n / 2), "="),
    )


def set_bits_in_order(base: Any, s: Any, top: Any, wrap: Callable[[Any], Any]) -> tuple[Step, ...]:
    """From ``base^(2 (s mod 2^i))`` over the set bits i of s to ``base^(2 (2^(k-1) - 1))`` over their numbers k."""
    pos = Function("pos", integer=True, nonnegative=True)

    def over(exponent: Any) -> Any:
        return wrap(Sum(base ** (2 * exponent), (k, 1, PopCount(s))))

    remainder = Lambda(i, base ** (2 * Mod(s, 2**i)))
    return (
        Step(over(Mod(s, 2 ** pos(k))), "=", "set-bits", {"s": s, "R": top, "pos": pos, "f": remainder}),
        Step(over(Sum(2 ** pos(j), (j, 1, k - 1))), "=", "remainder-below-set-bit", {"s": s, "k": k, "pos": pos}),
        Step(over(Sum(2 ** (j - 1), (j, 1, k - 1))), "<=", "set-bits-apart", {"s": s, "k": j, "pos": pos}),
        Step(over(2 ** (k - 1) - 1), "=", "geometric-sum", {"x": 2, "m": k - 1}),
    )
