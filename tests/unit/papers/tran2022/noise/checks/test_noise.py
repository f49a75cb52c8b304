"""The event by which floats tell a gradient 0 from a gradient 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpverify.papers.tran2022.noise.checks.noise import GRID
from dpverify.privacy.audit.scores import lowest_bit
from tests.for_each import for_each


@for_each("deviation", [0.3, 1.0, 27.1])
def test_one_plus_noise_is_on_the_grid_and_noise_alone_is_not(deviation: float) -> None:
    noise = deviation * np.random.Generator(np.random.SFC64(5)).standard_normal(200_000)
    assert not (lowest_bit((1.0 + noise)[:, None]) < GRID).any()
    assert (lowest_bit((0.0 + noise)[:, None]) < GRID).mean() > 0.1 / max(
        1.0, 4 * deviation
    ) / 4


@for_each("value", [1.0, 0.75, 2.0**-53, 3 * 2.0**-54, -(2.0**-60)])
def test_the_lowest_bit_is_that_of_the_rational_number(value: float) -> None:
    expected = -Fraction(value).denominator.bit_length() + 1
    assert lowest_bit(np.array([[value]]))[0] == expected
