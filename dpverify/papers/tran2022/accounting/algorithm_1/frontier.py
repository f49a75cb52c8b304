"""Sets of (sum of weights, value) pairs from which nothing better can be picked: building, joining, thinning.

A point says that some choice of visits in a block of steps gives the sum of weights S at the block's end and the value
Q so far. Larger S and larger Q are both better, so only points that no other point beats in both need be kept. To keep
the sets small, points that are close are merged: into a point that beats all of them (for an upper bound), or into one
of themselves (for a lower bound).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting.blocks import Codes

FINE: Final = 4096
"""Cells into which many candidates are sorted before they are thinned; at most that many are sorted one by one."""

FLOOR: Final = 0.05
"""Differences of S are relative to S, but not to less than this: a node's own visits weigh about 1."""


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
    """Write all pairs of a left and a right point into S, Q, code from index ``begin`` on; returns the next index.

    The left block's sum decays by ``decay`` until the end of the right one. ``counted`` is 1 where the left block is
    itself a node that counts, else 0.
    """
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
