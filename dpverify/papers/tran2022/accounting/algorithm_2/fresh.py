"""Algorithm 2 when every epoch has its own permutation: the dynamic programme over blocks with two sums.

As ``accountant_fresh``, but a visit at the p-th step of an epoch also counts p - 1 in the r nodes, and what a node
counts for depends on where it lies. Inside an epoch blocks of up to 2^g steps are taken from one list for all, with p
replaced by its largest (upper bounds) or smallest value (lower bounds); g is small, and 0 where nothing is merged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from dpverify.papers.tran2022.accounting.algorithm_1.states import State, pairings
from dpverify.papers.tran2022.accounting.algorithm_2.frontier import Triples, add_own, join, thin, thin_exactly, unite
from dpverify.papers.tran2022.accounting.algorithm_2.nodes import Worth

Key: TypeAlias = tuple[int, ...]

Parents: TypeAlias = "tuple[tuple[int, State, State, int], ...]"
"""Of each product of two sets: index of its first candidate, states left and right, points on the right."""

MOST_PAIRS = 1 << 12
"""Joining two sets may make this many points where none are merged; more are given up."""

FLOOR = 0.05
"""Differences are relative, but not to less than this fraction of what one visit can add."""


INSIDE, OUTSIDE = (True, True), (False, False)
"""States of a block within one epoch."""

NOTHING = Triples(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64))
"""The point of a block without a visit."""


class TooManyTriplesError(Exception):
    """Without merging points a set would become too long."""


@dataclass(frozen=True)
class Block:
    """What a block of steps can contribute: of each state its points, how to read their codes, and its parts."""

    length: int
    points: dict[State, Triples]
    parents: dict[State, Parents] = field(default_factory=dict)
    halves: tuple[Block, ...] = ()


class SrTree:
    """Blocks of one tree, each computed once.

    ``close``: relative difference up to which points are merged; 0: none are, and too many raise an error.
    """

    def __init__(self, worth: Worth, alpha: float, close: float, grain: int, *, upper: bool) -> None:
        self.worth, self.close, self.grain, self.upper = worth, close, grain, upper
        self.log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
        unit = worth.unit()
        short = max(worth.g_first, worth.g_later) + worth.delta_late**2
        self._floor_s = FLOOR * unit / math.sqrt(short) if short else 1.0
        self._floor_r = FLOOR * unit / math.sqrt(worth.drift) if worth.drift else 1.0
        self._blocks: dict[Key, Block] = {}
        self._space = _allocate(1 << 14)
        self._lists = self._single_visits()

    def decay(self, length: int) -> float:
        """Give ``(1-alpha)**length``, with ``0**0 = 1``."""
        return math.exp(self.log_decay * length) if length else 1.0

    def _single_visits(self) -> list[Triples]:
        """Give, per level up to the grain, what one visit in such a block adds: S, and squares of left and right."""
        lists = [Triples(np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64))]
        for level in range(self.grain):
            S, A, B, place = lists[-1]
            decayed = S * self.decay(1 << level)
            joined = Triples(
                np.concatenate([decayed, S]), np.concatenate([A + S * S, A]), np.concatenate([B, B + S * S]),
                np.concatenate([place, place + (1 << level)]),
            )  # fmt: skip
            lists.append(self._thinned(2 * S.size, joined, FLOOR, 1.0))
        return lists

    def _thinned(self, n: int, points: Triples, floor_s: float, floor_r: float) -> Triples:
        """Copy what matters of the first n points, which are changed."""
        S, R, Q, code = points
        if self.close == 0.0:
            kept = thin_exactly(n, S, R, Q, code)
        else:
            kept = thin(n, S, R, Q, code, self.close, floor_s, floor_r, self.upper)
        return Triples(S[:kept].copy(), R[:kept].copy(), Q[:kept].copy(), code[:kept].copy())

    def block(self, level: int, begin: int) -> Block:
        """Give the block of the steps begin + 1 .. begin + 2^level."""
        N, length, offset = self.worth.examples, 1 << level, begin % self.worth.examples
        end = begin + length
        zone = self.worth.zone(begin, end) if offset + length <= N else None
        key: Key = (2, level, begin)
        if zone is not None:
            key = (0, level, zone, offset >> self.grain)
        elif begin >= 2 * N and end <= self.worth.steps - N:
            key = (1, level, offset)
        found = self._blocks.get(key)
        if found is None:
            if zone is not None and level <= self.grain:
                found = self._single(level, begin)
            elif zone is not None:
                left, right = self.block(level - 1, begin), self.block(level - 1, begin + length // 2)
                found = self._within(left, right, begin, level)
            else:
                left, right = self.block(level - 1, begin), self.block(level - 1, begin + length // 2)
                found = self._joined(left, right, begin, level)
            self._blocks[key] = found
        return found

    def _single(self, level: int, begin: int) -> Block:
        worth = self.worth
        N, length, snapped = worth.examples, 1 << level, begin % worth.examples >> self.grain << self.grain
        p = min(N - 1, snapped + (1 << self.grain) + length - 2) if self.upper else snapped
        S, A, B, place = self._lists[level]
        left, right = worth.inside(begin)
        drift = worth.drift * float(p) ** 2
        Q = (left + drift) * A + (right + drift * worth.box) * B
        one = self._thinned(S.size, Triples(S.copy(), S * p, Q, place.copy()), self._floor_s, self._floor_r)
        return Block(length, {INSIDE: one, OUTSIDE: NOTHING} if length < N else {INSIDE: one})

    def _within(self, left: Block, right: Block, begin: int, level: int) -> Block:
        """Join two blocks of one epoch: the visit is in one of them."""
        one, two = self._own(left, begin, level - 1), self._own(right, begin + left.length, level - 1)
        size = one[INSIDE].S.size + two[INSIDE].S.size
        if size > self._space.S.size:
            self._space = _allocate(2 * size)
        a, b, space = one[INSIDE], two[INSIDE], self._space
        n = unite(a.S, a.R, a.Q, b.S, b.R, b.Q, self.decay(left.length), *space)
        points = {INSIDE: self._thinned(n, space, self._floor_s, self._floor_r)}
        parents = ((0, INSIDE, OUTSIDE, 1), (a.S.size, OUTSIDE, INSIDE, b.S.size))
        if 2 * left.length < self.worth.examples:
            points[OUTSIDE] = NOTHING
        return Block(2 * left.length, points, {INSIDE: parents}, (left, right))

    def _own(self, block: Block, begin: int, level: int) -> dict[State, Triples]:
        """Give a block's points with the block itself as a node."""
        g, delta, drift = self.worth.node(begin, level)
        late, most = self.worth.delta_late, self.worth.delta_most
        if not self.upper and begin % self.worth.examples + block.length > self.worth.examples:
            late = self.worth.least_moved()  # more than one visit
        return {
            state: Triples(S, R, add_own(S, R, Q, g, delta, drift, late, most), code)
            for state, (S, R, Q, code) in block.points.items()
        }

    def _joined(self, left: Block, right: Block, begin: int, level: int) -> Block:
        half, N = left.length, self.worth.examples
        pairs = pairings(left.points, right.points, begin % N, half, half, N)
        one, two = self._own(left, begin, level - 1), self._own(right, begin + half, level - 1)
        points, parents = {}, {}
        for state, products in pairs.items():
            keep_s = float(level <= self.worth.top)  # longer nodes are of r only
            points[state], parents[state] = self._product(one, two, products, self.decay(half), keep_s)
        return Block(left.length + right.length, points, parents, (left, right))

    def _product(
        self, left: dict[State, Triples], right: dict[State, Triples], pairs: list[tuple[State, State]],
        decay: float, keep_s: float,
    ) -> tuple[Triples, Parents]:  # fmt: skip
        total = sum(left[a].S.size * right[b].S.size for a, b in pairs)
        if total > MOST_PAIRS and self.close == 0.0:
            raise TooManyTriplesError
        if total > self._space.S.size:
            self._space = _allocate(2 * total)
        space, n, parents = self._space, 0, []
        for a, b in pairs:
            one, two = left[a], right[b]
            parents.append((n, a, b, two.S.size))
            n = join(one.S, one.R, one.Q, two.S, two.R, two.Q, decay, n, *space)
        space.S[:n] *= keep_s
        return self._thinned(n, space, self._floor_s, self._floor_r), tuple(parents)

    def run(self) -> tuple[float, Block, State]:
        """Join the nodes of COMPOSE(1, T): the best value, and the block and state whose only point has it."""
        T, N = self.worth.steps, self.worth.examples
        at, total = 0, None
        for level in range(T.bit_length() - 1, -1, -1):
            if not T >> level & 1:
                continue
            node = self.closed(self.block(level, at), at, level)
            at += 1 << level
            if total is None:
                total = node
                continue
            points, parents = {}, {}
            for state, products in pairings(total.points, node.points, 0, total.length, node.length, N).items():
                points[state], parents[state] = self._product(total.points, node.points, products, 0.0, 0.0)
            total = Block(at, points, parents, (total, node))
        assert total is not None
        value, state = max((float(p.Q[0]), state) for state, p in total.points.items())
        return value, total, state

    def closed(self, node: Block, begin: int, level: int) -> Block:
        """Give a node that no later one contains: of each state only the best value is left."""
        points = {}
        for state, (_, _, value, _) in self._own(node, begin, level).items():
            best = int(np.argmax(value))
            points[state] = Triples(np.zeros(1), np.zeros(1), value[best : best + 1], np.array([best]))
        return Block(node.length, points, {}, (node,))


def trace(block: Block, state: State) -> list[int]:
    """Give the visits, counted from 1, that the only point of the last block stands for."""
    visits, stack = [], [(block, state, 0, 0)]
    while stack:
        here, state, index, begin = stack.pop()
        code = int(here.points[state].code[index])
        if not here.halves:
            if state[0]:
                visits.append(begin + code + 1)
        elif len(here.halves) == 1:
            stack.append((here.halves[0], state, code, begin))
        elif state != (False, False) or here.points[state].Q[index] > 0.0:
            first, a, b, width = max(parent for parent in here.parents[state] if parent[0] <= code)
            i, j = divmod(code - first, width)
            left, right = here.halves
            stack += [(left, a, i, begin), (right, b, j, begin + left.length)]
    return sorted(visits)


def _allocate(size: int) -> Triples:
    return Triples(np.empty(size), np.empty(size), np.empty(size), np.empty(size, dtype=np.int64))
