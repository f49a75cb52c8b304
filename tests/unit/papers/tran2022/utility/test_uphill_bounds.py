import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverify.papers.tran2022.utility.theorem_bounds import (
    BIG,
    SMALL,
    noise_variance_1,
    noise_variance_2,
    signs,
    uphill_bound,
)
from dpverify.shared_types import Ordering
from tests.for_each import for_each

MEAN = (BIG + 2 * SMALL) / 3


@for_each("ordering", ["fresh", "once"])
def test_the_signs_of_the_momentum(ordering: Ordering) -> None:
    rng, epochs = np.random.default_rng(11), 60000
    places = rng.integers(0, 3, epochs) if ordering == "fresh" else np.full(epochs, 1)
    gradients = np.full((epochs, 3), float(SMALL))
    gradients[np.arange(epochs), places] = 1.0
    momentum, uphill, least = 0.0, 0, 1.0
    for step, gradient in enumerate(gradients.ravel()):
        momentum += (gradient - momentum) / 3
        if step >= 18:
            uphill += 1 if momentum < 0 else -1
            least = min(least, abs(momentum))
    found = signs(ordering)
    assert uphill / epochs == pytest.approx(float(found.drift), abs=0.03)
    assert least >= float(found.margin) > 0


def test_a_mean_far_from_zero_is_followed() -> None:
    assert signs("once", Fraction(3)).drift < 0
    assert uphill_bound("once", 2**200, arb(0), Fraction(3)) == 0


def test_the_walk_keeps_its_gradient_as_the_noise_vanishes() -> None:
    for steps in (2**100, 2**140):
        left = uphill_bound("fresh", steps, noise_variance_1(steps))
        again = uphill_bound(
            "once", steps, noise_variance_2(steps, Fraction(1), Fraction(1, 100))
        )
        assert float(MEAN) * 0.99 < float(left) < float(MEAN)
        assert float(MEAN) * 0.99 < float(again) < float(MEAN)
    assert uphill_bound("fresh", 100, noise_variance_1(100)) == 0


def test_the_noise_bound_of_algorithm_1_falls_like_one_over_t() -> None:
    small, large = float(noise_variance_1(2**40)), float(noise_variance_1(2**41))
    assert small / large == pytest.approx(2.0, rel=0.05)
    assert math.isfinite(small)
