"""Algorithm 1's noise as printed: all nodes are drawn in advance into the map Z, and summed at each step.

The loops ``for b = 0, ..., R - 1`` and ``for a = 0, ..., floor(T / 2^b) - 1`` fill Z; step t sums COMPOSE(1, t). The
nodes in Z depend on the tree depth R, which the paper does not define. If R is the height of the tree, floor(log2 T),
the loops omit the top level, and the step t = 2^R uses a node that was not drawn. Such a step raises an error that
names the node. Treating the missing noise as zero would give a different algorithm that is not private.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import fill_normal
from dpverify.kernels.typing import Intervals, Matrix, Tape
from dpverify.papers.tran2022.algorithms.composition import (
    MOST_NODES,
    compose,
    compose_into,
)


class UndrawnNodeError(KeyError):
    """A step uses a node that Algorithm 1's loops do not draw."""

    def __init__(self, node: tuple[int, int], t: int, depth: int) -> None:
        self.node = node
        self.t = t
        self.depth = depth
        super().__init__(node, t, depth)

    def __str__(self) -> str:
        y, z = self.node
        longest = (1 << self.depth) // 2
        return (
            f"node [{y}, {z}] is used at step t={self.t} but never drawn: it has length {z - y + 1}, "
            f"and depth={self.depth} draws lengths up to {longest}."
        )


def check_depth(steps: int, depth: int) -> None:
    """Raise UndrawnNodeError if some step of 1..T uses a node that the loops do not draw at this depth."""
    if depth < steps.bit_length():
        raise UndrawnNodeError((1, 1 << depth), 1 << depth, depth)


@kernel
def node_row(b: int, a: int, steps: int) -> int:
    """Return the row of the node [a 2^b + 1, (a + 1) 2^b] in Z, whose rows are ordered by level."""
    row = a
    for lower in range(b):
        row += steps >> lower
    return row


@kernel
def literal_noise(
    Z: Matrix, alpha: float, depth: int, out: Matrix, nodes: Intervals
) -> int:
    """Write NOISE_1..NOISE_T into ``out``, line by line as Algorithm 1 prints it.

    Returns 0, or the first step that uses a node that was not drawn; from this step on the output is incomplete.
    Shapes: ``Z`` (n, d), ``out`` (T, d), ``nodes`` (MOST_NODES, 2).
    """
    T, d = out.shape
    for t in range(1, T + 1):
        # "Send interval [1, t] to Algorithm 3 to get the set S = COMPOSE(1, t)"
        count = compose_into(1, t, nodes)
        for j in range(d):
            out[t - 1, j] = 0.0  # "NOISE <- 0"
        for i in range(count):  # "for every interval S_i in S"
            y = nodes[i, 0]
            z = nodes[i, 1]
            b = level(z - y + 1)
            if b >= depth:
                return t
            row = node_row(b, (y - 1) >> b, T)
            decay = (1.0 - alpha) ** (t - z)
            for j in range(d):
                # "NOISE <- NOISE + (1 - alpha)^{t - S_i[1]} Z[S_i]"
                out[t - 1, j] += decay * Z[row, j]
    return 0


def draw_nodes(
    rng: Generator, steps: int, dimension: int, *, depth: int, scale: float
) -> Matrix:
    """Draw the map Z in the order of the paper's loops: one row per node, ordered by level, n < 2T rows."""
    steps = check.whole(1, MOST_STEPS - 1, steps=steps)
    dimension = check.whole(1, dimension=dimension)
    count = sum(steps >> b for b in range(check.whole(0, 62, depth=depth)))
    check.memory(count * dimension, steps=steps, dimension=dimension, depth=depth)
    Z = np.empty((count, dimension))
    fill_normal(rng, Z.reshape(-1))
    Z *= check.not_negative(scale=scale)
    return Z


def noise_from_nodes(Z: Matrix, steps: int, *, depth: int, alpha: float) -> Matrix:
    """Return NOISE_1..NOISE_T from the map Z, by the printed loops of Algorithm 1.

    Parameters
    ----------
    Z : (n, d) array of float
        From ``draw_nodes`` or ``nodes_of_tape``, with the same T and R. Nodes that no
        step uses may have any value.
    steps : int
        T, at least 1.
    depth : int
        R, at least 0.
    alpha
        As in ``noise_from_tape``; the result is also as there.

    Raises
    ------
    UndrawnNodeError
        If a step uses a node that was not drawn.
    ArgumentError
        If a number is out of range, or the number of rows of Z is not the number of
        nodes that the loops draw.
    """
    steps = check.whole(1, MOST_STEPS - 1, steps=steps)
    depth = check.whole(0, 62, depth=depth)
    count = sum(steps >> b for b in range(depth))
    if Z.ndim != 2 or len(Z) != count:
        raise check.ArgumentError(
            "Z",
            f"an array of shape {Z.shape}",
            f"must have {count} rows, one per node drawn",
        )
    out = np.empty((steps, Z.shape[1]))
    nodes = np.empty((MOST_NODES, 2), dtype=np.int64)
    failed = literal_noise(
        np.ascontiguousarray(Z, dtype=np.float64),
        check.weight(alpha=alpha),
        depth,
        out,
        nodes,
    )
    if failed:
        y, z = compose(1, failed)[0]  # the longest node is first
        raise UndrawnNodeError((int(y), int(z)), failed, depth)
    return out


def nodes_of_tape(tape: Tape, *, depth: int, scale: float) -> Matrix:
    """Convert a tape to the map Z: row t - 1 becomes the node that ends at t with length lowbit(t).

    Parameters
    ----------
    tape : (T, d) array of float
        Unit Gaussians.
    depth : int
        R, at least 0.
    scale : float
        Standard deviation of a node, at least 0.

    Returns
    -------
    (n, d) array of float
        As from ``draw_nodes``; nodes that no COMPOSE(1, t) contains are NaN, so that a
        use would be noticed.

    Raises
    ------
    ArgumentError
        If a number is out of range, or the shape of the tape is wrong.
    """
    tape = check.array(None, None, tape=tape)
    steps = len(tape)
    depth = check.whole(0, 62, depth=depth)
    Z = np.full((sum(steps >> b for b in range(depth)), tape.shape[1]), np.nan)
    scale = check.not_negative(scale=scale)
    for t in range(1, steps + 1):
        b = level(t)
        if b < depth:
            Z[node_row(b, (t >> b) - 1, steps)] = scale * tape[t - 1]
    return Z
