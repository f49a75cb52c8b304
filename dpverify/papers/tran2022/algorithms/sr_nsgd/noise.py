"""The noise of Algorithm 2: Gaussians on the nodes that a step reads, and the resulting noise in m^_t.

Algorithm 2 draws a Gaussian for every node of three families. Algorithm 4 reads fewer:
nodes of G and Delta not longer than N, and one node of r per step, the node [t -
lowbit(t) + 1, t]. Only these nodes are drawn, in the paper's order: at step t for k =
0, 1, ..., log2 of lowbit(t), and for each k first G, then r, then Delta. A tape has one
row for each drawn node, in the same order; ``tape_layout`` returns the node of each
row.

The noise in m^_t is linear in the tape and does not depend on the data. It is m^_t - m_t under one permutation. Under a
fresh permutation in every epoch, m^_t - m_t also contains an error of the reconstruction, which is not noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.dyadic import floor_log2, level
from dpverify.kernels.jit import kernel, step_kernel
from dpverify.kernels.normal import NO_WORDS, Words, fill_normal_from
from dpverify.kernels.tape import fill_normal, generator
from dpverify.kernels.typing import Matrix, Tape, Vector
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
    state_floats,
)
from dpverify.papers.tran2022.algorithms.scales import (
    DELTA_INDEX,
    G_FIRST,
    G_LATER,
    R_INDEX,
)


@kernel
def is_drawn(f: int, k: int, t: int, N: int, K: int) -> bool:
    """Return whether some step reads the node [t - 2^k + 1, t] of family f; ``2^k`` divides t, K is floor(log2 N)."""
    if f == R:
        return k == level(t)
    return k <= K and (f == G or t - (1 << k) >= N)


@kernel
def rows_until(t: int, N: int, K: int) -> int:
    """Return the number of tape rows of steps 1..t: t for r, and for G and Delta every node up to the length 2^K."""
    count = t
    for k in range(K + 1):
        # Delta nodes that begin in the first epoch do not exist
        completed = t >> k
        early = (N + (1 << k) - 1) >> k
        count += completed + max(0, completed - early)
    return count


class NodeNoise(NamedTuple):
    """Source of the noise of nodes."""

    deviations: Vector  # (4,) from ``Scales.deviations``
    # (n, d) unit Gaussians, with the rows of
    # ``tape_layout``; or (0, d): Gaussians are drawn
    tape: Tape
    # (4,) state of an SFC64 generator for
    # ``kernels.normal``; or (0,): NumPy draws from ``rng``
    words: Words
    rng: Generator
    unit: Vector  # (d,) working space


@step_kernel
def add_noise(t: int, N: int, K: int, noise: NodeNoise, row: int, nodes: Stack) -> int:
    """Add noise to the nodes that end at step t, from the tape's row ``row`` on; return the first row of the next step.

    K is floor(log2 N). ``nodes`` (3, levels, d): row k contains the node [t - 2^k + 1, t].
    """
    deviations = noise.deviations
    tape = noise.tape
    unit = noise.unit
    for k in range(level(t) + 1):
        for f in (G, R, DELTA):
            if is_drawn(f, k, t, N, K):
                scale = deviations[R_INDEX] if f == R else deviations[DELTA_INDEX]
                if f == G:
                    scale = deviations[G_FIRST] if t <= 2 * N else deviations[G_LATER]
                if tape.shape[0] > 0:
                    for j in range(unit.shape[0]):
                        unit[j] = tape[row, j]
                elif noise.words.shape[0] > 0:
                    fill_normal_from(noise.words, unit)
                else:
                    fill_normal(noise.rng, unit)
                for j in range(unit.shape[0]):
                    nodes[f, k, j] += scale * unit[j]
                row += 1
    return row


@kernel
def noise_run(
    K: int,
    constants: StreamConstants,
    noise: NodeNoise,
    nodes: Stack,
    state: StreamState,
    out: Matrix,
) -> None:
    """Write m^_t - m_t into row t - 1 of ``out``, shape (T, d); ``nodes`` is working space, as in ``add_noise``."""
    N = state.rings.shape[1] - 1
    row = 0
    for t in range(1, out.shape[0] + 1):
        for k in range(level(t) + 1):
            for f in range(3):
                for j in range(out.shape[1]):
                    nodes[f, k, j] = 0.0
        row = add_noise(t, N, K, noise, row, nodes)
        reconstruct_step(t, K, constants, nodes, state, out[t - 1])


@kernel
def fill_layout(T: int, N: int, K: int, out: NDArray[np.int64]) -> None:
    """Write family, first and last step of the node of each tape row into ``out``, shape (n, 3)."""
    row = 0
    for t in range(1, T + 1):
        for k in range(level(t) + 1):
            for f in (G, R, DELTA):
                if is_drawn(f, k, t, N, K):
                    out[row, 0] = f
                    out[row, 1] = t - (1 << k) + 1
                    out[row, 2] = t
                    row += 1


def tape_rows(examples: int, steps: int) -> int:
    """Return the number of Gaussian vectors that a run uses, which is the number of rows of its tape."""
    N = check.whole(1, examples=examples)
    steps = check.whole(1, MOST_STEPS >> 3, steps=steps)
    return rows_until(steps, N, floor_log2(N))


def tape_layout(examples: int, steps: int) -> NDArray[np.int64]:
    """Return the node of each tape row, shape (n, 3): family (G, DELTA or R), first step y, last step z."""
    rows = tape_rows(examples, steps)
    check.memory(3 * rows, examples=examples, steps=steps)
    out = np.empty((rows, 3), dtype=np.int64)
    fill_layout(steps, examples, floor_log2(examples), out)
    return out


def noise_from_tape(tape: Tape, parameters: SrParameters, examples: int) -> Matrix:
    """Return the noise in m^_1..m^_T from a tape; row t - 1 is the noise in m^_t.

    ``tape`` (n, d): unit Gaussians, with the rows of :func:`tape_layout`. The identity
    matrix gives the weights of every Gaussian in every m^_t, and thus their covariance.

    Source: Algorithm 2's sampling lines and Algorithm 4.
    """
    tape = check.array(tape_rows(examples, parameters.steps), None, tape=tape)
    constants = new_constants(examples, parameters.alpha, parameters.gamma)
    return noise_with(
        tape,
        generator(0),
        parameters.deviations(examples),
        constants,
        parameters.steps,
        examples,
    )


def noise_from_generator(
    rng: Generator, dimension: int, parameters: SrParameters, examples: int
) -> Matrix:
    """Return the noise in m^_1..m^_T from a generator: bit for bit ``noise_from_tape`` of the same Gaussians."""
    dimension = check.whole(1, dimension=dimension)
    examples = check.whole(1, examples=examples)
    constants = new_constants(examples, parameters.alpha, parameters.gamma)
    no_tape = np.empty((0, dimension))
    return noise_with(
        no_tape,
        rng,
        parameters.deviations(examples),
        constants,
        parameters.steps,
        examples,
    )


def noise_with(
    tape: Tape,
    rng: Generator,
    deviations: Vector,
    constants: StreamConstants,
    steps: int,
    examples: int,
) -> Matrix:
    """Return the noise in m^_1..m^_T for constants and deviations that may have a planted fault."""
    d = tape.shape[1]
    check.memory(
        steps * d + state_floats(examples, steps, d),
        examples=examples,
        steps=steps,
        dimension=d,
    )
    out = np.empty((steps, d))
    state = new_state(examples, steps, d)
    noise = NodeNoise(deviations, tape, NO_WORDS, rng, np.empty(d))
    nodes = np.zeros_like(state.prefixes)
    noise_run(floor_log2(examples), constants, noise, nodes, state, out)
    return out
