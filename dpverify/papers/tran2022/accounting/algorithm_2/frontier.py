"""Sets of triples (S, R, Q), none of which dominates another, for ``algorithm_2.fresh``.

S is the sum of weights, R the sum of weights times (p - 1), and Q the value of the nodes inside a block.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Vector
from dpverify.papers.tran2022.accounting.blocks import Codes

# Larger sets are first merged on a grid, which is faster than sorting.
MANY: Final = 512


class Triples(NamedTuple):
    """Points of one block in one state."""

    S: Vector  # (n,) sum of weights at the block's end
    R: Vector  # (n,) sum of weights times (p - 1) at the block's end
    Q: Vector  # (n,) value of the nodes inside
    code: Codes  # (n,) origin of each point


@kernel
def join(
    SL: Vector, RL: Vector, QL: Vector, SR: Vector, RR: Vector, QR: Vector, decay: float,
    begin: int, S: Vector, R: Vector, Q: Vector, code: Codes,
) -> int:  # fmt: skip
    """Write the joins of every left point with every right point from ``begin`` on; return the next index."""
    n = begin
    for i in range(SL.shape[0]):
        s, r, q = decay * SL[i], decay * RL[i], QL[i]
        for j in range(SR.shape[0]):
            S[n], R[n], Q[n], code[n] = s + SR[j], r + RR[j], q + QR[j], n
            n += 1
    return n


@kernel
def most_moved(S: float, late: float, most: float) -> float:
    """Return an upper bound on the move of a Delta node with sum of weights S, whose weights are at most 1 each.

    Each of the latest visits moves the node by ``late`` times its weight, until ``most`` is used up. The bound is
    ``late`` times S, and exact, up to S = m = floor(most/late).
    """
    if late <= 0.0:
        return 0.0
    m = math.floor(most / late)
    if m >= S:
        return late * S
    return min(late * m + max(most - late * m, 0.0) * (S - m), most)


@kernel
def add_block_node(
    S: Vector,
    R: Vector,
    Q: Vector,
    g: float,
    delta: float,
    drift: float,
    late: float,
    limit: float,
) -> Vector:
    """Return Q with the block itself added as a node of G, of Delta (times ``delta``) and of r."""
    out = np.empty_like(Q)
    for i in range(Q.shape[0]):
        moved = most_moved(S[i], late, limit)
        out[i] = (
            Q[i] + g * (S[i] * S[i]) + delta * (moved * moved) + drift * (R[i] * R[i])
        )
    return out


@kernel
def concatenate_points(
    SL: Vector,
    RL: Vector,
    QL: Vector,
    SR: Vector,
    RR: Vector,
    QR: Vector,
    decay: float,
    S: Vector,
    R: Vector,
    Q: Vector,
    code: Codes,
) -> int:
    """Write the decayed left points and then the right points, for one visit in either part; return their number."""
    n = len(SL)
    for i in range(n):
        S[i], R[i], Q[i], code[i] = decay * SL[i], decay * RL[i], QL[i], i
    for j in range(len(SR)):
        S[n + j], R[n + j], Q[n + j], code[n + j] = SR[j], RR[j], QR[j], n + j
    return n + len(SR)


def thin_exactly(n: int, S: Vector, R: Vector, Q: Vector, code: Codes) -> int:
    """Keep, in place, the points that no other point dominates in S, R and Q; return their number."""
    order = np.argsort(-S[:n], kind="stable")
    return keep_unbeaten(S[order], R[order], Q[order], code[order], S, R, Q, code)


@kernel
def keep_unbeaten(
    s: Vector, r: Vector, q: Vector, c: Codes, S: Vector, R: Vector, Q: Vector, code: Codes
) -> int:  # fmt: skip
    """Write the points that no other point dominates; return their number. ``s`` is in decreasing order."""
    count = 0
    for i in range(s.shape[0]):
        beaten = False
        for j in range(count):
            if S[j] >= s[i] and R[j] >= r[i] and Q[j] >= q[i]:
                beaten = True
                break
        if beaten:
            continue
        k = 0
        # a later point with the same S may dominate an earlier one
        for j in range(count):
            if not (s[i] >= S[j] and r[i] >= R[j] and q[i] >= Q[j]):
                S[k], R[k], Q[k], code[k] = S[j], R[j], Q[j], code[j]
                k += 1
        S[k], R[k], Q[k], code[k] = s[i], r[i], q[i], c[i]
        count = k + 1
    return count


@kernel
def cell(x: float, floor: float, close: float) -> float:
    """Return the cell of a value on a grid that is logarithmic above ``floor`` and linear below it."""
    return math.log1p(x / floor) / close


@kernel
def gather(
    n: int,
    S: Vector,
    R: Vector,
    Q: Vector,
    code: Codes,
    close: float,
    floor_s: float,
    floor_r: float,
    upper: bool,
) -> int:
    """Merge, in place, points in the same cell of an even grid, at most half as wide as the cells of ``thin``."""
    low_s = S[0]
    high_s = S[0]
    low_r = R[0]
    high_r = R[0]
    for i in range(1, n):
        low_s = min(low_s, S[i])
        high_s = max(high_s, S[i])
        low_r = min(low_r, R[i])
        high_r = max(high_r, R[i])
    per_s = 2.0 / (close * (floor_s + low_s))
    per_r = 2.0 / (close * (floor_r + low_r))
    rows = (high_s - low_s) * per_s + 1.0
    columns = (high_r - low_r) * per_r + 1.0
    if rows * columns > n:
        return n
    width = int(columns) + 1
    at = np.full((int(rows) + 1) * width, -1, dtype=np.int64)
    count = 0
    for i in range(n):
        place = int((S[i] - low_s) * per_s) * width + int((R[i] - low_r) * per_r)
        k = at[place]
        if k < 0:
            at[place] = count
            S[count], R[count], Q[count], code[count] = S[i], R[i], Q[i], code[i]
            count += 1
            continue
        is_larger = Q[i] > Q[k]
        if upper:
            S[k], R[k] = max(S[k], S[i]), max(R[k], R[i])
        elif is_larger:
            S[k], R[k] = S[i], R[i]
        if is_larger:
            Q[k], code[k] = Q[i], code[i]
    return count


def thin(
    n: int,
    S: Vector,
    R: Vector,
    Q: Vector,
    code: Codes,
    close: float,
    floor_s: float,
    floor_r: float,
    upper: bool,
) -> int:
    """Replace the first n points, in place, by fewer points that represent all of them; return their number."""
    # A point is merged into a point with larger S and R (or equal up to a step of
    # ``close``) whose Q is smaller by at most the fraction ``close``. The result
    # dominates all merged points (``upper``), or is one of them.
    if n <= 1:
        return n
    if n > MANY:
        n = gather(n, S, R, Q, code, close, floor_s, floor_r, upper)
    place = np.empty(n, dtype=np.int64)
    columns = fill_places(S, R, close, floor_s, floor_r, place)
    return merge_cells(np.argsort(place), place, columns, close, upper, S, R, Q, code)


@kernel
def fill_places(
    S: Vector, R: Vector, close: float, floor_s: float, floor_r: float, place: Indices
) -> int:
    """Write the cell of each point; return the number of columns. Cells are in the order of decreasing S, then R."""
    n = place.shape[0]
    low_s = S[0]
    low_r = R[0]
    high_r = R[0]
    for i in range(1, n):
        low_s = min(low_s, S[i])
        low_r = min(low_r, R[i])
        high_r = max(high_r, R[i])
    begin_s = cell(low_s, floor_s, close)
    begin_r = cell(low_r, floor_r, close)
    columns = int(cell(high_r, floor_r, close) - begin_r) + 1
    for i in range(n):
        row = max(int(cell(S[i], floor_s, close) - begin_s), 0)
        place[i] = (
            columns
            - 1
            - min(max(int(cell(R[i], floor_r, close) - begin_r), 0), columns - 1)
            - row * columns
        )
    return columns


@kernel
def merge_cells(
    order: Indices,
    place: Indices,
    columns: int,
    close: float,
    upper: bool,
    S: Vector,
    R: Vector,
    Q: Vector,
    code: Codes,
) -> int:
    """Merge close points, in place; return their number. ``order`` sorts the points by the number of their cell."""
    n = order.shape[0]
    # insertion sort of each cell by decreasing
    # Q; a cell has at most a few hundred points
    for k in range(1, n):
        i = order[k]
        m = k
        while m > 0 and place[order[m - 1]] == place[i]:
            before = order[m - 1]
            if Q[before] > Q[i] or (Q[before] == Q[i] and before < i):
                break
            order[m] = before
            m -= 1
        order[m] = i
    s = S[:n].copy()
    r = R[:n].copy()
    q = Q[:n].copy()
    c = code[:n].copy()
    # Fenwick tree of prefix maxima over the columns
    best = np.full(columns + 1, -1, dtype=np.int64)
    keep = np.zeros(n, dtype=np.bool_)
    for k in range(n):
        i = order[k]
        beats = -1
        column = place[i] % columns
        j = column + 1
        while j > 0:
            if best[j] >= 0 and (beats < 0 or Q[best[j]] > Q[beats]):
                beats = best[j]
            j -= j & -j
        if beats >= 0 and Q[i] <= Q[beats] * (1.0 + close):
            if upper:
                s[beats], r[beats], q[beats] = (
                    max(s[beats], s[i]),
                    max(r[beats], r[i]),
                    max(q[beats], q[i]),
                )
            continue
        keep[i] = True
        j = column + 1
        while j <= columns:
            if best[j] < 0 or Q[i] > Q[best[j]]:
                best[j] = i
            j += j & -j
    count = 0
    for k in range(n):
        i = order[k]
        if keep[i]:
            S[count], R[count], Q[count], code[count] = s[i], r[i], q[i], c[i]
            count += 1
    return count
