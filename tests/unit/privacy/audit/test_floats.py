"""A Gaussian that is drawn and added in floating point is told apart by its last bits, whatever sigma is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpverify.privacy.audit.audit import audit
from dpverify.privacy.audit.scores import ZERO, lowest_bit
from dpverify.privacy.gaussian import mu_of
from tests.for_each import for_each

Floats = NDArray[np.float64]
SIGMA = 1.0 / mu_of(1.0, 1e-5)
GRID = 2.0**-20


def floats(dataset: Floats, rng: Generator, size: int) -> Any:
    return dataset.sum() + SIGMA * rng.normal(size=size)


def integers(dataset: Floats, rng: Generator, size: int) -> Any:
    """Noise on a grid, added to data on the grid: sums are exact, no bit is lost."""
    return GRID * (
        np.round(dataset.sum() / GRID) + np.round(SIGMA / GRID * rng.normal(size=size))
    )


@for_each(("number", "exponent"), [
    (1.0, 0), (3.0, 0), (6.0, 1), (-0.75, -2), (1.0 + 2.0**-52, -52), (5e-324, -1074), (2.0**1023, 1023), (0.0, ZERO),
])  # fmt: skip
def test_the_lowest_bit_of_a_number(number: float, exponent: float) -> None:
    assert lowest_bit(np.array([number])).tolist() == [exponent]


def test_the_lowest_bit_of_an_output_is_the_lowest_of_its_numbers() -> None:
    assert lowest_bit(np.array([[[1.0, 0.5], [4.0, 0.0]]])).tolist() == [-1.0]


@for_each("seed", range(3))
def test_the_float_gaussian_is_refuted_at_twice_its_epsilon(seed: int) -> None:
    result = audit(floats, epsilon=2.0, n=20_000, score=lowest_bit, seed=seed)
    assert result.verdict == "refuted"


def test_noise_and_data_on_one_grid_show_nothing_in_their_bits() -> None:
    assert (
        audit(integers, epsilon=1.0, n=20_000, score=lowest_bit).verdict
        == "not refuted"
    )


def test_no_output_near_zero_of_the_shifted_mechanism_is_finer_than_its_grid() -> None:
    rng = np.random.default_rng(0)
    other = np.zeros(10)
    other[0] = 1.0
    shifted, plain = floats(other, rng, 200_000), floats(np.zeros(10), rng, 200_000)
    assert lowest_bit(shifted).min() >= -53
    assert (lowest_bit(plain) < -53).mean() > 0.05
