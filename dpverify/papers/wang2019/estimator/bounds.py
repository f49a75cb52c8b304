"""The estimate of DP-SRM in closed form: its sensitivity, the law of its noise, and its mean squared error.

The error of an estimate v_p^t has four parts that add up to it:

    start     (1 - gamma)^t times the first batch's error
    sampling  gamma times the error of a later batch's mean gradient, decayed by 1 - gamma at each later step
    drift     1 - gamma times the error of the mean change of its gradients, with the same decay
    noise     u^0 and u^1, ..., with the same decay

By Lemma D.1 a batch of b of n examples adds the mean square over the examples times (n - b)/(b (n - 1)), which our
bound replaces by 1/b. *Attained*: half of the gradients are G and the others -G, or half of the changes zeta and the
others -zeta, at each step; the noise's part is exact. Sampling and drift of a batch may have the same direction.
Together they are at most (their roots' sum)^2, so that the parts give the terms that note-error adds at a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]


def estimator_sensitivity(
    gamma: Fraction,
    zeta: Fraction,
    lipschitz: Fraction,
    length: Fraction,
    batch: Fraction,
) -> Fraction:
    """Return how far replacing one example of the batch can move an estimate after a step of this length, exactly.

    The gradient's change is at most L times the step, min(zeta, length/2), and two gradients differ by at most 2G. An
    example attains gamma G + (1 - gamma) times the smaller: it has gradient G after the step, in the step's direction.
    """
    return (
        2
        * (gamma * lipschitz + (1 - gamma) * min(zeta, length / 2, 2 * lipschitz))
        / batch
    )


def clipped_sensitivity(
    gamma: Fraction, clip: Fraction, change_clip: Fraction, batch: Fraction
) -> Fraction:
    """Return the sensitivity if gradients are clipped to ``clip`` and their changes to ``change_clip``."""
    return 2 * (gamma * clip + (1 - gamma) * change_clip) / batch


def noise_covariance(steps: int, gamma: float, std_0: float, std: float) -> Matrix:
    """Return the covariance of a coordinate of the noise in v_p^0, ..., v_p^(T-1), shape (T, T).

    The noise of an estimate is 1 - gamma times that of the previous one, plus fresh noise.
    """
    keep = 1.0 - gamma
    variances = np.empty(steps)
    variances[0] = std_0**2
    for t in range(1, steps):
        variances[t] = keep**2 * variances[t - 1] + std**2
    lags = np.subtract.outer(np.arange(steps), np.arange(steps))
    earlier = np.minimum.outer(np.arange(steps), np.arange(steps))
    covariance: Matrix = np.power(keep, np.abs(lags)) * variances[earlier]
    return covariance


PARTS = ("start", "sampling", "drift", "noise")


@dataclass(frozen=True)
class EstimateRun:
    """Parameters of a run; n, b_0 and b are at least 2, 1 and 1."""

    examples: int
    batch_0: int
    batch: int
    gamma: Fraction
    zeta: Fraction
    lipschitz: Fraction
    dimension: int
    variance_0: Fraction
    variance: Fraction

    @property
    def start_error(self) -> Fraction:
        """The start error of note-error: the bound on the first estimate's mean squared error."""
        return self.lipschitz**2 / self.batch_0 + self.dimension * self.variance_0

    @property
    def added(self) -> Fraction:
        """Largest mean squared error that a later step adds."""
        length = (1 - self.gamma) * self.zeta + self.gamma * self.lipschitz
        return length**2 / self.batch + self.dimension * self.variance


class ErrorPart(NamedTuple):
    """Mean square of a part on its worst known problem, and its bound."""

    attained: Fraction
    bound: Fraction


def error_parts(t: int, run: EstimateRun) -> dict[str, ErrorPart]:
    """Return the parts of the error of v_p^t."""
    gamma = run.gamma
    n = run.examples
    decay = (1 - gamma) ** (2 * t)
    grown = (1 - decay) / (gamma * (2 - gamma))
    start = decay * run.lipschitz**2 / run.batch_0
    sampling = grown * (gamma * run.lipschitz) ** 2 / run.batch
    drift = grown * ((1 - gamma) * run.zeta) ** 2 / run.batch
    noise = run.dimension * (decay * run.variance_0 + grown * run.variance)
    first = Fraction(n - run.batch_0, n - 1)
    later = Fraction(n - run.batch, n - 1)
    return {
        "start": ErrorPart(start * first, start),
        "sampling": ErrorPart(sampling * later, sampling),
        "drift": ErrorPart(drift * later, drift),
        "noise": ErrorPart(noise, noise),
    }
