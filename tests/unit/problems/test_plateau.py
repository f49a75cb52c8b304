"""Plateau losses: their constants are those of their slopes, and the offsets cancel."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.problems.nonconvex_losses import Plateau
from tests.for_each import for_each

LOSSES = Plateau(Fraction(2), Fraction(3, 2), Fraction(1, 2))
PLACES = [Fraction(k, 16) for k in range(-80, 81)]


def test_slopes_are_bounded_smooth_and_near_their_mean() -> None:
    for sign in (1, -1):
        slopes = [LOSSES.slope(w, sign) for w in PLACES]
        assert max(map(abs, slopes)) == LOSSES.lipschitz
        steps = [abs(b - a) * 16 for a, b in pairwise(slopes)]
        assert max(steps) == LOSSES.curvature
        assert slopes[0] == slopes[-1] == 0
    for w in PLACES:
        mean = (LOSSES.slope(w, 1) + LOSSES.slope(w, -1)) / 2
        assert abs(LOSSES.slope(w, 1) - mean) <= LOSSES.offset
        assert abs(w) > LOSSES.reach or mean == LOSSES.curvature * w


def test_the_bound_is_the_height_of_the_higher_plateau() -> None:
    """The trapezoidal rule is exact between places where the slope is linear."""
    for sign in (1, -1):
        value = lowest = highest = Fraction(0)
        for a, b in pairwise(PLACES[80:]):
            value += (LOSSES.slope(a, sign) + LOSSES.slope(b, sign)) / 32
            lowest = min(lowest, value)
            highest = max(highest, value)
        assert -LOSSES.bound <= lowest
        assert highest <= LOSSES.bound
    assert LOSSES.bound == 2 * Fraction(9, 4) + Fraction(3, 2) + Fraction(1, 16)


@for_each("numbers", [(0, 1, 0), (1, 0, 0), (1, 1, 2), (1, 1, -1)])
def test_numbers_out_of_range_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(ArgumentError):
        Plateau(*map(Fraction, numbers))
