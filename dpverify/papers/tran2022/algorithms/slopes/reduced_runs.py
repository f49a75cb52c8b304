"""Whole runs of Algorithm 2 on a slope, of any length, without storing anything that grows with T.

The steps are those of ``sr_nsgd.optimizer`` themselves, with the same streams of a seed, on
``problems.worst_slope``. What a run keeps is the O(N d) state of the algorithm.
"""

from __future__ import annotations

import math

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.epochs import ExampleOrder, example_of
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import NO_WORDS
from dpverify.kernels.tape import Seed, generator
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.algorithms.reconstruction.stream import DELTA, G, R
from dpverify.papers.tran2022.algorithms.slopes.runs import RunMeans, slope_order, write_means
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import NodeNoise
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.step import SrNumbers, SrState, new_sr_numbers, new_sr_state, sr_step
from dpverify.problems.worst_slope import Slope, slope_at


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
    """Run Algorithm 2 on a slope, as ``run_slope`` does; return 0, or what ``sr_step`` gave where it stopped."""
    gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done = state
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
            t, numbers, noise, gradients, anchors, left, nodes, stream, w, m, m_hat, iterates, momenta, done
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


def reduced_slope_run(problem: Slope, parameters: SrParameters, seed: Seed = 0, *, direction: float = 1.0) -> RunMeans:
    """Run Algorithm 2 on a slope. Source: Algorithm 2. The iterates are those of ``SrNsgd``, bit for bit."""
    p = parameters
    N = problem.examples
    w = problem.start
    out = np.empty(6)
    d = len(w)
    done = np.zeros(2, dtype=np.int64)
    state = new_sr_state(N, p.steps, w, np.empty((0, d)), done)
    state.gradients[:] = 0.0
    noise = NodeNoise(p.deviations(N), np.empty((0, d)), NO_WORDS, generator(seed, 1), np.zeros(d))
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
        raise check.ArgumentError("momentum", f"not finite at step {int(done[0]) + 1}", "must stay finite")
    return RunMeans(*out.tolist())
