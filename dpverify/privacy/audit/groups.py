"""Groups of training rounds with similar outputs, so that learning costs about the same for any number of rounds.

The outputs are sorted. The outermost rounds at both ends are not grouped. Further inside, a group holds 1/25 of the
rounds that are further out, and at most 1/128 of all rounds. Rounds with equal outputs are in the same group. An output
that occurs often is a group by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy.audit.records import Bits, Floats

Places = NDArray[np.int64]

# single rounds at each end; beyond them a group
# holds 1/SINGLE_ROUNDS of the rounds further out
SINGLE_ROUNDS = 25

EVEN_GROUPS = 128  # a group holds at most 1/EVEN_GROUPS of all rounds

MIN_CELL_ROUNDS = 2  # cells with fewer rounds are dropped


class Rows(NamedTuple):
    """Outputs, and the number of rounds in which each occurred."""

    x: Floats  # shape (m, d)
    zeros: Floats  # rounds on the first data set, shape (m,)
    ones: Floats  # rounds on the second data set, shape (m,)

    @property
    def fewest(self) -> float:
        """Number of rounds on the data set that has fewer."""
        return min(float(self.zeros.sum()), float(self.ones.sum()))


class Groups(NamedTuple):
    """Groups in ascending order."""

    low: Floats  # smallest number of each group, shape (k,)
    high: Floats  # largest number of each group, shape (k,)
    mean: Floats  # mean of the numbers of each group, shape (k,)
    zeros: Floats  # rounds on the first data set, shape (k,)
    ones: Floats  # rounds on the second data set, shape (k,)


def rows_of(x: Floats, b: Bits) -> Rows:
    """Return one row for each round."""
    ones = b.astype(np.float64)
    return Rows(x, 1.0 - ones, ones)


def first_half_size(rounds: int) -> int:
    """Return the number of training rounds in the first half. It is even, so that pairs of rounds stay together."""
    return 2 * (rounds // 4)


def join_rows(first: Rows, second: Rows) -> Rows:
    """Return the rounds of both halves. If they have the same outputs, the counts are added."""
    if first.x is second.x:
        return Rows(first.x, first.zeros + second.zeros, first.ones + second.ones)
    return Rows(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


class SortedOutputs:
    """Outputs that are single numbers, sorted once, with counts for the two halves of the rounds."""

    def __init__(self, x: Floats, b: Bits, half: int) -> None:
        first = (x[:half], b[:half])
        second = (x[half:], b[half:])
        sides = (
            y.take(np.flatnonzero(side))
            for y, bits in (first, second)
            for side in (~bits, bits)
        )
        self.x, self._before = _merged([np.sort(side) for side in sides])
        self._starts = _starts(self.x)
        # counts per group in each half
        self.halves = self._counts_in_cells(self._starts, _means(self.x, self._starts))

    def cells(self, keys: Floats) -> tuple[Rows, Rows]:
        """Return the counts of each cell of equal keys in each half; cells of a single round are dropped.

        ``keys`` has one key for each of the sorted numbers.
        """
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        return self._counts_in_cells(
            starts,
            self.x[starts],
            np.diff(np.append(starts, len(keys))) >= MIN_CELL_ROUNDS,
        )

    def _counts_in_cells(
        self, starts: Places, x: Floats, selection: Bits | slice = slice(None)
    ) -> tuple[Rows, Rows]:
        """Return the numbers ``x`` with the counts of the rounds from each start to the next, for each half."""
        ends = np.append(starts[1:], len(self.x))[selection]
        counts = [
            (before.take(ends) - before.take(starts[selection])).astype(np.float64)
            for before in self._before
        ]
        return Rows(x := x[selection, None], *counts[:2]), Rows(x, *counts[2:])

    def cuts(self) -> Floats:
        """Return the number at which each group but the first begins.

        It is the smallest number of the group. After a group of equal numbers, a group of different numbers begins at
        the next float.
        """
        low = self.x[self._starts]
        high = self.x[np.append(self._starts[1:], len(self.x)) - 1]
        single = low == high
        return np.where(
            single[:-1] & ~single[1:], np.nextafter(high[:-1], np.inf), low[1:]
        )


def _merged(sides: list[Floats]) -> tuple[Floats, list[NDArray[np.int32]]]:
    """Merge sorted lists; also return how many numbers of each list come before each index, and before the end."""
    values = np.concatenate(sides)
    order = np.argsort(values, kind="stable")
    side = np.repeat(
        np.arange(len(sides), dtype=np.int8), [len(side) for side in sides]
    ).take(order)
    counts = (np.cumsum(side == which, dtype=np.int32) for which in range(len(sides)))
    return values.take(order), [np.append(np.int32(0), count) for count in counts]


def grouped(values: Floats, zeros: Floats, ones: Floats) -> Groups:
    """Return groups of numbers. ``zeros`` and ``ones`` count the rounds of each number; all have shape (m,)."""
    order = np.argsort(values)
    values = values.take(order)
    zeros = zeros.take(order)
    ones = ones.take(order)
    starts = _starts(values, np.append(0.0, np.cumsum(zeros + ones)))
    low = values[starts]
    high = values[np.append(starts[1:], len(values)) - 1]
    return Groups(
        low,
        high,
        _means(values, starts),
        np.add.reduceat(zeros, starts),
        np.add.reduceat(ones, starts),
    )


def _starts(values: Floats, before: Floats | None = None) -> Places:
    """Return the indices at which groups of sorted numbers start.

    ``before`` holds the number of rounds before each number and before the end. By default, each number is from one
    round.
    """
    runs = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    ends = np.append(runs, len(values))
    place = _place(ends.astype(np.float64) if before is None else before.take(ends))
    often = place[1:] - place[:-1] >= 1.0
    integer_places = place[:-1].astype(np.int32)
    starts: Places = runs[
        np.append(
            True, (integer_places[1:] > integer_places[:-1]) | often[1:] | often[:-1]
        )
    ]
    return starts


def _means(values: Floats, starts: Places) -> Floats:
    ends = np.append(starts[1:], len(values))
    mean: Floats = np.clip(
        np.add.reduceat(values, starts) / (ends - starts),
        values[starts],
        values[ends - 1],
    )
    return mean


def _place(before: Floats) -> Floats:
    """Return the position, counted in groups, after each number ``before`` of rounds. The last number is the total."""
    total = before[-1]
    far = max(SINGLE_ROUNDS * total / EVEN_GROUPS, SINGLE_ROUNDS)

    # For ascending numbers of rounds from one end: groups of one round, then groups in
    # proportion to the distance from the end, then groups of equal size.
    def from_end(count: Floats) -> Floats:
        near, beyond = np.searchsorted(count, (SINGLE_ROUNDS, far))
        bent = SINGLE_ROUNDS * (
            1.0 + np.log(np.append(count[near:beyond], far) / SINGLE_ROUNDS)
        )
        even = bent[-1] + (count[beyond:] - far) * min(1.0, EVEN_GROUPS / total)
        return np.concatenate([count[:near], bent[:-1], even])

    middle = int(np.searchsorted(before, total / 2.0, "right"))
    first = from_end(np.append(before[:middle], total / 2.0))
    last = from_end((total - before[middle:])[::-1])[::-1]
    return np.concatenate([first[:-1], 2.0 * first[-1] - last])
