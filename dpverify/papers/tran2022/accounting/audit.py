"""Audits of Algorithms 1 and 2 on a worst case, and four values of epsilon for one run.

``kernel_mechanism`` returns a mechanism that runs the kernels on a worst case whose
exact law is known. It has two neighbouring data sets on a line. Every gradient has the
constant norm G, and all gradients have the same sign, except that of the replaced
example in one data set. The replaced example is visited at the accountant's worst
steps. The order of the examples is fixed and known to the attacker. The mechanism
releases the noisy momenta of all steps, which are Gaussian with the same covariance on
both data sets. The momenta of Algorithm 1 determine its nodes, so its audit can reach
mu. Those of Algorithm 2 do not, and only its G nodes move, so its audit stays below mu.

``sandwich`` compares four values of epsilon:

- printed: the theorem's sigma, solved for epsilon
- proof: Mironov's conversion at the best order
- exact: the trade-off function of the released Gaussians for the worst pattern
- audited: from a lower confidence bound on mu, by an audit of m^_1 .. m^_T on two neighbours with gradients G and -G
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.dyadic import level
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import fill_normal
from dpverify.kernels.typing import ExampleGradient, Indices, Matrix, Vector
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import dp_nsgd_mu
from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import (
    NsgdNumbers,
    new_numbers,
    noisy_step,
)
from dpverify.papers.tran2022.algorithms.node_sensitivity import (
    REPLACED,
    Neighbours,
    opposed,
)
from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
from dpverify.papers.tran2022.algorithms.scales import proof_scales
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import noise_from_generator
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.papers.tran2022.algorithms.tree_noise.stream import LEVELS, draw_noise
from dpverify.privacy.audit.gaussian import ClassMoments, bound_mu
from dpverify.privacy.gaussian import epsilon_of
from dpverify.privacy.gaussian_safe import safe_epsilon
from dpverify.privacy.participation import Bounds
from dpverify.problems.worst_cases import signed_gradient
from dpverify.shared_types import Ordering

DataSet = tuple[Matrix, Vector]

SMOOTHNESS = 1.0  # L of the worst case, in units of the gradient per length.

EXAMPLES = 4
DP_NSGD = Parameters(steps=11, alpha=0.25, eta=0.01, sigma=1.0, lipschitz=1.0)
SR_NSGD = SrParameters(
    steps=11, alpha=0.25, gamma=0.5, eta=0.01, sigma=1.0, lipschitz=1.0
)


class KernelMechanism(NamedTuple):
    """A kernel to audit."""

    # ``mechanism(dataset, rng, size) -> (size, T)`` noisy momenta
    mechanism: Callable[[DataSet, Generator, int], Matrix]
    # two neighbours; each holds the centres and signs of its examples
    datasets: tuple[DataSet, DataSet]
    # the accountant's bounds; the audit's lower bound must not exceed ``upper``
    mu: Bounds


def kernel_mechanism(name: str) -> KernelMechanism:
    """Return the mechanism that ``dpverify audit`` calls "dp-nsgd" or "sr-nsgd", with the printed noise."""
    if name == "dp-nsgd":
        return dp_nsgd_mechanism(DP_NSGD, EXAMPLES)
    if name == "sr-nsgd":
        return sr_nsgd_mechanism(SR_NSGD, EXAMPLES)
    raise check.ArgumentError("name", name, "must be dp-nsgd or sr-nsgd")


def describe(name: str) -> str:
    """Return a description in words of the result of :func:`kernel_mechanism`."""
    p, what = (
        (DP_NSGD, "Algorithm 1")
        if name == "dp-nsgd"
        else (SR_NSGD, "Algorithm 2, its G nodes")
    )
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
    """Write the noisy momenta of independent one-dimensional runs of Algorithm 1 to the rows of ``out`` (size, T)."""
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
    """Return Algorithm 1 on its worst case, with the accountant's mu, which the audit can reach."""
    mu = dp_nsgd_mu(parameters, check.whole(2, examples=examples))
    schedule = worst_schedule(mu, parameters.steps)
    gradient, datasets = _worst_case(
        examples, parameters.steps * parameters.eta, parameters.lipschitz
    )
    numbers = new_numbers(parameters, examples)

    def mechanism(dataset: DataSet, rng: Generator, size: int) -> Matrix:
        out = np.empty((size, parameters.steps))
        release_many(gradient, *dataset, schedule, rng, numbers, out)
        return out

    return KernelMechanism(mechanism, datasets, mu)


def sr_nsgd_mechanism(parameters: SrParameters, examples: int) -> KernelMechanism:
    """Return Algorithm 2 on a worst case of its G nodes, with the accountant's mu of all three families."""
    mu = sr_nsgd_mu(parameters, check.whole(2, examples=examples), SMOOTHNESS)
    schedule = worst_schedule(mu, parameters.steps)
    gradient, datasets = _worst_case(
        examples, parameters.steps * parameters.eta, parameters.lipschitz
    )

    def mechanism(dataset: DataSet, rng: Generator, size: int) -> Matrix:
        out = np.empty((size, parameters.steps))
        for row in out:
            seed = rng.integers(1 << 62, size=2).tolist()
            run = SrNsgd(
                gradient,
                *dataset,
                np.zeros(1),
                parameters,
                seed=seed,
                schedule=schedule,
                keep=True,
            )
            run.advance()
            row[:] = run.released[:, 0]
        return out

    return KernelMechanism(mechanism, datasets, mu)


