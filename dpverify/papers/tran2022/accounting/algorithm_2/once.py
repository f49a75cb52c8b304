"""Algorithm 2 with one permutation for all epochs: the sum for every place at once, nothing left out.

No node of G or Delta is longer than an epoch, so it holds one visit at most; what blocks of 2^k steps hold depends on
the first visit's place, as in Algorithm 1. Between N, 2N and T - N nodes of one parity count alike; those across a cut
are added one by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting.algorithm_1.once import values_by_place
from dpverify.papers.tran2022.accounting.algorithm_2.frontier import most_moved
from dpverify.papers.tran2022.accounting.algorithm_2.nodes import NodeSensitivities


@kernel
def double(
    S: Vector,
    A: Vector,
    B: Vector,
    half: int,
    decay: float,
    counted: float,
    S_out: Vector,
    A_out: Vector,
    B_out: Vector,
) -> None:
    """Join blocks of ``half`` steps; A and B sum squares of ``counted`` halves; entry j: first visit after j steps."""
    N = S.shape[0]
    shift = half % N
    for j in range(min(2 * half, N)):
        k = j - shift if j >= shift else j - shift + N
        S_out[j] = decay * S[j] + S[k]
        A_out[j] = A[j] + A[k] + counted * (S[j] * S[j])
        B_out[j] = B[j] + B[k] + counted * (S[k] * S[k])


@kernel
def add_block(
    S: Vector, A: Vector, B: Vector, begin: int, length: int, g: float, delta: float, late: float, limit: float,
    left: float, right: float, out: Vector,
) -> None:  # fmt: skip
    """Add to ``out[p]`` what the block of the steps after ``begin`` holds: itself, ``left`` A and ``right`` B."""
    N = S.shape[0]
    shift = begin % N
    for k in range(min(length, N)):
        p = k + shift if k + shift < N else k + shift - N
        moved = most_moved(S[k], late, limit)
        out[p] += g * (S[k] * S[k]) + delta * (moved * moved) + left * A[k] + right * B[k]


def values_of_places(sensitivities: NodeSensitivities, alpha: float) -> Vector:
    """Sum over Algorithm 2's nodes for every place p of the permutation: its mu^2, in entry p - 1."""
    T = sensitivities.steps
    N = min(sensitivities.examples, sensitivities.steps)
    check.memory(9 * N, examples=N)
    out = np.zeros(N)
    out += sensitivities.drift * np.arange(N, dtype=np.float64) ** 2 * values_by_place(T, N, alpha)
    _add_up(sensitivities, alpha, out)
    return out


def _add_up(sensitivities: NodeSensitivities, alpha: float, out: Vector) -> None:
    """Add what G and Delta nodes count to ``out``."""
    T = sensitivities.steps
    N = out.size
    late = sensitivities.delta_late
    limit = sensitivities.delta_most
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    now = np.zeros((3, N))
    following = np.zeros((3, N))
    now[0, 0] = 1.0
    blocks = list(_blocks(sensitivities))
    for level in range(T.bit_length()):
        S, A, B = now
        for begin, length, left, right in blocks:
            if length == 1 << level:
                node = sensitivities.node(begin, level)
                add_block(S, A, B, begin, length, node.g, node.delta, late, limit, left, right, out)
        if T >> level + 1:
            counted = float(level <= sensitivities.top)
            double(S, A, B, 1 << level, math.exp(log_decay * (1 << level)), counted, *following)
            now, following = following, now


def _blocks(sensitivities: NodeSensitivities) -> Iterator[tuple[int, int, float, float]]:
    """Dyadic blocks between the cuts, and the nodes across them: begin, length, factors of A and B."""
    T = sensitivities.steps
    N = sensitivities.examples
    cuts = sorted({cut for cut in (0, N, 2 * N, T - N, T) if 0 <= cut <= T})
    for at, until in itertools.pairwise(cuts):
        left, right = sensitivities.inside(at)
        begin = at
        while begin < until:
            longest = 1 << (until - begin).bit_length() - 1
            length = min(begin & -begin, longest) if begin else longest
            yield begin, length, left, right
            begin += length
    across = set()
    for cut in cuts[1:-1]:
        for level in range(sensitivities.top + 1):
            begin = cut >> level << level
            if begin < cut and begin + (1 << level) <= T:
                across.add((begin, 1 << level))
    for begin, length in sorted(across):
        yield begin, length, 0.0, 0.0
