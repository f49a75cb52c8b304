"""Blocks of steps, joined pair by pair, with points that none beats in each state, and certified bounds from them."""

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
"""What a point was made from, shape (n,): an index into the candidates that were joined, or a place."""

State: TypeAlias = tuple[bool, bool]
"""Whether the epoch of a block's first step, and that of its last step, have their visit inside the block."""

# States of a block within one epoch.
INSIDE = (True, True)
OUTSIDE = (False, False)

Parents: TypeAlias = "tuple[tuple[int, State, State, int], ...]"
"""Of each product of two sets: index of its first candidate, states left and right, points on the right."""


class TooManyPointsError(Exception):
    """Without merging points a set would become too long."""


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
        """Where each point comes from, shape (n,)."""


PointsT = TypeVar("PointsT", bound=BlockPoints)


@dataclass(frozen=True)
class StepBlock(Generic[PointsT]):
    """What a block of steps can contribute."""

    length: int  # number of steps, at least 1
    points: Mapping[State, PointsT]  # of each state that can occur
    parents: Mapping[State, Parents] = field(default_factory=dict)  # of each state, how to read its points' codes
    # the two parts that were joined; the node itself where it was closed; nothing where it was not made from parts
    halves: tuple[StepBlock[PointsT], ...] = ()

    def best(self) -> tuple[float, State]:
        """Give the largest value, and its state, where every state has one point."""
        return max((float(points.Q[0]), state) for state, points in self.points.items())

    def trace(self, state: State) -> list[int]:
        """Give the visits, counted from 1, that the first point of a state stands for."""
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
            # Without a visit there is nothing to follow: one in an epoch between would have added to Q.
            elif state != OUTSIDE or block.points[state].Q[index] > 0.0:
                first, a, b, width = max(parent for parent in block.parents[state] if parent[0] <= code)
                i, j = divmod(code - first, width)
                left, right = block.halves
                stack += [(left, a, i, begin), (right, b, j, begin + left.length)]
        return sorted(visits)


class RunBlock(Protocol):
    """A whole run: its largest values, and what they stand for."""

    def best(self) -> tuple[float, State]:
        """Give the largest value, and its state."""

    def trace(self, state: State) -> list[int]:
        """Give the visits, counted from 1, that the value of a state stands for."""


class Tree(Protocol):
    """The blocks of one run, T steps on N examples."""

    T: int
    N: int

    def run(self) -> RunBlock:
        """Join the nodes of COMPOSE(1, T)."""


class BlockTree(ABC, Generic[PointsT]):
    """The blocks of one run.

    ``close``: relative difference up to which points are merged; 0: none are, and too many raise an error. ``upper``:
    merged points become one that beats all of them, for upper bounds; else one of themselves, for lower bounds.
    """

    most_pairs: ClassVar[int]  # Joining two sets may make this many points where none are merged; more are given up.

    def __init__(self, steps: int, examples: int, alpha: float, close: float, *, upper: bool) -> None:
        self.T = steps
        self.N = examples
        self.close = close
        self.upper = upper
        self.log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
        self._space = self._allocate(1 << 14)

    def decay(self, length: int) -> float:
        """Give ``(1-alpha)**length``, with ``0**0 = 1``."""
        return math.exp(self.log_decay * length) if length else 1.0

    def run(self) -> StepBlock[PointsT]:
        """Join the nodes of COMPOSE(1, T) into one block, each of whose states has the value of the whole run as Q."""
        at = 0
        total = None
        for level in range(self.T.bit_length() - 1, -1, -1):
            if self.T >> level & 1:
                node = self.closed(self.block(level, at), at, level)
                at += 1 << level
                # What is joined here are final values: nothing goes on to the right.
                total = node if total is None else self._join(total, total.points, node, node.points, 0, 0.0, 0.0)
        assert total is not None
        return total

    @abstractmethod
    def block(self, level: int, begin: int) -> StepBlock[PointsT]:
        """Give the block of the steps begin + 1 .. begin + 2^level."""

    @abstractmethod
    def closed(self, node: StepBlock[PointsT], begin: int, level: int) -> StepBlock[PointsT]:
        """Give a node that no later one contains: of each state only the best value is left."""

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
        """Join two neighbours, whose points are given apart; ``decay`` and ``factor`` go to :meth:`_pairs`."""
        products = pairings(of_left, of_right, begin % self.N, left.length, right.length, self.N)
        points = {}
        parents = {}
        for state, pairs in products.items():
            points[state], parents[state] = self._product(of_left, of_right, pairs, decay, factor)
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
        return self._kept(n, factor), tuple(parents)

    def _reserve(self, size: int) -> None:
        """Make room for so many candidates."""
        if size > self._space.S.size:
            self._space = self._allocate(2 * size)

    @abstractmethod
    def _allocate(self, size: int) -> PointsT:
        """Make room for candidates."""

    @abstractmethod
    def _pairs(self, left: PointsT, right: PointsT, decay: float, factor: float, n: int) -> int:
        """Write all pairs of two points to the candidates, from index n on; returns the next index."""

    @abstractmethod
    def _kept(self, n: int, factor: float) -> PointsT:
        """Copy what matters of the first n candidates."""


