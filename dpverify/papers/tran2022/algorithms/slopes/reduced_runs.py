"""Whole runs of Algorithm 2 on a slope, of any length, without storing anything that grows with T.

The steps are those of ``sr_nsgd.optimizer`` themselves, with the same streams of a seed, on
``problems.worst_slope``. What a run keeps is the O(N d) state of the algorithm.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.dyadic import floor_log2
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import Seed, generator, shuffle
from dpverify.kernels.typing import Indices, Matrix, Tape, Vector
from dpverify.papers.tran2022.algorithms.reconstruct.stream import DELTA, G, R, Stack, new_constants, new_state
from dpverify.papers.tran2022.algorithms.slopes.runs import RunMeans, last_shuffle, write_means
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import sr_step
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.problems.worst_slope import Slope, slope_at


@kernel
def run_reduced_slope(
    steps: int, numbers: Vector, offsets: Vector, order: Indices, shuffled: int, order_rng: Generator, K: int,
    alpha: float, eta: float, weights: Vector, powers: Vector, decay: Vector, noisy: bool, deviations: Vector,
    tape: Tape, rng: Generator, unit: Vector, gradients: Matrix, anchors: Matrix, left: Stack, nodes: Stack,
    rings: Stack, prefixes: Stack, w: Vector, m: Vector, m_hat: Vector, iterates: Matrix, momenta: Stack,
    done: Indices, out: Vector,
) -> int:  # fmt: skip
    """Run Algorithm 2 on a slope and write means over the run into ``out``.

    Parameters
    ----------
    steps, ..., order_rng : as in ``run_slope``
        The slope, and the order of the examples.
    K, alpha, ..., done : as in ``sr_step``
        The state of Algorithm 2, and what its steps take.
    out : (6,) array of float
        As in ``run_slope``; m^_t - m_t holds the privacy noise and the bias of the reconstruction.

    Returns
    -------
    int
        0, or what ``sr_step`` gave at the first step that was not done.
    """
    N, d = offsets.shape[0], w.shape[0]
    sampled, noises, errors, total, farthest = 0.0, 0.0, 0.0, 0.0, 0.0
    i = 0
    for t in range(1, steps + 1):
        if i == N:
            i = 0
        if i == 0 and t <= shuffled:
            shuffle(order_rng, order)
        offset = offsets[order[i]]
        i += 1
        full = slope_at(w[0], numbers)
        for j in range(1, d):
            gradients[G, j], gradients[DELTA, j], gradients[R, j] = 0.0, 0.0, 0.0
        gradients[G, 0] = slope_at(anchors[0, 0], numbers) + offset
        gradients[DELTA, 0] = slope_at(anchors[1, 0], numbers) + offset
        gradients[R, 0] = full + offset
        failed = sr_step(
            t, K, alpha, eta, weights, powers, decay, noisy, deviations, tape, rng, unit, gradients, anchors, left,
            nodes, rings, prefixes, w, m, m_hat, iterates, momenta, done,
        )  # fmt: skip
        if failed:
            return failed
        rest = 0.0
        for j in range(1, d):
            rest += m_hat[j] * m_hat[j]
        apart, error = m_hat[0] - m[0], m_hat[0] - full
        total += abs(full)
        sampled += abs(m[0] - full)
        noises += math.sqrt(apart * apart + rest)
        errors += math.sqrt(error * error + rest)
        farthest = max(farthest, abs(w[0]))
    write_means(steps, total, sampled, noises, errors, w[0], farthest, out)
    return 0


def reduced_slope_run(problem: Slope, parameters: SrParameters, seed: Seed = 0, *, direction: float = 1.0) -> RunMeans:
    """Run Algorithm 2 on a slope. Source: Algorithm 2. The iterates are those of ``SrNsgd``, bit for bit."""
    p, N, d = parameters, problem.examples, problem.dimension
    state, out, done = new_state(N, p.steps, d), np.empty(6), np.zeros(2, dtype=np.int64)
    left, nodes = np.zeros_like(state.prefixes), np.zeros_like(state.prefixes)
    weights, powers, decay = new_constants(N, p.alpha, p.gamma)
    failed = run_reduced_slope(
        p.steps, problem.numbers, problem.offsets, np.arange(N), last_shuffle(problem, p.ordering, p.steps),
        generator(seed, 0), floor_log2(N), p.alpha, direction * p.eta, weights, powers, decay, bool(p.sigma > 0.0),
        p.deviations(N), np.empty((0, d)), generator(seed, 1), np.zeros(d), np.zeros((3, d)), np.zeros((2, d)), left,
        nodes, state.rings, state.prefixes, np.zeros(d), np.zeros(d), np.zeros(d), np.empty((0, d)),
        np.empty((2, 0, d)), done, out,
    )  # fmt: skip
    if failed:
        raise check.ArgumentError("momentum", f"not finite at step {int(done[0]) + 1}", "must stay finite")
    return RunMeans(*out.tolist())
