"""Sensitivity of the nodes of a run to one example: worst-case problems, and the replay of a run on two data sets.

The privacy of a run is that of its noisy nodes. Each node is a query that depends on
the data and, through the iterates, on the nodes released before. Its sensitivity
compares two data sets for fixed iterates and a fixed order of the examples. Replaying a
run on both data sets gives the values of every node of Algorithms 1 and 2, and their
distance is the effect of the replaced example.

On the worst-case problems one example moves a node as far as possible. All examples are
on a line. The gradient of example n at w is ``y_n`` times that of a clipped quadratic,

    grad f(w, x_n) = y_n * clip(L (w - c_n), -G, G),       y_n = 1 or -1, c_n its centre,

which is G-Lipschitz and L-smooth; both bounds are attained. Far from its centre the gradient of an example has the
constant norm G. Near its centre the gradient changes by L per unit of distance, in opposite directions for the two
signs. On the first data set of a pair, no gradient is positive along the path. So a run without noise moves to the
right by eta at each step, and consecutive anchors are as far apart as possible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.epochs import check_schedule
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import ExampleGradient, Indices, Intervals, Matrix, Vector
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    node_count,
    nodes_of_leaves,
)
from dpverify.papers.tran2022.algorithms.reconstruction.stream import DELTA, G, R, Stack
from dpverify.problems.stepped_run import compiled, compiling

REPLACED = 0  # Number of the example in which the neighbouring data sets differ


class Neighbours(NamedTuple):
    """Two data sets that differ in the example ``REPLACED``."""

    x: Matrix  # (N, 1) centres of the first data set
    y: Vector  # (N,) signs of the first data set
    x_other: Matrix  # (N, 1) centres of the second data set
    y_other: Vector  # (N,) signs of the second data set


def opposed(N: int, reach: float, G: float, L: float) -> Neighbours:
    """Return the neighbours on which f and G nodes move most.

    The gradient of the replaced example is -G on one data set and G on the other, on the whole path. ``reach`` bounds
    the length of the path.
    """
    N, beyond = _far(N, reach, G, L)
    x = np.full((N, 1), beyond)
    x_other = x.copy()
    x_other[REPLACED] = -beyond
    return Neighbours(x, np.ones(N), x_other, np.ones(N))


def turning(N: int, reach: float, G: float, L: float) -> Neighbours:
    """Return the neighbours on which Delta and r nodes move most.

    Along [0, G/L] the gradient of the replaced example rises from -G to 0 on one data set and falls from 0 to -G on the
    other. The path must not be longer than G/L, so that the gradients change on all of it. ``N``, ``reach``, ``G``,
    ``L``: as for :func:`opposed`.
    """
    N, beyond = _far(N, reach, G, L)
    if L * reach > G:
        raise check.ArgumentError("reach", reach, f"must be at most G/L = {G / L}")
    x = np.full((N, 1), beyond)
    y = np.ones(N)
    x[REPLACED] = G / L
    x_other = x.copy()
    y_other = y.copy()
    x_other[REPLACED] = 0.0
    y_other[REPLACED] = -1.0
    return Neighbours(x, y, x_other, y_other)


def _far(N: int, reach: float, G: float, L: float) -> tuple[int, float]:
    """Return N, and a centre for which the gradient has norm G on the whole path."""
    N = check.whole(1, examples=N)
    reach = check.not_negative(reach=reach)
    return N, 2.0 * (reach + check.positive(G=G) / check.positive(L=L))


F = 3  # Index of Algorithm 1's f among the leaves, after G, DELTA and R


class ExactNodes(NamedTuple):
    """Every node of a run without noise, with the rows of ``reconstruction.nodes.node_intervals(T)``."""

    # (n, d) F^G, F^Delta and F^r of Algorithm 2. No F^Delta node begins in the first
    # epoch; such rows are NaN.
    g: Matrix
    delta: Matrix
    r: Matrix
    # (n, d) f of Algorithm 1, with its factor alpha: ``alpha sum over t in [y, z] of
    # (1 - alpha)^(z - t) grad f(w_t, x_t)``
    f: Matrix

    @property
    def nodes(self) -> Nodes:
        """The three families of Algorithm 2 as input of the reconstruction."""
        return Nodes(self.g, self.delta, self.r)

    def distances(self, other: ExactNodes) -> ExactDistances:
        """Return the distance of each node from the same node of another replay; NaN where there is no node."""
        if self.g.shape != other.g.shape:
            rule = f"must have nodes of shape {self.g.shape}"
            raise check.ArgumentError("other", f"nodes of shape {other.g.shape}", rule)
        return ExactDistances(
            *(np.linalg.norm(a - b, axis=1) for a, b in zip(self, other, strict=True))
        )


class ExactDistances(NamedTuple):
    """Distances between two replays, node by node, in units of the gradient; rows as in ``ExactNodes``."""

    g: Vector  # (n,) like the other fields
    delta: Vector
    r: Vector
    f: Vector


def anchor_rows(examples: int, steps: int) -> Intervals:
    """Return the rows, from 0, of the first iterates of each step's epoch and of the epoch before; -1 for none."""
    N = check.whole(1, examples=examples)
    steps = check.whole(1, steps=steps)
    check.memory(2 * steps, steps=steps)
    epoch = np.arange(steps, dtype=np.int64) // N
    return np.stack([N * epoch, np.where(epoch > 0, N * (epoch - 1), -1)], axis=1)


