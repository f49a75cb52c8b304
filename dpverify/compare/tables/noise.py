"""The noise of each method: as section 6.1 and the methods' own papers have it, or the least that is certified.

A noise is its deviation over the sensitivity, s, the same at each step. *Printed*: ``tracked_ratio`` of wang2019's
accounting. *Needed*: by the accountants of ``dpverify.privacy``, for replacing one example. DP-AGD spends a budget of
zero-concentrated DP instead (``privacy.growing_budget``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from dpverify.algorithms.baselines import RRPSGD
from dpverify.compare.methods import full_batch_std
from dpverify.compare.tables.settings import DELTA, Noise
from dpverify.kernels import check
from dpverify.papers.wang2019.accounting.runs import single_ratio, tracked_ratio
from dpverify.privacy.batches import BatchSteps, batch_epsilon, least_factor
from dpverify.privacy.gaussian import epsilon_of
from dpverify.privacy.participation import Bounds
from dpverify.privacy.sampled import sampled_std


@dataclass(frozen=True)
class Sampling:
    """How a method reads the data: T steps on b of n examples."""

    examples: int
    batch: int
    steps: int

    @property
    def rate(self) -> float:
        """Part of the data that a step reads."""
        return self.batch / self.examples


@lru_cache(maxsize=256)
def ratio(method: str, noise: Noise, how: Sampling, epsilon: float) -> float:
    """Choose s, or refuse an epsilon that nothing certifies."""
    n = how.examples
    T = how.steps
    if noise == "printed":
        if method == RRPSGD.name:
            return single_ratio(n, T, epsilon, DELTA)
        return tracked_ratio(n, how.batch, T, epsilon, DELTA)
    if how.batch == n:
        return full_batch_std(n, T, 0.5 * n, epsilon, DELTA)
    start = sampled_std(n, how.batch, T, 0.5 * how.batch, epsilon, DELTA)
    if not math.isfinite(start):
        raise check.ArgumentError("epsilon", epsilon, f"is out of reach at delta={DELTA!r}: nothing could be certified")
    return start * least_factor(lambda factor: [BatchSteps(how.rate, factor * start, T)], epsilon, DELTA)


@lru_cache(maxsize=256)
def bought(how: Sampling, s: float) -> Bounds:
    """Bound the epsilon of this noise: the upper end is certified, the lower one is reached on some data."""
    if how.batch == how.examples:
        epsilon = epsilon_of(math.sqrt(how.steps) / s, DELTA)
        return Bounds(epsilon, epsilon, exact=True)
    return batch_epsilon([BatchSteps(how.rate, s, how.steps)], DELTA)


def lemma_holds(how: Sampling, s: float) -> bool:
    """Whether the conditions of Lemma 3.7 hold at the order that Lemma 3.9 likes best."""
    order = 1.0 + s * math.sqrt(math.log(1.0 / DELTA) / (3.5 * how.steps)) / how.rate
    inside = how.rate * order * (1.0 + s * s)
    return s * s >= 0.7 and inside < 1.0 and order - 1.0 <= 2.0 / 3.0 * s * s * math.log(1.0 / inside)
