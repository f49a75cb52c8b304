"""Algorithm 4 as a stream: O(d) operations a step, whatever N and T, and O(N d) numbers of state.

Section 5 of the paper leaves the run time, about T^2 d / N, to future work. Two things bring it down to T d.

**A recursion over epochs.** Write W_t and D_t for the noisy sums of G and Delta over the window [t - N + 1, t], and

    g_t = (1 - gamma) (D_t + g_{t-N}) + gamma W_t,      G_t = (1 - alpha)^N G_{t-N} + g_t        for t >= 2N,
    g_t = W_t,                                          G_t = (1 - alpha)^N G_{t-N} + g_t        for N <= t < 2N,
                                                        G_t = sum over COMPOSE(1, t)             for t < N.

One window is enough: let the nodes of H be (1 - gamma) F^Delta + gamma F^G. From step 2N on its windows, X_t, take the
place of both, ``g_t = X_t + (1 - gamma) g_{t-N}``; in the second epoch G's are still read while nodes of H come in.

Unrolled, G_t is what Algorithm 4 adds up: with q = floor(t/N), the window i epochs back reaches G_t with the weight
c_i = sum_{j<i} (1 - gamma)^j (1 - alpha)^{(i-1-j)N}, and the first whole window [r + 1, r + N] with
sum_{i<q} (1 - alpha)^{Ni} (1 - gamma)^{q-1-i}. The present windows are all that a step needs.

**Windows from blocks.** Let B = 2^K with B <= N < 2B, and cut the steps into blocks (aB, (a+1)B]. A window holds one or
two multiples of B. COMPOSE(t - N + 1, t) goes up from t - N through the nodes that begin at u + 1 with length
lowbit(u), to the first multiple of B; over at most one whole block, which is a node; and down to t through the nodes of
the binary expansion of t mod B. No node is longer than B, because a window shorter than 2B holds no dyadic interval of
length 2B. So a window is a suffix of its first block, at most one whole block, and a prefix of its last:

    prefixes, as the steps come:       P_t = (1 - alpha)^low P_{t-low} + F_[t-low+1,t],            low = lowbit(t),
    suffixes, when the block is done:  S_u = (1 - alpha)^{m-u-low} F_[u+1,u+low] + S_{u+low},      low = lowbit(u),

with m the end of the block: one addition for each of its B suffixes. A step needs S_{t-N}, whose place the node that
begins at t + 1 can take next: N rows hold them all.

r^_t is the stream of ``tree_noise.stream``, since it reads COMPOSE(1, t).
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
    ask_for,
    check_nodes,
    fill_level_decay,
    finish_block,
    first_rows,
    place,
)
from dpverify.papers.tran2022.algorithms.tree_noise.stream import LEVELS

Stack: TypeAlias = NDArray[np.float64]  # Shape (k, n, d)

# Places of the three families in stacks
G = 0
DELTA = 1
R = 2

# Places of H, in DELTA's place, and of g_t and G_t in the rings
MIXED = 1
WINDOW = 2
TOTAL = 3

LARGE, LONG = 1 << 21, 128
"""An ``out`` of at least 16 MiB in rows of at least 1 KiB is written around the caches: it does not stay in them until
it is read, and they are left to the state. Shorter rows have too many lines that they share with others. A new array is
not written so: its pages have just been cleared by the system, which leaves them in the caches."""


class StreamConstants(NamedTuple):
    """What the recursion multiplies with."""

    # (5,) alpha; 1 - gamma, the weight of D_t; gamma, that of W_t; 1 - gamma, that of g_{t-N}; (1 - alpha)^N, that of
    # G_{t-N}
    weights: Vector
    powers: Vector  # (N + 1,) (1 - alpha)^n, for the windows
    decay: Vector  # (LEVELS,) (1 - alpha)^(2^k), for r^_t


class StreamState(NamedTuple):
    """What the recursion remembers between two steps; all zero before the first."""

    # (4, N + 1, d) In row u mod N, for G and MIXED: the node that begins at u + 1, while its block is not done, and
    # then S_u; for WINDOW and TOTAL: g_u and G_u. Row N stays zero: an empty sum.
    rings: Stack
    # (3, levels, d) In row k: P_s of the last s whose lowest bit is 2^k. For G and MIXED row K stays zero, an empty
    # sum; for R the whole run is one block.
    prefixes: Stack
    adds: Indices  # (1,) how many vectors the last step added to another, where steps are done one by one


def new_constants(examples: int, alpha: float, gamma: float) -> StreamConstants:
    """Compute what the recursion multiplies with; arguments are checked by the caller."""
    powers = (1.0 - alpha) ** np.arange(examples + 1, dtype=float)
    decay = np.empty(LEVELS)
    fill_level_decay(alpha, decay)
    return StreamConstants(np.array([alpha, 1.0 - gamma, gamma, 1.0 - gamma, powers[examples]]), powers, decay)


def new_state(examples: int, steps: int, dimension: int) -> StreamState:
    """Make the state before the first step; arguments are checked by the caller."""
    levels = max(steps.bit_length(), examples.bit_length())
    rings = np.zeros((4, examples + 1, dimension))
    prefixes = np.zeros((3, levels, dimension))
    return StreamState(rings, prefixes, np.zeros(1, dtype=np.int64))


def state_floats(examples: int, steps: int, dimension: int) -> int:
    """How many numbers ``new_state`` holds."""
    return (4 * (examples + 1) + 3 * max(steps.bit_length(), examples.bit_length())) * dimension


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
    """Write m^_t into ``out`` for the steps t = begin, begin + 1, ..., from what the steps before have left.

    K is floor(log2 N). Of the noisy nodes, (n, d) each, those are read at step t that end there: of G and Delta up to
    the length 2^K, without nodes of Delta that begin in the first epoch; and of r the longest. ``first`` comes from
    ``first_rows``; where it has no entries, row k holds the node [t - 2^k + 1, t], and there is one step. ``line`` is
    working space of shape (d,): ``out`` is then written around the caches; or (0,): it is written as anything else.
    ``adds`` receives how many vectors of length d each step added to another. Shapes: ``out`` (n, d), ``adds`` (n,).

    Loops are over few arrays each: the compiler vectorizes a loop only where it can check cheaply that none overlap.
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
        # Nodes of the next step: every level is a stream of its own, too many for the hardware. Leaves and r's are
        # asked for now, the others at the end of this step: what is asked for at once waits in one queue.
        high = level(t + 1) if first.shape[0] > 0 and i + 1 < out.shape[0] else -1
        if high >= 0:
            ask_for(flat_G, place(first, 0, t + 1), d)
            ask_for(flat_Delta, place(first, 0, t + 1), d)
            ask_for(flat_r, place(first, high, t + 1), d)
            if line.shape[0] == 0:
                ask_for(flat_out, i + 1, d)
        if t < 2 * N:
            count += absorb(G, t, now, K, powers, F_G, first, rings, prefixes)
        if t > N:  # the same for H: nodes that begin at u + 1 go to row u of the ring
            for k in range(top + (top == K)):
                if t - (1 << k) >= N:
                    row = now - (1 << k) if now >= 1 << k else now - (1 << k) + N
                    at = place(first, k, t)
                    for j in range(d):
                        rings[MIXED, row, j] = of_delta * F_Delta[at, j] + of_g * F_G[at, j]
                    count += 1
            before = t - (1 << top)
            if top == K:
                count += finish_block(MIXED, now, K, powers, rings)
            elif before >= N:  # the node that ends at t with length lowbit(t); row K is the empty prefix
                at = place(first, top, t)
                k = min(level(before), K)
                c = powers[1 << top]
                for j in range(d):
                    mixed = of_delta * F_Delta[at, j] + of_g * F_G[at, j]
                    prefixes[MIXED, top, j] = c * prefixes[MIXED, k, j] + mixed
                count += 1 + (k < K)
        # COMPOSE(t - N + 1, t), or COMPOSE(1, t) where that begins before step 1: from row ``now`` up to ``middle``, a
        # multiple of B; a whole block from there; the prefix of t's own block. An empty prefix is a row of zeros.
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
                out[i, j] = alpha * (total + prefixes[R, highest, j])  # "m^_t = alpha G^_[1,t] + alpha r^_t"
        for k in range(1, min(high, K) + 1):
            ask_for(flat_G, place(first, k, t + 1), d)
            ask_for(flat_Delta, place(first, k, t + 1), d)
        adds[i] = count + parts + (t > 1 << highest) + (t >= N) + (t >= 2 * N)


