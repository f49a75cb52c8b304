"""Algorithm 4 as a stream: O(d) operations a step, whatever N and T, and O(N d) numbers of state.

Section 5 of the paper leaves the run time, about T^2 d / N, to future work. Two things bring it down to T d.

**A recursion over epochs.** Write W_t and D_t for the noisy sums of G and Delta over the window [t - N + 1, t], and

    g_t = (1 - gamma) (D_t + g_{t-N}) + gamma W_t,      G_t = (1 - alpha)^N G_{t-N} + g_t        for t >= 2N,
    g_t = W_t,                                          G_t = (1 - alpha)^N G_{t-N} + g_t        for N <= t < 2N,
                                                        G_t = sum over COMPOSE(1, t)             for t < N.

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

r^_t is the stream of :mod:`dpverify.papers.tran2022.tree_noise`, since it reads COMPOSE(1, t).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.dyadic import floor_log2, level
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.papers.tran2022.reconstruct_nodes import Nodes, check_gamma, check_nodes, fill_level_decay, first_rows
from dpverify.papers.tran2022.tree_noise import LEVELS

Stack: TypeAlias = NDArray[np.float64]
"""Shape (k, n, d)."""

G, DELTA, R = 0, 1, 2
"""Places of the three families in stacks."""

WINDOW, TOTAL = 2, 3
"""Places of g_t and G_t in the rings."""


class Constants(NamedTuple):
    """What the recursion multiplies with.

    Attributes
    ----------
    weights : (5,) array of float
        alpha; 1 - gamma, the weight of D_t; gamma, that of W_t; 1 - gamma, that of g_{t-N}; (1 - alpha)^N, that of
        G_{t-N}.
    powers : (N + 1,) array of float
        (1 - alpha)^n, for the windows.
    decay : (LEVELS,) array of float
        (1 - alpha)^(2^k), for r^_t.
    """

    weights: Vector
    powers: Vector
    decay: Vector


class State(NamedTuple):
    """What the recursion remembers between two steps; all zero before the first.

    Attributes
    ----------
    rings : (4, N + 1, d) array of float
        In row u mod N, for G and DELTA: the node that begins at u + 1, while its block is not done, and then S_u; for
        WINDOW and TOTAL: g_u and G_u. Row N stays zero: an empty sum.
    prefixes : (3, levels, d) array of float
        In row k: P_s of the last s whose lowest bit is 2^k. For G and DELTA row K stays zero, an empty sum; for R the
        whole run is one block.
    """

    rings: Stack
    prefixes: Stack


def new_constants(examples: int, alpha: float, gamma: float) -> Constants:
    """Compute what the recursion multiplies with; arguments are checked by the caller."""
    powers, decay = (1.0 - alpha) ** np.arange(examples + 1, dtype=float), np.empty(LEVELS)
    fill_level_decay(alpha, decay)
    return Constants(np.array([alpha, 1.0 - gamma, gamma, 1.0 - gamma, powers[examples]]), powers, decay)


def new_state(examples: int, steps: int, dimension: int) -> State:
    """Make the state before the first step; arguments are checked by the caller."""
    levels = max(steps.bit_length(), examples.bit_length())
    return State(np.zeros((4, examples + 1, dimension)), np.zeros((3, levels, dimension)))


def state_floats(examples: int, steps: int, dimension: int) -> int:
    """How many numbers ``new_state`` holds."""
    return (4 * (examples + 1) + 3 * max(steps.bit_length(), examples.bit_length())) * dimension


@kernel
def absorb(t: int, now: int, K: int, f: int, powers: Vector, nodes: Stack, rings: Stack, prefixes: Stack) -> int:
    """Take in the nodes of one family that end at t, and at the end of a block turn its nodes into suffix sums.

    Parameters
    ----------
    t, now : int
        Step, and t mod N.
    K : int
        Blocks have length B = 2^K.
    f : int
        Which family: G, or DELTA, whose nodes that begin in the first epoch are not there.
    powers : (N + 1,) array of float
        Powers of 1 - alpha.
    nodes : (3, levels, d) array of float
        In row k: the node [t - 2^k + 1, t], for ``k <= min(level(t), K)``.
    rings, prefixes : array of float
        As in ``State``.

    Returns
    -------
    int
        How many vectors were added to another.
    """
    N, d = rings.shape[1] - 1, rings.shape[2]
    top, least = min(level(t), K), N if f == DELTA else 0
    for k in range(top + (top == K)):  # a whole block may be the first node of a window, as those that begin inside it
        if t - (1 << k) >= least:
            row = now - (1 << k) if now >= 1 << k else now - (1 << k) + N
            for j in range(d):
                rings[f, row, j] = nodes[f, k, j]
    if top < K:  # the node that ends at t with length lowbit(t)
        before = t - (1 << top)
        if before < least:
            return 0
        c, k = powers[1 << top], min(level(before), K) if before > 0 else K  # row K is the empty prefix
        for j in range(d):
            prefixes[f, top, j] = c * prefixes[f, k, j] + nodes[f, top, j]
        return 1 if k < K else 0
    adds, row = 0, now
    for left in range(1, 1 << K):  # u = t - left, from the last inside the block to the first
        row = row - 1 if row > 0 else N - 1
        low = left & -left
        if low < left:  # u + lowbit(u) < t
            after, c = row + low if row + low < N else row + low - N, powers[left - low]
            for j in range(d):
                rings[f, row, j] = c * rings[f, row, j] + rings[f, after, j]
            adds += 1
    return adds


@kernel
def reconstruct_step(
    t: int, K: int, weights: Vector, powers: Vector, decay: Vector, nodes: Stack, rings: Stack, prefixes: Stack,
    m_hat: Vector,
) -> int:  # fmt: skip
    """Write m^_t into ``m_hat``, shape (d,), from the nodes that end at t and what the steps before have left.

    Parameters
    ----------
    t : int
        Step, from 1; all steps in order.
    K : int
        floor(log2 N).
    weights, powers, decay : array of float
        As in ``Constants``.
    nodes : (3, levels, d) array of float
        In row k: the node [t - 2^k + 1, t]. Read are, for G and DELTA, the rows ``k <= min(level(t), K)``, without
        nodes of DELTA that begin in the first epoch; and for R the row ``level(t)``.
    rings, prefixes : array of float
        As in ``State``.
    m_hat : (d,) array of float
        Receives m^_t.

    Returns
    -------
    int
        How many vectors of length d were added to another.
    """
    N, d, k = rings.shape[1] - 1, rings.shape[2], level(t)
    now = t % N
    adds = absorb(t, now, K, G, powers, nodes, rings, prefixes)
    if t > N:
        adds += absorb(t, now, K, DELTA, powers, nodes, rings, prefixes)
    # COMPOSE(t - N + 1, t), or COMPOSE(1, t) where that begins before step 1: from row ``suffix`` up to ``middle``, a
    # multiple of B; a whole block from there; the prefix of t's own block. What is not there is a row of zeros.
    suffix, whole, last, c_suffix, c_whole, middle = N, N, min(k, K), 0.0, 0.0, 0
    if t >= N:
        middle = (((t - N) >> K) + 1) << K
        suffix, c_suffix = now, powers[t - middle]
    if middle + (1 << K) <= t:
        whole, c_whole = now - (t - middle), powers[t - middle - (1 << K)]
        whole = whole if whole >= 0 else whole + N
    parts: int = (suffix < N) + (whole < N) + (last < K)
    past, c_r = k, 0.0
    if t > 1 << k:
        past, c_r = level(t - (1 << k)), decay[k]
    alpha, of_delta, of_g, carry, c = weights[0], weights[1], weights[2], weights[3], weights[4]
    for j in range(d):
        r = c_r * prefixes[R, past, j] + nodes[R, k, j]
        g = c_suffix * rings[G, suffix, j] + c_whole * rings[G, whole, j] + prefixes[G, last, j]
        if t >= 2 * N:
            D = c_suffix * rings[DELTA, suffix, j] + c_whole * rings[DELTA, whole, j] + prefixes[DELTA, last, j]
            g = of_delta * D + carry * rings[WINDOW, now, j] + of_g * g
        total = c * rings[TOTAL, now, j] + g
        prefixes[R, k, j], rings[WINDOW, now, j], rings[TOTAL, now, j] = r, g, total
        m_hat[j] = alpha * (total + r)  # "m^_t = alpha G^_[1,t] + alpha r^_t"
    adds += (t > 1 << k) + 1 + (parts if t < N else parts + 1 if t < 2 * N else 2 * parts + 3)
    return adds


@kernel
def reconstruct_run(
    K: int, weights: Vector, powers: Vector, decay: Vector, F_G: Matrix, F_Delta: Matrix, F_r: Matrix, first: Indices,
    nodes: Stack, rings: Stack, prefixes: Stack, out: Matrix, adds: Indices,
) -> None:  # fmt: skip
    """Write m^_1..m^_T into ``out``, shape (T, d), and what ``reconstruct_step`` counts into ``adds``, shape (T,)."""
    N, d = rings.shape[1] - 1, out.shape[1]
    for t in range(1, out.shape[0] + 1):
        top = level(t)
        for k in range(min(top, K) + 1):
            row = first[k] + (t >> k) - 1
            for j in range(d):
                nodes[G, k, j] = F_G[row, j]
            if t - (1 << k) >= N:
                for j in range(d):
                    nodes[DELTA, k, j] = F_Delta[row, j]
        row = first[top] + (t >> top) - 1
        for j in range(d):
            nodes[R, top, j] = F_r[row, j]
        adds[t - 1] = reconstruct_step(t, K, weights, powers, decay, nodes, rings, prefixes, out[t - 1])


def reconstruct(nodes: Nodes, *, examples: int, alpha: float, gamma: float) -> tuple[Matrix, Indices]:
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

    Returns
    -------
    m_hat : (T, d) array of float
        Row t - 1 is m^_t.
    adds : (T,) array of int
        How many vectors of length d step t added to another: a cost that does not depend on the machine. The suffixes
        of a block are charged to its last step; the first t steps together need at most 15 t, whatever N and T.

    Raises
    ------
    ArgumentError
        If a number is out of range, or the nodes have no shape of a tree, or the state does not fit in memory.

    Notes
    -----
    Source: Algorithm 4, appendix B, for all t at once; equal to
    :func:`~dpverify.papers.tran2022.reconstruct_literal.reconstruct_literal` up to rounding.
    """
    nodes, steps, d = check_nodes(nodes)
    N, alpha, gamma = check.whole(1, examples=examples), check.weight(alpha=alpha), check_gamma(gamma=gamma)
    check.memory(steps * (d + 1) + state_floats(N, steps, d) + N, examples=examples, steps=steps, dimension=d)
    return reconstruct_with(nodes, steps, d, N, new_constants(N, alpha, gamma))


def reconstruct_with(nodes: Nodes, steps: int, d: int, examples: int, constants: Constants) -> tuple[Matrix, Indices]:
    """Do what ``reconstruct`` does, with given constants: faults are planted in them; arguments are checked before."""
    out, adds, state = np.empty((steps, d)), np.empty(steps, dtype=np.int64), new_state(examples, steps, d)
    space = np.zeros_like(state.prefixes)
    reconstruct_run(floor_log2(examples), *constants, *nodes, first_rows(steps), space, *state, out, adds)
    return out, adds
