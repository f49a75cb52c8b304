"""Noise from shared random bits: its law exactly, and the bounds of what it guarantees."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.privacy import binomial_noise as noise


def test_the_law_is_that_of_the_sum_of_weighted_bits() -> None:
    law = np.exp(noise.log_law())
    values = np.arange(len(law)) - len(law) // 2
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.allclose(law, law[::-1], rtol=1e-9)
    assert float(law @ values.astype(float) ** 2) == pytest.approx(noise.VARIANCE, rel=1e-10)
    for c, i in ((0, 0), (0, 1), (3, 700), (-118, 1), (117, 1023), (40, 512)):  # up to 15 deviations, from the bits
        n = c * noise.STEP + i
        chance = Fraction(0)
        for whole in (c, c + 1):
            rest = n - whole * noise.STEP
            ways = max(noise.STEP - abs(rest), 0)
            at = whole + noise.WHOLE_BITS // 2
            binomial = math.comb(noise.WHOLE_BITS, at) if 0 <= at <= noise.WHOLE_BITS else 0
            chance += Fraction(binomial * ways, noise.STEP**2 * 2**noise.WHOLE_BITS)
        assert law[n + len(law) // 2] == pytest.approx(float(chance), rel=1e-9)


def test_tails_are_lighter_than_those_of_a_gaussian_of_its_variance_allow() -> None:
    law = np.exp(noise.log_law())
    values = np.abs(np.arange(len(law)) - len(law) // 2)
    for deviations in (5.0, 6.0, 8.0):
        beyond = float(law[values > deviations * noise.DEVIATION].sum())
        assert 0.0 < beyond < 2.0 * math.exp(-(deviations**2) / 2.0)


@pytest.mark.parametrize("order", [2, 8, 24])
@pytest.mark.parametrize("shift", [1, 700, 1024, 3000])
def test_moments_are_bounded_from_above_and_closely(order: int, shift: int) -> None:
    law = noise.log_law()
    at = np.arange(len(law)) - len(law) // 2
    reached = at[shift:] <= noise.STEP * noise.WHOLE_BITS // 2
    exact = math.log(np.exp(order * law[:-shift] + (1 - order) * law[shift:])[reached].sum())
    bound = math.log(float(noise.moment_bound(order, np.array([shift]))[0]))
    assert exact <= bound * (1 + 1e-9)
    assert bound <= 1.3 * exact


def test_renyi_bounds_are_near_the_gaussian_ones_and_hold_for_delta() -> None:
    shift = noise.DEVIATION / 8.0
    bounds = noise.renyi_bounds(shift)
    assert 1.0 <= bounds[0] / (2.0 / 128.0) < 1.02
    assert noise.unreached(shift) < 1e-60
    for epsilon in (0.3, 0.6):
        exact = noise.delta_of_shift(round(shift), epsilon)
        best = min(
            math.exp(min((z - 1) * (rdp - epsilon), 700.0)) / z * (1 - 1 / z) ** (z - 1)
            for z, rdp in zip(noise.ORDERS, bounds, strict=True)
        )
        assert 0.0 < exact <= best


def test_both_tails_of_a_coordinate_are_counted() -> None:
    """The chance that B lies within two of either end, for shifts within a stretch; from the binomial law itself."""
    ends = 2.0 * sum(math.comb(noise.WHOLE_BITS, c) for c in range(3)) / 2.0**noise.WHOLE_BITS
    assert noise.unreached(1.0) == noise.unreached(float(noise.STEP)) == ends
    assert noise.unreached(noise.STEP + 1.0) > ends
