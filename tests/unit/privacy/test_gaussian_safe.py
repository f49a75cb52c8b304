"""Decisions in ball arithmetic, and values rounded to the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb

from dpverify.privacy.gaussian import epsilon_of, mu_of
from dpverify.privacy.gaussian_safe import (
    certify,
    delta_ball,
    safe_epsilon,
    safe_mu,
    violated_epsilon,
    violated_mu,
)
from tests.for_each import for_each

EXTREMES = [
    (1.0, 1e-5),
    (1e-6, 1e-300),
    (1e-3, 1e-10),
    (1e3, 1e-5),
    (1e6, 1e-300),
    (1.0, 0.38292492254802),
    (20, 0.999999),
]


@for_each(("mu", "delta"), EXTREMES)
def test_safe_epsilon_is_certified_and_next_to_the_exact_one(
    mu: float, delta: float
) -> None:
    epsilon = safe_epsilon(mu, delta)
    assert certify(mu, epsilon, delta)
    # Absolute where delta is nearly all that mu needs at epsilon 0: there epsilon has
    # only the digits of delta.
    assert 0 <= epsilon - epsilon_of(mu, delta) < 1e-12 * max(epsilon, 1e-3)
    assert not certify(mu, epsilon * 0.999, delta)


@for_each(
    ("epsilon", "delta"),
    [(1e-6, 1e-300), (50, 1e-300), (1e-6, 0.5), (0, 1e-20), (1e5, 1e-5)],
)
def test_safe_mu_is_certified_and_next_to_the_exact_one(
    epsilon: float, delta: float
) -> None:
    mu = safe_mu(epsilon, delta)
    assert certify(mu, epsilon, delta)
    assert 0 <= 1 - mu / mu_of(epsilon, delta) < 1e-12
    assert not certify(mu * (1 + 1e-11), epsilon, delta)


@for_each(("mu", "delta"), EXTREMES)
def test_missed_epsilon_is_certainly_missed_and_next_to_the_exact_one(
    mu: float, delta: float
) -> None:
    epsilon = violated_epsilon(mu, delta)
    assert epsilon == 0.0 or not certify(mu, epsilon, delta)
    assert 0 <= safe_epsilon(mu, delta) - epsilon < 2e-12 * max(epsilon, 1e-3)


@for_each(
    ("epsilon", "delta"),
    [(1e-6, 1e-300), (50, 1e-300), (1e-6, 0.5), (0, 1e-20), (1e5, 1e-5)],
)
def test_missed_mu_misses_and_is_next_to_the_exact_one(
    epsilon: float, delta: float
) -> None:
    mu = violated_mu(epsilon, delta)
    assert not certify(mu, epsilon, delta)
    assert 0 <= mu / safe_mu(epsilon, delta) - 1 < 2e-12


def test_ends_of_the_range() -> None:
    assert violated_epsilon(0, 0) == 0
    assert violated_epsilon(1, 0) == math.inf
    assert violated_epsilon(1, 0.9) == 0
    assert violated_mu(1, 1) == math.inf
    assert not certify(violated_mu(1, 0), 1, 0)
    assert safe_epsilon(0, 0) == 0
    assert safe_epsilon(1, 0) == math.inf
    assert safe_epsilon(1, 0.9) == 0
    assert safe_mu(1, 0) == 0
    assert safe_mu(1, 1) == math.inf
    assert certify(5, 0, 1)
    assert certify(0, 0, 0)
    assert not certify(1, 1, 0)


def test_a_ball_that_holds_both_answers_is_not_certified() -> None:
    epsilon = Fraction(epsilon_of(1.0, 1e-5))
    assert certify(1, epsilon * Fraction(1001, 1000), 1e-5)
    assert not certify(arb(1, 0.01), epsilon, 1e-5)


def test_the_ball_holds_a_delta_that_can_be_computed_by_hand() -> None:
    # mu 2, epsilon 2: Phi(0) - e^2 Phi(-2)
    assert (
        abs(float(delta_ball(2, 2)) - (0.5 - math.exp(2) * 0.022750131948179195))
        < 1e-15
    )


@for_each(
    "arguments",
    [(-1, 1, 0.1), (1, -1, 0.1), (1, 1, -0.1), (math.inf, 1, 0.1), (1, math.nan, 0.1)],
)
def test_refuses_what_it_cannot_decide(arguments: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match=r"must be (finite|at least 0)"):
        certify(*arguments)
