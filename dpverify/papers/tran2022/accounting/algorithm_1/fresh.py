"""The largest sum of squared node weights when every epoch has its own permutation: a dynamic programme over blocks.

A block [u, u + 2^k) of steps affects the remaining run only through three things: the sum S of its visits' weights at
its end, the value Q of the nodes inside it, and its state, that is, whether the epochs shared with its neighbours have
their visit inside. For each state the points (S, Q) of the upper hull are kept. They depend only on 2^k and on u modulo
N. Two blocks are joined by S = (1-alpha)^(length of the right one) S_left + S_right and Q = Q_left + S_left^2 +
Q_right: only the left half of a dyadic block is a released node. If hulls are long, close points are merged into a
point that dominates all of them (upper bound) or into one of them (lower bound). NOTES_accountant.md has the proof and
the analysis of rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpverify.papers.tran2022.accounting.algorithm_1.hull import (
    STATES,
    Level,
    Places,
    join_level,
    targets_of,
)
from dpverify.papers.tran2022.accounting.blocks import (
    INSIDE,
    LONGEST_PATTERN,
    OUTSIDE,
    State,
    TooManyPointsError,
    pairings,
)

# Largest number of points of one state if points are not merged.
MOST_POINTS: Final = 1024

# Mask of the bits of a code that hold the index of a point.
PLACE: Final = (1 << 20) - 1

Choice = tuple[tuple[int, int, int, int], ...]
"""For each released node that no other contains: level, index in the level, state, index of the point."""


@dataclass(frozen=True)
class FreshRun:
    """The largest value of a whole run in each state, and the choice of points that attains it."""

    tree: FreshTree
    values: dict[State, tuple[float, Choice]]

    def best(self) -> tuple[float, State]:
        """Return the largest value and its state."""
        return max((value, state) for state, (value, _) in self.values.items())

    def trace(self, state: State) -> list[int]:
        """Return the visits, counted from 1, that attain the value of a state."""
        return self.tree.visits(self.values[state][1])


class FreshTree:
    """Blocks of Algorithm 1's tree, each computed once.

    ``close`` is the relative difference up to which points are merged. If it is 0, no points are merged, and too many
    points raise TooManyPointsError. If ``upper`` is true, merged points are replaced by a point that dominates all of
    them, which gives upper bounds. Otherwise they are replaced by one of them, which gives lower bounds.
    """

    def __init__(
        self, steps: int, examples: int, alpha: float, close: float, *, upper: bool
    ) -> None:
        self.T = steps
        self.N = examples
        self.close = close
        self.upper = upper
        self.log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
        self._levels: list[Level] = []

    def run(self) -> FreshRun:
        """Join the nodes of COMPOSE(1, T), whose values are final: no later node contains them."""
        nodes = dict(_nodes(self.T))
        best_by_level = {}
        longest = 1
        for k, offsets in enumerate(self._needed(nodes)):
            level = self._first(offsets) if k == 0 else None
            if level is None:
                level, point_count = self._joined(k, offsets)
                longest = max(longest, point_count)
                below = self._levels[-1]
                self._levels[-1] = below._replace(S=below.S[:0], Q=below.Q[:0])
            self._levels.append(level)
            if k in nodes:
                best_by_level[k] = self._closed(k, level, nodes[k])
        values: dict[State, tuple[float, Choice]] = {}
        for k, at in nodes.items():
            current = best_by_level[k]
            before = values
            if not before:
                values = current
                continue
            fit = pairings(before, current, 0, at, 1 << k, self.N)
            values = {
                state: max(
                    (before[a][0] + current[b][0], before[a][1] + current[b][1])
                    for a, b in pairs
                )
                for state, pairs in fit.items()
            }
        # Bound on the loss from computing hulls in
        # floats; see NOTES_accountant.md, section 5.
        lost = len(self._levels) * (24 * longest + 32) * 2.0**-53 if self.upper else 0.0
        return FreshRun(
            self,
            {
                state: (value * (1.0 + lost), choice)
                for state, (value, choice) in values.items()
            },
        )

    def visits(self, choice: Choice) -> list[int]:
        """Return the visits, counted from 1, of a choice of points."""
        nodes = dict(_nodes(self.T))
        # first step, index in the level, state, index of the point
        items = np.empty((4, 0), dtype=np.int64)
        for k in range(len(self._levels) - 1, -1, -1):
            level_items = [
                (nodes[level], *indices) for level, *indices in choice if level == k
            ]
            items = np.concatenate(
                [items, np.array(level_items, dtype=np.int64).reshape(-1, 4).T], axis=1
            )
            if k == 0:
                break
            level = self._levels[k]
            half = 1 << k - 1
            begin, place, state, point = items
            code = level.code[level.begin[place, state] + point]
            left = begin, level.left[place], code >> 42, code >> 20 & PLACE
            right = begin + half, level.right[place], code >> 40 & 3, code & PLACE
            items = np.concatenate([left, right], axis=1)
            # within an epoch
            none = (items[2] == STATES.index(OUTSIDE)) & (
                items[0] % self.N + half <= self.N
            )
            items = items[:, ~none]
        visits: list[int] = np.sort(
            items[0, items[2] == STATES.index(INSIDE)] + 1
        ).tolist()
        return visits

    def _needed(self, nodes: dict[int, int]) -> list[Places]:
        """Return the offsets of the blocks that each level needs, shortest blocks first."""
        offsets = np.empty(0, dtype=np.int64)
        out = list[Places]()
        for k in range(self.T.bit_length() - 1, -1, -1):
            node_offset = np.array([nodes[k]] if k in nodes else [], dtype=np.int64)
            offsets = np.unique(
                self._alike(
                    k, np.concatenate([offsets, offsets + (1 << k), node_offset])
                )
            )
            out.append(offsets)
        return out[::-1]

    def _alike(self, level: int, begin: Places) -> Places:
        """Return the offsets under which blocks are stored: 1 for all blocks that are a proper part of one epoch."""
        length = 1 << level
        offset = begin % self.N
        return np.where((offset + length <= self.N) & (length < self.N), 1, offset)

    def _first(self, offsets: Places) -> Level:
        """Return the level of single steps."""
        is_single = self.N == 1
        begin = np.array([[0, 0, 0, 0, 1] if is_single else [0, 1, 1, 1, 2]])
        S = np.ones(1) if is_single else np.array([0.0, 1.0])
        none = np.empty(0, dtype=np.int64)
        return Level(offsets, none, none, begin, S, np.zeros(S.size), none)

    def _joined(self, level: int, offsets: Places) -> tuple[Level, int]:
        half = 1 << level - 1
        below = self._levels[-1]
        left, right = (
            np.searchsorted(below.offsets, self._alike(level - 1, begin))
            for begin in (offsets, offsets + half)
        )
        limit = MOST_POINTS if self.close == 0.0 else PLACE
        begin, S, Q, code, longest = join_level(
            math.exp(self.log_decay * half),
            self.close,
            self.upper,
            limit,
            targets_of(offsets, half, self.N),
            left,
            right,
            below.begin,
            below.S,
            below.Q,
        )
        if longest > limit:
            raise TooManyPointsError
        if self.T // self.N > LONGEST_PATTERN:
            code = code[:0]
        return Level(offsets, left, right, begin, S, Q, code), longest

    def _closed(
        self, k: int, level: Level, at: int
    ) -> dict[State, tuple[float, Choice]]:
        """Return the best value of each state of a node that no later node contains, with its choice."""
        place = int(np.searchsorted(level.offsets, self._alike(k, np.array([at]))[0]))
        begin = level.begin[place].tolist()
        best_by_state = dict[State, tuple[float, Choice]]()
        for number, state in enumerate(STATES):
            points = slice(begin[number], begin[number + 1])
            values = level.Q[points] + level.S[points] ** 2
            if values.size:
                point = int(np.argmax(values))
                best_by_state[state] = (
                    float(values[point]),
                    ((k, place, number, point),),
                )
        return best_by_state


def _nodes(steps: int) -> Iterator[tuple[int, int]]:
    """Yield levels and first steps, counted from 0, of the nodes of COMPOSE(1, T), in their order."""
    at = 0
    for level in range(steps.bit_length() - 1, -1, -1):
        if steps >> level & 1:
            yield level, at
            at += 1 << level
