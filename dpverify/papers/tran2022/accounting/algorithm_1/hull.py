"""The upper hull of points (S, Q), in the order of decreasing S, and the join of blocks from their halves.

A block contributes ``Q + f(S)`` to the run, where f is a maximum of sums of squares of
nondecreasing affine functions of S, one of which is S itself. So f and ``f(S) - S^2``
are convex and nondecreasing. A point below the chord of two other points, in Q or in
``Q + S^2`` over S, contributes no more than the better of the two and can be removed.
NOTES_accountant.md has the proof and the effect of rounding.

``join_level`` joins all blocks of one length from their halves in one call, and keeps the points of the upper hull of
each state.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.jit import inner_kernel, kernel
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting.blocks import Codes, State, pairings

# Differences of S are relative to max(S, FLOOR),
# as the visits of a node itself weigh about 1.
FLOOR: Final = 0.05

# A point is removed only if it lies below the chord by more than rounding errors.
CERTAIN: Final = 1.0 - 2.0**-50


@inner_kernel
def keep_upper_hull(
    n: int, S: Vector, Q: Vector, code: Codes, value: Vector, squared: float
) -> int:
    """Keep, in place, the upper hull of n points in ``value = Q + squared S^2`` over S; return its number of points."""
    count = 0
    for k in range(n):
        s = S[k]
        q = Q[k]
        c = code[k]
        v = q + squared * (s * s)
        if count > 0 and v <= value[count - 1]:
            continue
        if count > 0 and s == S[count - 1]:
            count -= 1
        while count > 1:
            rise = value[count - 1] - value[count - 2]
            fall = S[count - 2] - S[count - 1]
            if rise * (S[count - 1] - s) > CERTAIN * ((v - value[count - 1]) * fall):
                break
            count -= 1
        S[count] = s
        Q[count] = q
        code[count] = c
        value[count] = v
        count += 1
    return count


@inner_kernel
def merge_close(
    n: int, S: Vector, Q: Vector, code: Codes, close: float, upper: bool
) -> int:
    """Merge, in place, adjacent points whose S or Q differ by at most ``close``; return the number of points.

    Merged points are replaced by a point that dominates all of them if ``upper`` is true, else by one of them.
    """
    out = 0
    first = 0
    while first < n:
        last = first
        s = S[first]
        q = Q[first]
        near = close * max(s, FLOOR)
        while last + 1 < n and (
            s - S[last + 1] <= near or Q[last + 1] - q <= close * q
        ):
            last += 1
        c = code[last]
        if last > first and upper:
            q = Q[last]
        elif s - S[last] <= near:
            s = S[last]
            q = Q[last]
        else:
            c = code[first]
        S[out] = s
        Q[out] = q
        code[out] = c
        out = out + 1
        first = last + 1
    return out


@inner_kernel
def add_sums(
    n: int,
    S: Vector,
    Q: Vector,
    code: Codes,
    na: int,
    SA: Vector,
    QA: Vector,
    nb: int,
    SB: Vector,
    QB: Vector,
    codes_b: Codes,
    pair: int,
    S_out: Vector,
    Q_out: Vector,
    code_out: Codes,
) -> int:
    """Merge n points with the hull of all sums of a point of A and a point of B; return the number of points.

    The hull of the sums has the edges of the hulls A and B, sorted by slope. All points are in the order of decreasing
    S. The code of a sum combines ``pair``, the index of the point of A times 2^20, and the code of the point of B.
    """
    out = i = j = k = 0
    while True:
        s = SA[i] + SB[j]
        q = QA[i] + QB[j]
        while k < n and S[k] >= s:
            S_out[out], Q_out[out], code_out[out] = S[k], Q[k], code[k]
            out = out + 1
            k = k + 1
        S_out[out], Q_out[out], code_out[out] = s, q, pair | i << 20 | codes_b[j]
        out += 1
        # branch-free, as the outcome of the comparison is unpredictable
        if i + 1 < na and j + 1 < nb:
            of_a = (QA[i + 1] - QA[i]) * (SB[j] - SB[j + 1]) >= (QB[j + 1] - QB[j]) * (
                SA[i] - SA[i + 1]
            )
            i = i + of_a
            j = j + (1 - of_a)
        elif i + 1 < na:
            i += 1
        elif j + 1 < nb:
            j += 1
        else:
            break
    while k < n:
        S_out[out], Q_out[out], code_out[out] = S[k], Q[k], code[k]
        out = out + 1
        k = k + 1
    return out


Places = NDArray[np.int64]

Number = TypeVar("Number", np.float64, np.int64)

STATES: Final[tuple[State, ...]] = (
    (False, False),
    (False, True),
    (True, False),
    (True, True),
)


class Level(NamedTuple):
    """All blocks of one length that a run needs; the blocks inside an epoch share one entry."""

    offsets: Places  # (m,) first steps, counted from 0, modulo N; increasing
    left: Places  # (m,) index of the left half in the level below
    right: Places  # (m,) index of the right half in the level below
    # (m, 5) index of the first point of each of
    # ``STATES``, and the end of the last state's points
    begin: Places
    S: Vector  # (n,) sum of weights at the block's end, for all points
    Q: Vector  # (n,) value of the nodes inside, for all points
    # (n,) origin of each point: states of the halves, and the indices of their points
    # in 20 bits each
    code: Codes


def targets_of(offsets: Places, half: int, N: int) -> Places:
    """Return the state that each pair of states of the halves produces, -1 for incompatible pairs; shape (m, 16)."""
    middle = offsets + half
    end = offsets + 2 * half
    kinds = (
        middle % N != 0,
        middle <= N,
        middle // N * N + N >= end,
        offsets == 0,
        end % N == 0,
        end >= N,
        end - offsets >= N,
    )
    which = sum(
        (kind.astype(np.int64) << place for place, kind in enumerate(kinds)),
        np.zeros(1, dtype=np.int64),
    )
    _, first, kind_of = np.unique(which, return_index=True, return_inverse=True)
    table = np.full((len(first), 16), -1, dtype=np.int64)
    for row, place in zip(table, first, strict=True):
        for state, pairs in pairings(
            STATES, STATES, int(offsets[place]), half, half, N
        ).items():
            row[[4 * STATES.index(a) + STATES.index(b) for a, b in pairs]] = (
                STATES.index(state)
            )
    return table[kind_of]


@kernel
def lengthened(array: NDArray[Number], used: int, size: int) -> NDArray[Number]:
    """Return a copy of the first ``used`` entries of an array in an array of length ``size``."""
    out = np.empty(size, dtype=array.dtype)
    # a slice assignment would also compile the formatting of a shape error
    for i in range(used):
        out[i] = array[i]
    return out


@kernel
def join_level(
    decay: float,
    close: float,
    upper: bool,
    limit: int,
    targets: Places,
    left: Places,
    right: Places,
    begin: Places,
    S: Vector,
    Q: Vector,
) -> tuple[Places, Vector, Vector, Codes, int]:
    """Join blocks of the level below, which has ``begin``, S and Q; ``decay`` is the decay over the right half.

    Returns begin, S, Q and code of the new level, and the largest number of points of a state. If this number exceeds
    ``limit``, the join stopped early and the other results are incomplete.
    """
    m = left.shape[0]
    starts = np.zeros((m, 5), dtype=np.int64)
    S_out, Q_out, code_out = np.empty(64), np.empty(64), np.empty(64, dtype=np.int64)
    total = longest = room = 0
    s1, q1, c1 = np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)
    s2, q2, c2 = np.empty(0), np.empty(0), np.empty(0, dtype=np.int64)
    na, nb, value = (
        np.empty(4, dtype=np.int64),
        np.empty(4, dtype=np.int64),
        np.empty(0),
    )
    sa, qa = np.empty((4, 0)), np.empty((4, 0))
    sb, qb, cb = np.empty((4, 0)), np.empty((4, 0)), np.empty((4, 0), dtype=np.int64)
    for x in range(m):
        of_left, of_right = begin[left[x]], begin[right[x]]
        needed = 4 * (of_left[4] - of_left[0] + of_right[4] - of_right[0])
        if needed > room:
            room = 2 * needed
            s1, q1, c1 = np.empty(room), np.empty(room), np.empty(room, dtype=np.int64)
            s2, q2, c2 = np.empty(room), np.empty(room), np.empty(room, dtype=np.int64)
            value, sa, qa = np.empty(room), np.empty((4, room)), np.empty((4, room))
            sb, qb, cb = (
                np.empty((4, room)),
                np.empty((4, room)),
                np.empty((4, room), dtype=np.int64),
            )
        for a in range(4):
            na[a] = of_left[a + 1] - of_left[a]
            for i in range(na[a]):
                s = S[of_left[a] + i]
                sa[a, i], qa[a, i] = decay * s, Q[of_left[a] + i] + s * s
        for b in range(4):
            nb[b] = of_right[b + 1] - of_right[b]
            for j in range(nb[b]):
                sb[b, j], qb[b, j], cb[b, j] = S[of_right[b] + j], Q[of_right[b] + j], j
            nb[b] = keep_upper_hull(nb[b], sb[b], qb[b], cb[b], value, 0.0)
        for target in range(4):
            n = 0
            for a in range(4):
                for b in range(4):
                    if na[a] > 0 and nb[b] > 0 and targets[x, 4 * a + b] == target:
                        pair = (4 * a + b) << 40
                        n = add_sums(
                            n,
                            s1,
                            q1,
                            c1,
                            na[a],
                            sa[a],
                            qa[a],
                            nb[b],
                            sb[b],
                            qb[b],
                            cb[b],
                            pair,
                            s2,
                            q2,
                            c2,
                        )
                        s1, q1, c1, s2, q2, c2 = s2, q2, c2, s1, q1, c1
            n = keep_upper_hull(n, s1, q1, c1, value, 1.0)
            if close > 0.0:
                n = keep_upper_hull(
                    merge_close(n, s1, q1, c1, close, upper), s1, q1, c1, value, 1.0
                )
            longest = max(longest, n)
            if longest > limit:
                return starts, S_out, Q_out, code_out, longest
            if total + n > S_out.shape[0]:
                size = 2 * (total + n)
                S_out, Q_out = (
                    lengthened(S_out, total, size),
                    lengthened(Q_out, total, size),
                )
                code_out = lengthened(code_out, total, size)
            for k in range(n):
                S_out[total + k], Q_out[total + k], code_out[total + k] = (
                    s1[k],
                    q1[k],
                    c1[k],
                )
            total += n
            starts[x, target + 1] = total
        if x + 1 < m:
            starts[x + 1, 0] = total
    return (
        starts,
        S_out[:total].copy(),
        Q_out[:total].copy(),
        code_out[:total].copy(),
        longest,
    )
