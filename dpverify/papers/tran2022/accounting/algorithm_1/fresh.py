"""The largest sum of squared node weights when every epoch has its own permutation: a dynamic programme over blocks.

A block [u, u + 2^k) of steps matters to the rest of the run through three things only: the sum S of its visits' weights
at its end, the value Q of the nodes inside it, and whether the epochs that it shares with its neighbours have their
visit inside. The last is a state; for each state the block keeps the pairs (S, Q) of which none is beaten. Two blocks
join by S = (1-alpha)^(length of the right one) S_left + S_right, Q = Q_left + S_left^2 + Q_right: the left half of a
dyadic block is a node that counts, the right half is not. What a block keeps depends on 2^k and on u modulo N only.
NOTES_accountant.md has the proof and the rounding.
"""

from __future__ import annotations

import numpy as np

from dpverify.papers.tran2022.accounting.algorithm_1.frontier import FINE, Frontier, join, thin
from dpverify.papers.tran2022.accounting.blocks import INSIDE, OUTSIDE, BlockTree, StepBlock


class FreshTree(BlockTree[Frontier]):
    """Blocks of Algorithm 1's tree, each computed once."""

    most_pairs = 1 << 20

    def __init__(self, steps: int, examples: int, alpha: float, close: float, *, upper: bool) -> None:
        super().__init__(steps, examples, alpha, close, upper=upper)
        self._blocks: dict[tuple[int, int], StepBlock[Frontier]] = {}

    def block(self, level: int, begin: int) -> StepBlock[Frontier]:
        """Give the block of the steps begin + 1 .. begin + 2^level."""
        length, offset = 1 << level, begin % self.N
        # Inside an epoch all blocks of a level are alike, unless they fill it.
        key = (level, 1 if offset + length <= self.N and length < self.N else offset)
        found = self._blocks.get(key)
        if found is None:
            found = self._blocks[key] = self._make(*key)
        return found

    def _make(self, level: int, offset: int) -> StepBlock[Frontier]:
        if level == 0:
            one = Frontier(np.ones(1), np.zeros(1), np.zeros(1, dtype=np.int64))
            none = Frontier(np.zeros(1), np.zeros(1), np.zeros(1, dtype=np.int64))
            return StepBlock(1, {INSIDE: one} | ({} if self.N == 1 else {OUTSIDE: none}))
        half = 1 << level - 1
        left, right = self.block(level - 1, offset), self.block(level - 1, offset + half)
        return self._join(left, left.points, right, right.points, offset, self.decay(half), 1.0)

    def closed(self, node: StepBlock[Frontier], begin: int, level: int) -> StepBlock[Frontier]:
        """Give a node that no later one contains: of each state only the best value is left."""
        points = {}
        for state, (S, Q, _) in node.points.items():
            value = Q + S * S
            best = int(np.argmax(value))
            points[state] = Frontier(np.zeros(1), value[best : best + 1], np.array([best]))
        return StepBlock(node.length, points, {}, (node,))

    def _allocate(self, size: int) -> Frontier:
        return Frontier(np.empty(size), np.empty(size), np.empty(size, dtype=np.int64))

    def _pairs(self, left: Frontier, right: Frontier, decay: float, factor: float, n: int) -> int:
        """Write all pairs; ``factor`` is 1 where the left one is a node of its own, else 0."""
        return join(left.S, left.Q, right.S, right.Q, decay, factor, n, *self._space)

    def _kept(self, n: int, factor: float) -> Frontier:
        S, Q, code = self._space
        fine = FINE if self.close > 0.0 else n
        kept = thin(n, S, Q, code, self.close, self.close, self.upper, fine)
        return Frontier(S[:kept].copy(), Q[:kept].copy(), code[:kept].copy())
