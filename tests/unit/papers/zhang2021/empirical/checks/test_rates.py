"""What momentum does to a bound, and which orders are outgrown: the values that are held against each other."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpverify.harness.checks import BUDGETS, as_point
from dpverify.ledger import load_specs
from dpverify.papers.zhang2021.empirical.checks.rates import (
    _bounds,
    _growing,
    _grows,
    _outgrown,
)
from dpverify.symbolic.exact.evaluate import evaluate_statement
from dpverify.symbolic.exact.numbers import Exact, nearest_float


def number(side: Exact | None) -> float:
    assert side is not None
    return nearest_float(side)


def test_little_momentum_lifts_the_bracket_above_every_bound() -> None:
    statement = load_specs().claim("zhang2021:section-1-2-special-case").statement({})
    for corner in _bounds(BUDGETS["smoke"]):
        found = _grows(as_point(corner), statement)
        logarithm = (corner["bound"] + 2) * math.log(8)
        bracket = (
            math.log1p(math.exp(logarithm) / 2)
            if corner["bound"] < 100
            else logarithm - math.log(2)
        )
        halved = (
            math.log1p(math.exp(logarithm)) / 2
            if corner["bound"] < 100
            else logarithm / 2
        )
        assert found.ok is False
        assert number(found.lhs) == pytest.approx(bracket - halved, rel=1e-9)
        assert number(found.rhs) == corner["bound"]
    assert number(_grows({"bound": Fraction(3)}, statement, slack=-1).rhs) == 0.0


def test_what_is_outgrown_is_a_million_times_the_right_side() -> None:
    statement = load_specs().claim("zhang2021:theorem-3-4-stability").statement({})
    point = as_point(next(_growing(BUDGETS["smoke"])))
    left, right = map(number, evaluate_statement(statement, point))
    for slower in (0, -1):
        found = _outgrown(point, statement, slower=slower)
        assert number(found.lhs) == pytest.approx(left)
        assert number(found.rhs) == pytest.approx(
            1e6 * right * float(point["n"]) ** slower
        )
        assert found.ok == (left <= number(found.rhs))
