"""Propositions 16 and 18, derived: both count the set bits of a number.

For Proposition 18 the number of nodes is, in closed form, ``popcount(p) + popcount(v)`` with ``p + v = b - a + 1`` and
``p >= 1``; for a = 1 it is ``popcount(b)`` (NOTES.md, "COMPOSE in closed form").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy import Function, Integer, Lambda, Mod, Sum, Symbol, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2, PopCount
from dpverify.symbolic.expressions.ranges import SetBits, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

i, j, k = (Symbol(name, integer=True) for name in "ijk")
UP = Symbol("p", integer=True, positive=True)  # Steps from a to the multiple of 2^j inside the interval: p of NOTES.md
DOWN = Symbol("v", integer=True, nonnegative=True)  # Steps from there to b: v of NOTES.md


def derive_proposition_18_prefix(statement: Statement) -> Derivation:
    """Derive the number of nodes of COMPOSE(1, b), the popcount of b. Source: Proposition 18, second sentence."""
    b = sympy_symbols(statement)["b"]
    printed = (
        Step(1 + floor(Log2(b)), "<=", "popcount-width", {"n": b}),
        Step(1 + Log2(b), "<=", "floor-below", {"x": Log2(b)}),
    )
    sharp = (Step(Log2(b + 1), "<=", "popcount-log2", {"n": b}),)
    steps = printed if statement.variant == "printed" else sharp
    return Derivation("set bits of b", "ours", {"b": integer(1, 5000)}, sympy_conditions(statement), PopCount(b), steps)


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


def derive_proposition_16(statement: Statement) -> Derivation:
    """Derive the bound on the squared decays of the nodes of COMPOSE(1, s).

    The paper moves the set bits down one by one; here the k-th set bit is compared at once with the k - 1 bits below
    it, which make at least ``2^(k-1) - 1``.
    """
    steps = _by_rank(statement)
    return _about_set_bits(statement, steps if statement.variant == "printed" else steps[:-1])


def derive_proposition_16_step_2(statement: Statement) -> Derivation:
    """Derive ``tran2022:proposition-16-step-2``: no s has more weight than the number whose bits are all set."""
    return _about_set_bits(statement, _by_rank(statement)[:6])


def derive_proposition_16_step_1(statement: Statement) -> Derivation:
    """Derive ``tran2022:proposition-16-step-1``: the weight of the number whose bits are all set, term by term."""
    symbols = sympy_symbols(statement)
    gamma, top = symbols["gamma"], symbols["top_bit"]
    by_bit = gamma ** (2 * (2**i - 1))
    steps = (
        Step(1 + Sum(by_bit, (i, 1, top)), "=", "sum-split-first", {"lo": 0, "hi": top, "f": Lambda(i, by_bit)}),
        _compare_terms(gamma, top),
    )
    ranges = {"gamma": real(0, 1, open_lo=True, open_hi=True), "top_bit": integer(0, 9)}
    return Derivation("term by term", "ours", ranges, sympy_conditions(statement), sympy_sides(statement)[0], steps)


def _compare_terms(gamma: Any, top: Any) -> Step:
    where = {"x": gamma, "p": 2 * (2**i - 1), "q": 2**i}
    return Step(1 + Sum(gamma ** (2**i), (i, 1, top)), "<=", "power-decreasing", where)


def _by_rank(statement: Statement) -> tuple[Step, ...]:
    """Steps from the sum over the set bits to the sum over all ranks, and on to the printed bound."""
    symbols = sympy_symbols(statement)
    gamma, s, top = symbols["gamma"], symbols["s"], symbols["top_bit"]
    by_rank, by_bit = gamma ** (2 * (2 ** (k - 1) - 1)), gamma ** (2 * (2**i - 1))
    return (
        *set_bits_in_order(gamma, s, top, lambda e: e),
        Step(Sum(by_rank, (k, 1, top + 1)), "<=", "popcount-digits", {"s": s, "R": top}),
        Step(Sum(by_bit, (i, 0, top)), "=", note="k = i + 1"),
        Step(1 + Sum(by_bit, (i, 1, top)), "=", "sum-split-first", {"lo": 0, "hi": top, "f": Lambda(i, by_bit)}),
        _compare_terms(gamma, top),
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


def _about_set_bits(statement: Statement, steps: tuple[Step, ...]) -> Derivation:
    symbols = sympy_symbols(statement)
    top = symbols["top_bit"]
    return Derivation(
        "set bits in order",
        "ours",
        {
            "gamma": real(0, 1, open_lo=True, open_hi=True),
            "top_bit": integer(0, 9),
            "s": integer(0, 2 ** (top + 1) - 1),
            "pos": SetBits(symbols["s"]),
        },
        sympy_conditions(statement),
        sympy_sides(statement)[0],
        steps,
    )
