"""Rounding up."""

from __future__ import annotations

import math

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.problems.logistic_bounds import PRECISION, upward


@given(st.fractions(-1000, 1000, max_denominator=10**6))
def test_upward_is_the_next_float_at_most_one_step_above(value: object) -> None:
    exact = fmpq(value.numerator, value.denominator)  # type: ignore[attr-defined]  # a Fraction
    with ctx.workprec(PRECISION):
        got = upward(arb(exact))
        assert arb(got) >= arb(exact)
        assert arb(math.nextafter(math.nextafter(got, -math.inf), -math.inf)) < arb(exact)


def test_upward_covers_the_whole_ball_and_refuses_infinite_ones() -> None:
    assert upward(arb(1, 0.5)) >= 1.5
    assert upward(arb(1)) == 1.0
    with pytest.raises(ValueError, match="value must be finite"):
        upward(arb("inf"))
    with pytest.raises(ValueError, match="within the range of floats"):
        upward(arb(10) ** 400)
