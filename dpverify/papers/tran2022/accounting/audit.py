"""Audits of Algorithms 1 and 2 on a worst case, and the four values of epsilon for one run.

``kernel_mechanism`` releases what the kernels release on a worst case whose exact law is known. There are two data sets
on a line, all of whose examples pull with the same force G everywhere; in one the replaced example, visited at the
accountant's worst steps, pulls the other way. The order is fixed and known to the attacker. The noisy momenta of all
steps are released; they are Gaussian, with one covariance. Algorithm 1's are as many as the nodes and determine them:
the audit can reach mu. Algorithm 2's do not, and only the G nodes move: its audit stays below.

``sandwich`` compares four values. Printed: the theorem's sigma solved for epsilon. Proof: Mironov's conversion at the
best order. Exact: the trade-off of the released Gaussians for the worst pattern. Seen: an audit of m^_1 .. m^_T on two
neighbours with gradients G and -G; a lower confidence bound on mu.
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
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import NsgdNumbers, new_numbers, noisy_step
from dpverify.papers.tran2022.algorithms.node_sensitivity import REPLACED, Neighbours, opposed
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


Algorithm: TypeAlias = Literal["dp-nsgd", "sr-nsgd"]

LIPSCHITZ = 1.0  # G; everything is proportional to it.


@dataclass(frozen=True)
class AuditedRun:
    """A run whose privacy is looked at."""

    algorithm: Algorithm  # algorithm 1 with its box, or Algorithm 2 with the deviations of its proof (2 eta N L)
    examples: int  # N and T
    steps: int
    alpha: float  # momentum weight, noise multiplier, and the delta at which epsilon is taken
    sigma: float
    ordering: Ordering = "fresh"  # algorithm 2 is audited under "once" only, where m^_t - m_t is noise alone
    delta: float = 1e-5
    eta: float = 1 / 256  # step length and L, of Algorithm 2
    smoothness: float = 1.0

    def sr_parameters(self) -> SrParameters:
        """Give Algorithm 2's parameters, with gamma = eta N as in Theorem 9."""
        scales = proof_scales(self.examples, self.steps, eta=self.eta, lipschitz=LIPSCHITZ, smoothness=self.smoothness)
        gamma = min(0.5, self.eta * self.examples)
        return SrParameters(self.steps, self.alpha, gamma, self.eta, self.sigma, LIPSCHITZ, self.ordering, scales)

    def parameters(self) -> Parameters:
        """Give Algorithm 1's parameters."""
        return Parameters(self.steps, self.alpha, self.eta, self.sigma, LIPSCHITZ, self.ordering)

    def mu(self, accuracy: float = 1.001) -> Bounds:
        """Give the accountant's bounds of mu; in short runs they agree, whatever the accuracy that is asked for."""
        if self.algorithm == "dp-nsgd":
            return dp_nsgd_mu(self.parameters(), self.examples, accuracy=accuracy)
        return sr_nsgd_mu(self.sr_parameters(), self.examples, self.smoothness, accuracy=accuracy)


class Epsilons(NamedTuple):
    """Epsilon four times, from the largest to the smallest if all is well."""

    printed: float
    proof: float
    exact: float
    audited: float


def sandwich(setting: AuditedRun, rng: Generator, outputs: int, doubt: float, short: float = 1.0) -> Epsilons:
    """Compute the four values."""
    # Printed: 2 r/sigma of Theorem 4, 4 r/sigma of Theorem 8, r = sqrt(log(1/delta)). Proof: k/(2 sigma^2) + 2 r
    # sqrt(k/(2 sigma^2)) with k = 1 and 3.
    root = math.sqrt(-math.log(setting.delta))
    groups, factor = (1.0, 2.0) if setting.algorithm == "dp-nsgd" else (3.0, 4.0)
    rho = groups / (2.0 * setting.sigma**2)
    bounds = setting.mu()
    exact = safe_epsilon(bounds.upper, setting.delta)
    audited_mu = _seen_mu(setting, bounds, rng, outputs, doubt, short)
    proof = rho + 2.0 * root * math.sqrt(rho)
    return Epsilons(factor * root / setting.sigma, proof, exact, epsilon_of(audited_mu, setting.delta))


def _seen_mu(setting: AuditedRun, bounds: Bounds, rng: Generator, outputs: int, doubt: float, short: float) -> float:
    """Bound mu from below by m^_1 .. m^_T of many runs on two neighbours, with the worst pattern of visits."""
    assert bounds.pattern is not None, "patterns of short runs are written down"
    momentum = np.zeros(setting.steps)  # of the replaced example alone: the others' is the same on both
    for t in range(setting.steps):
        before = momentum[t - 1] if t else 0.0
        momentum[t] = (1.0 - setting.alpha) * before + setting.alpha * LIPSCHITZ * (t + 1 in bounds.pattern)
    sides = []
    for sign in (-1.0, 1.0):
        moments = ClassMoments(sign * momentum)
        moments.add(sign * momentum + short * _noise(setting, rng, outputs).T)
        sides.append(moments)
    return bound_mu(sides[0], sides[1], doubt).mu


def _noise(setting: AuditedRun, rng: Generator, outputs: int) -> NDArray[np.float64]:
    """Draw m^_t - m_t of so many runs, shape (T, outputs), by the kernels of the algorithms."""
    if setting.algorithm == "sr-nsgd":
        return noise_from_generator(rng, outputs, setting.sr_parameters(), setting.examples)
    out = np.empty((setting.steps, outputs))
    draw_noise(rng, setting.alpha, setting.parameters().node_deviation(setting.examples), out)
    return out
