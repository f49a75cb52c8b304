"""The estimate of DP-SRM in closed form: how far one example moves it, and the law of the noise it carries."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]


def estimator_sensitivity(
    gamma: Fraction, zeta: Fraction, lipschitz: Fraction, length: Fraction, batch: Fraction
) -> Fraction:
    """Most that replacing one example of the batch moves an estimate after a step along one of this length, exactly.

    The gradient's change is at most L times the step, min(zeta, length/2), and two gradients differ by at most 2G. An
    example attains gamma G + (1 - gamma) of the smaller: it has gradient G after the step, in the step's direction.
    """
    return 2 * (gamma * lipschitz + (1 - gamma) * min(zeta, length / 2, 2 * lipschitz)) / batch


def clipped_sensitivity(gamma: Fraction, clip: Fraction, change_clip: Fraction, batch: Fraction) -> Fraction:
    """The same, where gradients are clipped to ``clip`` and their changes to ``change_clip``."""
    return 2 * (gamma * clip + (1 - gamma) * change_clip) / batch


def noise_covariance(steps: int, gamma: float, std_0: float, std: float) -> Matrix:
    """Covariance of a coordinate of the noise in v_p^0, ..., v_p^(T-1), shape (T, T).

    The noise of an estimate is 1 - gamma times that of the one before, plus fresh noise.
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
