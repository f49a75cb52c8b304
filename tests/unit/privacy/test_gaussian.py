"""The exact Gaussian trade-off against its definition, in 60 digits, and at the ends of the floats."""

from __future__ import annotations

import math
import random

import mpmath
import numpy as np
import pytest

from dpverify.privacy.gaussian import (
    compose_mu,
    delta_of,
    epsilon_of,
    log_delta_of,
    mu_of,
)
from tests.for_each import for_each
from tests.unit.privacy.oracle import delta_by_integration, mixture


def by_definition(mu: float, epsilon: float, digits: int = 80) -> mpmath.mpf:
    with mpmath.workdps(digits):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def by_integration(mu: float, epsilon: float) -> mpmath.mpf:
    """The hockey stick itself: the integral of the positive part of p - exp(epsilon) q."""
    with mpmath.workdps(120):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        crossing = e / m + m / 2
        reach = mpmath.mpf(20) / (1 + crossing / 10)

        def positive_part(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.npdf(x - m) - mpmath.exp(e) * mpmath.npdf(x)

        return mpmath.quad(
            positive_part, [crossing + part * reach for part in (0, 0.05, 0.2, 0.5, 1)]
        )


@for_each(
    ("mu", "epsilon"), [(1, 1), (0.1, 0.5), (3, 0), (0.01, 0.2), (8, 50), (0.3, 1e-6)]
)
def test_the_formula_is_the_hockey_stick(mu: float, epsilon: float) -> None:
    with mpmath.workdps(60):
        assert (
            abs(by_integration(mu, epsilon) / by_definition(mu, epsilon, 150) - 1)
            < 1e-30
        )


def test_delta_has_twelve_digits_down_to_the_smallest_floats() -> None:
    random.seed(20)
    for _ in range(400):
        mu = 10 ** random.uniform(-8, 3.5)
        epsilon = mu * (random.uniform(-mu / 2, 37) + mu / 2)
        exact = by_definition(mu, epsilon)
        if exact > 1e-300:
            with mpmath.workdps(60):
                assert abs(mpmath.mpf(delta_of(mu, epsilon)) / exact - 1) < 1e-12, (
                    mu,
                    epsilon,
                )


@for_each(("mu", "epsilon"), [(0.001, 1), (1e-6, 50), (1, 5000), (1e-4, 1e-2)])
def test_log_delta_goes_below_the_smallest_float(mu: float, epsilon: float) -> None:
    with mpmath.workdps(60):
        u, h = mpmath.mpf(epsilon) / mu, mpmath.mpf(mu) / 2
        tail = mpmath.quad(
            lambda t: mpmath.exp(-u * t - t * t / 2) * 2 * mpmath.sinh(h * t),
            [0, 1 / u, 9 / u, 99 / u],
        )
        exact = -((u - h) ** 2) / 2 - mpmath.log(2 * mpmath.pi) / 2 + mpmath.log(tail)
        assert abs(mpmath.mpf(log_delta_of(mu, epsilon)) / exact - 1) < 1e-13


DELTAS = [1e-300, 1e-100, 1e-12, 1e-5, 0.1, 0.5, 0.99]


@for_each("delta", DELTAS)
@for_each("epsilon", [1e-6, 1e-3, 1.0, 10.0, 50.0, 1e4])
def test_mu_and_epsilon_are_inverse(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert abs(float(by_definition(mu, epsilon, 400)) / delta - 1) < 1e-12
    # Where delta is nearly all that mu needs at epsilon 0, epsilon has few digits: its
    # error is that of delta.
    sharp = (
        delta
        / (epsilon * math.exp(epsilon + math.log(mpmath.ncdf(-mu / 2 - epsilon / mu))))
        if epsilon < 30
        else 1
    )
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-12 * max(1.0, sharp))


def test_epsilon_falls_to_zero_and_stays_there() -> None:
    enough = float(mpmath.erf(mpmath.mpf(1) / mpmath.sqrt(8)))
    assert epsilon_of(1.0, enough * 1.0001) == 0
    assert 0 < epsilon_of(1.0, enough * 0.9999) < 1e-3


def test_ends_of_the_range() -> None:
    assert delta_of(0, 0) == 0
    assert delta_of(1, math.inf) == 0
    assert delta_of(math.inf, 3) == 1
    assert epsilon_of(0, 0) == 0
    assert epsilon_of(1, 0) == math.inf
    assert epsilon_of(math.inf, 0.5) == math.inf
    assert epsilon_of(1, 1) == 0
    assert mu_of(1, 0) == 0
    assert mu_of(1, 1) == math.inf
    assert mu_of(math.inf, 0.1) == math.inf
    assert delta_of(1e-320, 1) == 0
    assert delta_of(1e200, 1) == 1
    assert mu_of(0, 0.5) == pytest.approx(2 * 0.6744897501960817)


def test_numbers_of_other_kinds_give_plain_floats() -> None:
    assert type(epsilon_of(np.float64(1e-3), np.float64(1e-9))) is float
    assert type(mu_of(np.float64(1e-3), np.float64(1e-9))) is float
    # numpy's own floats would warn of the overflow
    assert type(delta_of(np.float64(1e200), np.float64(1))) is float
    assert epsilon_of(1, 1e-5) == epsilon_of(1.0, 1e-5)


def test_composition_is_the_root_of_the_sum_of_squares() -> None:
    assert compose_mu([3, 4]) == 5
    assert compose_mu([]) == 0
    assert compose_mu([1e-200] * 4) == 2e-200
    assert compose_mu(0.1 for _ in range(100)) == pytest.approx(1, rel=1e-15)


@for_each(
    "call",
    [lambda: delta_of(-1, 1), lambda: delta_of(1, -1), lambda: delta_of(math.nan, 1)],
)
def test_refuses_what_has_no_delta(call: object) -> None:
    with pytest.raises(ValueError, match="must be at least 0"):
        call()  # type: ignore[operator]  # a list of lambdas is a list of objects


@for_each("delta", [-0.1, 1.1, math.nan])
def test_refuses_a_delta_that_is_no_probability(delta: float) -> None:
    with pytest.raises(ValueError, match=r"delta must be in \[0, 1\]"):
        epsilon_of(1, delta)
    with pytest.raises(ValueError, match=r"delta must be in \[0, 1\]"):
        mu_of(1, delta)


def test_refuses_two_infinities_and_a_negative_part() -> None:
    with pytest.raises(ValueError, match="both be infinite"):
        delta_of(math.inf, math.inf)
    with pytest.raises(ValueError, match=r"each mu .* -1"):
        compose_mu([1, -1])
    with pytest.raises(ValueError, match="NaN"):
        compose_mu([1, math.nan])


ENDS = (5e-324, 1e-310, 1e-101, 1e-99, 1e-30, 1.0, 1e7, 1e8, 1e9, 1e60, 1e150)
RATIOS = (1e-3, 1.0, 37.0, 1e7, 0.99e8, 1.01e8, 1e12)


def mills_exactly(x: mpmath.mpf) -> mpmath.mpf:
    """Mills ratio; far out by four terms of its series, which leave less than 1e-36."""
    if x > 1e5:
        return (1 - 1 / x**2 + 3 / x**4 - 15 / x**6) / x
    return (
        mpmath.erfc(x / mpmath.sqrt(2))
        * mpmath.exp(x * x / 2)
        * mpmath.sqrt(mpmath.pi / 2)
    )


@for_each("mu", ENDS)
def test_delta_is_right_at_the_ends_of_the_floats(mu: float) -> None:
    near = (mu * ratio for ratio in RATIOS)
    far = (0.5 * mu * mu + mu * ratio for ratio in RATIOS)
    for epsilon in (0.0, *near, *far):
        with mpmath.workdps(60 + 2 * max(0, round(-math.log10(mu)))):
            m = mpmath.mpf(mu)
            x = mpmath.mpf(epsilon) / m - m / 2
            if x < -30:
                exact = mpmath.log1p(-mpmath.erfc(-x / mpmath.sqrt(2)) / 2)
            else:
                gap = mpmath.log(mills_exactly(x) - mills_exactly(x + m))
                exact = gap - x * x / 2 - mpmath.log(2 * mpmath.pi) / 2
            assert log_delta_of(mu, epsilon) == pytest.approx(
                float(exact), rel=1e-13, abs=1e-13
            )


@for_each("epsilon", [1e15, 0.99e16, 1.01e16, 1e35, 1e154, 1e300])
@for_each("delta", [5e-324, 1e-100, 1e-6, 0.5, 0.99, 1 - 2**-53])
def test_mu_and_epsilon_are_inverse_where_both_are_large(
    epsilon: float, delta: float
) -> None:
    assert epsilon_of(mu_of(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-14)
    assert mu_of(1.7e308, delta) == pytest.approx(
        math.sqrt(2) * math.sqrt(1.7e308), rel=1e-14
    )


def test_delta_is_the_definition() -> None:
    mu, epsilon = 0.5, 1.0
    crossing = epsilon / mu + mu / 2
    exact = delta_by_integration(
        epsilon,
        mixture([1], [mu], 1),
        mixture([1], [0], 1),
        [crossing, crossing + 5, 40],
    )
    assert abs(mpmath.mpf(delta_of(mu, epsilon)) / exact - 1) < 1e-13
