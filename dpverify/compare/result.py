"""What a comparison gives, as typed records; and the interval of a mean over seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from scipy.special import stdtrit

from dpverify.ledger.records import Record
from dpverify.train.result import DataInfo

MEASURES = ("gradient_norm", "mean_gradient_norm", "loss", "test_error")
LEVEL = 0.95


class MeanInterval(Record, frozen=True, kw_only=True):
    """A mean over seeds and its two-sided t-interval; ``low`` and ``high`` are None for a single seed."""

    mean: float
    low: float | None
    high: float | None


class SeedOutcome(Record, frozen=True, kw_only=True):
    """What one seed gives."""

    seed: int
    gradient_norm: float  # norm of the gradient on the training part, at the last iterate
    # mean of the norm over iterates w_1, .., w_T, at most 50 of them, evenly spaced: of an iterate that is drawn at
    # random, which is what Theorems 6 and 9 speak of
    mean_gradient_norm: float
    loss: float  # on the training part, at the last iterate
    test_error: float  # part of the test part that is misjudged, at the last iterate


class MethodResult(Record, frozen=True, kw_only=True):
    """One method over all seeds."""

    name: str  # as in ``METHODS``
    steps: int  # T
    batch: int  # examples a step
    eta: float  # length of a step (nsgd), or factor of the gradient (gd, sgd)
    sigma: float | None = None  # noise multiplier of Algorithms 1 and 2
    noise_std: dict[str, float]  # deviation of a coordinate of each kind of noise
    epsilon: float | None = None  # the guarantee for replacing one example, if one is certified
    delta: float | None = None
    privacy: str  # the guarantee in words, or why there is none
    outcomes: list[SeedOutcome]  # one a seed
    means: dict[str, MeanInterval]  # for each of :data:`MEASURES`
    minus_dp_nsgd: dict[str, MeanInterval]  # mean of the differences to dp-nsgd, seed by seed


class CompareResult(Record, frozen=True, kw_only=True):
    """A comparison, whole or interrupted; ``data.n`` examples were trained on, ``tested`` were held out."""

    schema: Literal[1] = 1
    data: DataInfo
    tested: int
    epsilon: float
    delta: float
    lipschitz: float
    smoothness: float
    lam: float
    scale: str
    seeds: int  # asked for, and finished by every method
    done: int
    interrupted: bool
    seconds: float
    methods: list[MethodResult]
    notes: list[str]


def interval(values: Sequence[float], level: float = LEVEL) -> MeanInterval:
    """Mean and t-interval, ``mean -+ t s/sqrt(S)`` with S - 1 degrees of freedom."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return MeanInterval(mean=mean, low=None, high=None)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * deviation / math.sqrt(count)
    return MeanInterval(mean=mean, low=mean - half, high=mean + half)


def intervals(outcomes: Sequence[SeedOutcome], base: Sequence[SeedOutcome] | None = None) -> dict[str, MeanInterval]:
    """Interval of each measure, or of its differences to another method's by seed, cut to what a mean can be."""
    found = {}
    for measure in MEASURES:
        values = [float(getattr(outcome, measure)) for outcome in outcomes]
        if base is not None:
            values = [a - float(getattr(b, measure)) for a, b in zip(values, base, strict=True)]
        found[measure] = interval(values)
        if base is None:
            found[measure] = _within(found[measure], 1.0 if measure == "test_error" else math.inf)
    return found


def _within(found: MeanInterval, most: float) -> MeanInterval:
    """Cut off what the mean cannot be: no measure is below 0, and no test error above 1."""
    if found.low is None or found.high is None:
        return found
    return MeanInterval(mean=found.mean, low=max(found.low, 0.0), high=min(found.high, most))
