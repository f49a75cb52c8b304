"""Points (S, Q) of which no other two are better together: the upper hull, kept in the order of falling S.

What a block still adds to the run is ``Q + f(S)`` where f is a maximum of sums of squares of nondecreasing affine
functions of S, ``S^2`` among them: f and ``f(S) - S^2`` are convex and nondecreasing. So a point below the chord of two
others, in Q or in ``Q + S^2`` over S, is worth no more than the better of the two, and may go. NOTES_accountant.md has
the proof, and what rounding costs.
"""

from __future__ import annotations

from typing import Final

from dpverify.kernels.jit import inner_kernel
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting.blocks import Codes

FLOOR: Final = 0.05  # Differences of S are relative to S, but not to less than this: a node's own visits weigh about 1.

CERTAIN: Final = 1.0 - 2.0**-50  # A point goes only where it lies below the chord in spite of rounding.


@inner_kernel
def above_chords(n: int, S: Vector, Q: Vector, code: Codes, value: Vector, squared: float) -> int:
    """Keep, in place, the upper hull of n points in ``value = Q + squared S^2`` over S; return how many are left."""
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
def merge_close(n: int, S: Vector, Q: Vector, code: Codes, close: float, upper: bool) -> int:
    """Merge, in place, neighbours whose S or Q differ by ``close`` at most: into what beats all, or one of them."""
    out = 0
    first = 0
    while first < n:
        last = first
        s = S[first]
        q = Q[first]
        near = close * max(s, FLOOR)
        while last + 1 < n and (s - S[last + 1] <= near or Q[last + 1] - q <= close * q):
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
    """Join n points with the hull of all sums of a point of A and one of B, whose edges are those of A and B in turn.

    All are in the order of falling S, and A and B are hulls. A sum's code is ``pair``, its place in A times 2^20, and
    B's own code. Returns how many points ``out`` has.
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
        if i + 1 < na and j + 1 < nb:  # no branch: which comes next cannot be foretold
            of_a = (QA[i + 1] - QA[i]) * (SB[j] - SB[j + 1]) >= (QB[j + 1] - QB[j]) * (SA[i] - SA[i + 1])
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