@step_kernel
def reconstruct_step(
    t: int, K: int, constants: StreamConstants, nodes: Stack, state: StreamState, m_hat: Vector
) -> int:
    """Write m^_t into ``m_hat``, shape (d,), and return how many vectors of length d were added to another.

    ``nodes``, shape (3, levels, d), has in row k the nodes [t - 2^k + 1, t] of the three families.
    """
    F = Nodes(nodes[G], nodes[DELTA], nodes[R])
    out = m_hat.reshape((1, m_hat.shape[0]))
    adds = state.adds
    reconstruct_steps(t, K, constants, F, adds[:0], state, constants.powers[:0], out, adds)
    return int(adds[0])


def reconstruct(
    nodes: Nodes, *, examples: int, alpha: float, gamma: float, out: Matrix | None = None
) -> tuple[Matrix, Indices]:
    """m^_1..m^_T from the noisy nodes of Algorithm 2, in O(T d).

    Parameters
    ----------
    nodes : Nodes
        The noisy nodes. Those that no step reads may hold anything: nodes of G and Delta longer than N, nodes of Delta
        that begin in the first epoch, and nodes of r that are the right half of another.
    examples : int
        N, at least 1.
    alpha : float
        Momentum weight, in (0, 1].
    gamma : float
        Cross-batch weight, in [0, 1].
    out : (T, d) array of float, optional
        Receives m^_1..m^_T, and is returned; contiguous, and apart from the nodes. A new array by default, whose pages
        the system clears first: in repeated calls that may take a fifth of the time.

    Returns
    -------
    m_hat : (T, d) array of float
        Row t - 1 is m^_t.
    adds : (T,) array of int
        How many vectors of length d step t added to another: a cost that does not depend on the machine. The suffixes
        of a block are charged to its last step; the first t steps together need at most 10 t, whatever N and T.

    Raises
    ------
    ArgumentError
        If a number is out of range, or the nodes have no shape of a tree, or ``out`` cannot receive the result, or the
        state does not fit in memory.

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
        steps * (d * (out is None) + 1) + state_floats(N, steps, d) + N, examples=examples, steps=steps, dimension=d
    )
    if out is not None:
        check.room(steps, d, apart=nodes, out=out)
    return reconstruct_with(nodes, steps, d, N, new_constants(N, alpha, gamma), out)


def reconstruct_with(
    nodes: Nodes, steps: int, d: int, examples: int, constants: StreamConstants, out: Matrix | None = None
) -> tuple[Matrix, Indices]:
    """Do what ``reconstruct`` does, with given constants: faults are planted in them; arguments are checked before."""
    adds = np.empty(steps, dtype=np.int64)
    state = new_state(examples, steps, d)
    around = out is not None and out.size >= LARGE and d >= LONG
    line = np.empty(d if around else 0)
    m_hat = out if out is not None else np.empty((steps, d))
    reconstruct_steps(1, floor_log2(examples), constants, nodes, first_rows(steps), state, line, m_hat, adds)
    return m_hat, adds
