"""Dynamic programme over blocks of steps, and certified bounds from it.

A block is a dyadic interval of steps. Its points are the trade-offs between its value and its effect on later nodes,
over all choices of visits in it. Each state keeps only the points that no other point dominates. Two adjacent blocks
are joined into one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.privacy.participation import Bounds, Pattern

Codes = NDArray[np.int64]
"""Origin of each point, shape (n,): an index into the candidates that were joined, or a place."""

State: TypeAlias = tuple[bool, bool]
"""Whether a block contains the visit of its first step's epoch, and that of its last step's epoch."""

# States of a block within one epoch.
INSIDE = (True, True)
OUTSIDE = (False, False)

Parents: TypeAlias = "tuple[tuple[int, State, State, int], ...]"
"""For each product of two sets: index of its first candidate, states left and right, number of points on the right."""


class TooManyPointsError(Exception):
    """Too many points, and the tree does not merge points."""


class BlockPoints(Protocol):
    """The points of a block in one state."""

    @property
    def S(self) -> Vector:  # noqa: N802  # the letter of the notes
        """Sum of weights at the block's end, shape (n,)."""

    @property
    def Q(self) -> Vector:  # noqa: N802  # the letter of the notes
        """Value of the nodes inside, shape (n,)."""

    @property
    def code(self) -> Codes:
        """Origin of each point, shape (n,)."""


PointsT = TypeVar("PointsT", bound=BlockPoints)


@dataclass(frozen=True)
class StepBlock(Generic[PointsT]):
    """A block of steps, with the points that it can attain in each state."""

    length: int  # number of steps, at least 1
    points: Mapping[State, PointsT]  # for each state that can occur
    # for each state, how to decode its points' codes
    parents: Mapping[State, Parents] = field(default_factory=dict)
    # The two parts that were joined; the node itself if this is a closed node; empty if
    # the block has no parts.
    halves: tuple[StepBlock[PointsT], ...] = ()

    def best(self) -> tuple[float, State]:
        """Return the largest value and its state, if every state has exactly one point."""
        return max((float(points.Q[0]), state) for state, points in self.points.items())

    def trace(self, state: State) -> list[int]:
        """Return the visits, counted from 1, that produced the first point of a state."""
        visits = []
        stack = [(self, state, 0, 0)]
        while stack:
            block, state, index, begin = stack.pop()
            code = int(block.points[state].code[index])
            if not block.halves:
                if state[0]:
                    visits.append(begin + code + 1)
            elif len(block.halves) == 1:
                stack.append((block.halves[0], state, code, begin))
            # A block in the state OUTSIDE with Q = 0 has no visit: a visit in an epoch
            # inside it would have raised Q.
            elif state != OUTSIDE or block.points[state].Q[index] > 0.0:
                first, a, b, width = max(
                    parent for parent in block.parents[state] if parent[0] <= code
                )
                i, j = divmod(code - first, width)
                left, right = block.halves
                stack += [(left, a, i, begin), (right, b, j, begin + left.length)]
        return sorted(visits)


class RunBlock(Protocol):
    """A whole run: its largest value in each state, and the visits that attain it."""

    def best(self) -> tuple[float, State]:
        """Return the largest value and its state."""

    def trace(self, state: State) -> list[int]:
        """Return the visits, counted from 1, that attain the value of a state."""


class Tree(Protocol):
    """The blocks of one run, T steps on N examples."""

    T: int
    N: int

    def run(self) -> RunBlock:
        """Join the nodes of COMPOSE(1, T)."""


