"""Rounds put together into few groups along one number, so that what is learned costs the same however many there are.

The furthest rounds at both ends stay apart, further in a group is a twenty-fifth of what lies beyond it, and no group
is more than one in 128. Equal numbers are never parted, and a number that occurs often is a group of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy.audit.records import Bits, Floats

Places = NDArray[np.int64]

APART = 25  # rounds at each end that stay apart; beyond them a group is 1/APART of what lies further out

GROUPS = 128  # groups that an even division would make

TWICE = 2  # rounds in which the numbers of a cell are seen, at least, for a table to say anything of them


class Rows(NamedTuple):
    """Outputs, and in how many rounds each was seen."""

    x: Floats  # (m, d)
    zeros: Floats  # (m,) rounds on the first data set
    ones: Floats  # (m,) rounds on the second

    @property
    def fewest(self) -> float:
        """Rounds on the data set that has fewer."""
        return min(float(self.zeros.sum()), float(self.ones.sum()))


class Groups(NamedTuple):
    """Groups in ascending order."""

    low: Floats  # (k,) smallest number of each
    high: Floats  # (k,) largest
    mean: Floats  # (k,)
    zeros: Floats  # (k,) rounds on the first data set
    ones: Floats  # (k,) rounds on the second


def rows_of(x: Floats, b: Bits) -> Rows:
    """Take each round by itself."""
    ones = b.astype(np.float64)
    return Rows(x, 1.0 - ones, ones)


def half_of(rounds: int) -> int:
    """Training rounds of the first half: an even number, so that pairs of rounds stay together."""
    return 2 * (rounds // 4)


def both(first: Rows, second: Rows) -> Rows:
    """Put the rounds of two halves together."""
    if first.x is second.x:
        return Rows(first.x, first.zeros + second.zeros, first.ones + second.ones)
    return Rows(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


class SortedOutputs:
    """Outputs of one number, sorted once, in two halves."""

    def __init__(self, x: Floats, b: Bits, half: int) -> None:
        first = (x[:half], b[:half])
        second = (x[half:], b[half:])
        sides = (y.take(np.flatnonzero(side)) for y, bits in (first, second) for side in (~bits, bits))
        self.x, self._before = _merged([np.sort(side) for side in sides])
        self._starts = _starts(self.x)
        self.halves = self._seen(self._starts, _means(self.x, self._starts))  # the groups, as each half has seen them

    def cells(self, keys: Floats) -> tuple[Rows, Rows]:
        """Give the numbers with one key, sorted as they are, as each half has seen them; not those seen once."""
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        return self._seen(starts, self.x[starts], np.diff(np.append(starts, len(keys))) >= TWICE)

    def _seen(self, starts: Places, x: Floats, selection: Bits | slice = slice(None)) -> tuple[Rows, Rows]:
        """Count, in each half and on each data set, from each start to the next."""
        ends = np.append(starts[1:], len(self.x))[selection]
        counts = [(before.take(ends) - before.take(starts[selection])).astype(np.float64) for before in self._before]
        return Rows(x := x[selection, None], *counts[:2]), Rows(x, *counts[2:])

    def cuts(self) -> Floats:
        """Give the smallest number of each group but the first; what follows a single number begins right after it."""
        low = self.x[self._starts]
        high = self.x[np.append(self._starts[1:], len(self.x)) - 1]
        single = low == high
        return np.where(single[:-1] & ~single[1:], np.nextafter(high[:-1], np.inf), low[1:])


def _merged(sides: list[Floats]) -> tuple[Floats, list[NDArray[np.int32]]]:
    """Merge sorted numbers, and count those of each list before every place and before the end."""
    values = np.concatenate(sides)
    order = np.argsort(values, kind="stable")
    side = np.repeat(np.arange(len(sides), dtype=np.int8), [len(side) for side in sides]).take(order)
    counts = (np.cumsum(side == which, dtype=np.int32) for which in range(len(sides)))
    return values.take(order), [np.append(np.int32(0), count) for count in counts]


def grouped(values: Floats, zeros: Floats, ones: Floats) -> Groups:
    """Group numbers with how often each was seen on each data set, all of shape (m,)."""
    order = np.argsort(values)
    values = values.take(order)
    zeros = zeros.take(order)
    ones = ones.take(order)
    starts = _starts(values, np.append(0.0, np.cumsum(zeros + ones)))
    low = values[starts]
    high = values[np.append(starts[1:], len(values)) - 1]
    return Groups(low, high, _means(values, starts), np.add.reduceat(zeros, starts), np.add.reduceat(ones, starts))


def _starts(values: Floats, before: Floats | None = None) -> Places:
    """Say where groups of sorted numbers begin; ``before``: rounds before each and before the end, if not one each."""
    runs = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    ends = np.append(runs, len(values))
    place = _place(ends.astype(np.float64) if before is None else before.take(ends))
    often = place[1:] - place[:-1] >= 1.0
    integer_places = place[:-1].astype(np.int32)
    starts: Places = runs[np.append(True, (integer_places[1:] > integer_places[:-1]) | often[1:] | often[:-1])]
    return starts


def _means(values: Floats, starts: Places) -> Floats:
    ends = np.append(starts[1:], len(values))
    mean: Floats = np.clip(np.add.reduceat(values, starts) / (ends - starts), values[starts], values[ends - 1])
    return mean


def _place(before: Floats) -> Floats:
    """Where a round stands in units of groups, from how many lie before it; the last is of all of them."""
    total = before[-1]
    far = max(APART * total / GROUPS, APART)

    def from_end(count: Floats) -> Floats:  # of counts that ascend
        near, beyond = np.searchsorted(count, (APART, far))
        bent = APART * (1.0 + np.log(np.append(count[near:beyond], far) / APART))
        even = bent[-1] + (count[beyond:] - far) * min(1.0, GROUPS / total)
        return np.concatenate([count[:near], bent[:-1], even])

    middle = int(np.searchsorted(before, total / 2.0, "right"))
    first = from_end(np.append(before[:middle], total / 2.0))
    last = from_end((total - before[middle:])[::-1])[::-1]
    return np.concatenate([first[:-1], 2.0 * first[-1] - last])
