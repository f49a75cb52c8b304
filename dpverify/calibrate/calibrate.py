"""Sigma as printed, as supported by the proof and as certified by the accountant, and a lower bound on sigma."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpverify.calibrate.records import (
    CalibrateRequest,
    Calibration,
    RunParameters,
    Theorem,
    Trio,
    real,
)
from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.papers.tran2022.accounting.noise import (
    UP,
    AccountedRun,
    TheoremParameters,
    sigma_for,
)
from dpverify.privacy.gaussian import delta_of
from dpverify.privacy.gaussian_safe import (
    certify,
    safe_epsilon,
    violated_epsilon,
    violated_mu,
)


def calibrate(request: CalibrateRequest) -> Calibration:
    """Calibrate the noise of an algorithm to (epsilon, delta); ``sigma.exact`` is certified in ball arithmetic."""
    theorem = request.theorem()
    setting = accounted_run(request, theorem)
    noise = request.unit_noise()
    sufficient = sigma_for(noise, request.epsilon, request.delta)
    insufficient = noise.mu.lower / violated_mu(request.epsilon, request.delta) / UP
    mu_at_least = noise.mu.lower / sufficient / UP
    root = math.sqrt(request.log_delta)
    sigma = {
        "printed": noise.printed_factor * root / request.epsilon,
        "proof": noise.proof_mu / _standard_mu(request.epsilon, request.log_delta) * UP,
        "exact": sufficient,
    }
    mu = {name: noise.mu.upper / value * UP for name, value in sigma.items()}
    certified = {
        name: certify(value, request.epsilon, request.delta)
        for name, value in mu.items()
    }
    epsilons = {name: safe_epsilon(value, request.delta) for name, value in mu.items()}
    settings = {
        name: value for name, value in vars(setting).items() if name != "examples"
    }
    return Calibration(
        algorithm=request.algorithm,
        epsilon=request.epsilon,
        delta=request.delta,
        run=RunParameters(n=setting.examples, d=request.d, **settings),
        theorem=Theorem(
            claim=f"tran2022:{theorem.theorem}",
            steps=theorem.steps,
            alpha=real(theorem.alpha),
            gamma=theorem.gamma,
            eta=theorem.eta,
        ),
        sigma=_trio(sigma),
        node_std={node: _trio(sigma, unit) for node, unit in noise.node_std.items()},
        epsilon_bought=real(epsilons["printed"]),
        delta_bought=min(1.0, delta_of(mu["printed"], request.epsilon) * UP),
        bought=_trio(epsilons),
        certified=certified,
        mu=(mu_at_least, mu["exact"]),
        epsilon_bounds=(
            violated_epsilon(mu_at_least, request.delta),
            epsilons["exact"],
        ),
        sigma_bounds=(insufficient, sufficient),
        warnings=[*theorem.warnings, *_warnings(request, setting)],
    )


def accounted_run(
    request: CalibrateRequest, theorem: TheoremParameters
) -> AccountedRun:
    """Return the run with its defaults; alpha is by default the theorem's value, limited to [1/N, 1]."""
    requested_steps = request.asked_steps
    steps = (
        requested_steps
        if requested_steps is not None
        else max(1, round(min(theorem.steps, float(MOST_STEPS))))
    )
    check.whole(1, MOST_STEPS - 1, steps=steps)
    printed = min(1.0, max(1.0 / request.n, theorem.alpha))
    return AccountedRun(
        examples=request.n,
        steps=steps,
        alpha=printed if request.alpha is None else request.alpha,
        gamma=theorem.gamma if request.cross_weight is None else request.cross_weight,
        eta=theorem.eta if request.eta is None else request.eta,
        lipschitz=request.lipschitz,
        smoothness=request.smoothness,
        ordering=request.ordering,
    )


def _standard_mu(epsilon: float, log_delta: float) -> float:
    """Return the mu that the standard Renyi conversion allows: mu^2/2 + mu sqrt(2 log(1/delta)) = epsilon."""
    return (
        2.0
        * epsilon
        / (math.sqrt(2.0 * log_delta + 2.0 * epsilon) + math.sqrt(2.0 * log_delta))
    )


def _trio(values: Mapping[str, float], unit: float = 1.0) -> Trio:
    return Trio(**{name: real(value * unit) for name, value in values.items()})


def _warnings(request: CalibrateRequest, setting: AccountedRun) -> list[str]:
    """Return a warning for each printed or necessary condition of the privacy theorems that fails."""
    N = setting.examples
    T = setting.steps
    warnings = []
    if setting.alpha * N < 1.0 - 1e-9:
        warnings.append(
            f"alpha = {setting.alpha:.4g} is below 1/N, but the printed sensitivities need alpha >= 1/N"
        )
    if T % N:
        warnings.append(
            f"N does not divide T: the printed V counts T/N = {T / N:.4g} visits, up to {-(-T // N)} occur"
        )
    if request.prints_condition and request.log_delta > request.epsilon:
        warnings.append(
            "the printed condition delta >= exp(-epsilon) fails; the proof needs the opposite, which holds"
        )
    if request.log_delta < request.epsilon:
        warnings.append(
            "delta >= exp(-epsilon): the last step of the proof of the printed sigma fails here"
        )
    return warnings
