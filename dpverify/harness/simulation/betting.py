"""Exact lower confidence limits for a mean from few, costly runs, and the number of runs that a plan needs.

*Limit.* Let X_1, ..., X_n >= 0 be independent with mean at most p, and 0 <= c <= 1. Then the capital
``prod (1 + c (X_i/p - 1))`` has an expectation of at most 1, and so has a mean of such products over several c. By
Markov's inequality it reaches 1/alpha with a chance of at most alpha: the p at which it does are refuted, and the
largest of them is a confidence limit (testing by betting; Waudby-Smith and Ramdas 2024). No law is assumed, and some
tens of values that hardly vary give a limit close to their mean.

*Power.* For X in [0, 1] with mean q and all k > 0, ``P(product < 1/a) <= a^(-k) E[(1 + c (X/p - 1))^(-k)]^n``. What is
in the brackets is convex in X, so no law is worse than the coin with chance q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpverify.harness.statistics.effects import Effect

STAKES: Final = np.array([0.9, 0.99, 0.7, 0.4, 0.1])
WEIGHTS: Final = np.array([0.8, 0.05, 0.05, 0.05, 0.05])
"""The values of c, and their shares of the capital; the first is the best one against the excess that is declared."""

NEAR: Final = float(STAKES[0])  # the declared excess, as a share of what lies between the bound and the largest value
HALVINGS: Final = 60
POWERS: Final = np.geomspace(0.01, 30.0, 200)  # the values of k that are tried


def log_capital(values: Sequence[float], mean: float) -> float:
    """Give the logarithm of the capital at the end. Of the mean over STAKES, with WEIGHTS."""
    x = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(x).all() and (x >= 0.0).all()):
        raise ValueError(f"values must be finite and at least 0, got values between {x.min()} and {x.max()}.")
    gains = np.log1p(STAKES[:, np.newaxis] * (x / mean - 1.0)).sum(axis=1)
    top = float(gains.max())
    return top + math.log(float((WEIGHTS * np.exp(gains - top)).sum()))


def lower_limit(values: Sequence[float], alpha: float) -> float:
    """Largest p, to 2^-60 of the largest value and rounded down, that is refuted at alpha as the mean; 0 if none is."""
    low = 0.0
    high = max(values)
    if high == 0.0:
        return 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if log_capital(values, middle) >= math.log(1.0 / alpha):
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class Excess(Effect):
    """A mean above a bound, for variables in [0, 1]."""

    bound: float  # What the claim allows, in (0, 1). The fault is a mean at NEAR of the way from there to 1.

    def __post_init__(self) -> None:
        if not 0.0 < self.bound < 1.0:
            raise ValueError(f"bound must lie in (0, 1), got bound={self.bound}.")

    @property
    def mean(self) -> float:
        """Mean of the fault."""
        return self.bound + NEAR * (1.0 - self.bound)

    @property
    def text(self) -> str:
        """The fault in words."""
        return f"a mean above the bound by {self.mean - self.bound:.3g}"

    def power(self, n: int, alpha: float) -> float:
        """Lower bound of the power, for any law of this mean; with the first stake alone."""
        threshold = math.log(1.0 / (alpha * WEIGHTS[0]))
        win = math.log1p(NEAR * (1.0 / self.bound - 1.0))
        loss = math.log1p(-NEAR)
        moments = self.mean * np.exp(-POWERS * win) + (1.0 - self.mean) * np.exp(-POWERS * loss)
        missed = float((POWERS * threshold + n * np.log(moments)).min())
        return 1.0 - math.exp(min(0.0, missed))
