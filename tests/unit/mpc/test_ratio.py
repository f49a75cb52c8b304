"""The ratio of uniforms as it is computed on shares, held against its plain twin on the same bits and its exact law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpverify.kernels.typing import Indices
from dpverify.mpc.fixed_point import MODULUS
from dpverify.mpc.noise import (
    CHUNK,
    MASK_BITS,
    compared,
    first_one,
    ratio_noise,
    shifted,
    unit_vector,
)
from dpverify.privacy.ratio_noise import (
    CELL_BITS,
    DEVIATION,
    FIRST_BITS,
    MASK_ERROR,
    MAX_NOISE,
    PLACE_BITS,
    SHIFT_BITS,
    law,
    tables,
)
from tests.for_each import for_each
from tests.unit.mpc.plain import DRAWN, PlainMpc, run, signed, twin


def spread(rng: np.random.Generator, pairs: int) -> Indices:
    """Bits of pairs that are rare: all sizes of u alike, and j at, just below and well below the last accepted one."""
    bits = rng.integers(0, 2, (pairs, DRAWN))
    for k in range(pairs):
        e, i = k % FIRST_BITS, int(rng.integers(1 << CELL_BITS))
        edge = int(tables().accepted[e, i])
        j = (edge, edge - 1, int(rng.integers(edge)))[k // FIRST_BITS % 3]
        bits[k, : e + 1] = np.eye(1, e + 1, e, dtype=int)
        bits[k, FIRST_BITS : FIRST_BITS + CELL_BITS] = i >> np.arange(CELL_BITS) & 1
        bits[k, FIRST_BITS + CELL_BITS :] = j >> np.arange(PLACE_BITS) & 1
    return bits


@for_each("size", [1, 40, 300])
def test_the_shared_computation_is_its_twin_bit_for_bit(size: int) -> None:
    mpc = PlainMpc(np.random.default_rng([0, size]))
    found = signed(run(ratio_noise(mpc, None, size)))
    assert found.tolist() == twin(mpc.given, size)
    assert len(found) == size


def test_it_is_its_twin_in_the_far_tails_and_at_the_edge_of_what_is_accepted() -> None:
    """Two thirds of 256 pairs are accepted; most of the numbers lie beyond five deviations."""
    rng = np.random.default_rng(1)
    mpc = PlainMpc(rng, [spread(rng, CHUNK)])
    wanted = 300  # more than these pairs give, so that all of them are used
    found = signed(run(ratio_noise(mpc, None, wanted)))
    assert found.tolist() == twin(mpc.given, wanted)
    accepted = 2 * CHUNK // 3
    far = np.abs(found[:accepted]) / DEVIATION
    assert (far > 5.0).sum() > 60
    assert far.max() > 9.0


def test_pairs_are_drawn_again_where_all_are_rejected() -> None:
    mpc = PlainMpc(np.random.default_rng(7), [np.zeros((10, DRAWN), dtype=np.int64)])
    found = signed(run(ratio_noise(mpc, None, 1)))
    assert found.tolist() == twin(mpc.given[2:], 1)
    assert mpc.opened[1].tolist() == [0] * 10


def statistic(values: Indices) -> float:
    """Chi-square of 24 windows of about equal chance under the exact law."""
    cumulated = np.cumsum(law())
    window = np.minimum((24.0 * cumulated).astype(int), 23)
    chance = np.bincount(window, weights=law())
    counts = np.bincount(window[values + MAX_NOISE], minlength=24)
    return float(((counts - len(values) * chance) ** 2 / (len(values) * chance)).sum())


def test_the_numbers_follow_the_exact_law_and_a_planted_fault_is_seen() -> None:
    """alpha = 1e-6. The smallest fault is a deviation 10% larger: power above 0.99 at 6000 numbers.

    The second fault takes every pair with j below half of all, as one would without the condition on u and v.
    """
    limit, count = float(stats.chi2.isf(1e-6, 23)), 6000
    found = signed(run(ratio_noise(PlainMpc(np.random.default_rng(2)), None, count)))
    assert statistic(found) < limit
    assert statistic(np.rint(1.1 * found).astype(np.int64)) > limit
    # what the fault gives below each number
    meant = stats.norm.cdf(stats.norm.ppf(np.cumsum(law())[:-1]) / 1.1)
    shifted_chance = np.diff(np.concatenate(([0.0], meant, [1.0])))
    window = np.minimum((24.0 * np.cumsum(law())).astype(int), 23)
    chances = [np.bincount(window, weights=w) for w in (law(), shifted_chance)]
    excess = count * float(((chances[1] - chances[0]) ** 2 / chances[0]).sum())
    assert stats.ncx2.sf(limit, 23, excess) > 0.99
    rng = np.random.default_rng(3)
    e, j = rng.geometric(0.5, count), rng.integers(0, 1 << (PLACE_BITS - 1), count)
    wrong = np.minimum((2 * j + 1) * 2.0 ** (e - 1 + 12 - SHIFT_BITS), MAX_NOISE - 1.0)
    assert statistic((rng.choice((-1, 1), count) * wrong).astype(np.int64)) > limit


def test_division_by_a_power_of_two_is_exact_whatever_the_mask() -> None:
    edges = [
        0,
        1,
        (1 << SHIFT_BITS) - 1,
        1 << SHIFT_BITS,
        (1 << 60) + 12345,
        MODULUS - 1,
        MODULUS - (1 << SHIFT_BITS),
    ]
    values = np.array(edges * 5, dtype=object)
    masks = np.repeat(
        [0, 1, (1 << SHIFT_BITS) - 1, MODULUS - 1, MODULUS], len(edges)
    ).astype(object)
    bits = np.array(
        [[mask >> at & 1 for at in range(MASK_BITS)] for mask in masks.tolist()]
    )
    for told in ([bits], []):
        found = (
            run(shifted(PlainMpc(np.random.default_rng(4), told), None, values))
            % MODULUS
        )
        assert found.tolist() == [v >> SHIFT_BITS for v in values.tolist()]


@for_each("width", [1, 2, 5, 8, 24])
def test_bits_are_compared_looked_up_and_searched(width: int) -> None:
    rng, mpc = np.random.default_rng(width), PlainMpc(np.random.default_rng(0))
    a, b = rng.integers(0, 1 << width, (2, 50))
    b[:10] = a[:10]
    bits, other = ((v[:, None] >> np.arange(width) & 1).astype(object) for v in (a, b))
    less, same = ((1 - bits) * other).astype(object), 1 - (bits - other) ** 2
    assert np.array_equal(
        compared(mpc, less, same), np.stack((a < b, a == b), axis=1).astype(int)
    )
    if width <= 8:
        assert np.array_equal(unit_vector(mpc, bits), np.eye(1 << width, dtype=int)[a])
    first: NDArray[np.object_] = first_one(mpc, bits)
    lowest = np.where(a > 0, np.log2((a & -a) + (a == 0)).astype(int), width)
    assert np.array_equal(first, np.eye(width + 1, dtype=int)[lowest][:, :width])


@for_each(("size", "most"), [(1, 11.5), (30, 4.0), (1000, 3.0)])
def test_the_masks_that_delta_pays_for_are_more_than_are_opened(
    size: int, most: float
) -> None:
    """One for each pair and one for each number."""
    mpc = PlainMpc(np.random.default_rng(6))
    run(ratio_noise(mpc, None, size))
    masks = (
        sum(len(bits) for at, bits in enumerate(mpc.given) if at % 4 in {1, 2})
        / MASK_BITS
    )
    assert masks / size < most < MASK_ERROR * 2.0**61


def test_what_is_opened_says_nothing_but_which_pairs_were_accepted() -> None:
    """Masks of all 61 bits, drawn anew for each value: opened numbers of one secret are spread over all residues."""
    mpc = PlainMpc(np.random.default_rng(5))
    run(shifted(mpc, None, np.full(4000, 77, dtype=object)))
    (opened,) = mpc.opened
    assert len(mpc.given[0]) == 4000 * MASK_BITS
    assert stats.kstest(opened.astype(float) / MODULUS, "uniform").pvalue > 1e-6
    assert len(set(opened.tolist())) == 4000
