"""Whole runs of Algorithms 1 and 2 of any length on the problem ``worst_slope``, in memory that does not grow with T.

The steps are those of ``dp_nsgd.optimizer`` and ``sr_nsgd.optimizer``, with the same random streams for a seed. In
``problems.worst_slope`` only the first coordinate of the gradient is not 0. A run returns means over its steps. The
expected gradient norm at w-hat, which is uniform on w_1 .. w_T, is the expectation of such a mean. A run of Algorithm 2
stores only the O(N d) state of the algorithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.dyadic import level
from dpverify.kernels.epochs import ExampleOrder, example_of, last_shuffle, new_order
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import NO_WORDS
from dpverify.kernels.tape import Seed, generator, shuffle
from dpverify.kernels.typing import Matrix, Vector
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import (
    NsgdNumbers,
    new_numbers,
)
from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.stream import DELTA, G, R
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import NodeNoise
from dpverify.papers.tran2022.algorithms.sr_nsgd.step import (
    SrNumbers,
    SrState,
    new_sr_numbers,
    new_sr_state,
    sr_step,
)
from dpverify.papers.tran2022.algorithms.tree_noise.stream import slot_noise
from dpverify.problems.worst_slope import Slope, slope_at
from dpverify.shared_types import Ordering

# Indices into the result array of a run
GRADIENT, SAMPLED, NOISE, ERROR, LAST, FARTHEST = range(6)


def slope_order(
    problem: Slope, ordering: Ordering, steps: int, seed: Seed
) -> ExampleOrder:
    """Return the order of a run's examples; if all examples are equal, no permutation is drawn."""
    return new_order(
        problem.examples,
        last_shuffle(ordering, steps) if problem.offsets.any() else 0,
        seed,
    )


@kernel
def write_means(
    steps: int,
    gradient: float,
    sampled: float,
    noise: float,
    error: float,
    last: float,
    farthest: float,
    out: Vector,
) -> None:
    """Write the results of a run into ``out``, shape (6,); the first four arguments are sums over its steps."""
    out[GRADIENT] = gradient / steps
    out[SAMPLED] = sampled / steps
    out[NOISE] = noise / steps
    out[ERROR] = error / steps
    out[LAST] = last
    out[FARTHEST] = farthest


@kernel
def run_slope(
    steps: int,
    slope: Vector,
    offsets: Vector,
    order: ExampleOrder,
    rng: Generator,
    numbers: NsgdNumbers,
    slots: Matrix,
    out: Vector,
) -> None:
    """Run Algorithm 1 on a slope and write the fields of ``RunMeans`` into ``out``, shape (6,).

    ``slope``: s, D, L and r. ``offsets``: a_n. ``slots``: as in ``NsgdState``. Shapes: ``slope`` (4,), ``offsets``
    (N,), ``slots`` (floor(log2 T) + 1, d).
    """
    d = np.uint64(slots.shape[1])
    flat = slots.reshape(slots.size)
    permutation = order.permutation
    N = offsets.shape[0]
    decay = numbers.decay
    scale = numbers.scale
    alpha = numbers.alpha
    eta = numbers.eta
    u = 0.0
    m = 0.0
    beta = 1.0 - alpha
    gradients = 0.0
    sampled = 0.0
    noises = 0.0
    errors = 0.0
    farthest = 0.0
    i = 0
    for t in range(1, steps + 1):
        if i == N:
            i = 0
        if i == 0 and t <= order.last:
            shuffle(order.rng, permutation)
        full = slope_at(u, slope)
        m = beta * m + alpha * (full + offsets[permutation[i]])
        i += 1
        tail_square = 0.0  # squared norm of the noise without its first coordinate
        noise = 0.0
        if scale > 0.0:
            at = np.uint64(level(t)) * d
            for j in range(d):
                flat[at + j] = rng.standard_normal()
            slot_noise(t, decay, scale, slots)
            noise = flat[at]
            for j in range(at + np.uint64(1), at + d):
                tail_square += flat[j] * flat[j]
        m_hat = m + noise
        length = math.sqrt(m_hat * m_hat + tail_square) if d > 1 else abs(m_hat)
        gradients += abs(full)
        sampled += abs(m - full)
        if d > 1:
            noises += math.sqrt(noise * noise + tail_square)
            errors += math.sqrt((m_hat - full) * (m_hat - full) + tail_square)
        else:
            noises += abs(noise)
            errors += abs(m_hat - full)
        if length > 0.0:
            u -= eta * (m_hat / length)
        farthest = max(farthest, abs(u))
    write_means(steps, gradients, sampled, noises, errors, u, farthest, out)


