"""The largest sum of squared node weights when every epoch has its own permutation: a dynamic programme over blocks.

A block [u, u + 2^k) of steps matters to the rest of the run through three things only: the sum S of its visits' weights
at its end, the value Q of the nodes inside it, and whether the epochs that it shares with its neighbours have their
visit inside. The last is a state; for each state the block keeps the pairs (S, Q) of which none is beaten. Two blocks
join by S = (1-alpha)^(length of the right one) S_left + S_right, Q = Q_left + S_left^2 + Q_right: the left half of a
dyadic block is a node that counts, the right half is not. What a block keeps depends on 2^k and on u modulo N only.
NOTES_accountant.md has the proof and the rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from dpverify.papers.tran2022.accounting.algorithm_1.frontier import FINE, Frontier, join, thin
from dpverify.papers.tran2022.accounting.algorithm_1.states import State, pairings

Parents: TypeAlias = "tuple[tuple[int, State, State, int], ...]"
"""Of each product of two frontiers: index of its first candidate, states left and right, points on the right."""

MOST_PAIRS: Final = 1 << 20
"""Joining two frontiers may make this many points where none are merged; more are given up."""

SAFETY: Final = 2.0**-40
"""Relative margin against rounding; see the notes."""


class TooManyPointsError(Exception):
    """Without merging points a frontier would become too long."""


@dataclass(frozen=True)
class Block:
    """What the steps u .. u + length - 1 (counted from 0) can contribute."""

    length: int  # number of steps, at least 1
    points: dict[State, Frontier]  # of each state that can occur, its points
    # of each state, how the codes of its points are to be read
    parents: dict[State, Parents] = field(default_factory=dict)
    # the two parts that were joined; the node itself where it was closed; nothing for a single step
    halves: tuple[Block, ...] = ()


class FreshTree:
    """Blocks of one tree, each computed once.

    ``close``: relative difference up to which points are merged; 0: none are, and too many raise an error.
    """

    def __init__(self, examples: int, alpha: float, close: float, upper: bool) -> None:
        self.N, self.close, self.upper = examples, close, upper
        self.log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
        self._blocks: dict[tuple[int, int], Block] = {}
        self._space = self._allocate(1 << 14)

    def decay(self, length: int) -> float:
        """Give ``(1-alpha)**length``, with ``0**0 = 1``."""
        return math.exp(self.log_decay * length) if length else 1.0

    def block(self, level: int, offset: int) -> Block:
        """Give the block of ``2**level`` steps that begins ``offset`` steps after the start of an epoch."""
        length = 1 << level
        # Inside an epoch all blocks of a level are alike, unless they fill it.
        key = (level, 1 if offset + length <= self.N and length < self.N else offset)
        found = self._blocks.get(key)
        if found is None:
            found = self._blocks[key] = self._make(*key)
        return found

    def _make(self, level: int, offset: int) -> Block:
        if level == 0:
            one = Frontier(np.ones(1), np.zeros(1), np.zeros(1, dtype=np.int64))
            none = Frontier(np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64))
            return Block(1, {(True, True): one} | ({} if self.N == 1 else {(False, False): none}))
        half = 1 << level - 1
        left, right = self.block(level - 1, offset), self.block(level - 1, (offset + half) % self.N)
        return self.joined(left, right, offset, counted=True)

    def joined(self, left: Block, right: Block, offset: int, *, counted: bool) -> Block:
        """Join two neighbours; ``counted``: the left one is a node of its own, and the right one's sum goes on.

        Without ``counted`` the points of both are taken as final values: nothing goes on to the right.
        """
        length = left.length + right.length
        products = pairings(left.points, right.points, offset, left.length, right.length, self.N)
        points, parents = {}, {}
        decay = self.decay(right.length) if counted else 0.0
        for state, pairs in products.items():
            points[state], parents[state] = self._product(left, right, pairs, decay, float(counted))
        return Block(length, points, parents, (left, right))

    def _product(
        self, left: Block, right: Block, pairs: list[tuple[State, State]], decay: float, counted: float
    ) -> tuple[Frontier, Parents]:
        total = sum(left.points[a].S.size * right.points[b].S.size for a, b in pairs)
        if total > MOST_PAIRS and self.close == 0.0:
            raise TooManyPointsError
        if total > self._space.S.size:
            self._space = self._allocate(2 * total)
        space, n, parents = self._space, 0, []
        for a, b in pairs:
            one, two = left.points[a], right.points[b]
            parents.append((n, a, b, two.S.size))
            n = join(one.S, one.Q, two.S, two.Q, decay, counted, n, space.S, space.Q, space.code)
        fine = FINE if self.close > 0.0 else n
        kept = thin(n, space.S, space.Q, space.code, self.close, self.close, self.upper, fine)
        return Frontier(space.S[:kept].copy(), space.Q[:kept].copy(), space.code[:kept].copy()), tuple(parents)

    @staticmethod
    def _allocate(size: int) -> Frontier:
        return Frontier(np.empty(size), np.empty(size), np.empty(size, dtype=np.int64))


def final_block(tree: FreshTree, steps: int) -> Block:
    """Join the nodes of COMPOSE(1, T) into one block whose points have S = 0 and the value of the whole run as Q."""
    at, total = 0, None
    for level in range(steps.bit_length() - 1, -1, -1):
        if not steps >> level & 1:
            continue
        node = tree.block(level, at % tree.N)
        closed = _closed(node)
        total = closed if total is None else tree.joined(total, closed, 0, counted=False)
        at += 1 << level
    assert total is not None
    return total


def _closed(node: Block) -> Block:
    """A node that no later node contains: of each state only the best value is left."""
    points = {}
    for state, (S, Q, _) in node.points.items():
        value = Q + S * S
        best = int(np.argmax(value))
        points[state] = Frontier(np.zeros(1), value[best : best + 1], np.array([best]))
    return Block(node.length, points, {}, (node,))


def trace(block: Block, state: State, index: int) -> list[int]:
    """Give the visits, counted from 1, that a point of :func:`final_block` stands for."""
    visits, stack = [], [(block, state, index, 0)]
    while stack:
        here, state, index, begin = stack.pop()
        point = here.points[state]
        code = int(point.code[index])
        if point.S[index] == point.Q[index] == 0.0:
            continue  # no visit: the first node to the right of a visit that counts would have added to Q
        if not here.halves:
            visits.append(begin + 1)
            continue
        if len(here.halves) == 1:
            stack.append((here.halves[0], state, code, begin))
            continue
        left, right = here.halves
        first, a, b, width = max(p for p in here.parents[state] if p[0] <= code)
        i, j = divmod(code - first, width)
        stack += [(left, a, i, begin), (right, b, j, begin + left.length)]
    return sorted(visits)


def best_point(block: Block) -> tuple[float, State]:
    """Give the largest value of a final block, and its state."""
    return max((float(front.Q[0]), state) for state, front in block.points.items())
