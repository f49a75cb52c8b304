"""The accountant of optimizers on batches drawn without replacement, where one example is replaced.

scipy is loaded when something is accounted: a party of a computation does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.kernels import check

if TYPE_CHECKING:
    from dpverify.privacy.batches import BatchSteps
    from dpverify.privacy.participation import Bounds

MOST_NOISE = 1e6  # if this sigma does not reach an epsilon, nothing is searched for


def sampled_epsilon(rate: float, sigma: float, steps: int, delta: float) -> float:
    """Return the certified upper bound of epsilon of steps on a part ``rate`` of the data."""
    from dpverify.privacy.batches import BatchSteps, upper_epsilon

    return upper_epsilon([BatchSteps(rate, sigma, steps)], delta)


def sampled_bounds(rate: float, sigma: float, steps: int, delta: float) -> Bounds:
    """Return both bounds of epsilon; the lower one is attained on some data."""
    from dpverify.privacy.batches import BatchSteps, batch_epsilon

    return batch_epsilon([BatchSteps(rate, sigma, steps)], delta)


def least_sigma(rate: float, steps: int, epsilon: float, delta: float) -> float:
    """Return the smallest sigma that is certified for (epsilon, delta)."""
    from dpverify.privacy.batches import BatchSteps, least_factor

    def steps_with(sigma: float) -> list[BatchSteps]:
        return [BatchSteps(rate, sigma, steps)]

    if sampled_epsilon(rate, MOST_NOISE, steps, delta) > epsilon:
        raise check.ArgumentError("epsilon", epsilon, f"is out of reach at delta={delta!r}: nothing could be certified")
    return least_factor(steps_with, epsilon, delta)
