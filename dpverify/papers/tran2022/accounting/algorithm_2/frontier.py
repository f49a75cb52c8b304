"""Triples (S of weights, R of (p - 1) weights, value Q) of which none beats another, as in ``algorithm_1.fresh``."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Vector
from dpverify.papers.tran2022.accounting.blocks import Codes

MANY: Final = 512  # Sets of more points than this are first merged on a grid, which is faster than sorting them.


class Triples(NamedTuple):
    """Points of one block in one state."""

    S: Vector  # (n,) Sum of weights and of (p - 1) weights at the block's end, and value of the nodes inside
    R: Vector
    Q: Vector
    code: Codes  # (n,) Where each point comes from


@kernel
def join(
    SL: Vector, RL: Vector, QL: Vector, SR: Vector, RR: Vector, QR: Vector, decay: float,
    begin: int, S: Vector, R: Vector, Q: Vector, code: Codes,
) -> int:  # fmt: skip
    """Write all pairs of a left and a right point into S, R, Q, code from ``begin`` on; returns the next index."""
    n = begin
    for i in range(SL.shape[0]):
        s, r, q = decay * SL[i], decay * RL[i], QL[i]
        for j in range(SR.shape[0]):
            S[n], R[n], Q[n], code[n] = s + SR[j], r + RR[j], q + QR[j], n
            n += 1
    return n


@kernel
def most_moved(S: float, late: float, most: float) -> float:
    """What a Delta node with sum of weights S moves by at most: weights are at most 1, the latest count ``late`` each.

    They do until ``most`` is used up, so that it is ``late`` S up to S = m = floor(most/late), and exact there.
    """
    if late <= 0.0:
        return 0.0
    m = math.floor(most / late)
    if m >= S:
        return late * S
    return min(late * m + max(most - late * m, 0.0) * (S - m), most)


@kernel
def add_own(S: Vector, R: Vector, Q: Vector, g: float, delta: float, drift: float, late: float, limit: float) -> Vector:
    """Give Q with the block itself as a node: of G, of Delta (times ``delta``), of r."""
    out = np.empty_like(Q)
    for i in range(Q.shape[0]):
        moved = most_moved(S[i], late, limit)
        out[i] = Q[i] + g * (S[i] * S[i]) + delta * (moved * moved) + drift * (R[i] * R[i])
    return out


@kernel
def unite(
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
    """Write the left points, decayed, and then the right ones, into S, R, Q, code: one visit, on either side."""
    n = len(SL)
    for i in range(n):
        S[i], R[i], Q[i], code[i] = decay * SL[i], decay * RL[i], QL[i], i
    for j in range(len(SR)):
        S[n + j], R[n + j], Q[n + j], code[n + j] = SR[j], RR[j], QR[j], n + j
    return n + len(SR)


def thin_exactly(n: int, S: Vector, R: Vector, Q: Vector, code: Codes) -> int:
    """Keep, in place, the points that no other beats in all three numbers; returns how many."""
    order = np.argsort(-S[:n], kind="stable")
    return keep_unbeaten(S[order], R[order], Q[order], code[order], S, R, Q, code)


@kernel
def keep_unbeaten(
    s: Vector, r: Vector, q: Vector, c: Codes, S: Vector, R: Vector, Q: Vector, code: Codes
) -> int:  # fmt: skip
    """Write the points that no other beats, of those of ``s``, which falls; returns how many."""
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
        for j in range(count):  # of points with the same S an earlier one may be beaten by a later one
            if not (s[i] >= S[j] and r[i] >= R[j] and q[i] >= Q[j]):
                S[k], R[k], Q[k], code[k] = S[j], R[j], Q[j], code[j]
                k += 1
        S[k], R[k], Q[k], code[k] = s[i], r[i], q[i], c[i]
        count = k + 1
    return count


@kernel
def cell(x: float, floor: float, close: float) -> float:
    """Number a value so that equal steps are equal ratios, or equal differences below ``floor``."""
    return math.log1p(x / floor) / close


@kernel
def gather(
    n: int, S: Vector, R: Vector, Q: Vector, code: Codes, close: float, floor_s: float, floor_r: float, upper: bool
) -> int:
    """Merge, in place, points in one cell of an even grid, half as wide as what ``thin`` takes to be close, or less."""
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
    n: int, S: Vector, R: Vector, Q: Vector, code: Codes, close: float, floor_s: float, floor_r: float, upper: bool
) -> int:
    """Keep, in place, few points of the first n that stand for all; returns how many."""
    # A point is merged into one with larger S and R (or the same up to a step of ``close``) whose Q is smaller by the
    # fraction ``close`` at most. Merged points become one that beats all (upper), or one of themselves.
    if n <= 1:
        return n
    if n > MANY:
        n = gather(n, S, R, Q, code, close, floor_s, floor_r, upper)
    place = np.empty(n, dtype=np.int64)
    columns = fill_places(S, R, close, floor_s, floor_r, place)
    return merge_cells(np.argsort(place), place, columns, close, upper, S, R, Q, code)


@kernel
def fill_places(S: Vector, R: Vector, close: float, floor_s: float, floor_r: float, place: Indices) -> int:
    """Number the cells of a table by rows, from large S to small, in each from large R to small; gives its columns."""
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
        place[i] = columns - 1 - min(max(int(cell(R[i], floor_r, close) - begin_r), 0), columns - 1) - row * columns
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
    """Merge, in place, points that are close, of which ``order`` has those of each cell together, by its number."""
    n = order.shape[0]
    for k in range(1, n):  # those of a cell from large Q to small, which are a few hundred at most in runs
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
    best = np.full(columns + 1, -1, dtype=np.int64)  # a tree of prefix maxima over the columns, after Fenwick
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
                s[beats], r[beats], q[beats] = max(s[beats], s[i]), max(r[beats], r[i]), max(q[beats], q[i])
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
