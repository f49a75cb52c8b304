"""epsilon of composed Gaussian mechanisms against balls of many digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, ctx

from dpverify.privacy.gaussian_safe import composed_epsilon, delta_ball
from tests.for_each import for_each

DIGITS = 1e-12


def exact_is_near(mus: np.ndarray, delta: float, epsilon: float) -> bool:
    """Whether delta lies between the exact deltas at epsilon (1 - 1e-12) and epsilon (1 + 1e-12)."""
    for bits in (400, 1600, 6400, 25600):
        ctx.prec = bits
        mu = sum((arb(value) ** 2 for value in mus.tolist()), arb(0)).sqrt()
        high, low = (
            delta_ball(mu, arb(epsilon) * (1 + arb(sign * DIGITS))) for sign in (-1, 1)
        )
        if high.rel_accuracy_bits() > 100 and low.rel_accuracy_bits() > 100:
            return bool(low <= arb(delta) <= high)
    raise AssertionError("not enough digits")


def is_zero(mus: np.ndarray, delta: float) -> bool:
    """Whether delta is at least the exact one at epsilon = 0, which is erf(mu/sqrt(8))."""
    ctx.prec = 400
    gap = (
        arb(delta)
        - (sum((arb(value) ** 2 for value in mus.tolist()), arb(0)) / 8).sqrt().erf()
    )
    assert gap > 0 or gap < 0
    return bool(gap > 0)


@for_each("seed", range(4))
def test_twelve_digits_over_everything(seed: int) -> None:
    rng, before, seen = np.random.default_rng(seed), ctx.prec, 0
    try:
        for _ in range(60):
            mus = 10.0 ** rng.uniform(
                -rng.choice([0.0, 5.0, 100.0]), 0.0, size=int(rng.integers(1, 120))
            )
            mus *= 10.0 ** rng.uniform(-8, 3) / math.sqrt(float((mus**2).sum()))
            total = math.sqrt(float((mus**2).sum()))
            near = math.erf(total / math.sqrt(8.0)) * (
                1.0 - 10.0 ** rng.uniform(-14, -0.1)
            )
            delta = (
                float(10.0 ** rng.uniform(-300, -0.31)) if rng.random() < 0.5 else near
            )
            epsilon = composed_epsilon(mus, delta)
            if epsilon > 0.0:
                seen += 1
                assert exact_is_near(mus, delta, epsilon), (mus, delta, epsilon)
            else:
                assert is_zero(mus, delta), (mus, delta)
    finally:
        ctx.prec = before
    assert seen > 20


@for_each("mu", [1e-8, 1e-3, 0.5, 3.0])
@for_each("apart", [1e-15, 1e-14, 1e-13, 9e-13, 1e-12, 1e-11])
def test_epsilon_is_0_where_delta_is_enough_for_it_and_nowhere_before(
    mu: float, apart: float
) -> None:
    before, near = ctx.prec, math.erf(mu / math.sqrt(8.0))
    try:
        for delta in (near * (1.0 - apart), near * (1.0 + apart)):
            assert (composed_epsilon([mu], delta) == 0.0) == is_zero(
                np.array([mu]), delta
            )
    finally:
        ctx.prec = before


def test_zero_and_infinity_are_where_they_belong() -> None:
    assert composed_epsilon([], 1e-5) == 0.0
    assert composed_epsilon([0.3, 0.4], 0.5) == 0.0
    assert composed_epsilon([0.3], 0.0) == math.inf
    assert composed_epsilon([1.0, math.inf], 1e-5) == math.inf
    with pytest.raises(ValueError, match="at least 0"):
        composed_epsilon([-1.0], 0.1)


def test_squares_beyond_the_range_of_floats_are_added_all_the_same() -> None:
    assert composed_epsilon([1e-200] * 4, 1e-210) == pytest.approx(
        composed_epsilon([2e-200], 1e-210), rel=1e-12
    )
    assert composed_epsilon(np.full(4, 1e170), 0.1) == math.inf


@for_each(
    "mu",
    [
        5e-324,
        1e-310,
        1e-300,
        1e-155,
        1e-101,
        1e-100,
        1e-12,
        1.0,
        1e7,
        1e8,
        1e30,
        1e77,
        1e150,
    ],
)
@for_each("delta", [5e-324, 1e-310, 1e-100, 1e-6, 0.3, 0.99, 1 - 2**-53])
def test_extreme_mechanisms_have_twelve_digits(mu: float, delta: float) -> None:
    before = ctx.prec
    try:
        epsilon = composed_epsilon([mu], delta)
        if epsilon == 0.0:
            assert delta >= math.erf(mu / math.sqrt(8.0)) * (1 - 1e-12)
        elif (
            epsilon < 1e-300
        ):  # fewer digits: the neighbouring floats enclose the truth
            ctx.prec = 6400
            high, low = (
                delta_ball(mu, arb(epsilon) + sign * arb(5e-324)) for sign in (-1, 1)
            )
            assert low <= arb(delta) <= high
        elif (
            mu >= 1e7
        ):  # the second term of delta is at most phi(x)/(x + mu), with x = epsilon/mu - mu/2
            ctx.prec = 2000
            x, y = (
                arb(epsilon) * (1 + arb(sign * DIGITS)) / arb(mu) - arb(mu) / 2
                for sign in (1, -1)
            )
            assert (x / arb(2).sqrt()).erfc() / 2 <= arb(delta)
            second = (-y * y / 2).exp() / (2 * arb.pi()).sqrt() / (y + arb(mu))
            assert (y / arb(2).sqrt()).erfc() / 2 - second >= arb(delta)
        else:
            assert exact_is_near(np.array([mu]), delta, epsilon)
    finally:
        ctx.prec = before


def test_near_zero_all_mechanisms_count_to_the_last() -> None:
    rng, before = np.random.default_rng(5), ctx.prec
    try:
        for count in (255, 256, 257, 1023, 3000):
            mus = rng.exponential(size=count)
            mus /= math.sqrt(float((mus**2).sum()))
            for delta in (0.38, 0.382924):
                assert exact_is_near(mus, delta, composed_epsilon(mus, delta))
    finally:
        ctx.prec = before


def test_delta_one_and_no_noise() -> None:
    assert composed_epsilon([math.inf], 1.0) == 0.0
    assert composed_epsilon([math.inf, 1.0], 0.5) == math.inf
    assert composed_epsilon(np.array([3, 4]), 1.0) == 0.0
