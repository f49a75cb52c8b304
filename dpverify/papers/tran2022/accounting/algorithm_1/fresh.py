"""The largest sum of squared node weights when every epoch has its own permutation: a dynamic programme over blocks.

A block [u, u + 2^k) of steps matters to the rest through the sum S of its visits' weights at its end, the value Q of
the nodes inside it, and whether the epochs shared with its neighbours have their visit inside: the state, for each of
which the pairs (S, Q) that none beats are kept; they depend on 2^k and on u modulo N only. Two blocks join by S =
(1-alpha)^(length of the right one) S_left + S_right, Q = Q_left + S_left^2 + Q_right: only the left half of a dyadic
block is a node that counts. Close points are merged into one that beats all (upper bound) or one of themselves (lower).
NOTES_accountant.md has the proof and the rounding.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting.blocks import INSIDE, OUTSIDE, BlockTree, Codes, StepBlock

FINE: Final = 4096
"""Cells into which many candidates are sorted before they are thinned; at most that many are sorted one by one."""

FLOOR: Final = 0.05  # Differences of S are relative to S, but not to less than this: a node's own visits weigh about 1.


class Frontier(NamedTuple):
    """Points in the order of falling S, which is the order of rising Q."""

    S: Vector  # (n,) Sum of weights at the block's end, and value of the nodes inside
    Q: Vector
    code: Codes  # (n,) Where each point comes from


@kernel
def join(
    SL: Vector, QL: Vector, SR: Vector, QR: Vector, decay: float, counted: float,
    begin: int, S: Vector, Q: Vector, code: Codes,
) -> int:  # fmt: skip
    """Write all pairs of points from ``begin`` on, return the next index; ``counted``: 1 where the left is a node."""
    n = begin
    for i in range(SL.shape[0]):
        s, q = decay * SL[i], QL[i] + counted * (SL[i] * SL[i])
        for j in range(SR.shape[0]):
            S[n], Q[n], code[n] = s + SR[j], q + QR[j], n
            n += 1
    return n


@kernel
def thin(n: int, S: Vector, Q: Vector, code: Codes, close_s: float, close_q: float, upper: bool, fine: int) -> int:
    """Keep, in place, few of the first n points; merged ones differ by ``close_s`` in S or ``close_q`` in Q at most."""
    if n <= 1:
        return n
    if n > fine:
        n = sort_into_cells(n, S, Q, code, upper, fine)
    order = np.argsort(-S[:n])
    s, q, c = S[:n][order], Q[:n][order], code[:n][order]
    # Of points with the same S only the one with the largest Q counts, and a point needs a larger Q than all before.
    kept = 0
    for i in range(n):
        if kept > 0 and q[i] <= q[kept - 1]:
            continue
        if kept > 0 and s[i] == s[kept - 1]:
            kept -= 1
        s[kept], q[kept], c[kept] = s[i], q[i], c[i]
        kept += 1
    out, first = 0, 0
    while first < kept:
        last = first
        while last + 1 < kept and (
            s[first] - s[last + 1] <= close_s * max(s[first], FLOOR) or q[last + 1] - q[first] <= close_q * q[first]
        ):
            last += 1
        if last == first:
            S[out], Q[out], code[out] = s[first], q[first], c[first]
        elif upper:
            S[out], Q[out], code[out] = s[first], q[last], c[last]
        elif s[first] - s[last] <= close_s * max(s[first], FLOOR):
            S[out], Q[out], code[out] = s[last], q[last], c[last]
        else:
            S[out], Q[out], code[out] = s[first], q[first], c[first]
        out += 1
        first = last + 1
    return out


@kernel
def sort_into_cells(n: int, S: Vector, Q: Vector, code: Codes, upper: bool, cells: int) -> int:
    """Keep, in place, one point for each of ``cells`` equal intervals of S; returns how many."""
    low, high = S[0], S[0]
    for i in range(1, n):
        low, high = min(low, S[i]), max(high, S[i])
    if high == low:
        cells = 1
    s, q, c = np.full(cells, -1.0), np.full(cells, -1.0), np.empty(cells, dtype=np.int64)
    scale = cells / (high - low) if high > low else 0.0
    for i in range(n):
        cell = min(int((S[i] - low) * scale), cells - 1)
        if upper:
            if Q[i] > q[cell]:
                q[cell], c[cell] = Q[i], code[i]
            s[cell] = max(s[cell], S[i])
        elif Q[i] > q[cell] or (Q[i] == q[cell] and S[i] > s[cell]):
            s[cell], q[cell], c[cell] = S[i], Q[i], code[i]
    kept = 0
    for cell in range(cells):
        if s[cell] >= 0.0:
            S[kept], Q[kept], code[kept] = s[cell], q[cell], c[cell]
            kept += 1
    return kept


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