def worst_schedule(mu: Bounds, steps: int) -> Indices:
    """Return a schedule, shape (T,), whose visits to the replaced example are the accountant's worst pattern."""
    if mu.pattern is None:
        raise check.ArgumentError(
            "pattern", None, "must be known: the run has too many epochs, or no noise"
        )
    schedule = np.full(steps, REPLACED + 1, dtype=np.int64)
    schedule[np.array(mu.pattern, dtype=np.int64) - 1] = REPLACED
    return schedule


def _worst_case(
    examples: int, reach: float, G: float
) -> tuple[ExampleGradient, tuple[DataSet, DataSet]]:
    pair: Neighbours = opposed(examples, reach, G, SMOOTHNESS)
    return signed_gradient(G, SMOOTHNESS), (
        (pair.x, pair.y),
        (pair.x_other, pair.y_other),
    )


Algorithm: TypeAlias = Literal["dp-nsgd", "sr-nsgd"]

LIPSCHITZ = 1.0  # G; everything is proportional to it.


@dataclass(frozen=True)
class AuditedRun:
    """A run whose privacy is audited."""

    # Algorithm 1 with its printed noise, or
    # Algorithm 2 with that of its proof (2 eta N L)
    algorithm: Algorithm
    examples: int  # N
    steps: int  # T
    alpha: float  # momentum weight
    sigma: float  # noise multiplier
    # Algorithm 2 is audited under "once" only, where m^_t - m_t is noise alone
    ordering: Ordering = "fresh"
    delta: float = 1e-5  # the delta for which epsilon is computed
    eta: float = 1 / 256  # step length of Algorithm 2
    smoothness: float = 1.0  # L of Algorithm 2

    def sr_parameters(self) -> SrParameters:
        """Return Algorithm 2's parameters, with gamma = min(1/2, eta N); Theorem 9 has gamma = eta N."""
        scales = proof_scales(
            self.examples,
            self.steps,
            eta=self.eta,
            lipschitz=LIPSCHITZ,
            smoothness=self.smoothness,
        )
        gamma = min(0.5, self.eta * self.examples)
        return SrParameters(
            self.steps,
            self.alpha,
            gamma,
            self.eta,
            self.sigma,
            LIPSCHITZ,
            self.ordering,
            scales,
        )

    def parameters(self) -> Parameters:
        """Return Algorithm 1's parameters."""
        return Parameters(
            self.steps, self.alpha, self.eta, self.sigma, LIPSCHITZ, self.ordering
        )

    def mu(self, accuracy: float = 1.001) -> Bounds:
        """Return the accountant's bounds on mu; for short runs they agree at every requested accuracy."""
        if self.algorithm == "dp-nsgd":
            return dp_nsgd_mu(self.parameters(), self.examples, accuracy=accuracy)
        return sr_nsgd_mu(
            self.sr_parameters(), self.examples, self.smoothness, accuracy=accuracy
        )


class Epsilons(NamedTuple):
    """Four values of epsilon, in decreasing order if the theorem and the accountant are right."""

    printed: float
    proof: float
    exact: float
    audited: float


def sandwich(
    setting: AuditedRun, rng: Generator, outputs: int, doubt: float, short: float = 1.0
) -> Epsilons:
    """Compute the four values of epsilon; ``short`` is a factor on the noise that the audit draws."""
    # Let r = sqrt(log(1/delta)). Printed: 2 r/sigma in Theorem 4, 4 r/sigma in
    # Theorem 8. Proof: k/(2 sigma^2) + 2 r sqrt(k/(2 sigma^2)) with k = 1 for Theorem 4
    # and k = 3 for Theorem 8.
    root = math.sqrt(-math.log(setting.delta))
    groups, factor = (1.0, 2.0) if setting.algorithm == "dp-nsgd" else (3.0, 4.0)
    rho = groups / (2.0 * setting.sigma**2)
    bounds = setting.mu()
    exact = safe_epsilon(bounds.upper, setting.delta)
    audited_mu = _audited_mu(setting, bounds, rng, outputs, doubt, short)
    proof = rho + 2.0 * root * math.sqrt(rho)
    return Epsilons(
        factor * root / setting.sigma,
        proof,
        exact,
        epsilon_of(audited_mu, setting.delta),
    )


def _audited_mu(
    setting: AuditedRun,
    bounds: Bounds,
    rng: Generator,
    outputs: int,
    doubt: float,
    short: float,
) -> float:
    """Return a lower confidence bound on mu from m^_1 .. m^_T of many runs on two neighbours, for the worst pattern."""
    assert bounds.pattern is not None, "patterns of short runs are written down"
    # contribution of the replaced example; the others do not depend on the data set
    momentum = np.zeros(setting.steps)
    for t in range(setting.steps):
        before = momentum[t - 1] if t else 0.0
        momentum[t] = (1.0 - setting.alpha) * before + setting.alpha * LIPSCHITZ * (
            t + 1 in bounds.pattern
        )
    sides = []
    for sign in (-1.0, 1.0):
        moments = ClassMoments(sign * momentum)
        moments.add(sign * momentum + short * _noise(setting, rng, outputs).T)
        sides.append(moments)
    return bound_mu(sides[0], sides[1], doubt).mu


def _noise(setting: AuditedRun, rng: Generator, outputs: int) -> NDArray[np.float64]:
    """Draw m^_t - m_t of ``outputs`` runs with the kernels of the algorithms; shape (T, outputs)."""
    if setting.algorithm == "sr-nsgd":
        return noise_from_generator(
            rng, outputs, setting.sr_parameters(), setting.examples
        )
    out = np.empty((setting.steps, outputs))
    draw_noise(
        rng, setting.alpha, setting.parameters().node_deviation(setting.examples), out
    )
    return out
