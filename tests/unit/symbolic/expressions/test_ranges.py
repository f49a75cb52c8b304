from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from flint import arb, fmpq
from sympy import Symbol, exp, sqrt

from dpverify.symbolic.exact.numbers import DomainError, to_value, working_precision
from dpverify.symbolic.expressions.ranges import (
    AnyVector,
    GaussianNorm,
    Points,
    SetBits,
    Vector,
    integer,
    real,
    shown,
)

N, d = (
    Symbol("N", integer=True, positive=True),
    Symbol("d", integer=True, positive=True),
)
v = Symbol("v", positive=True)


def draws(
    variable: Any, point: dict[str, Any] | None = None, count: int = 400
) -> list[Fraction]:
    rng = Random(5)
    return [variable.draw(rng, point or {}) for _ in range(count)]


def test_reals_reach_their_closed_ends_and_not_their_open_ones() -> None:
    closed = draws(real(0, 1))
    assert {Fraction(0), Fraction(1)} <= set(closed)
    assert all(0 <= x <= 1 for x in closed)
    opened = draws(real(0, 1, open_lo=True, open_hi=True))
    assert all(0 < x < 1 for x in opened)
    assert min(opened) < Fraction(1, 1000)
    assert max(opened) > Fraction(999, 1000)


def test_integers_reach_both_ends_and_every_order_of_magnitude() -> None:
    values = draws(integer(1, 10**6))
    assert all(x.denominator == 1 and 1 <= x <= 10**6 for x in values)
    assert {1, 10**6} <= set(values)
    assert sum(x < 100 for x in values) > 40
    assert sum(x > 10**4 for x in values) > 40


def test_ends_may_depend_on_earlier_variables() -> None:
    for x in draws(real(1 / N, 2**N), {"N": 3}, 50):
        assert Fraction(1, 3) <= x <= 8
    for x in draws(real(0, sqrt(N)), {"N": 2}, 50):
        assert x * x <= 2
    for x in draws(real(-exp(N), sqrt(N)), {"N": 2}, 50):
        assert Fraction(-739, 100) <= x <= Fraction(3, 2)


def test_points_meet_their_conditions_and_repeat_for_a_seed() -> None:
    variables = {"N": integer(1, 50), "a": real(0, 1, open_lo=True)}
    first = Points(variables, [lambda env: env["a"] * env["N"] <= 1], 100, 7)
    again = Points(variables, [lambda env: env["a"] * env["N"] <= 1], 100, 7)
    assert first.is_complete
    assert first.samples == again.samples
    assert all(point["a"] * point["N"] <= 1 for point in first.samples)
    assert not Points(variables, [lambda env: False], 10, 7).is_complete


def test_vectors() -> None:
    u, w = Vector((fmpq(1), fmpq(-2))), Vector((fmpq(3), fmpq(1)))
    two = fmpq(2)
    assert (u + w).entries == (fmpq(4), fmpq(-1))
    assert (u - w * two).entries == (u - two * w).entries == (fmpq(-5), fmpq(-4))
    assert (-u).entries == (fmpq(-1), two)
    assert u.inner(w) == 1
    assert Vector((fmpq(3), fmpq(4))).norm() == 5
    assert u.moment(fmpq(1)) == fmpq(3, 2)
    assert u.moment(fmpq(2)) == fmpq(5, 2)
    assert shown(u) == "(1, -2)"
    assert len(AnyVector(4).draw(Random(1), {}).entries) == 4


def test_gaussian_norms_have_their_moments() -> None:
    law = GaussianNorm(d, v).draw(Random(1), {"d": 1, "v": Fraction(9)})
    assert law.moment(fmpq(2)) == 9  # type: ignore[attr-defined]  # a law
    with working_precision(200):
        mean = law.moment(fmpq(1))  # type: ignore[attr-defined]  # a law
        # the half normal's mean
        assert abs(mean - 3 * (2 / arb.pi()).sqrt()) < arb("1e-50")
        wide = GaussianNorm(d, v).draw(Random(1), {"d": 4, "v": 1}).moment(fmpq(4))  # type: ignore[attr-defined]  # a law
        assert abs(wide - 24) < arb("1e-50")  # E||x||**4 = d*(d + 2)


def test_set_bits() -> None:
    positions = SetBits(N).draw(Random(1), {"N": 0b101100})
    assert [int(positions(to_value(k)).p) for k in (1, 2, 3)] == [2, 3, 5]  # type: ignore[operator]  # a sequence
    with pytest.raises(DomainError, match="3 set bits"):
        positions(to_value(4))  # type: ignore[operator]  # a sequence
