"""The privacy parameter mu of Algorithms 1 and 2 at sigma = 1: printed, from the proof, and from the accountant.

At noise multiplier sigma, the algorithm is (mu/sigma)-Gaussian differentially private:
its outputs on two neighbouring data sets are at most as distinguishable as N(0, 1) and
N(mu/sigma, 1). The paper prints mu = 1 (Theorem 4) and mu = sqrt(3) (Theorem 8). The
proof supports the true sensitivity of the worst node times the root of the number of
nodes. Certified values use the accountant's upper bound.

``theorem_6`` and ``theorem_9`` return the parameters that Theorems 6 and 9 print for a data set and a privacy budget,
and the conditions that fail.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dpverify.kernels import check
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import dp_nsgd_mu
from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
from dpverify.papers.tran2022.sensitivity.sensitivity_bounds import (
    visits,
    visits_first,
    visits_later,
)
from dpverify.privacy.gaussian_safe import (
    certify,
    safe_epsilon,
    safe_mu,
    violated_epsilon,
)
from dpverify.privacy.participation import Bounds
from dpverify.shared_types import Ordering

SR_NODES = ("G to 2N", "G", "Delta", "r")
"""Kinds of nodes of Algorithm 2: G nodes that end by step 2N, later G nodes, Delta nodes, r nodes."""

UP = 1.0 + 1e-12
"""Factor that rounds a quotient of a few floats conservatively: its margin is thousands of times the rounding error."""


@dataclass(frozen=True)
class AccountedRun:
    """Settings of a run, without its noise."""

    examples: int  # N
    steps: int  # T
    alpha: float  # momentum weight
    gamma: float  # cross-batch parameter of Algorithm 2
    eta: float  # length of a step
    lipschitz: float  # G
    smoothness: float  # L
    # a new permutation in each epoch ("fresh"), or the same in all ("once")
    ordering: Ordering


@dataclass(frozen=True)
class UnitNoise:
    """Privacy and noise of a run at sigma = 1."""

    # the printed sigma is this times ``sqrt(log(1/delta))/epsilon``
    printed_factor: float
    # mu by the argument of the proof, with the true sensitivities and counts
    proof_mu: float
    mu: Bounds  # from the accountant; certified values use ``upper``
    # standard deviation of each kind of node, in units of the gradient
    node_std: dict[str, float]


def unit_noise(algorithm: str, setting: AccountedRun) -> UnitNoise:
    """Return the noise of an algorithm at sigma = 1; raise ArgumentError if mu is infinite."""
    noise = (sr_nsgd_noise if algorithm == "sr-nsgd" else dp_nsgd_noise)(setting)
    if not math.isfinite(noise.mu.upper):
        rule = "must leave noise on every node: as printed some nodes have none, and no sigma helps"
        raise check.ArgumentError("examples", setting.examples, rule)
    return noise


def sigma_for(noise: UnitNoise, epsilon: float, delta: float) -> float:
    """Return the smallest sigma, up to rounding, that is certified in ball arithmetic for (epsilon, delta)."""
    try:
        target = safe_mu(epsilon, delta)
    except (ArithmeticError, ValueError):  # beyond the range of floats
        target = 0.0
    if 0.0 < target < math.inf:
        sigma = noise.mu.upper / target * UP**2
        if certify(noise.mu.upper / sigma * UP, epsilon, delta):
            return sigma
    rule = f"is out of reach at delta={delta!r}: nothing could be certified"
    raise check.ArgumentError("epsilon", epsilon, rule)


def epsilon_for(noise: UnitNoise, sigma: float, delta: float) -> float:
    """Return the smallest epsilon, rounded up, that is certified for a sigma and a delta; infinite for sigma = 0."""
    return safe_epsilon(noise.mu.upper / sigma * UP, delta) if sigma > 0.0 else math.inf


def noise_bounds(noise: UnitNoise, sigma: float, delta: float) -> Bounds:
    """Return bounds on the smallest epsilon for a sigma above 0; the upper bound is certified."""
    return Bounds(
        violated_epsilon(noise.mu.lower / sigma / UP, delta),
        epsilon_for(noise, sigma, delta),
        exact=False,
    )


def dp_nsgd_noise(setting: AccountedRun) -> UnitNoise:
    """Return the noise of Algorithm 1, ``4 alpha G sigma sqrt(V)`` with the printed V for floor(log2 T) + 1 levels."""
    N = setting.examples
    T = setting.steps
    parameters = Parameters(
        T, setting.alpha, setting.eta, 1.0, setting.lipschitz, setting.ordering
    )
    deviation = parameters.node_deviation(N)
    sensitivity = (
        2.0
        * setting.alpha
        * setting.lipschitz
        * largest_weight(setting.alpha, N, setting.ordering)
    )
    return UnitNoise(
        printed_factor=2.0,
        proof_mu=sensitivity * math.sqrt(visits(T, N)) / deviation,
        mu=dp_nsgd_mu(parameters, N),
        node_std={"f": deviation},
    )


def sr_nsgd_noise(setting: AccountedRun) -> UnitNoise:
    """Return the printed noise of Algorithm 2; ``mu`` is infinite if a node depends on the data but has no noise."""
    s = setting
    parameters = SrParameters(
        s.steps, s.alpha, s.gamma, s.eta, 1.0, s.lipschitz, s.ordering
    )
    deviations = dict(
        zip(SR_NODES, parameters.deviations(s.examples).tolist(), strict=True)
    )
    return UnitNoise(
        printed_factor=4.0,
        proof_mu=sr_proof_mu(s, deviations),
        mu=sr_nsgd_mu(parameters, s.examples, s.smoothness),
        node_std=deviations,
    )


def sr_proof_mu(s: AccountedRun, deviations: Mapping[str, float]) -> float:
    """Return an upper bound on mu: for each family, the largest sensitivity times the root of the number of nodes."""
    N = s.examples
    T = s.steps
    weight = largest_weight(s.alpha, N, s.ordering)
    gradient = 2.0 * s.lipschitz * weight
    jump = 2.0 * s.eta * N * s.smoothness * weight
    drift = 2.0 * s.eta * (N - 1) * s.smoothness * largest_weight(s.alpha, N, "once")
    everything = visits(T, N)
    first, later = (
        (visits_first(N), visits_later(T, N, s.ordering))
        if T >= 2 * N
        else (everything, 0)
    )
    families = (
        (gradient, first),
        (gradient, later),
        (jump, everything if T >= 2 * N else 0),
        (drift, everything),
    )
    terms = [
        math.sqrt(count) * sensitivity / deviation if deviation > 0.0 else math.inf
        for (sensitivity, count), deviation in zip(
            families, deviations.values(), strict=True
        )
        if sensitivity > 0.0 and count > 0
    ]
    return math.hypot(*terms)


def largest_weight(alpha: float, examples: int, ordering: Ordering) -> float:
    """Return the supremum over all nodes of the sum of weights of one example's visits.

    It is ``1 + (1-alpha)/(1 - (1-alpha)^N)`` for "fresh" and ``1/(1 - (1-alpha)^N)``
    for "once", rounded up.

    Source: ``tran2022:theorem-4-sensitivity``, corrected; NOTES_sensitivity.md, section 2.
    """
    alpha = check.weight(alpha=alpha)
    one_epoch = -math.expm1(examples * math.log1p(-alpha)) if alpha < 1.0 else 1.0
    largest = 1.0 / one_epoch if ordering == "once" else 1.0 + (1.0 - alpha) / one_epoch
    return largest * (1.0 + 1e-12)


@dataclass(frozen=True)
class TheoremParameters:
    """Parameters that a utility theorem prints."""

    theorem: str  # id of the claim
    # T as printed, not rounded; for Theorem 6 the solution of its equation for T
    steps: float
    # The printed values for the T that is run.
    eta: float
    alpha: float
    gamma: float  # 1 for Algorithm 1, which has no gamma
    # conditions that fail, printed in the theorem or needed by its proof
    warnings: list[str]


def theorem_6(
    examples: int, dimension: int, epsilon: float, delta: float, steps: int | None
) -> TheoremParameters:
    """Return the parameters of Theorem 6, with T from ``T log2(T) = epsilon N^2 / sqrt(d log(1/delta))``."""
    root = math.sqrt(dimension * math.log(1.0 / delta))
    printed = _solve_t_log2_t(epsilon * examples**2 / root)
    T = max(1, round(printed)) if steps is None else steps
    alpha = epsilon * examples / (T * math.log2(T) * root) if T > 1 else math.inf
    eta = 1.0 / math.sqrt(examples * T)
    return TheoremParameters(
        "theorem-6", printed, eta, alpha, 1.0, _about_alpha(alpha, examples, T, printed)
    )


def theorem_9(
    examples: int, dimension: int, epsilon: float, delta: float, steps: int | None
) -> TheoremParameters:
    """Return the parameters of Theorem 9, for Algorithm 2."""
    printed = examples ** (7 / 3) * epsilon ** (4 / 3) / dimension ** (2 / 3)
    T = max(1, round(printed)) if steps is None else steps
    alpha = examples**0.75 * epsilon / (T**0.75 * math.sqrt(dimension))
    eta = 1.0 / math.sqrt(examples * T)
    gamma = eta * examples
    warnings = _about_alpha(alpha, examples, T, printed)
    if gamma > 0.5:
        warnings.append(
            f"gamma = eta N = {gamma:.4g} is above 1/2, which Lemma 7 needs: T is below 4 N"
        )
    return TheoremParameters(
        "theorem-9", printed, eta, alpha, min(gamma, 1.0), warnings
    )


def _about_alpha(alpha: float, examples: int, T: int, printed: float) -> list[str]:
    warnings = []
    if alpha > 1.0:
        warnings.append(
            f"the printed alpha = {alpha:.4g} is above 1: the condition on epsilon fails"
        )
    elif alpha * examples < 1.0 - 1e-3:
        reason = f"T = {T} is above the printed {printed:.6g}"
        warnings.append(
            f"the printed alpha = {alpha:.4g} is below 1/N = {1 / examples:.4g}: {reason}"
        )
    return warnings


def _solve_t_log2_t(value: float) -> float:
    """Return the T with T log2(T) = value, by Newton's method from the right on a convex increasing function."""
    x = max(2.0, value)
    for _ in range(200):
        step = (x * math.log2(x) - value) / (math.log2(x) + 1.0 / math.log(2.0))
        x -= step
        if abs(step) <= 1e-13 * x:
            break
    return x
