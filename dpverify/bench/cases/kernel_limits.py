"""Reference kernels: drawing the same numbers and reading the same rows; also kernels that run many steps per call.

For sparse rows the reference is one plain pass over the stored entries.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from dpverify.kernels.clipping import clipped_sum
from dpverify.kernels.csr import Common, CsrArrays, SparseGradient
from dpverify.kernels.dyadic import floor_log2, level
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import Words, fill_normal_from
from dpverify.kernels.tape import draw_batch, fill_normal
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Vector
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    Stack,
    StreamConstants,
    StreamState,
    new_constants,
    new_state,
    reconstruct_step,
)
from dpverify.papers.tran2022.algorithms.tree_noise.steps import advance_from
from dpverify.papers.tran2022.algorithms.tree_noise.stream import decays
from dpverify.problems.logistic import slope

clipped_logistic = clipped_sum(slope)


@kernel
def draw_only(rng: Generator, count: int) -> float:
    """Return the sum of normal numbers drawn by the library; nothing is stored."""
    total = 0.0
    for _ in range(count):
        total += rng.standard_normal()
    return total


@kernel
def draw_rows(rng: Generator, times: int, out: Vector) -> None:
    """Fill ``out``, shape (d,), with normal numbers by the library, many times."""
    for _ in range(times):
        fill_normal(rng, out)


@kernel
def draw_rows_from(words: Words, times: int, out: Vector) -> None:
    """Fill ``out``, shape (d,), with normal numbers by our own sampler, many times."""
    for _ in range(times):
        fill_normal_from(words, out)


@kernel
def stream_in_blocks(
    words: Words, steps: int, alpha: float, scale: float, slots: Matrix, block: Matrix
) -> None:
    """Compute NOISE_1..NOISE_T in blocks that overwrite each other, so that O(d log T) numbers are stored."""
    decay = decays(alpha)
    t = 0
    while t < steps:
        n = min(steps - t, block.shape[0])
        advance_from(words, t, decay, scale, slots, block[:n])
        t += n


@kernel
def literal_sums(nodes: Matrix, alpha: float, out: Matrix) -> None:
    """Sum the nodes of COMPOSE(1, t) for every t, at most log2(t) + 1 nodes; the node in row t - 1 ends at t."""
    for t in range(1, out.shape[0] + 1):
        out[t - 1] = 0.0
        z = t
        while z > 0:
            decay = (1.0 - alpha) ** (t - z)
            for j in range(out.shape[1]):
                out[t - 1, j] += decay * nodes[z - 1, j]
            z -= 1 << level(z)


@kernel
def read_twice(rows: Matrix, batches: Indices, size: int, out: Vector) -> None:
    """Sum the rows of each batch twice; both passes read the rows in the order of the batch."""
    flat = rows.reshape(rows.size)
    p = np.uint64(rows.shape[1])
    for done in range(0, batches.shape[0], size):
        for _ in range(2):
            for i in range(done, min(done + size, batches.shape[0])):
                add_row(flat, np.uint64(batches[i]) * p, p, out)


@kernel
def add_row(rows: Vector, at: np.uint64, p: np.uint64, out: Vector) -> None:
    """Add ``rows[at : at + p]`` to ``out``, shape (p,)."""
    for j in range(p):
        out[j] += rows[at + j]


@kernel
def clip_batches(
    rows: Matrix, batches: Indices, size: int, w: Vector, clip: float, out: Vector
) -> None:
    """Sum clipped gradients of logistic regression over each batch, one after the other."""
    for done in range(0, batches.shape[0], size):
        clipped_logistic(rows, batches[done : done + size], w, clip, out)


@kernel
def clip_drawn(
    rows: Matrix,
    order: Indices,
    size: int,
    steps: int,
    w: Vector,
    clip: float,
    out: Vector,
    noise: Vector,
    batches: Generator,
    rng: Generator,
) -> None:
    """Draw a batch, sum its clipped gradients, and fill ``noise``, shape (d,), with normal numbers, many times."""
    for _ in range(steps):
        draw_batch(batches, order, size)
        clipped_logistic(rows, order[:size], w, clip, out)
        fill_normal(rng, noise)


@kernel
def gradients_only(
    gradient: ExampleGradient,
    x: Matrix,
    y: Vector,
    order: Indices,
    w: Vector,
    out: Vector,
) -> None:
    """Compute the gradients of the examples in ``order`` one by one, at the same w."""
    for i in range(order.shape[0]):
        gradient(w, x[order[i]], y[order[i]], out)


@kernel
def read_all(rows: Matrix, out: Vector) -> None:
    """Add every row of ``rows``, shape (n, d), to ``out``."""
    for i in range(rows.shape[0]):
        for j in range(out.shape[0]):
            out[j] += rows[i, j]


@kernel
def add_constants(steps: int, out: Vector) -> None:
    """Add a number to ``out``, shape (d,), three times per step."""
    for t in range(steps):
        for f in range(3):
            for j in range(out.shape[0]):
                out[j] += float(t + f)


@kernel
def step_after_step(
    steps: int,
    K: int,
    constants: StreamConstants,
    nodes: Stack,
    state: StreamState,
    m_hat: Vector,
) -> None:
    """Run all steps of the reconstruction; every node of step t has the value t."""
    for t in range(1, steps + 1):
        for f in range(3):
            for k in range(level(t) + 1):
                for j in range(m_hat.shape[0]):
                    nodes[f, k, j] = float(t)
        reconstruct_step(t, K, constants, nodes, state, m_hat)


def run_without_nodes(
    examples: int, dimension: int, steps: int, alpha: float, gamma: float
) -> Vector:
    """Run the reconstruction with nodes that are made on demand. Shapes: returns (d,)."""
    constants = new_constants(examples, alpha, gamma)
    state = new_state(examples, steps, dimension)
    nodes = np.zeros_like(state.prefixes)
    m_hat = np.zeros(dimension)
    step_after_step(steps, floor_log2(examples), constants, nodes, state, m_hat)
    return m_hat


@kernel
def fused_pass(rows: CsrArrays, y: Vector, w: Vector, out: Vector) -> float:
    """Return the mean logistic loss and write its gradient into ``out``, shape (d,), in one pass over the rows."""
    starts, columns, values = rows
    total = 0.0
    out[:] = 0.0
    for i in range(y.shape[0]):
        z = 0.0
        for k in range(starts[i], starts[i + 1]):
            z += values[k] * w[columns[k]]
        s = 1.0 - 2.0 * y[i]
        total += math.log1p(math.exp(-abs(s * z))) + max(s * z, 0.0)
        steep = s / (1.0 + math.exp(-s * z))
        for k in range(starts[i], starts[i + 1]):
            out[columns[k]] += steep * values[k]
    out /= y.shape[0]
    mean: float = total / y.shape[0]
    return mean


@kernel
def sparse_gradients(
    gradient: SparseGradient,
    rows: CsrArrays,
    y: Vector,
    order: Indices,
    w: Vector,
    out: Vector,
) -> None:
    """Add the example-dependent part of the gradient of each example in ``order`` to ``out``, shape (d,)."""
    starts, columns, values = rows
    for i in order:
        gradient(
            w,
            columns[starts[i] : starts[i + 1]],
            values[starts[i] : starts[i + 1]],
            y[i],
            out,
        )


@kernel
def common_parts(
    common: Common, weight: float, times: int, w: Vector, out: Vector
) -> None:
    """Write the common part of all gradients into ``out``, shape (d,), many times."""
    for _ in range(times):
        common(weight, w, out)
