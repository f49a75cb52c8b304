"""Noise from shared random bits: its law exactly, and the bounds of what it guarantees."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.privacy import binomial_noise as noise
from tests.for_each import for_each


def test_the_law_is_that_of_the_sum_of_weighted_bits() -> None:
    law = np.exp(noise.log_law())
    values = np.arange(len(law)) - len(law) // 2
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.allclose(law, law[::-1], rtol=1e-9)
    assert float(law @ values.astype(float) ** 2) == pytest.approx(
        noise.VARIANCE, rel=1e-10
    )
    # up to 15 deviations, from the bits
    for c, i in ((0, 0), (0, 1), (3, 700), (-118, 1), (117, 1023), (40, 512)):
        n = c * noise.STEP + i
        chance = Fraction(0)
        for whole in (c, c + 1):
            rest = n - whole * noise.STEP
            ways = max(noise.STEP - abs(rest), 0)
            at = whole + noise.WHOLE_BITS // 2
            binomial = (
                math.comb(noise.WHOLE_BITS, at) if 0 <= at <= noise.WHOLE_BITS else 0
            )
            chance += Fraction(binomial * ways, noise.STEP**2 * 2**noise.WHOLE_BITS)
        assert law[n + len(law) // 2] == pytest.approx(float(chance), rel=1e-9)


def test_tails_are_lighter_than_those_of_a_gaussian_of_its_variance_allow() -> None:
    law = np.exp(noise.log_law())
    values = np.abs(np.arange(len(law)) - len(law) // 2)
    for deviations in (5.0, 6.0, 8.0):
        beyond = float(law[values > deviations * noise.DEVIATION].sum())
        assert 0.0 < beyond < 2.0 * math.exp(-(deviations**2) / 2.0)


@for_each("order", [2, 8, 24])
@for_each("shift", [1, 700, 1024, 3000])
def test_moments_are_bounded_from_above_and_closely(order: int, shift: int) -> None:
    """Against the sum over all numbers of the law that is accounted for, its tails 300 stretches long."""
    chances, ratio, _ = noise.accounted_law()
    far = np.arange(1, 301)
    log_p = np.log(chances)
    whole = np.concatenate(
        (
            log_p[0] + far[::-1] * math.log(ratio),
            log_p,
            log_p[-1] + far * math.log(ratio),
        )
    )
    part = np.arange(noise.STEP) / noise.STEP
    with np.errstate(divide="ignore"):  # the weight 0 at the start of a stretch
        law = np.logaddexp(
            np.log(1.0 - part) + whole[:-1, None], np.log(part) + whole[1:, None]
        ).ravel()
    law -= math.log(noise.STEP)
    exact = float(np.logaddexp.reduce(order * law[:-shift] + (1 - order) * law[shift:]))
    bound = math.log(float(noise.moment_bound(order, np.array([shift]))[0]))
    assert exact <= bound * (1 + 1e-9)
    assert bound <= 1.01 * exact


def test_renyi_bounds_are_near_the_gaussian_ones_and_hold_for_delta() -> None:
    shift = noise.DEVIATION / 8.0
    bounds = noise.renyi_bounds(shift)
    assert 1.0 <= bounds[0] / (2.0 / 128.0) < 1.02
    assert set(noise.renyi_bounds(2.1 * noise.DEVIATION)) == {math.inf}
    for epsilon in (0.3, 0.6):
        exact = noise.delta_of_shift(round(shift), epsilon)
        best = min(
            math.exp(min((z - 1) * (rdp - epsilon), 700.0)) / z * (1 - 1 / z) ** (z - 1)
            for z, rdp in zip(noise.ORDERS, bounds, strict=True)
        )
        assert 0.0 < exact <= best


def test_the_law_accounted_for_is_that_of_the_bits_up_to_nine_deviations() -> None:
    """And both its tails, from the binomial law itself, are paid for on either side."""
    chances, ratio, tail = noise.accounted_law()
    middle, whole = len(chances) // 2, 2**noise.WHOLE_BITS
    for c in (0, 5, -40, noise.CUT):
        assert (
            chances[middle + c]
            == math.comb(noise.WHOLE_BITS, noise.WHOLE_BITS // 2 + c) / whole
        )
    beyond_it = (
        sum(
            math.comb(noise.WHOLE_BITS, c)
            for c in range(noise.WHOLE_BITS // 2 - noise.CUT)
        )
        / whole
    )
    assert tail == pytest.approx(beyond_it, rel=1e-12, abs=0.0)
    beyond = chances[middle + noise.CUT + 1 :]
    assert beyond.sum() == pytest.approx(
        tail * (1.0 - ratio ** len(beyond)), rel=1e-12, abs=0.0
    )
    assert np.array_equal(chances, chances[::-1])
    assert noise.delta_spent(7.0, 3.0) == pytest.approx(
        7.0 * 2.0 * tail * (1.0 + math.exp(3.0)), rel=1e-9, abs=0.0
    )


def test_bounds_of_all_orders_lie_above_the_moments_of_single_moves() -> None:
    bounds = noise.renyi_bounds(300.0)
    for order in (2, 7, 14, 36):
        for shift in (1, 130, 300):
            exact = math.log(float(noise.moment_bound(order, np.array([shift]))[0])) / (
                order - 1
            )
            assert exact <= bounds[order - 2] * (shift / 300.0) ** 2 * (1.0 + 1e-9)
