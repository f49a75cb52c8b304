"""What the reconstruction is measured against: reading all nodes, and a run that never holds them."""

from __future__ import annotations

import numpy as np

from dpverify.kernels.dyadic import floor_log2, level
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Matrix, Vector
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    Stack,
    StreamConstants,
    StreamState,
    new_constants,
    new_state,
    reconstruct_step,
)


@kernel
def read_all(rows: Matrix, out: Vector) -> None:
    """Add every row of ``rows``, shape (n, d), to ``out``."""
    for i in range(rows.shape[0]):
        for j in range(out.shape[0]):
            out[j] += rows[i, j]


@kernel
def add_constants(steps: int, out: Vector) -> None:
    """Add to ``out``, shape (d,), three times a step."""
    for t in range(steps):
        for f in range(3):
            for j in range(out.shape[0]):
                out[j] += float(t + f)


@kernel
def step_after_step(
    steps: int, K: int, constants: StreamConstants, nodes: Stack, state: StreamState, m_hat: Vector
) -> None:
    """Do all steps; every node of step t has the value t."""
    for t in range(1, steps + 1):
        for f in range(3):
            for k in range(level(t) + 1):
                for j in range(m_hat.shape[0]):
                    nodes[f, k, j] = float(t)
        reconstruct_step(t, K, constants, nodes, state, m_hat)


def run_without_nodes(examples: int, dimension: int, steps: int, alpha: float, gamma: float) -> Vector:
    """Reconstruct at every step from nodes that are made when they are needed. Shapes: returns (d,)."""
    constants, state = new_constants(examples, alpha, gamma), new_state(examples, steps, dimension)
    nodes, m_hat = np.zeros_like(state.prefixes), np.zeros(dimension)
    step_after_step(steps, floor_log2(examples), constants, nodes, state, m_hat)
    return m_hat
