"""The rounding of a sum's law: against whole numbers, and against transforms of more digits."""

from __future__ import annotations

import math

import numpy as np
from flint import fmpz_poly

from dpverify.kernels.typing import Vector
from dpverify.privacy.losses.grid import ROUNDOFF, LossLaw, Steps
from dpverify.privacy.losses.total import Precision, _law_of_sum
from tests.for_each import for_each

PARTS = 1 << 10
SMALL = (900, 60, 20, 43, 1)  # of PARTS, at the losses 0, 1, ..
WIDE = (1000, 0, 0, 3, 0, 0, 0, 0, 0, 21)


def exact_law(kinds: list[tuple[tuple[int, ...], int]], cells: int) -> Vector:
    """Add up laws by products of polynomials with whole coefficients."""
    total = fmpz_poly([1])
    exponent = 0
    for parts, times in kinds:
        total *= fmpz_poly(list(parts)) ** times
        exponent += 10 * times
    folded = [0] * cells
    for place, chance in enumerate(total.coeffs()):
        folded[place % cells] += int(chance)
    return np.array(
        [
            math.ldexp(float(chance >> max(exponent - 1000, 0)), -min(exponent, 1000))
            for chance in folded
        ]
    )


@for_each(
    "kinds", [[(SMALL, 1)], [(SMALL, 300)], [(WIDE, 5000)], [(SMALL, 40), (WIDE, 700)]]
)
@for_each("precision", [np.float64, np.longdouble])
def test_the_law_of_a_sum_is_within_the_bound_of_its_rounding(
    kinds: list[tuple[tuple[int, ...], int]], precision: Precision
) -> None:
    cells = 1 << 12
    steps = [
        Steps(
            LossLaw(np.arange(len(parts)), np.array(parts, np.float64) / PARTS, 0.0),
            times,
        )
        for parts, times in kinds
    ]
    law, bound = _law_of_sum(steps, 0.01, 0.0, cells, precision)
    exact = exact_law(kinds, cells)
    error = np.linalg.norm(law - exact)
    # the law itself is rounded to a double
    assert error <= bound + ROUNDOFF * float(np.linalg.norm(exact))
    assert bound < 1e-10
    if precision is np.longdouble:
        assert (
            bound
            <= _law_of_sum(steps, 0.01, 0.0, cells, np.float64)[1]
            * np.finfo(np.longdouble).eps
            / ROUNDOFF
            * 1.01
        )


def test_a_bound_without_the_rounding_of_powers_would_not_hold() -> None:
    steps = [
        Steps(
            LossLaw(np.arange(len(WIDE)), np.array(WIDE, np.float64) / PARTS, 0.0), 5000
        )
    ]
    law, bound = _law_of_sum(steps, 0.01, 0.0, 1 << 12, np.float64)
    error = float(np.linalg.norm(law - exact_law([(WIDE, 5000)], 1 << 12)))
    assert bound / 5000 < error < bound


@for_each("cells", [1 << 8, 1 << 14, 1 << 17])
def test_a_transform_is_near_at_each_frequency(cells: int) -> None:
    """At most 16 u log2(n) of the sum of all numbers, wherever these lie."""
    rng = np.random.default_rng(cells)
    spike = np.zeros(cells)
    spike[rng.integers(cells)] = 1.0
    spread = rng.random(cells)
    few = np.where(rng.random(cells) < 0.01, spread, 0.0)
    for numbers in (spike, spread, few):
        precise = np.fft.rfft(numbers.astype(np.longdouble))
        error = np.abs(np.fft.rfft(numbers) - precise).max()
        assert error <= 16.0 * ROUNDOFF * math.log2(cells) * float(numbers.sum())
