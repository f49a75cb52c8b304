"""Algorithm 4 as a stream: O(d) operations per step for all N and T, and a state of O(N d) numbers.

Section 5 of the paper leaves the run time, about T^2 d / N, to future work. Two ideas
reduce it to T d.

**A recursion over epochs.** Write W_t and D_t for the noisy sums of G and Delta over
the window [t - N + 1, t], and

    g_t = (1 - gamma) (D_t + g_{t-N}) + gamma W_t,      G_t = (1 - alpha)^N G_{t-N} + g_t        for t >= 2N,
    g_t = W_t,                                          G_t = (1 - alpha)^N G_{t-N} + g_t        for N <= t < 2N,
                                                        G_t = sum over COMPOSE(1, t)             for t < N.

One window is enough: let the nodes of H be (1 - gamma) F^Delta + gamma F^G. From step
2N on, the windows X_t of H replace those of G and Delta,
``g_t = X_t + (1 - gamma) g_{t-N}``. In the second epoch the windows of G are still read
while nodes of H are collected.

Unrolled, G_t is the sum that Algorithm 4 computes. With q = floor(t/N), the window i
epochs back has the weight c_i = sum_{j<i} (1 - gamma)^j (1 - alpha)^{(i-1-j)N} in G_t,
and the first whole window [r + 1, r + N] has the weight sum_{i<q} (1 - alpha)^{Ni} (1 -
gamma)^{q-1-i}. So a step needs only the windows that end at t.

**Windows from blocks.** Let B = 2^K with B <= N < 2B, and cut the steps into blocks
(aB, (a+1)B]. A window holds one or two multiples of B. COMPOSE(t - N + 1, t) consists
of three parts. It starts at t - N with the nodes that begin at u + 1 with length
lowbit(u), up to the first multiple of B. Then there is at most one whole block, which
is a node. The nodes of the binary expansion of t mod B follow, up to t. No node is
longer than B, because a window shorter than 2B contains no dyadic interval of length
2B. So a window is a suffix of its first block, at most one whole block, and a prefix of
its last block:

    prefixes, at each step:            P_t = (1 - alpha)^low P_{t-low} + F_[t-low+1,t],            low = lowbit(t),
    suffixes, at the end of a block:   S_u = (1 - alpha)^{m-u-low} F_[u+1,u+low] + S_{u+low},      low = lowbit(u),

with m the end of the block. This takes one addition for each of its B suffixes. After
step t has read S_{t-N}, its row can store the node that begins at t + 1, so N rows are
enough.

r^_t reads COMPOSE(1, t) and is computed as in ``tree_noise.stream``.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.dyadic import floor_log2, level
from dpverify.kernels.jit import inner_kernel, step_kernel
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import write_row
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    absorb,
    check_nodes,
    fill_level_decay,
    finish_block,
    first_rows,
    place,
    prefetch_node,
)
from dpverify.papers.tran2022.algorithms.tree_noise.stream import LEVELS

Stack: TypeAlias = NDArray[np.float64]  # Shape (k, n, d)

# Indices of the three families in stacks
G = 0
DELTA = 1
R = 2

# Indices in the rings of H (the same as DELTA's), g_t and G_t
MIXED = 1
WINDOW = 2
TOTAL = 3

LARGE, LONG = 1 << 21, 128
"""An ``out`` of at least 16 MiB in rows of at least 1 KiB is written around the caches.
It would not stay in them until it is read, and the state needs them. Shorter rows share
too many cache lines with their neighbours. A new array is not written around the
caches: the system has just cleared its pages, so they are in the caches."""


class StreamConstants(NamedTuple):
    """Constants of the recursion."""

    # (5,) alpha, and the weights 1 - gamma of D_t, gamma of W_t, 1 - gamma of g_{t-N},
    # and (1 - alpha)^N of G_{t-N}
    weights: Vector
    powers: Vector  # (N + 1,) (1 - alpha)^n, for the windows
    decay: Vector  # (LEVELS,) (1 - alpha)^(2^k), for r^_t


class StreamState(NamedTuple):
    """State of the recursion between two steps; all zero before the first step."""

    # (4, N + 1, d) Row u mod N contains, for G and MIXED, the node that begins at u + 1
    # until its block is complete, and then S_u; for WINDOW and TOTAL, g_u and G_u. Row
    # N stays zero and represents an empty sum.
    rings: Stack
    # (3, levels, d) Row k contains P_s of the last s whose
    # lowest bit is 2^k. For G and MIXED row K stays zero and
    # represents an empty sum. For R the whole run is one block.
    prefixes: Stack
    adds: Indices  # (1,) number of vector additions of the last ``reconstruct_step``


def new_constants(examples: int, alpha: float, gamma: float) -> StreamConstants:
    """Return the constants of the recursion; the caller checks the arguments."""
    powers = (1.0 - alpha) ** np.arange(examples + 1, dtype=float)
    decay = np.empty(LEVELS)
    fill_level_decay(alpha, decay)
    return StreamConstants(
        np.array([alpha, 1.0 - gamma, gamma, 1.0 - gamma, powers[examples]]),
        powers,
        decay,
    )


def new_state(examples: int, steps: int, dimension: int) -> StreamState:
    """Return the state before the first step; the caller checks the arguments."""
    levels = max(steps.bit_length(), examples.bit_length())
    rings = np.zeros((4, examples + 1, dimension))
    prefixes = np.zeros((3, levels, dimension))
    return StreamState(rings, prefixes, np.zeros(1, dtype=np.int64))


def state_floats(examples: int, steps: int, dimension: int) -> int:
    """Return the number of floats in the result of ``new_state``."""
    return (
        4 * (examples + 1) + 3 * max(steps.bit_length(), examples.bit_length())
    ) * dimension


@inner_kernel
def reconstruct_steps(  # noqa: PLR0912, PLR0915 a call of a part of it would cost as much as a step at d = 8
    begin: int,
    K: int,
    constants: StreamConstants,
    F: Nodes,
    first: Indices,
    state: StreamState,
    line: Vector,
    out: Matrix,
    adds: Indices,
) -> None:
    """Write m^_t into ``out`` for the steps t = begin, begin + 1, ..., and update the state.

    K is floor(log2 N). Step t reads the noisy nodes, (n, d) each, that end at t: those
    of G and Delta up to the length 2^K, except for nodes of Delta that begin in the
    first epoch, and the longest one of r. ``first`` comes from ``first_rows``; if it is
    empty, row k holds the node [t - 2^k + 1, t], and there is one step. If ``line`` is
    working space of shape (d,), ``out`` is written with stores that bypass the caches;
    if it has shape (0,), with normal stores. ``adds`` receives the number of vector
    additions of each step. Shapes: ``out`` (n, d), ``adds`` (n,).

    Each loop uses few arrays: the compiler vectorizes a loop only if it can check cheaply that the arrays do not
    overlap.
    """
    rings = state.rings
    prefixes = state.prefixes
    weights = constants.weights
    powers = constants.powers
    decay = constants.decay
    F_G = F.g
    F_Delta = F.delta
    F_r = F.r
    N = rings.shape[1] - 1
    d = rings.shape[2]
    B = 1 << K
    alpha = weights[0]
    of_delta = weights[1]
    of_g = weights[2]
    carry = weights[3]
    decay_N = weights[4]
    flat_G = F_G.reshape(F_G.size)
    flat_Delta = F_Delta.reshape(F_Delta.size)
    flat_r = F_r.reshape(F_r.size)
    flat_out = out.reshape(out.size)
    now = (begin - 1) % N
    for i in range(out.shape[0]):
        t = begin + i
        count = 0
        now = now + 1 if now + 1 < N else 0
        highest = level(t)
        top = min(highest, K)
        # Prefetch the nodes of the next step: each level is a separate stream, which is
        # too many for the hardware prefetcher. Leaves and r nodes are prefetched now
        # and the others at the end of this step, to limit the queue.
        high = level(t + 1) if first.shape[0] > 0 and i + 1 < out.shape[0] else -1
        if high >= 0:
            prefetch_node(flat_G, place(first, 0, t + 1), d)
            prefetch_node(flat_Delta, place(first, 0, t + 1), d)
            prefetch_node(flat_r, place(first, high, t + 1), d)
            if line.shape[0] == 0:
                prefetch_node(flat_out, i + 1, d)
        if t < 2 * N:
            count += absorb(G, t, now, K, powers, F_G, first, rings, prefixes)
        # the same for H: the node that begins at u + 1 is stored in row u of the ring
        if t > N:
            for k in range(top + (top == K)):
                if t - (1 << k) >= N:
                    row = now - (1 << k) if now >= 1 << k else now - (1 << k) + N
                    at = place(first, k, t)
                    for j in range(d):
                        rings[MIXED, row, j] = (
                            of_delta * F_Delta[at, j] + of_g * F_G[at, j]
                        )
                    count += 1
            before = t - (1 << top)
            if top == K:
                count += finish_block(MIXED, now, K, powers, rings)
            elif (
                before >= N
            ):  # the node that ends at t with length lowbit(t); row K is the empty prefix
                at = place(first, top, t)
                k = min(level(before), K)
                c = powers[1 << top]
                for j in range(d):
                    mixed = of_delta * F_Delta[at, j] + of_g * F_G[at, j]
                    prefixes[MIXED, top, j] = c * prefixes[MIXED, k, j] + mixed
                count += 1 + (k < K)
        # COMPOSE(t - N + 1, t), or COMPOSE(1, t) if t < N. Its parts are the suffix in
        # row ``now`` up to ``middle``, a multiple of B, then possibly a whole block,
        # and the prefix of the block of t. An empty prefix is a zero row.
        f = G if t < 2 * N else MIXED
        middle = 0
        parts = int(top < K)
        if t >= N:
            middle = (((t - N) >> K) + 1) << K
            parts = parts + 1
            c = powers[t - middle]
            if t < 2 * N:
                for j in range(d):
                    rings[WINDOW, now, j] = c * rings[G, now, j] + prefixes[G, top, j]
            else:
                for j in range(d):
                    joined = c * rings[MIXED, now, j] + prefixes[MIXED, top, j]
                    rings[WINDOW, now, j] = carry * rings[WINDOW, now, j] + joined
        else:
            for j in range(d):
                rings[WINDOW, now, j] = prefixes[G, top, j]
        if middle + B <= t:
            row = now - (t - middle)
            c = powers[t - middle - B]
            parts = parts + 1
            row = row if row >= 0 else row + N
            for j in range(d):
                rings[WINDOW, now, j] += c * rings[f, row, j]
        at = place(first, highest, t)
        past = highest
        c = 0.0
        if t > 1 << highest:
            past = level(t - (1 << highest))
            c = decay[highest]
        for j in range(d):
            prefixes[R, highest, j] = c * prefixes[R, past, j] + F_r[at, j]
        if line.shape[0] > 0:
            for j in range(d):
                total = decay_N * rings[TOTAL, now, j] + rings[WINDOW, now, j]
                rings[TOTAL, now, j] = total
                line[j] = alpha * (total + prefixes[R, highest, j])
            write_row(flat_out, i * d, line)
        else:
            for j in range(d):
                total = decay_N * rings[TOTAL, now, j] + rings[WINDOW, now, j]
                rings[TOTAL, now, j] = total
                # "m^_t = alpha G^_[1,t] + alpha r^_t"
                out[i, j] = alpha * (total + prefixes[R, highest, j])
        for k in range(1, min(high, K) + 1):
            prefetch_node(flat_G, place(first, k, t + 1), d)
            prefetch_node(flat_Delta, place(first, k, t + 1), d)
        adds[i] = count + parts + (t > 1 << highest) + (t >= N) + (t >= 2 * N)


@step_kernel
def reconstruct_step(
    t: int,
    K: int,
    constants: StreamConstants,
    nodes: Stack,
    state: StreamState,
    m_hat: Vector,
) -> int:
    """Write m^_t into ``m_hat``, shape (d,), and return the number of additions of vectors of length d.

    ``nodes``, shape (3, levels, d), has in row k the nodes [t - 2^k + 1, t] of the three families.
    """
    F = Nodes(nodes[G], nodes[DELTA], nodes[R])
    out = m_hat.reshape((1, m_hat.shape[0]))
    adds = state.adds
    reconstruct_steps(
        t, K, constants, F, adds[:0], state, constants.powers[:0], out, adds
    )
    return int(adds[0])


def reconstruct(
    nodes: Nodes,
    *,
    examples: int,
    alpha: float,
    gamma: float,
    out: Matrix | None = None,
) -> tuple[Matrix, Indices]:
    """Return m^_1..m^_T from the noisy nodes of Algorithm 2, in O(T d).

    Parameters
    ----------
    nodes : Nodes
        The noisy nodes. Nodes that no step reads may have any value. These are nodes of
        G and Delta longer than N, nodes of Delta that begin in the first epoch, and
        nodes of r that are the right half of another node.
    examples : int
        N, at least 1.
    alpha : float
        Momentum weight, in (0, 1].
    gamma : float
        Cross-batch weight, in [0, 1].
    out : (T, d) array of float, optional
        Receives m^_1..m^_T, and is returned; contiguous, and not overlapping the nodes.
        A new array by default. The system clears the pages of a new array, which may
        take a fifth of the time in repeated calls.

    Returns
    -------
    m_hat : (T, d) array of float
        Row t - 1 is m^_t.
    adds : (T,) array of int
        Number of additions of vectors of length d at step t: a cost that does not
        depend on the machine. The suffixes of a block are attributed to its last step.
        The first t steps together need at most 10 t, for all N and T.

    Raises
    ------
    ArgumentError
        If a number is out of range, the shape of the nodes is not that of a tree,
        ``out`` cannot hold the result, or the state does not fit in memory.

    Notes
    -----
    Source: Algorithm 4, appendix B, for all t at once; equal to
    ``reconstruct_literal`` up to rounding.
    """
    nodes, steps, d = check_nodes(nodes)
    N = check.whole(1, examples=examples)
    alpha = check.weight(alpha=alpha)
    gamma = check.proportion(gamma=gamma)
    check.memory(
        steps * (d * (out is None) + 1) + state_floats(N, steps, d) + N,
        examples=examples,
        steps=steps,
        dimension=d,
    )
    if out is not None:
        check.output_array(steps, d, inputs=nodes, out=out)
    return reconstruct_with(nodes, steps, d, N, new_constants(N, alpha, gamma), out)


def reconstruct_with(
    nodes: Nodes,
    steps: int,
    d: int,
    examples: int,
    constants: StreamConstants,
    out: Matrix | None = None,
) -> tuple[Matrix, Indices]:
    """Do what ``reconstruct`` does, with constants that may have a planted fault; the caller checks the arguments."""
    adds = np.empty(steps, dtype=np.int64)
    state = new_state(examples, steps, d)
    around = out is not None and out.size >= LARGE and d >= LONG
    line = np.empty(d if around else 0)
    m_hat = out if out is not None else np.empty((steps, d))
    reconstruct_steps(
        1,
        floor_log2(examples),
        constants,
        nodes,
        first_rows(steps),
        state,
        line,
        m_hat,
        adds,
    )
    return m_hat, adds