@dataclass(frozen=True)
class RunMeans:
    """Summary of a run: means over t = 1 .. T of norms, in units of the gradient, and two positions."""

    gradient: float  # mean norm of grad F(w_t)
    sampled: float  # mean norm of m_t - grad F(w_t)
    noise: float  # mean norm of m^_t - m_t
    error: float  # mean norm of m^_t - grad F(w_t)
    last: float  # first coordinate of w_{T+1}
    farthest: float  # largest distance of the first coordinate from its start


def slope_run(
    problem: Slope, parameters: Parameters, seed: Seed = 0, *, direction: float = 1.0
) -> RunMeans:
    """Run Algorithm 1 on a slope; the iterates equal those of ``DpNsgd`` up to rounding of one division per step."""
    p = parameters
    N = problem.examples
    out = np.empty(6)
    numbers = new_numbers(p, N)._replace(eta=direction * p.eta)
    slots = np.zeros((p.steps.bit_length(), problem.dimension))
    order = slope_order(problem, p.ordering, p.steps, seed)
    run_slope(
        p.steps,
        problem.numbers,
        problem.offsets,
        order,
        generator(seed, 1),
        numbers,
        slots,
        out,
    )
    return RunMeans(*out.tolist())


@kernel
def run_reduced_slope(
    steps: int,
    slope: Vector,
    offsets: Vector,
    order: ExampleOrder,
    numbers: SrNumbers,
    noise: NodeNoise,
    state: SrState,
    out: Vector,
) -> int:
    """Run Algorithm 2 on a slope, as ``run_slope`` does; return 0, or the error code of the ``sr_step`` that failed."""
    gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done = (
        state
    )
    d = w.shape[0]
    sampled = 0.0
    noises = 0.0
    errors = 0.0
    total = 0.0
    farthest = 0.0
    for t in range(1, steps + 1):
        offset = offsets[example_of(t, order)]
        full = slope_at(w[0], slope)
        for j in range(1, d):
            gradients[G, j] = 0.0
            gradients[DELTA, j] = 0.0
            gradients[R, j] = 0.0
        gradients[G, 0] = slope_at(anchors[0, 0], slope) + offset
        gradients[DELTA, 0] = slope_at(anchors[1, 0], slope) + offset
        gradients[R, 0] = full + offset
        failed = sr_step(
            t,
            numbers,
            noise,
            gradients,
            anchors,
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
        if failed:
            return failed
        tail_square = 0.0
        for j in range(1, d):
            tail_square += m_hat[j] * m_hat[j]
        first_noise = m_hat[0] - m[0]
        error = m_hat[0] - full
        total += abs(full)
        sampled += abs(m[0] - full)
        noises += math.sqrt(first_noise * first_noise + tail_square)
        errors += math.sqrt(error * error + tail_square)
        farthest = max(farthest, abs(w[0]))
    write_means(steps, total, sampled, noises, errors, w[0], farthest, out)
    return 0


def reduced_slope_run(
    problem: Slope, parameters: SrParameters, seed: Seed = 0, *, direction: float = 1.0
) -> RunMeans:
    """Run Algorithm 2 on a slope; the iterates are those of ``SrNsgd``, bit for bit. Source: Algorithm 2."""
    p = parameters
    N = problem.examples
    w = problem.start
    out = np.empty(6)
    d = len(w)
    done = np.zeros(2, dtype=np.int64)
    state = new_sr_state(N, p.steps, w, np.empty((0, d)), done)
    state.gradients[:] = 0.0
    noise = NodeNoise(
        p.deviations(N), np.empty((0, d)), NO_WORDS, generator(seed, 1), np.zeros(d)
    )
    failed = run_reduced_slope(
        p.steps,
        problem.numbers,
        problem.offsets,
        slope_order(problem, p.ordering, p.steps, seed),
        new_sr_numbers(p, N, direction),
        noise,
        state,
        out,
    )
    if failed:
        raise check.ArgumentError(
            "momentum", f"not finite at step {int(done[0]) + 1}", "must stay finite"
        )
    return RunMeans(*out.tolist())
