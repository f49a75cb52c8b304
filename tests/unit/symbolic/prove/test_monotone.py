"""The direction in which an expression moves with a letter is the one that its values have, or none is said."""

from __future__ import annotations

from typing import Any

from sympy import Abs, Rational, Sum, Symbol, erf, erfc, exp, floor, log, oo

from dpverify.symbolic.prove.facts import Facts, Occurrence
from dpverify.symbolic.prove.monotone import direction
from tests.for_each import for_each

h, x, y = Symbol("h", real=True), Symbol("x", real=True), Symbol("y", real=True)
i, n = Symbol("i", integer=True), Symbol("n", integer=True)
HALF = Rational(1, 2)

MOVES: list[tuple[Any, list[Any], int]] = [
    (erf(h), [], 1),
    (erfc(h), [], -1),
    (erfc(-2 * h) + floor(h), [], 1),
    (exp(-h), [], -1),
    (log(h), [h > 0], 1),
    (Abs(h), [h >= 0], 1),
    (Abs(h), [h <= 0], -1),
    (1 / h, [h > 0], -1),
    (h**3, [], 1),
    (h**2, [h >= 0], 1),
    (x**h, [x >= 1], 1),
    (x**h, [x > 0, x <= 1], -1),
    (-2 * h * exp(h), [h >= 0], -1),
    (Sum(h**i, (i, 0, n)), [h >= 0], 1),
    (Sum(1 / (1 + i**2), (i, 0, n)), [], 1),
    (Sum(1 / (1 + i**2), (i, n, 20)), [], -1),
]
UNKNOWN: list[tuple[Any, list[Any]]] = [  # each goes down and up, or has no value somewhere
    (Abs(h), []),
    (1 / h, []),
    (1 / h, [h >= 0]),
    (log(h), [h >= 0]),
    (h**2, []),
    (h * exp(h), []),
    (x**h, [x >= 0]),
    (x**h, [x >= 0, x <= 1]),
    (x * h, []),
    (Sum(h**i * (-1) ** i, (i, 0, n)), [h >= 0]),
    (Sum(i - 3, (i, 0, n)), [n >= 0]),
    (Sum(3 - i, (i, n, 9)), [n >= 0]),
    (1 / (h - HALF), [h >= 0]),
    (Sum((y - 1) * exp(-h * i), (i, 0, oo)), [h > 0, y > 0, y < 2]),
]


def letter_of(expr: Any) -> Any:
    return h if expr.has(h) else n


@for_each(("expr", "known", "want"), MOVES)
def test_the_direction_is_told(expr: Any, known: list[Any], want: int) -> None:
    assert direction(expr, letter_of(expr), Occurrence(Facts().given(known))) == want


@for_each(("expr", "known"), UNKNOWN)
def test_no_direction_is_told_where_there_is_none(expr: Any, known: list[Any]) -> None:
    assert direction(expr, letter_of(expr), Occurrence(Facts().given(known))) is None
