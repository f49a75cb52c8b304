"""The nodes of Algorithm 4 in arrays: the nodes of a tree by level, and the nodes of one family in the stream.

The nodes of a run of T steps are the dyadic intervals [a 2^b + 1, (a + 1) 2^b] inside
{1, ..., T}. Their rows are ordered by level, as in ``node_row``: first the T leaves in
the order of the steps, then the floor(T / 2) nodes of length 2, and so on; fewer than
2T rows. Longer nodes are computed from shorter ones.

In the stream, ``absorb`` processes the nodes of one family that end at a step, ``finish_block`` computes the suffix
sums of a block, and ``place`` returns the row of a node. ``reconstruction.stream`` defines the recursion and its
letters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import inner_kernel, kernel
from dpverify.kernels.typing import Indices, Intervals, Matrix, Vector
from dpverify.kernels.vector import prefetch_row
from dpverify.papers.tran2022.algorithms.tree_noise.stream import LEVELS


class Nodes(NamedTuple):
    """The three families of nodes of Algorithm 2, each of shape (n, d) with the rows of :func:`node_intervals`.

    Attributes
    ----------
    g : (n, d) array of float
        F^G: gradients at the anchor of each step's epoch.
    delta : (n, d) array of float
        F^Delta: gradients at that anchor minus those at the anchor before. Nodes that
        begin in the first epoch do not exist; their rows are NaN, so that a use would
        be noticed.
    r : (n, d) array of float
        F^r: gradients at the iterates minus those at the anchor.
    """

    g: Matrix
    delta: Matrix
    r: Matrix


def node_count(steps: int) -> int:
    """Return the number of nodes of a tree, ``sum of floor(T / 2^b)`` over all levels b, which is below 2T."""
    steps = check.whole(1, MOST_STEPS - 1, steps=steps)
    return sum(steps >> b for b in range(steps.bit_length()))


def first_rows(steps: int) -> Indices:
    """Return the row of each level's first node; [a 2^b + 1, (a + 1) 2^b] is in row ``first_rows(T)[b] + a``."""
    steps = check.whole(1, MOST_STEPS - 1, steps=steps)
    counts = [steps >> b for b in range(steps.bit_length())]
    return np.concatenate([[0], np.cumsum(counts[:-1], dtype=np.int64)]).astype(
        np.int64
    )


def node_intervals(steps: int) -> Intervals:
    """Return the closed interval [y, z] of each row."""
    count = node_count(steps)
    check.memory(2 * count, steps=steps)
    out = np.empty((count, 2), dtype=np.int64)
    for b, first in enumerate(first_rows(steps)):
        ends = np.arange(1, (steps >> b) + 1, dtype=np.int64) << b
        out[first : first + len(ends)] = np.stack([ends - (1 << b) + 1, ends], axis=1)
    return out


@kernel
def fill_level_decay(alpha: float, out: Vector) -> None:
    """Write ``(1 - alpha)^(2^k)`` into ``out[k]``, shape (LEVELS,), each rounded once.

    ``tree_noise.decays`` uses repeated squaring, which is faster but has the error of n roundings in (1 - alpha)^n.
    """
    for k in range(out.shape[0]):
        out[k] = (1.0 - alpha) ** float(1 << k)


@kernel
def add_levels(steps: int, decay: Vector, out: Matrix) -> None:
    """Write the nodes above the leaves: F_[y, z] = (1 - alpha)^(length / 2) F_left half + F_right half."""
    below = 0
    row = steps
    b = 1
    while steps >> b:
        c = decay[b - 1]
        for a in range(steps >> b):
            left = below + 2 * a
            for j in range(out.shape[1]):
                out[row + a, j] = c * out[left, j] + out[left + 1, j]
        below = row
        row = row + (steps >> b)
        b = b + 1


def nodes_of_leaves(leaves: Matrix, *, alpha: float) -> Matrix:
    """Return every node of a tree, without noise.

    Parameters
    ----------
    leaves : (T, d) array of float
        The contribution of step t, in row t - 1. Rows may be NaN; then every node that
        contains the step is NaN.
    alpha : float
        Momentum weight, in (0, 1].

    Returns
    -------
    (n, d) array of float
        ``F_[y, z] = sum over t in [y, z] of (1 - alpha)^(z - t) leaf_t``, with the rows
        of :func:`node_intervals`.

    Raises
    ------
    ArgumentError
        If alpha is out of range, there are no leaves, or the nodes do not fit in
        memory.
    """
    alpha = check.weight(alpha=alpha)
    if leaves.ndim != 2 or 0 in leaves.shape:
        raise check.ArgumentError(
            "leaves", f"an array of shape {leaves.shape}", "must have shape (any, any)"
        )
    steps, d = leaves.shape
    count = node_count(steps)
    check.memory(count * d, steps=steps, dimension=d)
    decay = np.empty(LEVELS)
    fill_level_decay(alpha, decay)
    out = np.empty((count, d))
    out[:steps] = leaves
    add_levels(steps, decay, out)
    return out


def check_nodes(nodes: Nodes) -> tuple[Nodes, int, int]:
    """Check the shapes of the families; return them as contiguous floats, the T whose tree has n nodes, and d."""
    contiguous = Nodes(
        *(np.ascontiguousarray(family, dtype=np.float64) for family in nodes)
    )
    for name, family in zip(Nodes._fields, contiguous, strict=True):
        if family.ndim != 2 or 0 in family.shape or family.shape != contiguous.g.shape:
            rule = f"must have the shape (n, d) of nodes.g, {contiguous.g.shape}"
            raise check.ArgumentError(
                f"nodes.{name}", f"an array of shape {family.shape}", rule
            )
    count, d = contiguous.g.shape
    # A tree with T leaves has 2T - (number of ones in the binary expansion of T) nodes,
    # so T is slightly above n / 2.
    steps = max(1, count // 2)
    while node_count(steps) < count:
        steps += 1
    if node_count(steps) != count:
        raise check.ArgumentError(
            "nodes.g", f"{count} rows", "must have as many rows as a tree has nodes"
        )
    return contiguous, steps, d


@inner_kernel
def finish_block(
    f: int, now: int, K: int, powers: Vector, rings: NDArray[np.float64]
) -> int:
    """Turn the nodes of one family in the block that ends now into suffix sums; return the number of additions."""
    N = rings.shape[1] - 1
    d = rings.shape[2]
    adds = 0
    row = now
    # u = t - left, from the last inside the block to the first
    for left in range(1, 1 << K):
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
    """Process the nodes of family f that end at t, as ``reconstruct_steps`` for H; return the number of additions."""
    N = rings.shape[1] - 1
    d = rings.shape[2]
    top = min(level(t), K)
    # a whole block is stored too, as a window may begin with it
    for k in range(top + (top == K)):
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
    """Return the row of the node [t - 2^k + 1, t] in a tree, or k if ``first`` is empty: one row per level."""
    return first[k] + (t >> k) - 1 if first.shape[0] > 0 else k


@inner_kernel
def prefetch_node(rows: Vector, row: int, d: int) -> None:
    """Prefetch a row of length d into the cache."""
    prefetch_row(rows, np.uint64(row * d), np.uint64(d))