def pairings(
    left: Iterable[State], right: Iterable[State], offset: int, left_length: int, right_length: int, N: int
) -> dict[State, list[tuple[State, State]]]:
    """Give, for each state of a block, the states of its two parts that make it."""
    # An epoch that both parts share has its visit in one of them at most. No epoch that lies within the block, or ends
    # with it, goes without a visit: adding one never lowers a sum of nonnegative weights.
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


LONGEST_PATTERN: Final = 100_000  # Patterns of more visits than this are not written down.

ONE_EPOCH: Final = 1 << 22
"""Runs of up to this many steps within one epoch, where both orderings are the same, are done place by place."""

MOST_BLOCKS: Final = 500_000  # About how many blocks of different content may be looked at.

EXACT: Final = 1.0 + 1e-10  # Bounds whose ratio is no more than this differ by their margin against rounding only.

SAFETY: Final = 2.0**-40  # Relative margin against rounding; see the notes.


def checked_accuracy(accuracy: float) -> float:
    """Take an upper over a lower bound that is asked for."""
    if not check.positive(accuracy=accuracy) > 1.0:
        raise check.ArgumentError("accuracy", accuracy, "must be above 1")
    return accuracy


def outward(lower: float, upper: float, *, exact: bool, pattern: Pattern | None) -> Bounds:
    """Give bounds that are certain in spite of rounding: all terms are nonnegative, so a relative margin is enough."""
    return Bounds(lower * (1.0 - SAFETY), upper * (1.0 + SAFETY), exact, pattern)


def bounds_of(tree: Callable[..., Tree], value: Callable[[Pattern], float]) -> Bounds:
    """Bound the largest sum from both sides; ``tree`` takes ``upper``, and ``value`` is the sum of one pattern."""
    above = tree(upper=True)
    block = above.run()
    upper, state = block.best()
    if above.T // above.N <= LONGEST_PATTERN:
        pattern = tuple(block.trace(state))
        return between(value(pattern), upper, pattern)
    lower, _ = tree(upper=False).run().best()
    return between(lower, upper, None)


def between(lower: float, upper: float, pattern: Pattern | None) -> Bounds:
    """Give bounds from what a pattern reaches and what none exceeds, up to rounding."""
    return outward(lower, max(lower, upper), exact=upper <= lower * EXACT, pattern=pattern)


def best_place(values: Vector, steps: int, examples: int) -> Bounds:
    """Give the largest value of a place, exactly: the example is there in every epoch."""
    place = int(np.argmax(values))
    value = float(values[place])
    pattern = tuple(range(place + 1, steps + 1, examples)) if steps // examples <= LONGEST_PATTERN else None
    return outward(value, value, exact=True, pattern=pattern)


def best_of(first: Bounds, second: Bounds) -> Bounds:
    """Join two pairs of bounds of one number."""
    better = max((second, first), key=lambda bounds: bounds.lower)
    upper = max(min(first.upper, second.upper), better.lower)
    return Bounds(better.lower, upper, exact=upper <= better.lower * EXACT, pattern=better.pattern)


def different_blocks(steps: int, examples: int) -> int:
    """About how many blocks of different content a run has."""
    T = steps
    N = examples
    return sum(min(1 << k, N, (T >> k) + 1, T // N + 2 if 1 << k < N else T) for k in range(T.bit_length()))


def check_blocks(steps: int, examples: int) -> None:
    """Refuse a run with too many blocks."""
    blocks = different_blocks(steps, examples)
    if blocks > MOST_BLOCKS:
        rule = f"make about {blocks} blocks of different content, more than {MOST_BLOCKS}: no bound in reasonable time"
        raise check.ArgumentError("steps and examples", f"({steps}, {examples})", rule)


def refine(
    best: Bounds, trees: Iterable[Callable[..., Tree]], value: Callable[[Pattern], float], accuracy: float
) -> Bounds:
    """Join bounds with those of ever finer trees, until they are close enough; trees with many points are given up."""
    for tree in trees:
        try:
            tree_bounds = bounds_of(tree, value)
        except TooManyPointsError:
            continue
        best = best_of(best, tree_bounds)
        if best.exact or best.ratio <= accuracy:
            break
    return best
