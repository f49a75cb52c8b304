"""The error of Algorithm 1's momentum at the end of many short runs without noise, one for each seed.

A run of a few steps takes less than making its object and its generators; here all runs are one call of a kernel. The
steps are ``noisy_step`` itself, with the streams of each seed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.epochs import begins, last_shuffle
from dpverify.kernels.jit import kernel
from dpverify.kernels.many_seeds import shuffle_from, words_of_seeds
from dpverify.kernels.normal import Words
from dpverify.kernels.typing import ExampleGradient, Matrix, Vector
from dpverify.kernels.vector import copy_into, norm
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.dp_nsgd.step import NsgdNumbers, new_numbers, noisy_step
from dpverify.problems.base import Problem


@kernel
def run_many(
    gradient: ExampleGradient,
    x: Matrix,
    y: Vector,
    start: Vector,
    words: Words,
    steps: int,
    last: int,
    numbers: NsgdNumbers,
    out: Vector,
) -> int:
    """Run Algorithm 1 without noise from each state of a generator: ``|m_T - grad F(w_T)|`` of each run in ``out``.

    0, or the step at which a momentum stopped being finite. ``words`` are the states for the permutations, from
    ``words_of_seeds``, and are advanced; permutations are drawn up to step ``last``. Shapes: ``x`` (N, p), ``y`` (N,),
    ``start`` (d,), ``words`` (n, 4), ``out`` (n,).
    """
    N = x.shape[0]
    d = start.shape[0]
    order = np.arange(N)
    held = np.zeros(2, dtype=np.uint64)
    done = np.zeros(1, dtype=np.int64)
    w = np.zeros(d)
    m = np.zeros(d)
    m_hat = np.zeros(d)
    g = np.zeros(d)
    total = np.zeros(d)
    slots = np.zeros((64, d))
    iterates = np.zeros((0, d))
    for run in range(words.shape[0]):
        held[0] = np.uint64(0)
        copy_into(w, start)
        for n in range(N):
            order[n] = n
        for j in range(d):
            m[j] = 0.0
            total[j] = 0.0
        for t in range(1, steps + 1):
            if begins(t, N, last):
                shuffle_from(words[run], held, order)
            if t == steps:
                for n in range(N):
                    gradient(w, x[n], y[n], g)
                    for j in range(d):
                        total[j] += g[j]
            n = order[(t - 1) % N]
            gradient(w, x[n], y[n], g)
            if not noisy_step(t, numbers, g, w, m, m_hat, slots, iterates, done):
                return t
        for j in range(d):
            m_hat[j] = m[j] - total[j] / N
        out[run] = norm(m_hat)
    return 0


def errors_of_seeds(problem: Problem, parameters: Parameters, seeds: NDArray[np.int64]) -> Vector:
    """Give ``|m_T - grad F(w_T)|`` at the end of a run of Algorithm 1 without noise, for each seed."""
    p = parameters
    out = np.empty(len(seeds))
    if p.sigma != 0.0:
        raise check.ArgumentError("sigma", p.sigma, "must be 0")
    failed = run_many(
        problem.example_gradient,
        problem.x,
        problem.y,
        problem.start,
        words_of_seeds(seeds, 0),
        p.steps,
        last_shuffle(p.ordering, p.steps),
        new_numbers(p, len(problem.x)),
        out,
    )
    if failed:
        raise check.ArgumentError("momentum", f"not finite at step {failed}", "must stay finite")
    return out
