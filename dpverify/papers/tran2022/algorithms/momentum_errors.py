"""Errors of Algorithm 1's momentum without noise: on a loss with a memory, and at the end of many short runs.

Lemma 11 fails on the loss ``LossWithMemory`` under one permutation, long after the
start, because the iterate stores the order of the examples.

The iterate has a coordinate w_k for each example k, a common coordinate u, and a clock v. With z = w_k - (mean of w_1
.. w_N), example k has the loss

    f_k = noise tanh(u) tanh(z) open(v) - growth log cosh(z) + hold log cosh(u) - push
    w_k - clock v, open(v) = (1 + tanh(v - when))/2.

- *push* moves w_k a little whenever example k is drawn, so that after an epoch z differs between examples that were
  drawn early and late;
- *growth* makes z = 0 a saddle, which amplifies the differences until half of the z are far above 0 and half far below;
- *clock* moves v to ``when``. Then *noise* takes effect: along u the gradients are +noise for the early half of every
  epoch and -noise for the late half, while their mean is 0.

From then on the sampling errors of an epoch no longer cancel, and those of different
epochs add up. At the end of an epoch the error of the momentum is about
``noise (1 - x)/(1 + x)`` with ``x = (1-alpha)^(N/2)``, however small eta is. This does
not happen under fresh permutations. Relabelling the examples permutes the coordinates,
so every order gives the same error, and one run gives the mean over all orders.
NOTES_utility_lemmas.md derives the constants G and L.

``errors_of_seeds`` returns the error at the end of a short run for each of many seeds. Creating the object and the
generators of a run takes longer than a run of a few steps, so one kernel call does all runs. It uses ``noisy_step``,
and the same random streams for each seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.epochs import begins, last_shuffle
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import Words
from dpverify.kernels.tape import shuffle_from, words_of_seeds
from dpverify.kernels.typing import ExampleGradient, Matrix, Vector
from dpverify.kernels.vector import copy_into, norm
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import (
    DpNsgd,
    NsgdNumbers,
    new_numbers,
    noisy_step,
)
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.problems.base import Problem
from dpverify.shared_types import Ordering


@lru_cache(maxsize=8)
def _example_gradient(
    noise: float, growth: float, hold: float, push: float, clock: float, when: float
) -> ExampleGradient:
    """Return the gradient kernel of one example; the label of an example is its number."""

    @kernel
    def gradient(w: Vector, x_row: Vector, y: float, out: Vector) -> None:
        n = w.shape[0] - 2
        k = int(y)
        mean = 0.0
        for j in range(n):
            mean += w[j]
        mean /= n
        a = math.tanh(w[n])
        b = math.tanh(w[k] - mean)
        gate = 0.5 * (1.0 + math.tanh(w[n + 1] - when))
        along = noise * a * (1.0 - b * b) * gate - growth * b
        for j in range(n):
            out[j] = -along / n
        out[k] += along - push
        out[n] = noise * (1.0 - a * a) * b * gate + hold * a
        out[n + 1] = noise * a * b * 2.0 * gate * (1.0 - gate) - clock

    return gradient


@dataclass(frozen=True)
class LossWithMemory:
    """The loss with a memory; like a ``Problem``, but its gap is infinite."""

    examples: int = 128  # N
    # The constants of the loss above. The defaults are
    # tuned to N = 128, alpha = 0.03, eta = 0.0005.
    noise: float = 0.88
    growth: float = 0.08
    hold: float = 0.02
    push: float = 0.0107
    clock: float = 0.004
    when: float = 65.0

    @property
    def x(self) -> Matrix:
        """Rows that the gradient does not read."""
        return np.zeros((self.examples, 1))

    @property
    def y(self) -> Vector:
        """Numbers of the examples."""
        return np.arange(self.examples, dtype=np.float64)

    @property
    def start(self) -> Vector:
        """w_1 = 0."""
        return np.zeros(self.examples + 2)

    @property
    def lipschitz(self) -> float:
        """G; the gradient of the *noise* term has length at most ``noise``."""
        return self.noise + self.growth + self.hold + self.push + self.clock

    @property
    def smoothness(self) -> float:
        """L; the absolute row sums of the Hessian of the *noise* term are at most 3/2 noise."""
        return 1.5 * self.noise + max(self.growth, self.hold)

    @property
    def example_gradient(self) -> ExampleGradient:
        """Kernel ``gradient(w, x_row, y, out)`` of one example."""
        return _example_gradient(
            self.noise, self.growth, self.hold, self.push, self.clock, self.when
        )

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient of F at ``w``, shape (N + 2,)."""
        term = np.zeros_like(w)
        total = np.zeros_like(w)
        for k in range(self.examples):
            self.example_gradient(w, np.zeros(1), float(k), term)
            total += term
        mean: Vector = total / self.examples
        return mean


class RunWithMomentum(DpNsgd):
    """A run of Algorithm 1 that exposes its momentum."""

    @property
    def momentum(self) -> Vector:
        """m_t, shape (d,); a copy."""
        return self._state.m.copy()


def error_at(
    problem: LossWithMemory,
    steps: int,
    alpha: float,
    eta: float,
    ordering: Ordering,
    seed: int = 0,
) -> float:
    """Return the momentum error ``|m_t - grad F(w_t)|`` at the last step of a run of Algorithm 1 without noise."""
    parameters = Parameters(steps, alpha, eta, 0.0, problem.lipschitz, ordering)
    run = RunWithMomentum(
        problem.example_gradient,
        problem.x,
        problem.y,
        problem.start,
        parameters,
        seed=seed,
    )
    run.advance(steps - 1)
    at = run.w
    run.advance(1)
    return float(np.linalg.norm(run.momentum - problem.gradient(at)))


def printed_terms(problem: LossWithMemory, alpha: float, eta: float) -> float:
    """Return the right side of Lemma 11 as printed: ``2 G sqrt(alpha) + 2 eta N L + eta L/alpha``."""
    smooth = problem.smoothness
    return (
        2 * problem.lipschitz * math.sqrt(alpha)
        + 2 * eta * problem.examples * smooth
        + eta * smooth / alpha
    )


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
    """Run Algorithm 1 without noise once per generator state; write ``|m_T - grad F(w_T)|`` of each run to ``out``.

    Returns 0, or the step at which a momentum is not finite. ``words`` are the states for the permutations, from
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


def errors_of_seeds(
    problem: Problem, parameters: Parameters, seeds: NDArray[np.int64]
) -> Vector:
    """Return ``|m_T - grad F(w_T)|`` at the end of a run of Algorithm 1 without noise, for each seed."""
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
        raise check.ArgumentError(
            "momentum", f"not finite at step {failed}", "must stay finite"
        )
    return out
