"""Comparisons as orders: each constant is one that holds, and each growing point is beyond its bound."""

from __future__ import annotations

from fractions import Fraction

from dpverify.harness.checks import BUDGETS, as_point
from dpverify.ledger import load_specs
from dpverify.papers.zhang2021.empirical.checks.rates import (
    CONSTANTS,
    GROWING,
    _beyond,
    _bounded,
    _outgrows,
    _settings,
)
from dpverify.symbolic.exact.evaluate import requires_hold
from tests.for_each import for_each

SPECS = load_specs()


@for_each("claim", CONSTANTS)
def test_a_hundredth_of_the_constant_is_too_small_somewhere(claim: str) -> None:
    statement = SPECS.claim(f"zhang2021:{claim}").statement()
    constant = CONSTANTS[claim][0]
    points = [
        p
        for p in map(as_point, _settings(BUDGETS["smoke"]))
        if requires_hold(statement, p)
    ]
    assert all(_bounded(p, statement, constant=constant).ok for p in points)
    assert not all(
        _bounded(p, statement, constant=lambda p: constant(p) / 100).ok for p in points
    )


@for_each("claim", GROWING)
def test_growing_points_are_beyond_every_bound_but_not_beyond_its_square(
    claim: str,
) -> None:
    statement = SPECS.claim(f"zhang2021:{claim}").statement()
    points = list(map(as_point, _beyond(claim, BUDGETS["smoke"])))
    assert all(_outgrows(point, statement).ok is False for point in points)
    assert all(requires_hold(statement, point) for point in points)
    assert _outgrows(points[-1], statement, share=Fraction(10**9)).ok is None
