"""Algorithm 2 when every epoch has its own permutation: the dynamic programme over blocks with two sums.

It differs from ``algorithm_1.fresh`` in two respects. The weight of a visit at place p of its epoch is multiplied by p
- 1 in the r nodes. The contribution of a node depends on its position in the run. Inside an epoch, blocks of up to 2^g
steps share their points, computed with the largest possible p for upper bounds and the smallest for lower bounds. If
points are not merged, g is 0.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from dpverify.papers.tran2022.accounting.algorithm_2.frontier import (
    Triples,
    add_block_node,
    concatenate_points,
    join,
    thin,
    thin_exactly,
)
from dpverify.papers.tran2022.accounting.algorithm_2.nodes import NodeSensitivities
from dpverify.papers.tran2022.accounting.blocks import (
    INSIDE,
    OUTSIDE,
    BlockTree,
    State,
    StepBlock,
)

Key: TypeAlias = tuple[int, ...]

# Differences are relative, but to at least this
# fraction of the largest contribution of one visit.
FLOOR = 0.05

NOTHING = Triples(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64))
"""The point of a block without a visit."""


class SrTree(BlockTree[Triples]):
    """Blocks of Algorithm 2's trees, each computed once; ``grain`` is the g of the module's documentation."""

    most_pairs = 1 << 12

    def __init__(
        self,
        sensitivities: NodeSensitivities,
        alpha: float,
        close: float,
        grain: int,
        *,
        upper: bool,
    ) -> None:
        super().__init__(
            sensitivities.steps, sensitivities.examples, alpha, close, upper=upper
        )
        self.sensitivities = sensitivities
        self.grain = grain
        self._floor_s, self._floor_r = sensitivities.floors(
            max(sensitivities.g_first, sensitivities.g_later), FLOOR
        )
        self._blocks: dict[Key, StepBlock[Triples]] = {}
        self._lists = self._single_visits()

    def _single_visits(self) -> list[Triples]:
        """Return for each level up to the grain: S, and sums of squares over left and right halves, for one visit."""
        lists = [
            Triples(np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64))
        ]
        for level in range(self.grain):
            S, A, B, place = lists[-1]
            decayed = S * self.decay(1 << level)
            joined = Triples(
                np.concatenate([decayed, S]),
                np.concatenate([A + S * S, A]),
                np.concatenate([B, B + S * S]),
                np.concatenate([place, place + (1 << level)]),
            )
            lists.append(self._thinned(2 * S.size, joined, FLOOR, 1.0))
        return lists

    def _thinned(
        self, n: int, points: Triples, floor_s: float, floor_r: float
    ) -> Triples:
        """Return a thinned copy of the first n points; the input arrays are overwritten."""
        S, R, Q, code = points
        if self.close == 0.0:
            count = thin_exactly(n, S, R, Q, code)
        else:
            count = thin(n, S, R, Q, code, self.close, floor_s, floor_r, self.upper)
        return Triples(
            S[:count].copy(), R[:count].copy(), Q[:count].copy(), code[:count].copy()
        )

    def block(self, level: int, begin: int) -> StepBlock[Triples]:
        """Return the block of the steps begin + 1 .. begin + 2^level."""
        N = self.N
        length = 1 << level
        offset = begin % self.N
        end = begin + length
        zone = self.sensitivities.zone(begin, end) if offset + length <= N else None
        key: Key = (2, level, begin)
        if zone is not None:
            key = (0, level, zone, offset >> self.grain)
        elif begin >= 2 * N and end <= self.T - N:
            key = (1, level, offset)
        step_block = self._blocks.get(key)
        if step_block is None:
            if zone is not None and level <= self.grain:
                step_block = self._single(level, begin)
            else:
                left = self.block(level - 1, begin)
                right = self.block(level - 1, begin + length // 2)
                step_block = (self._joined if zone is None else self._join_in_epoch)(
                    left, right, begin, level
                )
            self._blocks[key] = step_block
        return step_block

    def _single(self, level: int, begin: int) -> StepBlock[Triples]:
        N = self.N
        length = 1 << level
        snapped = begin % self.N >> self.grain << self.grain
        p = (
            min(N - 1, snapped + (1 << self.grain) + length - 2)
            if self.upper
            else snapped
        )
        S, A, B, place = self._lists[level]
        left, right = self.sensitivities.inside(begin)
        Q = (left + self.sensitivities.drift * float(p) ** 2) * A + right * B
        points = self._thinned(
            S.size,
            Triples(S.copy(), S * p, Q, place.copy()),
            self._floor_s,
            self._floor_r,
        )
        return StepBlock(
            length,
            {INSIDE: points, OUTSIDE: NOTHING} if length < N else {INSIDE: points},
        )

    def _join_in_epoch(
        self,
        left: StepBlock[Triples],
        right: StepBlock[Triples],
        begin: int,
        level: int,
    ) -> StepBlock[Triples]:
        """Join two blocks of one epoch: the visit is in one of them."""
        left_points = self._block_as_node(left, begin, level - 1)
        right_points = self._block_as_node(right, begin + left.length, level - 1)
        size = left_points[INSIDE].S.size + right_points[INSIDE].S.size
        self._reserve(size)
        a = left_points[INSIDE]
        b = right_points[INSIDE]
        space = self._space
        n = concatenate_points(
            a.S, a.R, a.Q, b.S, b.R, b.Q, self.decay(left.length), *space
        )
        points = {INSIDE: self._thinned(n, space, self._floor_s, self._floor_r)}
        parents = ((0, INSIDE, OUTSIDE, 1), (a.S.size, OUTSIDE, INSIDE, b.S.size))
        if 2 * left.length < self.N:
            points[OUTSIDE] = NOTHING
        return StepBlock(2 * left.length, points, {INSIDE: parents}, (left, right))

    def _block_as_node(
        self, block: StepBlock[Triples], begin: int, level: int
    ) -> dict[State, Triples]:
        """Return a block's points, with the block itself added to Q as a node."""
        g, delta, drift = self.sensitivities.node(begin, level)
        late = self.sensitivities.delta_late
        limit = self.sensitivities.delta_most
        if not self.upper and begin % self.N + block.length > self.N:
            late = self.sensitivities.least_moved()  # the block may contain two visits
        return {
            state: Triples(
                S, R, add_block_node(S, R, Q, g, delta, drift, late, limit), code
            )
            for state, (S, R, Q, code) in block.points.items()
        }

    def _joined(
        self,
        left: StepBlock[Triples],
        right: StepBlock[Triples],
        begin: int,
        level: int,
    ) -> StepBlock[Triples]:
        half = left.length
        left_points = self._block_as_node(left, begin, level - 1)
        right_points = self._block_as_node(right, begin + half, level - 1)
        keep_s = float(level <= self.sensitivities.top)  # longer nodes are of r only
        return self._join(
            left, left_points, right, right_points, begin, self.decay(half), keep_s
        )

    def closed(
        self, node: StepBlock[Triples], begin: int, level: int
    ) -> StepBlock[Triples]:
        """Return a node that no later node contains, with only the best value of each state."""
        points = {}
        for state, (_, _, value, _) in self._block_as_node(node, begin, level).items():
            best = int(np.argmax(value))
            points[state] = Triples(
                np.zeros(1), np.zeros(1), value[best : best + 1], np.array([best])
            )
        return StepBlock(node.length, points, {}, (node,))

    def _allocate(self, size: int) -> Triples:
        return Triples(
            np.empty(size),
            np.empty(size),
            np.empty(size),
            np.empty(size, dtype=np.int64),
        )

    def _pairs(
        self, left: Triples, right: Triples, decay: float, factor: float, n: int
    ) -> int:
        return join(
            left.S, left.R, left.Q, right.S, right.R, right.Q, decay, n, *self._space
        )

    def _thinned_candidates(self, n: int, factor: float) -> Triples:
        """Return a thinned copy of the first n candidates; ``factor`` is 0 if S is no longer needed, else 1."""
        self._space.S[:n] *= factor
        return self._thinned(n, self._space, self._floor_s, self._floor_r)
