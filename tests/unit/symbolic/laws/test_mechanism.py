"""Mechanisms in Python: the same numbers as in formulas, as floats on both sides."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dpverify as dv
from dpverify.symbolic.exact.numbers import (
    UNLIMITED,
    DomainError,
    Meter,
    WorkLimitError,
    charged,
    spend,
)


def test_bounds_hold_the_value_and_are_narrow() -> None:
    cases = [
        (dv.Mechanism.gaussian(2).renyi(3), 3 / 8),
        (dv.Mechanism.laplace(2).pure_epsilon(), 0.5),
        (dv.Mechanism.laplace(2).delta(Fraction(1, 4)), 1 - math.exp(-1 / 8)),
        (dv.Mechanism.discrete_laplace(2).pure_epsilon(), 0.5),
        (dv.Mechanism.discrete_gaussian(3).zcdp(), 1 / 18),
        (dv.Mechanism.randomized_response(1).pure_epsilon(), 1.0),
        (dv.Mechanism.randomized_response(1, 5).composed(3).pure_epsilon(), 3.0),
        (
            dv.Mechanism.laplace(1).poisson_sampled(Fraction(1, 10)).pure_epsilon(),
            math.log(0.9 + 0.1 * math.e),
        ),
        (
            dv.Mechanism.laplace(1).batch_sampled(1, 10).pure_epsilon(),
            math.log(0.9 + 0.1 * math.e),
        ),
        (dv.Mechanism.laplace(1).joined(dv.Mechanism.laplace(2)).pure_epsilon(), 1.5),
    ]
    for bounds, expected in cases:
        assert bounds.lower <= expected * (1 + 1e-12)
        assert expected <= bounds.upper * (1 + 1e-12)
        assert bounds.upper - bounds.lower < 1e-9
    assert dv.Mechanism.gaussian(1).pure_epsilon() == (math.inf, math.inf)


def test_epsilon_and_delta_are_inverse() -> None:
    mechanism = dv.Mechanism.laplace(3).composed(20)
    epsilon = mechanism.epsilon(Fraction(1, 10**5))
    assert mechanism.delta(Fraction(epsilon.lower)).upper >= 1e-5 * 0.99
    assert mechanism.delta(Fraction(epsilon.upper)).lower <= 1e-5 * 1.01


def test_what_is_outside_of_its_range_is_refused() -> None:
    with pytest.raises(DomainError):
        dv.Mechanism.gaussian(0)
    with pytest.raises(DomainError):
        dv.Mechanism.laplace(1).poisson_sampled(2)


def square(x: int) -> int:
    spend(10)
    return x * x


def test_a_result_is_charged_once_within_a_meter_and_again_in_the_next() -> None:
    outer = Meter(UNLIMITED)
    with outer.running():
        for times, spent in ((1, 10), (2, 20)):
            inner = Meter(100)
            with inner.running():
                assert [charged(square, 7) for _ in range(3)] == [49] * 3
            assert 100 - inner.remaining == 10
            assert UNLIMITED - outer.remaining == spent, times
    with pytest.raises(WorkLimitError), Meter(5).running():
        charged(square, 7)
