"""A mean over seeds, its interval, and what the interval of a difference says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from scipy.special import stdtrit

from dpverify.ledger.records import Record

LEVEL = 0.95


class MeanInterval(Record, frozen=True, kw_only=True):
    """A mean over seeds and its two-sided t-interval; ``low`` and ``high`` are None for a single seed."""

    mean: float
    low: float | None
    high: float | None

    @property
    def seen(self) -> Literal["higher", "lower", "no difference seen"]:
        """What the interval of a difference says: it leaves 0 out, or it does not."""
        if self.low is not None and self.low > 0:
            return "higher"
        return "lower" if self.high is not None and self.high < 0 else "no difference seen"

    def shown(self, sign: str = "") -> str:
        """Write ``mean [low, high]`` with four digits after the point; for a single seed ``mean [no interval]``."""
        if self.low is None or self.high is None:
            return f"{self.mean:{sign}.4f} [no interval]"
        return f"{self.mean:{sign}.4f} [{self.low:{sign}.4f}, {self.high:{sign}.4f}]"


def interval(
    values: Sequence[float], level: float = LEVEL, least: float = -math.inf, most: float = math.inf
) -> MeanInterval:
    """Mean and t-interval, ``mean -+ t s/sqrt(S)`` with S - 1 degrees of freedom, cut to what the mean can be."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return MeanInterval(mean=mean, low=None, high=None)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1))
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * deviation / math.sqrt(count)
    return MeanInterval(mean=mean, low=max(mean - half, least), high=min(mean + half, most))


def corrected_level(count: int) -> float:
    """Level of each of ``count`` intervals for all of them to hold at 95% (Bonferroni)."""
    return 1.0 - (1.0 - LEVEL) / count
