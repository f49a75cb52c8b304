"""What the noise of a run is worth: sigma from (epsilon, delta), or epsilon from sigma and delta."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from dpverify.papers.tran2022.accounting.noise import AccountedRun, UnitNoise, epsilon_for, sigma_for, unit_noise
from dpverify.problems.data import Dataset
from dpverify.problems.logistic import LogisticRegression
from dpverify.train.request import Request
from dpverify.train.result import NOT_CERTIFIED, Settings


@dataclass(frozen=True)
class Guarantee:
    """A guarantee, or the reason why there is none."""

    words: str  # what is certified, or ``not certified`` and why
    epsilon: float | None = None  # the guarantee, if there is one
    delta: float | None = None


def account(
    request: Request, settings: Settings, dataset: Dataset, problem: LogisticRegression
) -> tuple[Settings, Guarantee]:
    """Choose sigma where a privacy budget is asked for, and say what is guaranteed.

    The settings with the sigma that is run, and the guarantee.

    Source: the accountant's upper bound in place of ``tran2022:theorem-4-dp`` and ``theorem-8-dp``.
    """
    if request.delta is None:
        return settings, Guarantee(f"{NOT_CERTIFIED}: give epsilon and delta, or delta with sigma")
    if settings.sigma == 0.0:
        return settings, Guarantee(f"{NOT_CERTIFIED}: there is no noise")
    noise = _noise(request.algorithm, settings, problem)
    if request.epsilon is not None:
        settings = msgspec.structs.replace(settings, sigma=sigma_for(noise, request.epsilon, request.delta))
    epsilon = request.epsilon if request.epsilon is not None else epsilon_for(noise, settings.sigma, request.delta)
    told = f"epsilon = {epsilon:.6g}, delta = {request.delta:.6g}"
    if dataset.standardised:
        return settings, Guarantee(f"{NOT_CERTIFIED}: {told} would hold had the columns not been standardised")
    if settings.scale == "none":
        return settings, Guarantee(f"{NOT_CERTIFIED}: {told} would hold if G were known without looking at the data")
    if not math.isfinite(epsilon):
        return settings, Guarantee(f"{NOT_CERTIFIED}: this sigma buys no epsilon at delta = {request.delta:.6g}")
    words = f"{told}, for replacing one example, certified by the accountant in real arithmetic"
    return settings, Guarantee(words, epsilon, request.delta)


def _noise(algorithm: str, settings: Settings, problem: LogisticRegression) -> UnitNoise:
    setting = AccountedRun(
        examples=len(problem.x),
        steps=settings.steps,
        alpha=settings.alpha,
        gamma=settings.gamma,
        eta=settings.eta,
        lipschitz=problem.lipschitz,
        smoothness=problem.smoothness,
        ordering="once" if settings.ordering == "once" else "fresh",
    )
    return unit_noise(algorithm, setting)
