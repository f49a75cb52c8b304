"""Very long runs of Algorithm 2 with many epochs: bounds on the worst pattern in a time that does not grow with them.

Upper bound: single visits lie anywhere (``free``), and what pairs gain at a boundary of epochs depends on the bits of
its place and is added up over all boundaries, above a price that both sides agree on. Lower bound: pairs at every
second boundary. The first epochs, whose G nodes have less noise, are done as in short runs (NOTES_accountant.md,
section 7).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpverify.papers.tran2022.accounting.algorithm_2 import pairs
from dpverify.papers.tran2022.accounting.algorithm_2.free import CLOSE, HEAD, FreeBlocks
from dpverify.papers.tran2022.accounting.algorithm_2.fresh import SrTree
from dpverify.papers.tran2022.accounting.algorithm_2.nodes import NodeSensitivities, pattern_value
from dpverify.privacy.participation import Bounds

FEWEST: Final = 1 << 10  # Epochs are longer than this in a long run.

LEAST_HEADS: Final = 8  # A run of fewer blocks of 2^(top + HEAD) steps than this is not long.

HIGH_BITS: Final = 10  # Tables for boundaries are over so many bits and over the bits below.

MARGIN: Final = 2.0**-22  # Relative margin against rounding: up to 2^27 numbers are added one by one.


def is_long(sensitivities: NodeSensitivities, alpha: float) -> bool:
    """Whether :func:`long_run` has bounds: many long epochs, whose length is no power of two, and alpha below 1."""
    N = sensitivities.examples
    many = sensitivities.steps >> sensitivities.top + HEAD >= LEAST_HEADS
    return many and N > FEWEST and N & N - 1 != 0 and alpha < 1.0


def long_run(sensitivities: NodeSensitivities, alpha: float) -> Bounds:
    """Bound mu^2 of Algorithm 2, fresh permutations, where :func:`is_long` holds: to 1% to 5% at the printed noise."""
    free = FreeBlocks(sensitivities, alpha)
    N = sensitivities.examples
    T = sensitivities.steps
    block = 1 << sensitivities.top + HEAD
    head_upper, head_lower, boundary = _head(sensitivities, alpha)
    price = free.fair_price()
    blocks = -(-T // block) - 1  # the run may be prolonged: that adds nodes and visits, all nonnegative
    epochs = -(-blocks * block // N) + 1
    beyond = sum((T >> level + 1) + 1 for level in range(sensitivities.top + HEAD + 1, T.bit_length()))
    largest = (N - 1) / -math.expm1(N * free.log_decay)
    upper = head_upper + free.most_of(blocks, epochs, price) + pairs_above(free, price, block // N, epochs + 1)
    upper += beyond * sensitivities.drift * largest**2
    lower = head_lower + least_of_pairs(free, boundary)
    return Bounds(lower * (1.0 - MARGIN), upper * (1.0 + MARGIN), exact=False)


def _head(sensitivities: NodeSensitivities, alpha: float) -> tuple[float, float, int]:
    """Bounds for the first block, and an odd number of a boundary all of whose visits may still be chosen."""
    level = sensitivities.top + HEAD
    tree = SrTree(sensitivities, alpha, CLOSE, sensitivities.top - 7, upper=True)
    closed = tree.closed(tree.block(level, 0), 0, level)
    upper, state = closed.best()
    lower = pattern_value(sensitivities, alpha, closed.trace(state))
    return upper, lower, ((1 << level) // sensitivities.examples + 2) | 1


def pairs_above(free: FreeBlocks, price: float, first: int, count: int) -> float:
    """Bound what pairs are worth above a price. At least the sum over the pairs of any one pattern."""
    N = free.N
    top = free.top
    split = free.top + 1 - HIGH_BITS
    squares = np.array([free.decay(2 << level) for level in range(top + 1)])
    base, above = np.empty((2, 1 << HIGH_BITS))
    below = np.empty(1 << split)
    pairs.pair_tables(N, split, free.fine, top, free.one, free.sensitivities.drift, squares, base, above, below)
    period = 1 << top + 1 - free.lowest  # what matters of bN are its bits up to ``top``
    windows = 1 if count <= period else -(-count // period)
    return windows * pairs.most_of_pairs(first, min(count, period), N, split, base, above, below, price)


def least_of_pairs(free: FreeBlocks, first: int) -> float:
    """Add up pairs at every second boundary, without the last epochs: at most what a pattern counts."""
    # The visits are the step after the boundary bN and the one 2^v before it, with 2^v the largest power in N: then bit
    # v of bN is 1, and all others are those of both visits.
    N = free.N
    w = free.sensitivities
    top = free.top
    low = free.lowest + 1
    count = (w.steps // N - 3 - first) // 2
    place = N - (1 << free.lowest)
    if count < 1:
        return 0.0
    factor = w.g_later + w.least_moved() ** 2
    drift = w.drift * float(place) ** 2
    alone = 0.0
    before = 1.0
    after = 1.0
    for level in range(low):
        alone += factor * (before**2 + after**2) + drift * before**2
        before *= free.decay(1 << level)
        after *= free.decay(1 << level) if level < free.lowest else 1.0
    squares = np.array([free.decay(2 << level) for level in range(top + 1)])
    split = max(top + 1 - HIGH_BITS, low)
    lower = np.empty((3, 1 << split - low))
    upper = np.empty((3, 1 << top + 1 - split))
    pairs.sum_tables(low, split - 1, squares, *lower)
    pairs.sum_tables(split, top, squares, *upper)
    period = 1 << top - free.lowest
    pair_arguments = (N, low, split, *lower, *upper[:2], factor * (before + after) ** 2, drift * before**2)
    total = count * alone + pairs.sum_of_pairs(first, count % period, *pair_arguments)
    if count >= period:
        total += count // period * pairs.sum_of_pairs(first, period, *pair_arguments)
    for level in range(top + 1, w.steps.bit_length()):
        begin = (first - 1) * N
        end = (first + 2 * count - 1) * N
        total += drift * pairs.sum_of_long_nodes(begin, end, N, place, level, free.log_decay)
    return float(total)