class BlockTree(ABC, Generic[PointsT]):
    """The blocks of one run.

    ``close`` is the relative difference up to which points are merged. If it is 0, no points are merged, and too many
    points raise TooManyPointsError. If ``upper`` is true, merged points are replaced by a point that dominates all of
    them, which gives upper bounds. Otherwise they are replaced by one of them, which gives lower bounds.
    """

    # Largest number of points that a join may produce if points are not merged.
    most_pairs: ClassVar[int]

    def __init__(
        self, steps: int, examples: int, alpha: float, close: float, *, upper: bool
    ) -> None:
        self.T = steps
        self.N = examples
        self.close = close
        self.upper = upper
        self.log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
        self._space = self._allocate(1 << 14)

    def decay(self, length: int) -> float:
        """Return ``(1-alpha)**length``, with ``0**0 = 1``."""
        return math.exp(self.log_decay * length) if length else 1.0

    def run(self) -> StepBlock[PointsT]:
        """Join the nodes of COMPOSE(1, T) into one block; the Q of each of its states is the value of the whole run."""
        at = 0
        total = None
        for level in range(self.T.bit_length() - 1, -1, -1):
            if self.T >> level & 1:
                node = self.closed(self.block(level, at), at, level)
                at += 1 << level
                # The values are final: no later node contains these nodes.
                total = (
                    node
                    if total is None
                    else self._join(total, total.points, node, node.points, 0, 0.0, 0.0)
                )
        assert total is not None
        return total

    @abstractmethod
    def block(self, level: int, begin: int) -> StepBlock[PointsT]:
        """Return the block of the steps begin + 1 .. begin + 2^level."""

    @abstractmethod
    def closed(
        self, node: StepBlock[PointsT], begin: int, level: int
    ) -> StepBlock[PointsT]:
        """Return a node that no later node contains, with only the best value of each state."""

    def _join(
        self,
        left: StepBlock[PointsT],
        of_left: Mapping[State, PointsT],
        right: StepBlock[PointsT],
        of_right: Mapping[State, PointsT],
        begin: int,
        decay: float,
        factor: float,
    ) -> StepBlock[PointsT]:
        """Join two adjacent blocks with the given points; ``decay`` and ``factor`` are passed to :meth:`_pairs`."""
        products = pairings(
            of_left, of_right, begin % self.N, left.length, right.length, self.N
        )
        points = {}
        parents = {}
        for state, pairs in products.items():
            points[state], parents[state] = self._product(
                of_left, of_right, pairs, decay, factor
            )
        return StepBlock(left.length + right.length, points, parents, (left, right))

    def _product(
        self,
        left: Mapping[State, PointsT],
        right: Mapping[State, PointsT],
        pairs: list[tuple[State, State]],
        decay: float,
        factor: float,
    ) -> tuple[PointsT, Parents]:
        total = sum(left[a].S.size * right[b].S.size for a, b in pairs)
        if total > self.most_pairs and self.close == 0.0:
            raise TooManyPointsError
        self._reserve(total)
        n = 0
        parents = []
        for a, b in pairs:
            parents.append((n, a, b, right[b].S.size))
            n = self._pairs(left[a], right[b], decay, factor, n)
        return self._thinned_candidates(n, factor), tuple(parents)

    def _reserve(self, size: int) -> None:
        """Make room for ``size`` candidates."""
        if size > self._space.S.size:
            self._space = self._allocate(2 * size)

    @abstractmethod
    def _allocate(self, size: int) -> PointsT:
        """Return arrays for ``size`` candidates."""

    @abstractmethod
    def _pairs(
        self, left: PointsT, right: PointsT, decay: float, factor: float, n: int
    ) -> int:
        """Write the sums of all pairs of points to the candidates from index n on; return the next index."""

    @abstractmethod
    def _thinned_candidates(self, n: int, factor: float) -> PointsT:
        """Return a copy of those of the first n candidates that are needed."""


def pairings(
    left: Iterable[State],
    right: Iterable[State],
    offset: int,
    left_length: int,
    right_length: int,
    N: int,
) -> dict[State, list[tuple[State, State]]]:
    """Return, for each state of a block, the pairs of states of its two parts that produce it."""
    # An epoch that both parts share has its visit in at most one of them. An epoch that
    # lies within the block, or ends with it, always has a visit: adding a visit never
    # lowers a sum of nonnegative weights.
    right = list(right)
    middle = offset + left_length
    end = offset + left_length + right_length
    shared = middle % N != 0
    left_within = middle <= N
    right_within = middle // N * N + N >= end
    pairs: dict[State, list[tuple[State, State]]] = {}
    for a in left:
        for b in right:
            used = a[1] or b[0]
            if shared and a[1] and b[0]:
                continue
            if shared and not used and not left_within and not right_within:
                continue
            first = used if shared and left_within else a[0]
            last = used if shared and right_within else b[1]
            if not first and offset == 0 and end >= N:
                continue
            if not last and end % N == 0 and end - offset >= N:
                continue
            pairs.setdefault((first, last), []).append((a, b))
    return pairs


