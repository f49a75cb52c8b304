"""One step of Algorithm 2 for given gradients, with its constants and state; see ``sr_nsgd.optimizer``."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpverify.kernels.dyadic import floor_log2, level
from dpverify.kernels.jit import step_kernel
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import move
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.stream import (
    DELTA,
    G,
    R,
    Stack,
    StreamConstants,
    StreamState,
    new_constants,
    new_state,
    reconstruct_step,
)
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import NodeNoise, add_noise

# Error codes of ``sr_step``
BAD_GRADIENT = 1
BAD_MOMENTUM = 2


class SrNumbers(NamedTuple):
    """Constants of a run."""

    K: int  # floor(log2 N)
    alpha: float  # momentum weight
    eta: float  # length of a step
    constants: StreamConstants
    noisy: bool  # whether there is noise


class SrState(NamedTuple):
    """State of a run, which every step updates."""

    # (3, d) Gradients of the step's example at the anchor, at the anchor before (not
    # read in the first epoch), and at w_t. A step overwrites them.
    gradients: Matrix
    # (2, d) the anchors of this epoch and of the
    # epoch before; updated at the end of an epoch
    anchors: Matrix
    # (3, levels, d) row k contains the last node of
    # length 2^k that is the left half of another node
    left: Stack
    nodes: Stack  # (3, levels, d) row k contains the node [t - 2^k + 1, t]
    stream: StreamState
    w: Vector  # (d,) w_t, which becomes w_{t+1}
    m: Vector  # (d,) m_{t-1}, which becomes m_t
    m_hat: Vector  # (d,) receives m^_t
    # (T + 1, d) row t receives w_{t+1}; or (0, d): iterates are not stored
    iterates: Matrix
    momenta: Stack  # (2, T, d) row t - 1 receives m_t and m^_t; or (2, 0, d)
    done: Indices  # (2,) receives t, and the number of rows of the tape that were used


def new_sr_numbers(
    parameters: SrParameters, examples: int, direction: float = 1.0
) -> SrNumbers:
    """Return the constants of a run; with ``direction`` -1 the steps are reversed, so that the loss increases."""
    p = parameters
    constants = new_constants(examples, parameters.alpha, parameters.gamma)
    return SrNumbers(
        floor_log2(examples), p.alpha, direction * p.eta, constants, bool(p.sigma > 0.0)
    )


def new_sr_state(
    examples: int, steps: int, w: Vector, iterates: Matrix, done: Indices
) -> SrState:
    """Return the state before the first step; it shares the arrays ``w``, ``iterates`` and ``done`` with the run."""
    stream = new_state(examples, steps, len(w))
    d = len(w)
    stored_steps = max(0, len(iterates) - 1)
    # NaN reveals coordinates that a gradient does not write
    gradients = np.full((3, d), np.nan)
    left = np.zeros_like(stream.prefixes)
    nodes = np.zeros_like(stream.prefixes)
    momenta = np.full((2, stored_steps, d), np.nan)
    m = np.zeros(d)
    m_hat = np.zeros(d)
    return SrState(
        gradients,
        np.stack([w, w]),
        left,
        nodes,
        stream,
        w,
        m,
        m_hat,
        iterates,
        momenta,
        done,
    )


@step_kernel
def grow(
    t: int, N: int, K: int, decay: Vector, leaves: Matrix, left: Stack, nodes: Stack
) -> None:
    """Compute the nodes that end at step t from their halves, without noise.

    ``nodes`` (3, levels, d): row k receives the node [t - 2^k + 1, t]; for G and DELTA up to the length 2^K, for R of
    any length. Shapes: ``decay`` (LEVELS,), ``leaves`` (3, d), ``left`` (3, levels, d).
    """
    d = leaves.shape[1]
    top = level(t)
    for f in range(3):
        highest = top if f == R else min(top, K)
        # skip nodes that begin in the first epoch
        while f == DELTA and highest >= 0 and t - (1 << highest) < N:
            highest -= 1
        if highest >= 0:
            for j in range(d):
                nodes[f, 0, j] = leaves[f, j]
        # F_[y,z] = (1 - alpha)^(length / 2) F_left half + F_right half
        for k in range(1, highest + 1):
            c = decay[k - 1]
            for j in range(d):
                nodes[f, k, j] = c * left[f, k - 1, j] + nodes[f, k - 1, j]
        if highest == top:
            for j in range(d):
                left[f, top, j] = nodes[f, top, j]


@step_kernel
def sr_step(
    t: int,
    numbers: SrNumbers,
    noise: NodeNoise,
    gradients: Matrix,
    anchors: Matrix,
    left: Stack,
    nodes: Stack,
    stream: StreamState,
    w: Vector,
    m: Vector,
    m_hat: Vector,
    iterates: Matrix,
    momenta: Stack,
    done: Indices,
) -> int:
    """Do step t of Algorithm 2 for given gradients; return 0, or BAD_GRADIENT or BAD_MOMENTUM if it fails."""
    alpha = numbers.alpha
    K = numbers.K
    constants = numbers.constants
    d = w.shape[0]
    N = stream.rings.shape[1] - 1
    if t <= N:
        for j in range(d):
            gradients[DELTA, j] = 0.0
    size = 0.0
    for j in range(d):
        # NaN if any of them is not finite
        size += 0.0 * (gradients[G, j] + gradients[DELTA, j] + gradients[R, j])
    if math.isnan(size):
        return BAD_GRADIENT
    beta = 1.0 - alpha
    for j in range(d):
        m[j] = beta * m[j] + alpha * gradients[R, j]
        gradients[R, j] -= gradients[G, j]  # grad f(w_t, x_t) - grad f(a_t, x_t)
        # grad f(a_t, x_t) - grad f(b_t, x_t)
        gradients[DELTA, j] = gradients[G, j] - gradients[DELTA, j]
    # "for k = 0, ..., floor(log2 t) do if t mod 2^k = 0 then ..."
    grow(t, N, K, constants.decay, gradients, left, nodes)
    row = done[1]
    if numbers.noisy:
        row = add_noise(t, N, K, noise, row, nodes)
    # "Compute m^_t using Algorithm 4"
    reconstruct_step(t, K, constants, nodes, stream, m_hat)
    if not move(numbers.eta, m_hat, w):  # w_{t+1} <- w_t - eta m^_t / |m^_t|
        return BAD_MOMENTUM
    if t % N == 0:
        for j in range(d):
            anchors[1, j], anchors[0, j] = anchors[0, j], w[j]
    if iterates.shape[0] > 0:
        for j in range(d):
            iterates[t, j], momenta[0, t - 1, j], momenta[1, t - 1, j] = (
                w[j],
                m[j],
                m_hat[j],
            )
    done[1] = row
    done[0] = t
    return 0