@kernel
def write_leaves(
    gradient: ExampleGradient,
    x: Matrix,
    y: Vector,
    iterates: Matrix,
    schedule: Indices,
    anchors: Intervals,
    out: Stack,
) -> None:
    """Write the contribution of each step to each family of nodes.

    ``out`` (4, T, d): receives the leaves of G, DELTA, R and F; those of F are without the factor alpha. In the first
    epoch the leaves of DELTA must be NaN before the call and stay so. Shapes: ``x`` (N, p), ``y`` (N,), ``iterates``
    (T, d), ``schedule`` (T,), ``anchors`` (T, 2).
    """
    for i in range(iterates.shape[0]):
        n = schedule[i]
        now = anchors[i, 0]
        before = anchors[i, 1]
        gradient(iterates[i], x[n], y[n], out[F, i])
        gradient(iterates[now], x[n], y[n], out[G, i])
        if before >= 0:
            gradient(iterates[before], x[n], y[n], out[DELTA, i])
        for j in range(iterates.shape[1]):
            out[DELTA, i, j] = out[G, i, j] - out[DELTA, i, j]
            out[R, i, j] = out[F, i, j] - out[G, i, j]


def replay(
    gradient: ExampleGradient,
    x: Matrix,
    y: Vector,
    iterates: Matrix,
    schedule: Indices,
    *,
    alpha: float,
    anchors: Intervals | None = None,
) -> ExactNodes:
    """Return every node of a run on a data set, with the iterates held fixed.

    Nodes that no step reads are included. ``anchors`` replaces the result of
    :func:`anchor_rows`, for planted faults. Shapes: ``x`` (N, p), ``y`` (N,),
    ``iterates`` (T, d) or (T + 1, d), ``schedule`` (T,), ``anchors`` (T, 2).

    Source: definitions of F^G, F^Delta, F^r in section 4, with each step's own epoch; of f in section 3.
    """
    gradient = compiled(gradient)
    x = check.array(None, None, x=x)
    y = check.array(len(x), y=y)
    steps = len(schedule)
    schedule = check_schedule(schedule, len(x), check.whole(1, steps=steps))
    iterates = check.array(None, None, iterates=iterates)
    if len(iterates) not in (steps, steps + 1):
        rule = f"must have {steps} rows, or one more: w_1, w_2, ..."
        raise check.ArgumentError(
            "iterates", f"an array of shape {iterates.shape}", rule
        )
    rows = anchor_rows(len(x), steps) if anchors is None else np.array(anchors)
    fits = rows.shape == (steps, 2) and rows.dtype.kind in "iu" and rows.max() < steps
    if not fits or rows[:, 0].min() < 0:
        rule = (
            f"must have shape ({steps}, 2) and hold rows of the iterates, below {steps}"
        )
        raise check.ArgumentError("anchors", f"an array of shape {rows.shape}", rule)
    d = iterates.shape[1]
    check.memory((5 * steps + 4 * node_count(steps)) * d, steps=steps, dimension=d)
    rows = rows.astype(np.int64)
    leaves = np.full((4, steps, d), np.nan)
    # the iterates are read-only, which numba
    # compiles as a separate type; a copy is writable
    with compiling(gradient):
        write_leaves(gradient, x, y, iterates[:steps].copy(), schedule, rows, leaves)
    return _nodes(leaves, rows, alpha)


def _nodes(leaves: Stack, anchors: Intervals, alpha: float) -> ExactNodes:
    has_anchor = anchors[:, 1] >= 0
    for f, name in ((F, "iterate"), (G, "anchor"), (DELTA, "anchor before")):
        bad = ~np.isfinite(leaves[f]).all(axis=1) & (has_anchor if f == DELTA else True)
        if bad.any():
            value = f"a number that is not finite at step {int(np.argmax(bad)) + 1}, at the {name}"
            raise check.ArgumentError(
                "gradient", value, "must write a finite number into every coordinate"
            )
    leaves[F] *= check.weight(alpha=alpha)
    return ExactNodes(
        *(nodes_of_leaves(leaves[f], alpha=alpha) for f in (G, DELTA, R, F))
    )
