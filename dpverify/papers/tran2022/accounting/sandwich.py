"""Four values of epsilon for one run: as printed, as the proof's Renyi bound gives it, exact, and seen from outside.

Printed: the theorem's sigma solved for epsilon. Proof: Mironov's conversion at the best order. Exact: the trade-off of
the released Gaussians for the worst pattern. Seen: an audit of m^_1 .. m^_T on two neighbours with gradients G and -G;
a lower confidence bound on mu.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpverify.papers.tran2022.accounting.algorithm_1.accountant import dp_nsgd_mu
from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import noise_from_generator
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.scales import proof_scales
from dpverify.papers.tran2022.algorithms.tree_noise.stream import draw_noise
from dpverify.privacy.audit.gaussian import bound_mu
from dpverify.privacy.audit.moments import ClassMoments
from dpverify.privacy.gaussian import epsilon_of
from dpverify.privacy.gaussian_safe import safe_epsilon
from dpverify.privacy.participation import Bounds
from dpverify.shared_types import Ordering

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
