"""What noise by the ratio of uniforms guarantees: bounds against the law itself, and against the Gaussian."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpverify.privacy import ratio_noise as curve
from dpverify.privacy.binomial_noise import KNOTS, ORDERS
from dpverify.privacy.conversions import improved_epsilon
from dpverify.privacy.gaussian import delta_of
from dpverify.privacy.ratio_noise import DEVIATION, MAX_NOISE, law
from tests.for_each import for_each


def test_the_law_accounted_for_is_the_exact_one_up_to_nine_deviations_and_reaches_on() -> (
    None
):
    chances, ratio, tail = curve.extended_law()
    exact, middle = law(), len(chances) // 2
    assert np.array_equal(
        chances[middle - curve.CUT : middle + curve.CUT + 1],
        exact[MAX_NOISE - curve.CUT : MAX_NOISE + curve.CUT + 1],
    )
    assert 0.0 < tail < 2e-19
    assert tail == pytest.approx(
        float(exact[MAX_NOISE + curve.CUT + 1 :].sum()), rel=1e-12, abs=0.0
    )
    beyond = chances[middle + curve.CUT + 1 :]
    assert beyond.sum() == pytest.approx(
        tail * (1.0 - ratio ** len(beyond)), rel=1e-9, abs=0.0
    )
    assert chances.min() > 0.0
    assert np.array_equal(chances, chances[::-1])


@for_each("shift", [1, 40, 597, 3000])
@for_each("order", [2, 5, 24])
def test_moments_are_those_of_the_sum_over_all_numbers(shift: int, order: int) -> None:
    chances, ratio, tail = curve.extended_law()
    log_p = np.log(chances)
    far = np.arange(1, 200_000)  # beyond that, the geometric tails hold 1e-300 of it
    sides = math.log(tail * (1.0 - ratio)) + (curve.MOST_SHIFT + far - 1) * math.log(
        ratio
    )
    whole = np.concatenate((sides[::-1], log_p, sides))
    exact = float(
        np.logaddexp.reduce(order * whole[:-shift] + (1 - order) * whole[shift:])
    )
    bound = float(curve.log_moments(shift)[KNOTS.index(order)])
    assert exact <= bound <= exact + 1e-11 * (1.0 + abs(exact))


def test_bounds_of_all_orders_lie_above_the_moments_of_single_moves() -> None:
    """Also of the order 14, which lies between two knots, and of the moves of 1 and 17, whose rates are the largest."""
    bounds, chances = curve.renyi_bounds(300.0), curve.extended_law().chances
    for order in (2, 12, 14):
        for shift in (1, 17, 300):
            inner = float(
                np.sum(chances[shift:] * (chances[:-shift] / chances[shift:]) ** order)
            )
            assert math.log(inner) / (order - 1) <= bounds[order - 2] * (
                shift / 300.0
            ) ** 2 * (1.0 + 1e-6)
    assert curve.renyi_bounds(599.5)[0] == pytest.approx(599.5**2 * curve.rates(599)[0])


def test_bounds_are_near_those_of_the_gaussian() -> None:
    """Within 0.2% for orders up to 4, and 5% up to 32, of z s^2/2 of the Gaussian that is meant."""
    shift = DEVIATION / 4.0
    for order, bound in zip(ORDERS, curve.renyi_bounds(shift), strict=True):
        part = 0.002 if order in {2, 3, 4} else 0.05
        assert order > 32 or 1.0 <= bound / (order / 32.0) < 1.0 + part, order
    assert set(curve.renyi_bounds(2.1 * DEVIATION)) == {math.inf}


@for_each("epsilon", [0.5, 1.0, 1.5])
def test_no_bound_promises_less_than_one_coordinate_loses(epsilon: float) -> None:
    """The exact delta of one coordinate, near the Gaussian's, is below what each order's bound gives there."""
    shift = round(DEVIATION / 4.0)
    exact = curve.delta_of_shift(shift, epsilon)
    assert exact == pytest.approx(delta_of(0.25, epsilon), rel=0.02)
    for order, rdp in zip(ORDERS, curve.renyi_bounds(shift), strict=True):
        assert improved_epsilon(order, rdp, exact) >= epsilon


def test_what_the_far_tails_and_the_masks_take_from_delta_grows_with_epsilon() -> None:
    tails = 2.0 * float(law()[MAX_NOISE + curve.CUT + 1 :].sum())
    for epsilon in (0.0, 3.0):
        assert curve.delta_spent(1e6, epsilon) == pytest.approx(
            (1.0 + math.exp(epsilon)) * 1e6 * (tails + 16.0 / 2**61), rel=1e-9, abs=0.0
        )
    assert curve.delta_spent(1.0, math.inf) > 1.0
