"""What the noise of a run guarantees, and the noise that a guarantee needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpverify.algorithms.algorithm import ProblemSize
from dpverify.algorithms.settings import Settings
from dpverify.problems.data import Dataset
from dpverify.problems.regression import Regression
from dpverify.train.records import NOT_CERTIFIED, Request


@dataclass(frozen=True)
class Guarantee:
    """A guarantee, or the reason why there is none."""

    words: str  # what is certified, or ``not certified`` and why
    epsilon: float | None = None  # the guarantee, if there is one
    delta: float | None = None


def account(request: Request, settings: Settings, dataset: Dataset, problem: Regression) -> tuple[Settings, Guarantee]:
    """Choose sigma where a privacy budget is asked for, and say what the accountant's upper bound guarantees."""
    algorithm = request.algorithm
    delta = request.delta
    if delta is None:
        return settings, Guarantee(f"{NOT_CERTIFIED}: give epsilon and delta, or delta with sigma")
    if not algorithm.is_noisy(settings):
        return settings, Guarantee(f"{NOT_CERTIFIED}: there is no noise")
    accounted, epsilon = algorithm.account(settings, ProblemSize.of(problem), request.epsilon, delta)
    if algorithm.needs_lipschitz and settings.scale == "none" and not dataset.standardised:
        numbers = f"epsilon = {epsilon:.6g}, delta = {delta:.6g}"
        return accounted, Guarantee(
            f"{NOT_CERTIFIED}: {numbers} would hold if G were known without looking at the data"
        )
    return accounted, guarantee(epsilon, delta, dataset, algorithm.assurance(accounted))


def guarantee(epsilon: float, delta: float, dataset: Dataset, how: str) -> Guarantee:
    """Say what the noise gives, and ``how`` that is known; nothing is certified where the columns were standardised."""
    told = f"epsilon = {epsilon:.6g}, delta = {delta:.6g}"
    if dataset.standardised:
        return Guarantee(f"{NOT_CERTIFIED}: {told} would hold had the columns not been standardised")
    if not math.isfinite(epsilon):
        return Guarantee(f"{NOT_CERTIFIED}: no epsilon can be certified for this sigma at delta = {delta:.6g}")
    return Guarantee(f"{told}, for replacing one example, {how}", epsilon, delta)
