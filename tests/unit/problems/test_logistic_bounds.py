"""Rounding up, and the constants where they are numbers that floats hold."""

from __future__ import annotations

import math

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.problems.logistic_bounds import (
    PRECISION,
    gap_at_zero,
    lipschitz,
    smoothness,
    upward,
)
from tests.for_each import for_each


@given(st.fractions(-1000, 1000, max_denominator=10**6))
def test_upward_is_the_next_float_at_most_one_step_above(value: object) -> None:
    exact = fmpq(value.numerator, value.denominator)  # type: ignore[attr-defined]  # a Fraction
    with ctx.workprec(PRECISION):
        got = upward(arb(exact))
        assert arb(got) >= arb(exact)
        assert arb(math.nextafter(math.nextafter(got, -math.inf), -math.inf)) < arb(
            exact
        )


def test_upward_covers_the_whole_ball_and_refuses_infinite_ones() -> None:
    assert upward(arb(1, 0.5)) >= 1.5
    assert upward(arb(1)) == 1.0
    with pytest.raises(ValueError, match="value must be finite"):
        upward(arb("inf"))
    with pytest.raises(ValueError, match="within the range of floats"):
        upward(arb(10) ** 400)


def test_constants_that_floats_hold() -> None:
    assert lipschitz(1.0, 0.5, 3) == (1 + 9 / 16) * (1 + 2.0**-48)  # sqrt(27 d) = 9
    assert smoothness(3.0, 0.25) == 2.75
    assert lipschitz(0.0, 0.0, 1) == smoothness(0.0, 0.0) == 0.0
    # the nearest float is below log 2
    assert gap_at_zero() == math.nextafter(math.log(2.0), 1.0)


@for_each(
    "wrong",
    [
        (-0.5, 1.0, 1),
        (math.inf, 1.0, 1),
        (1.0, -0.5, 1),
        (1.0, math.inf, 1),
        (1.0, 1.0, 0),
    ],
)
def test_what_has_no_constant_is_refused(wrong: tuple[float, float, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        lipschitz(*wrong)
