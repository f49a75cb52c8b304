"""Sums of Algorithm 4 recomputed instead of stored: a state of O(T/N log N) vectors instead of the stream's 4 N.

The recursion of ``reconstruction.stream`` adds g_{t-N} and G_{t-N} to the window that
ends at t. Both are sums of the windows that end at t - eN, e = 1, 2, ..., whose nodes
were released e epochs ago. This module recomputes these nodes. A node is a sum of
gradients at the anchors, which are stored, plus a Gaussian vector. The Gaussian is
drawn again from the state of the random generator before it, which is stored in four
words. So the state of a run is one set of stacks for each lag e. A step costs O(T/N d
log N) operations, where the stream needs O(d).

At lag e the step s = t - eN lies in the block (m, m + B] in the notation of
``reconstruction.stream``. It needs two vectors: the prefix P_s, from the nodes that end
at s, and the suffix S_s. Suffixes are needed from left to right, although each is
computed from a suffix further right:

    S_v = (1 - alpha)^{m + B - v - low} F_[v+1,v+low] + S_{v+low},           low = lowbit(v).

When s reaches u, S_u is available. Then the suffixes of u + 2^i for i = level(u) - 1,
..., 0 are computed from the leaves that follow u. This takes log2(B) / 2 leaves per
step on average, and one vector per level.

All operations are those of the stream, in the same order, so the results are equal bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels.csr import CsrArrays, SparseGradient
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import inner_kernel
from dpverify.kernels.normal import Words, fill_normal_from
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import copy_into
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    DELTA,
    MIXED,
    G,
    R,
    Stack,
    StreamConstants,
)
from dpverify.papers.tran2022.algorithms.scales import (
    DELTA_INDEX,
    G_FIRST,
    G_LATER,
    R_INDEX,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import (
    NodeNoise,
    is_drawn,
    rows_until,
)


class PastSteps(NamedTuple):
    """Data from which the gradients and Gaussians of earlier steps can be recomputed."""

    rows: CsrArrays
    y: Vector  # (N,) labels
    schedule: Indices  # (T,) example of each step
    anchors: Matrix  # (epochs, d) anchor of each epoch so far
    # (epochs, d) the part that the gradients of all examples share at each anchor
    common: Matrix
    # (n, 4) state of the random generator before each Gaussian; or (0, 4) if there is a
    # tape or no noise
    words: NDArray[np.uint64]


class Lags(NamedTuple):
    """Sums at each lag; at lag 0 only prefixes and blocks are used.

    The second axis is G and DELTA for ``left``, and G and MIXED for ``prefixes``, ``blocks`` and ``suffixes``.
    """

    # (lags, 2, K + 1, d) row k: the last node of length 2^k, without noise
    left: NDArray[np.float64]
    # (lags, 2, K + 1, d) row k: the last P_s with level(s) = k; row K stays zero
    prefixes: NDArray[np.float64]
    blocks: Stack  # (lags, 2, d) the last node of length 2^K
    # (lags, 2, K + 1, d) row k: the next S_s with level(s) = k
    suffixes: NDArray[np.float64]
    leaves: Stack  # (2, K + 1, d) nodes of G and DELTA to the right of a step
    space: Matrix  # (3, d) working space


def new_lags(lags: int, K: int, d: int) -> Lags:
    """Return the sums before the first step."""
    left, prefixes, suffixes = (np.zeros((lags, 2, K + 1, d)) for _ in range(3))
    return Lags(
        left,
        prefixes,
        np.zeros((lags, 2, d)),
        suffixes,
        np.zeros((2, K + 1, d)),
        np.zeros((3, d)),
    )


def lag_vectors(lags: int, K: int) -> int:
    """Return the number of vectors of length d in the result of ``new_lags``."""
    return lags * (6 * (K + 1) + 2) + 2 * (K + 1) + 3


@inner_kernel
def tape_row(f: int, k: int, t: int, N: int, K: int) -> int:
    """Return the tape row of the node [t - 2^k + 1, t] of family f."""
    row = rows_until(t - 1, N, K)
    for level_before in range(k + 1):
        for family in (G, R, DELTA):
            if level_before == k and family == f:
                return row
            row += is_drawn(family, level_before, t, N, K)
    return row


@inner_kernel
def deviation(f: int, t: int, N: int, deviations: Vector) -> float:
    """Return the standard deviation of a node of family f that ends at t."""
    if f == G:
        return float(deviations[G_FIRST] if t <= 2 * N else deviations[G_LATER])
    return float(deviations[DELTA_INDEX] if f == DELTA else deviations[R_INDEX])


@inner_kernel
def write_leaf(
    f: int,
    s: int,
    N: int,
    gradient: SparseGradient,
    record: PastSteps,
    before: Vector,
    out: Vector,
) -> None:
    """Write the leaf of step s in family f, G or DELTA, into ``out`` (d,); ``before`` (d,) is working space."""
    starts, columns, values = record.rows
    n = record.schedule[s - 1]
    epoch = (s - 1) // N
    row_columns = columns[starts[n] : starts[n + 1]]
    entries = values[starts[n] : starts[n + 1]]
    copy_into(out, record.common[epoch])
    gradient(record.anchors[epoch], row_columns, entries, record.y[n], out)
    if f == DELTA:
        copy_into(before, record.common[epoch - 1])
        gradient(record.anchors[epoch - 1], row_columns, entries, record.y[n], before)
        for j in range(out.shape[0]):
            out[j] -= before[j]


@inner_kernel
def join_halves(k: int, decay: Vector, left: Matrix) -> None:
    """Turn the leaf in row k of ``left`` (levels, d) into the node of length 2^k that ends with it."""
    for i in range(k):
        c = decay[i]
        for j in range(left.shape[1]):
            left[k, j] = c * left[i, j] + left[k, j]


@inner_kernel
def write_noisy(
    f: int,
    k: int,
    t: int,
    N: int,
    K: int,
    node: Vector,
    noise: NodeNoise,
    record: PastSteps,
    state: Words,
    out: Vector,
) -> None:
    """Write ``node``, [t - 2^k + 1, t] without noise, into ``out`` with its released noise; ``state`` (4,): space."""
    unit = noise.unit
    scale = deviation(f, t, N, noise.deviations)
    if noise.tape.shape[0] > 0:
        copy_into(unit, noise.tape[tape_row(f, k, t, N, K)])
    elif record.words.shape[0] > 0:
        row = tape_row(f, k, t, N, K)
        for i in range(4):
            state[i] = record.words[row, i]
        fill_normal_from(state, unit)
    else:
        copy_into(out, node)
        return
    for j in range(out.shape[0]):
        out[j] = node[j] + scale * unit[j]


@inner_kernel
def mix(weights: Vector, F_G: Vector, F_Delta: Vector) -> None:
    """Turn a node of DELTA into the node of MIXED, in place, given the node of G; all (d,)."""
    of_delta = weights[1]
    of_g = weights[2]
    for j in range(F_Delta.shape[0]):
        F_Delta[j] = of_delta * F_Delta[j] + of_g * F_G[j]


@inner_kernel
def add_prefix(
    s: int, K: int, powers: Vector, F: Vector, prefixes: Matrix, block: Vector
) -> None:
    """Add the longest node F that ends at s to ``prefixes`` (K + 1, d) or ``block`` (d,) of a lag."""
    top = min(level(s), K)
    if top == K:
        copy_into(block, F)
        return
    before = s - (1 << top)
    c = powers[1 << top]
    k = min(level(before), K) if before > 0 else K
    for j in range(F.shape[0]):
        prefixes[top, j] = c * prefixes[k, j] + F[j]


@inner_kernel
def advance_prefix(
    lag: int,
    s: int,
    N: int,
    K: int,
    gradient: SparseGradient,
    constants: StreamConstants,
    noise: NodeNoise,
    record: PastSteps,
    state: Words,
    lags: Lags,
) -> None:
    """Recompute the longest nodes that end at s, with their noise, and add them to the prefixes of a lag."""
    top = min(level(s), K)
    F_G = lags.space[0]
    F_Delta = lags.space[1]
    for f in range(1 + (s > N)):
        nodes = lags.left[lag, f]
        write_leaf(f, s, N, gradient, record, lags.space[2], nodes[top])
        join_halves(top, constants.decay, nodes)
    mixed = s - (1 << top) >= N
    if s < 2 * N or mixed:
        write_noisy(G, top, s, N, K, lags.left[lag, G, top], noise, record, state, F_G)
    if s < 2 * N:
        add_prefix(
            s, K, constants.powers, F_G, lags.prefixes[lag, G], lags.blocks[lag, G]
        )
    if mixed:
        write_noisy(
            DELTA,
            top,
            s,
            N,
            K,
            lags.left[lag, DELTA, top],
            noise,
            record,
            state,
            F_Delta,
        )
        mix(constants.weights, F_G, F_Delta)
        add_prefix(
            s,
            K,
            constants.powers,
            F_Delta,
            lags.prefixes[lag, MIXED],
            lags.blocks[lag, MIXED],
        )


@inner_kernel
def advance_suffixes(
    lag: int,
    u: int,
    N: int,
    K: int,
    gradient: SparseGradient,
    constants: StreamConstants,
    noise: NodeNoise,
    record: PastSteps,
    state: Words,
    lags: Lags,
) -> None:
    """Compute the suffixes between S_u and the next suffix of the same or a higher level, from right to left."""
    k = min(level(u), K)
    block = (u >> K) << K
    F_G = lags.space[0]
    F_Delta = lags.space[1]
    for i in range(k - 1, -1, -1):
        v = u + (1 << i)
        low = 1 << i
        z = v + low
        remaining = block + (1 << K) - v
        mixed = v >= N
        for s in range(v + 1, z + 1):
            row = level(s - v)
            for f in range(1 + mixed):
                write_leaf(
                    f, s, N, gradient, record, lags.space[2], lags.leaves[f, row]
                )
                join_halves(row, constants.decay, lags.leaves[f])
        write_noisy(G, i, z, N, K, lags.leaves[G, i], noise, record, state, F_G)
        if mixed:
            write_noisy(
                DELTA, i, z, N, K, lags.leaves[DELTA, i], noise, record, state, F_Delta
            )
            mix(constants.weights, F_G, F_Delta)
        for f in range(int(block >= N), 1 + mixed):
            F = lags.space[f]
            S = lags.suffixes[lag, f]
            if low < remaining:
                c = constants.powers[remaining - low]
                after = level(z)
                for j in range(F.shape[0]):
                    S[i, j] = c * F[j] + S[after, j]
            else:
                copy_into(S[i], F)


@inner_kernel
def write_total(t: int, N: int, K: int, constants: StreamConstants, lags: Lags) -> None:
    """Write g_t and G_t into rows 0 and 1 of ``lags.space``, from the windows at all lags, the oldest first."""
    powers = constants.powers
    B = 1 << K
    g = lags.space[0]
    total = lags.space[1]
    carry = constants.weights[3]
    decay_N = constants.weights[4]
    d = lags.space.shape[1]
    for j in range(d):
        g[j] = 0.0
        total[j] = 0.0
    for lag in range(t // N, -1, -1):
        s = t - lag * N
        if s == 0:
            continue
        f = G if s < 2 * N else MIXED
        prefix = lags.prefixes[lag, f, min(level(s), K)]
        block = lags.blocks[lag, f]
        middle = 0
        if s < N:
            copy_into(g, prefix)
        else:
            u = s - N
            middle = ((u >> K) + 1) << K
            c = powers[s - middle]
            suffix = block if u % B == 0 else lags.suffixes[lag + 1, f, level(u)]
            if s < 2 * N:
                for j in range(d):
                    g[j] = c * suffix[j] + prefix[j]
            else:
                for j in range(d):
                    joined = c * suffix[j] + prefix[j]
                    g[j] = carry * g[j] + joined
        if middle + B <= s:
            c = powers[s - middle - B]
            for j in range(d):
                g[j] += c * block[j]
        for j in range(d):
            total[j] = decay_N * total[j] + g[j]
