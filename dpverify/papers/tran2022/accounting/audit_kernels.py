"""Algorithms 1 and 2 as mechanisms to audit: their kernels on a worst case whose exact law is known.

Two data sets on a line, all of whose examples pull with the same force G everywhere; in one the replaced example,
visited at the accountant's worst steps, pulls the other way. The order is fixed and known to the attacker. The noisy
momenta of all steps are released; they are Gaussian, with one covariance. Algorithm 1's are as many as the nodes and
determine them: the audit can reach mu. Algorithm 2's do not, and only the G nodes move: its audit stays below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import fill_normal
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Vector
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import dp_nsgd_mu
from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.dp_nsgd.step import NsgdNumbers, new_numbers, noisy_step
from dpverify.papers.tran2022.algorithms.sensitivity_problem import REPLACED, Neighbours, opposed
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.tree_noise.stream import LEVELS
from dpverify.privacy.participation import Bounds
from dpverify.problems.worst_cases import signed_gradient

DataSet = tuple[Matrix, Vector]

SMOOTHNESS = 1.0  # L of the worst case, in units of the gradient per length.

EXAMPLES = 4
DP_NSGD = Parameters(steps=11, alpha=0.25, eta=0.01, sigma=1.0, lipschitz=1.0)
SR_NSGD = SrParameters(steps=11, alpha=0.25, gamma=0.5, eta=0.01, sigma=1.0, lipschitz=1.0)


class KernelMechanism(NamedTuple):
    """A kernel to audit."""

    # ``mechanism(dataset, rng, size) -> (size, T)`` noisy momenta
    mechanism: Callable[[DataSet, Generator, int], Matrix]
    datasets: tuple[DataSet, DataSet]  # centres and signs of the examples of two neighbours
    mu: Bounds  # the accountant's bounds: the audit's bound must stay below ``upper``


def kernel_mechanism(name: str) -> KernelMechanism:
    """Give the kernel that ``dpverify audit`` knows as "dp-nsgd" or "sr-nsgd", with the printed noise."""
    if name == "dp-nsgd":
        return dp_nsgd_mechanism(DP_NSGD, EXAMPLES)
    if name == "sr-nsgd":
        return sr_nsgd_mechanism(SR_NSGD, EXAMPLES)
    raise check.ArgumentError("name", name, "must be dp-nsgd or sr-nsgd")


def describe(name: str) -> str:
    """Say in words what :func:`kernel_mechanism` gives."""
    p, what = (DP_NSGD, "Algorithm 1") if name == "dp-nsgd" else (SR_NSGD, "Algorithm 2, its G nodes")
    return f"{what} on a worst case, N = {EXAMPLES}, T = {p.steps}, alpha = {p.alpha}, sigma = {p.sigma}, printed noise"


@kernel
def release_many(
    gradient: ExampleGradient,
    x: Matrix,
    y: Vector,
    schedule: Indices,
    rng: Generator,
    numbers: NsgdNumbers,
    out: Matrix,
) -> None:
    """Write noisy momenta of independent runs of Algorithm 1, on a line, into the rows of ``out``, shape (size, T)."""
    T = schedule.shape[0]
    w = np.zeros(1)
    m = np.zeros(1)
    m_hat = np.zeros(1)
    g = np.zeros(1)
    slots = np.zeros((LEVELS, 1))
    iterates = np.zeros((0, 1))
    done = np.zeros(1, np.int64)
    for row in range(out.shape[0]):
        w[0] = 0.0
        m[0] = 0.0
        for t in range(1, T + 1):
            n = schedule[t - 1]
            gradient(w, x[n], y[n], g)
            fill_normal(rng, slots[level(t)])
            noisy_step(t, numbers, g, w, m, m_hat, slots, iterates, done)
            out[row, t - 1] = m_hat[0]


def dp_nsgd_mechanism(parameters: Parameters, examples: int) -> KernelMechanism:
    """Algorithm 1 on its worst case. With the accountant's mu, which the audit can reach."""
    mu = dp_nsgd_mu(parameters, check.whole(2, examples=examples))
    schedule = visiting(mu, parameters.steps)
    gradient, datasets = _worst_case(examples, parameters.steps * parameters.eta, parameters.lipschitz)
    numbers = new_numbers(parameters, examples)

    def mechanism(dataset: DataSet, rng: Generator, size: int) -> Matrix:
        out = np.empty((size, parameters.steps))
        release_many(gradient, *dataset, schedule, rng, numbers, out)
        return out

    return KernelMechanism(mechanism, datasets, mu)


def sr_nsgd_mechanism(parameters: SrParameters, examples: int) -> KernelMechanism:
    """Algorithm 2 on a case that is bad for its G nodes, with the accountant's mu of all three families."""
    mu = sr_nsgd_mu(parameters, check.whole(2, examples=examples), SMOOTHNESS)
    schedule = visiting(mu, parameters.steps)
    gradient, datasets = _worst_case(examples, parameters.steps * parameters.eta, parameters.lipschitz)

    def mechanism(dataset: DataSet, rng: Generator, size: int) -> Matrix:
        out = np.empty((size, parameters.steps))
        for row in out:
            seed = rng.integers(1 << 62, size=2).tolist()
            run = SrNsgd(gradient, *dataset, np.zeros(1), parameters, seed=seed, schedule=schedule, keep=True)
            run.advance()
            row[:] = run.released[:, 0]
        return out

    return KernelMechanism(mechanism, datasets, mu)


def visiting(mu: Bounds, steps: int) -> Indices:
    """Give a schedule, shape (T,), whose visits to the replaced example are the accountant's worst pattern."""
    if mu.pattern is None:
        raise check.ArgumentError("pattern", None, "must be known: the run has too many epochs, or no noise")
    schedule = np.full(steps, REPLACED + 1, dtype=np.int64)
    schedule[np.array(mu.pattern, dtype=np.int64) - 1] = REPLACED
    return schedule


def _worst_case(examples: int, reach: float, G: float) -> tuple[ExampleGradient, tuple[DataSet, DataSet]]:
    pair: Neighbours = opposed(examples, reach, G, SMOOTHNESS)
    return signed_gradient(G, SMOOTHNESS), ((pair.x, pair.y), (pair.x_other, pair.y_other))
