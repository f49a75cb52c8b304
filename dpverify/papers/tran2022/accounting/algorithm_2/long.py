"""Bounds on the worst pattern of very long runs of Algorithm 2, in a time that does not grow with the number of epochs.

For the upper bound, single visits may lie anywhere (``FreeBlocks``). All blocks of one length are then alike, and the
largest contribution of a block depends only on its number of visits, so one set of points is kept for each length and
number of visits. A pair of visits that share a short node (:mod:`pairs`) contributes a fixed price to its block. Its
true contribution depends on the bits of its epoch boundary. The excess over the price is summed over all boundaries.
The lower bound is the value of a pattern with a pair at every second boundary. The first epochs, whose G nodes have
less noise, are computed as in short runs. NOTES_accountant.md, section 7, has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, TypeAlias

import numpy as np

from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting.algorithm_2 import nodes as pairs
from dpverify.papers.tran2022.accounting.algorithm_2.fresh import FLOOR, SrTree
from dpverify.papers.tran2022.accounting.algorithm_2.frontier import (
    add_block_node,
    thin,
)
from dpverify.papers.tran2022.accounting.algorithm_2.nodes import (
    NodeSensitivities,
    pattern_value,
)
from dpverify.privacy.participation import Bounds

# S, R and Q of some choices of visits in a block, as in ``frontier``
Points: TypeAlias = tuple[Vector, Vector, Vector]

CLOSE: Final = 1e-3  # Relative difference up to which points are merged.

# Pairs that share a node of at most 2^(top - COARSE) steps contribute the price.
COARSE: Final = 5

HEAD: Final = 5  # The longest blocks have 2^(top + HEAD) steps.

NO_VISIT: Final = (np.zeros(1), np.zeros(1), np.zeros(1))


class FreeBlocks:
    """Blocks whose single visits may lie anywhere, by length and number of visits; after step 2N."""

    def __init__(self, sensitivities: NodeSensitivities, alpha: float) -> None:
        self.sensitivities = sensitivities
        self.N = sensitivities.examples
        self.top = sensitivities.top
        self.log_decay = math.log1p(-alpha)
        self.lowest = (self.N & -self.N).bit_length() - 1
        self.fine = max(sensitivities.top - COARSE, self.lowest + 1)
        self.one = sensitivities.g_later + sensitivities.delta_late**2
        self._floors = sensitivities.floors(sensitivities.g_later, FLOOR)

    def decay(self, steps: int) -> float:
        """Return ``(1-alpha)**steps``."""
        return math.exp(self.log_decay * steps)

    def most_visits(self, level: int) -> int:
        """Return the largest number of epochs that a block of ``2**level`` steps can meet."""
        return (
            1
            if level <= self.lowest
            else ((1 << level - self.lowest) - 2) // (self.N >> self.lowest) + 2
        )

    def values(self, price: float) -> dict[int, float]:
        """Bound the contribution of a block of ``2**(top + HEAD)`` steps, itself included, per number of visits."""
        single: Points = (np.ones(1), np.zeros(1), np.zeros(1))
        for level in range(self.fine):
            single = self._doubled(single, level)
        blocks = {0: NO_VISIT, 1: self._single_visit(single, self.N - 1)}
        for level in range(self.fine, self.top + HEAD):
            half = 1 << level
            left = {
                n: self._block_as_node(points, level, True)
                for n, points in blocks.items()
            }
            right = {
                n: self._block_as_node(points, level, False)
                for n, points in blocks.items()
            }
            second = right.get(1, NO_VISIT)
            # the later one of two visits in this short
            # block is near the start of its epoch
            if level < self.top:
                second = self._block_as_node(
                    self._single_visit(single, min(self.N - 1, 2 * half - 2)),
                    level,
                    False,
                )
                single = self._doubled(single, level)
            elif level == self.top:
                pair = (
                    np.zeros(1),
                    np.array([self.N - 1.0 + (1 << self.fine)]),
                    np.array([price]),
                )
                left[2] = right[2] = (
                    _concatenated([left[2], pair]) if 2 in left else pair
                )
            least = max((2 * half + 1) // self.N - 1, 0)
            blocks = {
                n: self._thinned(*_concatenated(parts), keep=float(level < self.top))
                for n in range(least, self.most_visits(level + 1) + 1)
                if (parts := list(self._parts(left, right, second, n, half)))
            }
        return {
            n: float((Q + self.sensitivities.drift * R * R).max())
            for n, (_, R, Q) in blocks.items()
        }

    def fair_price(self) -> float:
        """Return about twice the contribution of a single visit as the price; every price gives an upper bound."""
        values = self.values(0.0)
        max_visits = max(values)
        return 2.0 * values[max_visits] / max_visits

    def most_of(self, blocks: int, epochs: int, price: float) -> float:
        """Bound the total contribution of ``blocks`` blocks with at most one visit per epoch."""
        values = self.values(price)
        slopes = {
            max((values[n] - values[m]) / (n - m), 0.0)
            for n in values
            for m in values
            if m < n
        }
        return min(
            blocks * max(v - slope * n for n, v in values.items()) + slope * epochs
            for slope in slopes
        )

    def _doubled(self, single: Points, level: int) -> Points:
        """Double the length of blocks with one visit: S, and sums of squares over left and right halves."""
        S, A, B = single
        decayed = S * self.decay(1 << level)
        joined = (
            np.concatenate([decayed, S]),
            np.concatenate([A + S * S, A]),
            np.concatenate([B, B + S * S]),
        )
        return self._thinned(*joined, floors=(FLOOR, 1.0))

    def _single_visit(self, single: Points, place: float) -> Points:
        """Return the points of a block with one visit, at step ``place`` + 1 of its epoch or before."""
        S, A, B = single
        return self._thinned(
            S,
            S * place,
            (self.one + self.sensitivities.drift * place**2) * A + self.one * B,
        )

    def _block_as_node(self, points: Points, level: int, left: bool) -> Points:
        S, R, Q = points
        w = self.sensitivities
        short = float(level <= self.top)
        drift = w.drift if left else 0.0
        return (
            S,
            R,
            add_block_node(
                S, R, Q, short * w.g_later, short, drift, w.delta_late, w.delta_most
            ),
        )

    def _parts(
        self,
        left: dict[int, Points],
        right: dict[int, Points],
        second: Points,
        n: int,
        half: int,
    ) -> Iterable[Points]:
        """Yield the joins of all pairs of halves that have n visits together."""
        decay = self.decay(half)
        for a, (S, R, Q) in left.items():
            if n - a in right:
                partner = second if a == n - a == 1 else right[n - a]
                yield (
                    np.add.outer(decay * S, partner[0]).ravel(),
                    np.add.outer(decay * R, partner[1]).ravel(),
                    np.add.outer(Q, partner[2]).ravel(),
                )

    def _thinned(
        self,
        S: Vector,
        R: Vector,
        Q: Vector,
        *,
        keep: float = 1.0,
        floors: tuple[float, float] | None = None,
    ) -> Points:
        """Return fewer points such that each given point is dominated by one of them."""
        S = S * keep
        R = R.copy()
        Q = Q.copy()
        count = thin(
            S.size,
            S,
            R,
            Q,
            np.zeros(S.size, dtype=np.int64),
            CLOSE,
            *(floors or self._floors),
            True,
        )
        return S[:count].copy(), R[:count].copy(), Q[:count].copy()


def _concatenated(parts: Iterable[Points]) -> Points:
    S, R, Q = (np.concatenate(column) for column in zip(*parts, strict=True))
    return S, R, Q


FEWEST: Final = 1 << 10  # A run is long only if its epochs have more steps than this.

# A run is long only if it has at least this many blocks of 2^(top + HEAD) steps.
LEAST_HEADS: Final = 8

# The number of bits of a boundary in the first
# table; the second table has the lower bits.
HIGH_BITS: Final = 10

# Relative margin against rounding: up to 2^27 numbers are added one by one.
MARGIN: Final = 2.0**-22


def is_long(sensitivities: NodeSensitivities, alpha: float) -> bool:
    """Return whether :func:`long_run` applies: many long epochs, N not a power of two, and alpha below 1."""
    N = sensitivities.examples
    many = sensitivities.steps >> sensitivities.top + HEAD >= LEAST_HEADS
    return many and N > FEWEST and N & N - 1 != 0 and alpha < 1.0


def long_run(sensitivities: NodeSensitivities, alpha: float) -> Bounds:
    """Bound mu^2 of Algorithm 2 with fresh permutations if :func:`is_long`; to 1% to 5% at the printed noise."""
    free = FreeBlocks(sensitivities, alpha)
    N = sensitivities.examples
    T = sensitivities.steps
    block = 1 << sensitivities.top + HEAD
    head_upper, head_lower, boundary = _head(sensitivities, alpha)
    price = free.fair_price()
    # rounding the run up to whole blocks adds only nonnegative terms
    blocks = -(-T // block) - 1
    epochs = -(-blocks * block // N) + 1
    beyond = sum(
        (T >> level + 1) + 1
        for level in range(sensitivities.top + HEAD + 1, T.bit_length())
    )
    largest = (N - 1) / -math.expm1(N * free.log_decay)
    upper = (
        head_upper
        + free.most_of(blocks, epochs, price)
        + pairs_above(free, price, block // N, epochs + 1)
    )
    upper += beyond * sensitivities.drift * largest**2
    lower = head_lower + least_of_pairs(free, boundary)
    return Bounds(lower * (1.0 - MARGIN), upper * (1.0 + MARGIN), exact=False)


def _head(sensitivities: NodeSensitivities, alpha: float) -> tuple[float, float, int]:
    """Return both bounds for the first block, and an odd number of an epoch boundary that is after this block."""
    level = sensitivities.top + HEAD
    tree = SrTree(sensitivities, alpha, CLOSE, sensitivities.top - 7, upper=True)
    closed = tree.closed(tree.block(level, 0), 0, level)
    upper, state = closed.best()
    lower = pattern_value(sensitivities, alpha, closed.trace(state))
    return upper, lower, ((1 << level) // sensitivities.examples + 2) | 1


def pairs_above(free: FreeBlocks, price: float, first: int, count: int) -> float:
    """Return an upper bound on the total excess of the pairs of a pattern over the price."""
    N = free.N
    top = free.top
    split = free.top + 1 - HIGH_BITS
    squares = np.array([free.decay(2 << level) for level in range(top + 1)])
    base, above = np.empty((2, 1 << HIGH_BITS))
    below = np.empty(1 << split)
    pairs.pair_tables(
        N,
        split,
        free.fine,
        top,
        free.one,
        free.sensitivities.drift,
        squares,
        base,
        above,
        below,
    )
    period = 1 << top + 1 - free.lowest  # only the bits of bN up to ``top`` matter
    windows = 1 if count <= period else -(-count // period)
    return windows * pairs.most_of_pairs(
        first, min(count, period), N, split, base, above, below, price
    )


def least_of_pairs(free: FreeBlocks, first: int) -> float:
    """Return a lower bound on the value of the pattern with a pair at every second boundary; omits the last epochs."""
    # The visits of a pair are the step after the boundary bN and the step 2^v before
    # that one, where 2^v is the largest power of two that divides N. As b is odd, bit v
    # of bN is 1; all higher bits are the same for both visits.
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
    pair_arguments = (
        N,
        low,
        split,
        *lower,
        *upper[:2],
        factor * (before + after) ** 2,
        drift * before**2,
    )
    total = count * alone + pairs.sum_of_pairs(first, count % period, *pair_arguments)
    if count >= period:
        total += count // period * pairs.sum_of_pairs(first, period, *pair_arguments)
    for level in range(top + 1, w.steps.bit_length()):
        begin = (first - 1) * N
        end = (first + 2 * count - 1) * N
        total += drift * pairs.sum_of_long_nodes(
            begin, end, N, place, level, free.log_decay
        )
    return float(total)
