"""Orders by weights on exponents: what is proved, and what must not be."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from flint import fmpq
from sympy import Integer, Rational, Symbol, exp, log, sqrt

from dpverify.symbolic.expressions.functions import Log2
from dpverify.symbolic.prove.comparisons import (
    NoMonomialsError,
    WeightedTerm,
    monomials,
    prove_order,
)
from dpverify.symbolic.prove.facts import Facts
from tests.for_each import for_each

N, T = (Symbol(name, integer=True, positive=True) for name in "NT")
x, G = Symbol("x", positive=True), Symbol("G", nonnegative=True)
FIXED = frozenset({"G"})


def proved(left: Any, right: Any, *relations: Any, tilde: bool = True) -> bool:
    try:
        prove_order(left, right, relations, tilde, FIXED)
    except NoMonomialsError:
        return False
    return True


@for_each(
    ("left", "right", "relations"),
    [
        (3 * N + 7 * sqrt(N) + 2, N, ()),
        (N / T, sqrt(N / T), (T >= 4 * N,)),
        (sqrt(N * T), N + T, ()),  # half of each
        (N ** Rational(1, 3) * T ** Rational(2, 3), N + T, ()),
        (G * N, N, ()),
        (1 / x, N, (x * N >= 1,)),
        (1 / sqrt(x), sqrt(N) / T, (x * N >= T**2,)),
        (N * Log2(T) ** 3, N, ()),
        (N / Log2(T), N, (T >= 2,)),
        (N * log(1 + T), N, ()),
        (sqrt(N + T), sqrt(N) + sqrt(T), ()),
    ],
)
def test_what_holds_is_proved(
    left: Any, right: Any, relations: tuple[Any, ...]
) -> None:
    assert proved(left, right, *relations)


@for_each(
    ("left", "right", "relations"),
    [
        (N ** Rational(101, 100), N, ()),
        (N / T, sqrt(N / T), ()),
        (N / T, sqrt(N / T), (T <= 4 * N,)),
        (N * T, N + T, ()),
        (N + T, N, ()),
        (N, G * N, ()),  # G may be 0
        (N * x, N, ()),  # x is not among the letters that the constant depends on
        (x, Integer(1), (x <= N,)),
        (1 / x, Integer(1), ()),
        (1 / x, Integer(1), (x <= 1,)),
        (N / Log2(T), N, ()),  # T may be 1
        (N / log(x), N, (x > 1,)),  # log x may be as small as it likes
        (N, N / Log2(T + 1) * x / x**2, (x >= 1,)),
        (exp(N), N, ()),
        (N - T, N, (N >= T,)),  # it cancels
        (1 / (N - T), Integer(1), (N > T,)),
        (N**x, N, (x <= 1,)),
    ],
)
def test_what_does_not_hold_or_is_no_sum_of_powers_is_not(
    left: Any, right: Any, relations: tuple[Any, ...]
) -> None:
    assert not proved(left, right, *relations)


def test_a_logarithm_needs_the_tilde() -> None:
    assert proved(N * Log2(N), N)
    assert not proved(N * Log2(N), N, tilde=False)
    assert proved(N / Log2(N), N, N >= 2, tilde=False)
    assert proved(N * Log2(N), N * Log2(N) + T, tilde=False)


def test_letters_of_the_constant_are_not_on_the_right() -> None:
    g = Symbol("G", positive=True)
    assert not proved(g * N, g * N)


def test_weights_that_do_not_add_up_are_refused() -> None:
    one = fmpq(1)
    WeightedTerm({N: one}, (({N: one, T: one}, one),), (({T: -one}, one),), {})
    for term, right, conditions in (
        ({N: one}, (({N: one, T: one}, one),), ()),
        ({N: 2 * one}, (({N: one}, 2 * one),), ()),
        ({N: one}, (({N: one, T: one}, one),), (({T: one}, -one),)),
    ):
        with pytest.raises(ArithmeticError):
            WeightedTerm(term, right, conditions, {})


def test_terms_are_bounded_from_both_sides() -> None:
    found = monomials((2 * N + 3) ** 2 / (5 * T), Facts())
    assert sorted(found, key=len) == [{T: -1}, {N: 2, T: -1}]
    assert monomials(sympy.Integer(0), Facts()) == []


def test_the_reciprocal_of_a_sum_is_no_sum_of_reciprocals() -> None:
    assert not proved(1 / N, 1 / (N + T))
    assert proved(1 / N, 1 / N + 1 / T)
