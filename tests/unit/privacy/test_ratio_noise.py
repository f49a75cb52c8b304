"""Noise by the ratio of uniforms: its tables against the paper's condition, and its law against the pairs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from dpverify.privacy import ratio_noise as noise
from tests.for_each import for_each

AT = np.arange(-noise.MAX_NOISE, noise.MAX_NOISE + 1)
PLACES = 1 << noise.PLACE_BITS


@for_each("e", [0, 1, 7, 20, 31])
def test_a_pair_is_accepted_where_the_paper_accepts_it(e: int) -> None:
    """x^2 <= -4 log u, for the u in the middle of its cell: true of the last accepted j, and of no later one."""
    for i in (0, 1, 31, 62, 63):
        u = 2.0 ** -(e + 1) * (1.0 + (i + 0.5) / noise.CELLS)
        edge = int(noise.tables().accepted[e, i])
        x = [math.sqrt(2.0 / math.e) * (j + 0.5) / PLACES / u for j in (edge - 1, edge)]
        assert x[0] ** 2 <= -4.0 * math.log(u) * (1.0 + 1e-9)
        assert x[1] ** 2 >= -4.0 * math.log(u) * (1.0 - 1e-9)
        assert noise.noise_size(e, i, edge) is None
        units = x[0] * 2**noise.UNIT_BITS / math.sqrt(2.0 / math.e)
        assert noise.noise_size(e, i, edge - 1) == pytest.approx(
            units, rel=2.0**-noise.RECIPROCAL_BITS, abs=0.5
        )


def chance_of_size(size: int) -> Fraction:
    """The chance of a size, from the pairs: the size grows with j, so that each cell's j of it lie between two."""

    def below(e: int, i: int, bound: int) -> int:
        """How many accepted j have a smaller size."""
        low, high = 0, int(noise.tables().accepted[e, i])
        while low < high:
            middle = (low + high) // 2
            found = noise.noise_size(e, i, middle)
            assert found is not None
            low, high = (middle + 1, high) if found < bound else (low, middle)
        return low

    cells = [(e, i) for e in range(noise.FIRST_BITS) for i in range(noise.CELLS)]
    most = noise.FIRST_BITS - 1
    ways = sum(
        (below(e, i, size + 1) - below(e, i, size)) << (most - e) for e, i in cells
    )
    return Fraction(
        ways, sum(int(noise.tables().accepted[e, i]) << (most - e) for e, i in cells)
    )


@for_each("deviations", [0.0, 0.3, 1.0, 5.2, 7.0, 8.5])
def test_the_law_is_counted_from_the_pairs(deviations: float) -> None:
    size = round(deviations * noise.DEVIATION)
    assert noise.size_law()[size] == pytest.approx(
        float(chance_of_size(size)), rel=1e-12, abs=0.0
    )
    assert noise.size_law()[size] > 0.0


def test_bits_are_read_from_the_lowest_on_and_a_u_of_zeros_is_rejected() -> None:
    first, cell, place = (np.zeros(width, dtype=np.int64) for width in (32, 6, 36))
    assert noise.uniform_ratio(first, cell, place) is None
    first[[3, 5]], cell[1], place[4] = 1, 1, 1
    assert noise.uniform_ratio(first, cell, place) == noise.noise_size(3, 2, 16)
    smooth = np.zeros((2, 7), dtype=np.int64)
    smooth[0, 2] = smooth[1, 0] = 1
    assert (noise.smoothed_noise(9, 0, smooth), noise.smoothed_noise(9, 1, smooth)) == (
        9 + 4 - 1,
        -9 + 4 - 1,
    )


def test_the_law_has_its_signs_and_is_smoothed_by_two_uniform_numbers() -> None:
    law, sizes = noise.law(), noise.size_law()
    assert law.sum() == pytest.approx(1.0, abs=1e-13)
    assert np.array_equal(law, law[::-1])
    weights = np.maximum(128 - np.abs(np.arange(-127, 128)), 0) / 2.0**14
    both = np.concatenate((sizes[:0:-1] / 2.0, sizes[:1], sizes[1:] / 2.0))
    for n in (0, 100, -130, 3000, 12_500, 20_000):
        expected = float(
            weights @ both[len(sizes) - 1 + n - 127 : len(sizes) - 1 + n + 128]
        )
        assert law[noise.MAX_NOISE + n] == pytest.approx(expected, rel=1e-12, abs=0.0)
    assert law[noise.MAX_NOISE :].nonzero()[0][-1] == sizes.nonzero()[0][-1] + 127


def test_the_law_is_near_a_rounded_gaussian_up_to_eight_deviations() -> None:
    """Within 2% of the Gaussian's chance in each of 80 windows, of which the last has 1e-14 of it."""
    law = noise.law()
    edges = np.linspace(0.0, 8.0, 81)
    for low, high in pairwise(edges.tolist()):
        first = math.ceil(low * noise.DEVIATION)
        last = math.ceil(high * noise.DEVIATION) - 1
        ends = (np.array([first, last + 1]) - 0.5) / noise.DEVIATION
        meant = stats.norm.sf(ends[0]) - stats.norm.sf(ends[1])
        probability = law[noise.MAX_NOISE + first : noise.MAX_NOISE + last + 1].sum()
        assert probability == pytest.approx(meant, rel=0.02, abs=0.0)
    assert math.sqrt(float(law @ AT.astype(float) ** 2)) == pytest.approx(
        noise.DEVIATION, rel=1e-3
    )


def test_pairs_are_accepted_as_often_as_the_region_is_large() -> None:
    """sqrt(2 pi)/2 of a box of 2 sqrt(2/e)."""
    assert noise.acceptance() == pytest.approx(
        math.sqrt(math.pi * math.e) / 4.0, rel=1e-3
    )
