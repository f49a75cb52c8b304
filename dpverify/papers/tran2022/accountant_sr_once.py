"""Algorithm 2 with one permutation for all epochs: the sum for every place at once, nothing left out.

No node of G or Delta is longer than an epoch, so it holds one visit at most; what blocks of 2^k steps hold of left and
of right halves up to that length depends on where the first visit comes, as in Algorithm 1. The run is cut at the steps
N, 2N and T - N, between which all nodes of one parity count alike; the nodes across a cut are added one by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accountant_once import values_by_place
from dpverify.papers.tran2022.accountant_sr_nodes import Worth


@kernel
def double(
    S: Vector, A: Vector, B: Vector, half: int, decay: float, counted: float,
    S_out: Vector, A_out: Vector, B_out: Vector,
) -> None:  # fmt: skip
    """Join blocks of ``half`` steps; A sums the squares of left halves, B of right ones, if they are ``counted``."""
    N = S.shape[0]
    shift = half % N
    for j in range(min(2 * half, N)):
        k = j - shift if j >= shift else j - shift + N
        S_out[j] = decay * S[j] + S[k]
        A_out[j] = A[j] + A[k] + counted * (S[j] * S[j])
        B_out[j] = B[j] + B[k] + counted * (S[k] * S[k])


@kernel
def add_block(
    S: Vector, A: Vector, B: Vector, begin: int, length: int, own: float, left: float, right: float, out: Vector
) -> None:
    """Add to ``out[p]`` what the block of the steps after ``begin`` holds: itself, its left and its right halves."""
    N = S.shape[0]
    shift = begin % N
    for k in range(min(length, N)):
        p = k + shift if k + shift < N else k + shift - N
        out[p] += own * (S[k] * S[k]) + left * A[k] + right * B[k]


def values_of_places(worth: Worth, alpha: float) -> Vector:
    """Give the sum over Algorithm 2's nodes for every place.

    Parameters
    ----------
    worth : Worth
        T, N and the sensitivities.
    alpha : float
        Momentum weight in (0, 1].

    Returns
    -------
    (N,) array of float
        mu^2 of the example at place p of the permutation, in entry p - 1.

    Raises
    ------
    ArgumentError
        If the arrays do not fit in memory.
    """
    T, N = worth.steps, worth.examples
    check.memory(9 * N, examples=N)
    out = values_by_place(T, N, alpha) if N <= T else np.concatenate([values_by_place(T, N, alpha), np.zeros(N - T)])
    out *= worth.drift * np.arange(N, dtype=np.float64) ** 2
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    now, following = np.zeros((3, N)), np.zeros((3, N))
    now[0, 0] = 1.0
    blocks = list(_blocks(worth))
    for level in range(T.bit_length()):
        for begin, length, left, right in blocks:
            if length == 1 << level:
                node = worth.node(begin, level)
                own = node.g + node.delta * worth.delta_late**2
                add_block(now[0], now[1], now[2], begin, length, own, left, right, out)
        if T >> level + 1:
            counted = float(level <= worth.top)
            decay = math.exp(log_decay * (1 << level))
            double(now[0], now[1], now[2], 1 << level, decay, counted, following[0], following[1], following[2])
            now, following = following, now
    return out


def _blocks(worth: Worth) -> Iterator[tuple[int, int, float, float]]:
    """Dyadic blocks between the cuts, and the nodes across them: begin, length, worth of left and of right halves."""
    T, N = worth.steps, worth.examples
    cuts = sorted({cut for cut in (0, N, 2 * N, T - N, T) if 0 <= cut <= T})
    for at, until in itertools.pairwise(cuts):
        left, right = worth.inside(at)
        begin = at
        while begin < until:
            longest = 1 << (until - begin).bit_length() - 1
            length = min(begin & -begin, longest) if begin else longest
            yield begin, length, left, right
            begin += length
    across = set()
    for cut in cuts[1:-1]:
        for level in range(worth.top + 1):
            begin = cut >> level << level
            if begin < cut and begin + (1 << level) <= T:
                across.add((begin, 1 << level))
    for begin, length in sorted(across):
        yield begin, length, 0.0, 0.0
