"""Patterns of steps in which one example can take part, and the largest sum of weights over a pattern.

Steps are counted from 0 here. Weights are at least 0, so that adding steps never decreases the sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check

Pattern: TypeAlias = tuple[int, ...]  # steps of one example, in increasing order
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Once:
    """Each example takes part in one step."""

    @property
    def gap(self) -> float:
        """Least distance of two steps of one example."""
        return inf

    def patterns(self, steps: int) -> Iterator[Pattern]:
        """Yield every largest set of steps."""
        return ((step,) for step in range(steps))

    def allows(self, pattern: Pattern) -> bool:
        """Return whether one example can take part in these steps and no others."""
        return len(pattern) <= 1

    def earliest(self, steps: int) -> Pattern:
        """Return the pattern whose steps are the earliest possible."""
        return (0,)

    def heaviest(self, weights: Floats) -> Pattern:
        """Return the pattern with the largest sum of weights."""
        return (int(np.argmax(weights)),)

    def row_sums(self, gram: Floats) -> Floats:
        """Return for each step the largest sum of its row over the patterns that contain the step."""
        return gram.diagonal().copy()


@dataclass(frozen=True)
class Cyclic:
    """Each example takes part at the same place in every ``period`` steps: fixed batches in a fixed order.

    Parameters
    ----------
    period : int
        Distance between two consecutive steps of one example, at least 1.
    """

    period: int

    def __post_init__(self) -> None:
        check.whole(1, period=self.period)

    @property
    def gap(self) -> float:
        """Least distance of two steps of one example."""
        return self.period

    def patterns(self, steps: int) -> Iterator[Pattern]:
        """Yield every largest set of steps."""
        return (
            tuple(range(place, steps, self.period))
            for place in range(min(self.period, steps))
        )

    def allows(self, pattern: Pattern) -> bool:
        """Return whether one example can take part in these steps and no others."""
        return len({step % self.period for step in pattern}) <= 1

    def earliest(self, steps: int) -> Pattern:
        """Return the pattern whose steps are the earliest possible."""
        return tuple(range(0, steps, self.period))

    def heaviest(self, weights: Floats) -> Pattern:
        """Return the pattern with the largest sum of weights."""
        return max(
            self.patterns(len(weights)),
            key=lambda pattern: float(weights[list(pattern)].sum()),
        )

    def row_sums(self, gram: Floats) -> Floats:
        """Return for each step the sum of its row over the pattern that contains the step."""
        steps = len(gram)
        return np.array(
            [
                gram[step, step % self.period :: self.period].sum()
                for step in range(steps)
            ]
        )


@dataclass(frozen=True)
class Epochs:
    """Each example takes part once in every ``length`` steps, at any place: a new order in each epoch.

    Parameters
    ----------
    length : int
        Steps of an epoch, at least 1. The last epoch may be cut short.
    """

    length: int

    def __post_init__(self) -> None:
        check.whole(1, length=self.length)

    @property
    def gap(self) -> float:
        """Least distance of two steps of one example."""
        return 1

    def patterns(self, steps: int) -> Iterator[Pattern]:
        """Yield every largest set of steps."""
        epochs = [
            range(begin, min(begin + self.length, steps))
            for begin in range(0, steps, self.length)
        ]
        return product(*epochs)

    def allows(self, pattern: Pattern) -> bool:
        """Return whether one example can take part in these steps and no others."""
        return len({step // self.length for step in pattern}) == len(pattern)

    def earliest(self, steps: int) -> Pattern:
        """Return the pattern whose steps are the earliest possible."""
        return tuple(range(0, steps, self.length))

    def heaviest(self, weights: Floats) -> Pattern:
        """Return the pattern with the largest sum of weights."""
        begins = range(0, len(weights), self.length)
        return tuple(
            begin + int(np.argmax(weights[begin : begin + self.length]))
            for begin in begins
        )

    def row_sums(self, gram: Floats) -> Floats:
        """Return for each step the largest sum of its row over the patterns that contain the step."""
        steps = len(gram)
        begins = np.arange(0, steps, self.length)
        largest = np.maximum.reduceat(gram, begins, axis=1)
        places = np.arange(steps)
        epochs = places // self.length
        largest[places, epochs] = gram.diagonal()
        sums: Floats = largest.sum(axis=1)
        return sums


@dataclass(frozen=True)
class Separated:
    """Each example takes part at most ``most`` times, in steps that are at least ``separation`` apart.

    Parameters
    ----------
    separation : int
        Least difference between two steps of one example, at least 1.
    most : int, optional
        Largest number of steps of one example, at least 1. Default: as many as fit.
    """

    separation: int
    most: int | None = None

    def __post_init__(self) -> None:
        check.whole(1, separation=self.separation)
        if self.most is not None:
            check.whole(1, most=self.most)

    @property
    def gap(self) -> float:
        """Least distance of two steps of one example."""
        return self.separation

    def count(self, steps: int) -> int:
        """Return the largest number of steps of one example."""
        fitting = -(-steps // self.separation)
        return fitting if self.most is None else min(fitting, self.most)

    def patterns(self, steps: int) -> Iterator[Pattern]:
        """Yield every set of the largest number of steps, and every smaller set."""
        for size in range(1, self.count(steps) + 1):
            yield from filter(self.allows, combinations(range(steps), size))

    def allows(self, pattern: Pattern) -> bool:
        """Return whether one example can take part in these steps and no others."""
        few = self.most is None or len(pattern) <= self.most
        return few and all(
            later - earlier >= self.separation for earlier, later in pairwise(pattern)
        )

    def earliest(self, steps: int) -> Pattern:
        """Return the pattern whose steps are the earliest possible."""
        return tuple(range(0, steps, self.separation))[: self.count(steps)]

    def heaviest(self, weights: Floats) -> Pattern:
        """Return the pattern with the largest sum of weights."""
        steps = len(weights)
        count = self.count(steps)
        # [k][i]: largest sum over at most k steps from step i on
        best = [np.zeros(steps + self.separation)]
        for _ in range(count):
            sums = np.zeros(steps + self.separation)
            sums[:steps] = weights + best[-1][self.separation :]
            best.append(np.maximum.accumulate(sums[::-1])[::-1])
        pattern: list[int] = []
        step = 0
        while len(pattern) < count and step < steps:
            sums = best[count - len(pattern)]
            if sums[step] == sums[step + 1]:
                step += 1
            else:
                pattern.append(step)
                step += self.separation
        return tuple(pattern)

    def row_sums(self, gram: Floats) -> Floats:
        """Return, for each step, an upper bound on the sum of its row over a pattern that contains the step."""
        steps = len(gram)
        count = self.count(steps)
        backwards = gram[::-1, ::-1]
        if count == -(-steps // self.separation):
            around = self._sums_before(gram) + self._sums_before(backwards)[::-1]
        else:
            before = self._limited_sums_before(gram, count)
            after = self._limited_sums_before(backwards, count)[:, ::-1]
            around = np.maximum.reduce(before + after[::-1])
        sums: Floats = gram.diagonal() + around
        return sums

    def _sums_before(self, gram: Floats) -> Floats:
        """Return, for each step i, the largest sum of its row over steps that are at least ``separation`` before i."""
        steps = len(gram)
        columns = np.ascontiguousarray(gram.T)
        # [j, i]: largest sum of row i over steps below j
        sums = np.zeros((steps + 1, steps))
        for step in range(steps):
            earlier = sums[max(0, step + 1 - self.separation)]
            np.maximum(sums[step], columns[step] + earlier, out=sums[step + 1])
        places = np.arange(steps)
        result: Floats = sums[np.maximum(0, places - self.separation + 1), places]
        return result

    def _limited_sums_before(self, gram: Floats, count: int) -> Floats:
        """Return [k, i]: as ``_sums_before``, but over at most k steps, for each k below ``count``."""
        steps = len(gram)
        result = np.zeros((count, steps))
        places = np.arange(self.separation, steps)
        # [i, j]: largest sum of row i over steps below j
        previous = np.zeros((steps, steps + 1))
        for limit in range(1, count):
            current = np.zeros((steps, steps + 1))
            current[:, 1:] = gram
            current[:, self.separation :] += previous[:, : steps + 1 - self.separation]
            previous = np.maximum.accumulate(current, axis=1)
            result[limit, places] = previous[places, places - self.separation + 1]
        return result


Participation: TypeAlias = Once | Cyclic | Epochs | Separated
