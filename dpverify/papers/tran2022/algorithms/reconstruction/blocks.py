"""Nodes of one family in the stream of Algorithm 4: where they stand, and the sums that a block of them leaves.

See ``reconstruction.stream`` for the recursion and its letters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.cache_lines import prefetch_row
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import inner_kernel
from dpverify.kernels.typing import Indices, Matrix, Vector


@inner_kernel
def finish_block(f: int, now: int, K: int, powers: Vector, rings: NDArray[np.float64]) -> int:
    """Turn the nodes of one family in the block that ends now into suffix sums; return how many additions it took."""
    N = rings.shape[1] - 1
    d = rings.shape[2]
    adds = 0
    row = now
    for left in range(1, 1 << K):  # u = t - left, from the last inside the block to the first
        row = row - 1 if row > 0 else N - 1
        low = left & -left
        if low < left:  # u + lowbit(u) < t
            after = row + low if row + low < N else row + low - N
            c = powers[left - low]
            for j in range(d):
                rings[f, row, j] = c * rings[f, row, j] + rings[f, after, j]
            adds += 1
    return adds


@inner_kernel
def absorb(
    f: int,
    t: int,
    now: int,
    K: int,
    powers: Vector,
    F: Matrix,
    first: Indices,
    rings: NDArray[np.float64],
    prefixes: NDArray[np.float64],
) -> int:
    """Take in the nodes of family f that end at t, as ``reconstruct_steps`` does those of H; return the additions."""
    N = rings.shape[1] - 1
    d = rings.shape[2]
    top = min(level(t), K)
    for k in range(top + (top == K)):  # a whole block may be the first node of a window, as those that begin inside it
        row = now - (1 << k) if now >= 1 << k else now - (1 << k) + N
        at = place(first, k, t)
        for j in range(d):
            rings[f, row, j] = F[at, j]
    if top == K:
        return finish_block(f, now, K, powers, rings)
    before = t - (1 << top)
    at = place(first, top, t)
    # row K is the empty prefix
    c = powers[1 << top]
    k = min(level(before), K) if before > 0 else K
    for j in range(d):
        prefixes[f, top, j] = c * prefixes[f, k, j] + F[at, j]
    return 1 if k < K else 0


@inner_kernel
def place(first: Indices, k: int, t: int) -> int:
    """Row of the node [t - 2^k + 1, t]: in a tree, or where ``first`` is empty in a stack with one node a level."""
    return first[k] + (t >> k) - 1 if first.shape[0] > 0 else k


@inner_kernel
def ask_for(rows: Vector, row: int, d: int) -> None:
    """Ask for a row of length d ahead of its use."""
    prefetch_row(rows, np.uint64(row * d), np.uint64(d))