LONGEST_PATTERN: Final = 100_000  # Patterns with more visits than this are not stored.

ONE_EPOCH: Final = 1 << 22
"""Runs within one epoch are computed place by place up to this many steps. Both orderings are the same for them."""

MOST_BLOCKS: Final = 500_000  # Approximate limit on the number of distinct blocks.

# Bounds whose ratio is at most this differ only by the margin against rounding.
EXACT: Final = 1.0 + 1e-10

# Relative margin against rounding; see NOTES_accountant.md, section 5.
SAFETY: Final = 2.0**-40


def checked_accuracy(accuracy: float) -> float:
    """Return the requested ratio of upper to lower bound, after checking that it is above 1."""
    if not check.positive(accuracy=accuracy) > 1.0:
        raise check.ArgumentError("accuracy", accuracy, "must be above 1")
    return accuracy


def widened(
    lower: float, upper: float, *, exact: bool, pattern: Pattern | None
) -> Bounds:
    """Return bounds widened by a relative margin that covers rounding; it suffices as all terms are nonnegative."""
    return Bounds(lower * (1.0 - SAFETY), upper * (1.0 + SAFETY), exact, pattern)


def bounds_of(tree: Callable[..., Tree], value: Callable[[Pattern], float]) -> Bounds:
    """Bound the largest sum from both sides; ``tree(upper=...)`` makes a tree, ``value`` sums one pattern."""
    above = tree(upper=True)
    block = above.run()
    upper, state = block.best()
    if above.T // above.N <= LONGEST_PATTERN:
        pattern = tuple(block.trace(state))
        return between(value(pattern), upper, pattern)
    lower, _ = tree(upper=False).run().best()
    return between(lower, upper, None)


def between(lower: float, upper: float, pattern: Pattern | None) -> Bounds:
    """Return bounds from the value of a pattern and an upper bound on all patterns, both up to rounding."""
    return widened(
        lower, max(lower, upper), exact=upper <= lower * EXACT, pattern=pattern
    )


def best_place(values: Vector, steps: int, examples: int) -> Bounds:
    """Return the largest of the values by place, as exact bounds; the example is at that place in every epoch."""
    place = int(np.argmax(values))
    value = float(values[place])
    pattern = (
        tuple(range(place + 1, steps + 1, examples))
        if steps // examples <= LONGEST_PATTERN
        else None
    )
    return widened(value, value, exact=True, pattern=pattern)


def best_of(first: Bounds, second: Bounds) -> Bounds:
    """Combine two pairs of bounds on the same number."""
    better = max((second, first), key=lambda bounds: bounds.lower)
    upper = max(min(first.upper, second.upper), better.lower)
    return Bounds(
        better.lower, upper, exact=upper <= better.lower * EXACT, pattern=better.pattern
    )


def different_blocks(steps: int, examples: int) -> int:
    """Return the approximate number of distinct blocks of a run."""
    T = steps
    N = examples
    return sum(
        min(1 << k, N, (T >> k) + 1, T // N + 2 if 1 << k < N else T)
        for k in range(T.bit_length())
    )


def check_blocks(steps: int, examples: int) -> None:
    """Raise ArgumentError if a run has too many distinct blocks."""
    blocks = different_blocks(steps, examples)
    if blocks > MOST_BLOCKS:
        rule = f"make about {blocks} blocks of different content, more than {MOST_BLOCKS}: no bound in reasonable time"
        raise check.ArgumentError("steps and examples", f"({steps}, {examples})", rule)


def refine(
    best: Bounds,
    trees: Iterable[Callable[..., Tree]],
    value: Callable[[Pattern], float],
    accuracy: float,
) -> Bounds:
    """Improve bounds with finer and finer trees until their ratio is small enough; skip trees with too many points."""
    for tree in trees:
        try:
            tree_bounds = bounds_of(tree, value)
        except TooManyPointsError:
            continue
        best = best_of(best, tree_bounds)
        if best.exact or best.ratio <= accuracy:
            break
    return best
