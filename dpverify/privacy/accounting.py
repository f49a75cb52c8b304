"""Bounds of epsilon for Gaussian steps, the noise for a target epsilon, and conversion of dp-accounting events.

A step sums the contributions of the examples of a batch, each of norm at most ``clip``,
and adds Gaussian noise with standard deviation ``sigma * clip``. The sensitivity of the
sum is ``clip`` for add-remove neighbours and ``2 * clip`` for replace-one neighbours.
The module ``batches`` has the upper and the lower bound of epsilon, with their proofs.

A tree over T steps releases the sum over each dyadic interval within 1..T, each with its own noise. An example that
takes part in one step is in at most one interval of each length. So it is in at most floor(log2 T) + 1 intervals, and
an example of step 1 is in exactly that many. The sums over these intervals are one Gaussian mechanism whose sensitivity
is ``clip`` times the square root of their number. Both bounds are therefore those of that many steps on all data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from dpverify.kernels import check
from dpverify.privacy.batches import (
    MOST_STEPS,
    BatchSteps,
    batch_epsilon,
    check_delta,
    check_epsilon,
    least_factor,
    poisson_epsilon,
    poisson_upper,
    removed_upper,
    upper_epsilon,
)
from dpverify.privacy.gaussian_safe import safe_epsilon, safe_mu, violated_epsilon
from dpverify.privacy.participation import Bounds

Sampling: TypeAlias = Literal["poisson", "batches", "tree"]


def gaussian_steps(
    sigma: float | Any, steps: int, rate: float, sampling: Sampling = "poisson"
) -> list[BatchSteps]:
    """Return the steps that a noise multiplier and a step count, or an event of dp-accounting, describe."""
    if isinstance(sigma, int | float):
        return [gaussian_step(sigma, steps, rate, sampling)]
    return steps_of_event(sigma, sampling)


def gaussian_step(
    sigma: float, steps: int, rate: float, sampling: str = "poisson"
) -> BatchSteps:
    """Return steps of one kind in the units of ``batches``, or raise an ArgumentError that names the invalid number."""
    if sampling not in ("poisson", "batches", "tree"):
        raise check.ArgumentError(
            "sampling", sampling, "must be poisson, batches or tree"
        )
    if sampling == "tree":
        if rate != 1.0:
            raise check.ArgumentError(
                "rate", rate, "must be left out for a tree: nothing is sampled"
            )
        return BatchSteps(
            1.0, check.positive(sigma=sigma), check.whole(1, steps=steps).bit_length()
        )
    count = check.whole(1, MOST_STEPS, steps=steps)
    return BatchSteps(
        rate,
        check.positive(sigma=sigma) / (2.0 if sampling == "batches" else 1.0),
        count,
    )


def steps_of_event(event: Any, sampling: Sampling = "poisson") -> list[BatchSteps]:
    """Convert a ``dp_accounting.DpEvent`` of Gaussian mechanisms, or raise an ArgumentError that names the other event.

    With ``sampling="batches"`` the event must sample without replacement, otherwise by Poisson sampling. The two are
    not mixed because their neighbouring relations differ.
    """
    name = type(event).__name__
    batches = sampling == "batches"
    if name == "GaussianDpEvent":
        return [BatchSteps(1.0, float(event.noise_multiplier))]
    if name == "NoOpDpEvent":
        return []
    # in the worst case, the example is in the largest tree
    if name == "SingleEpochTreeAggregationDpEvent" and not batches:
        counts = event.step_counts
        return [
            gaussian_step(
                float(event.noise_multiplier), int(np.max(counts)), 1.0, "tree"
            )
        ]
    if name == "ComposedDpEvent":
        return [
            kind for part in event.events for kind in steps_of_event(part, sampling)
        ]
    if name == "SelfComposedDpEvent":
        return [
            BatchSteps(s.rate, s.noise, s.count * int(event.count))
            for s in steps_of_event(event.event, sampling)
        ]
    if name == (
        "SampledWithoutReplacementDpEvent" if batches else "PoissonSampledDpEvent"
    ):
        inner = steps_of_event(event.event, sampling)
        if len(inner) == 1 and (inner[0].rate, inner[0].count) == (1.0, 1):
            rate = (
                event.sample_size / event.source_dataset_size
                if batches
                else event.sampling_probability
            )
            return [BatchSteps(float(rate), inner[0].noise)]
        name = "a sample of several steps"
    rule = (
        "batches without replacement or not"
        if batches
        else "sampled by Poisson or not, trees"
    )
    raise check.ArgumentError(
        "event",
        name,
        f"must be Gaussian events, {rule}, and composed, for sampling={sampling}",
    )


def epsilon(
    sigma: float | Any,
    delta: float,
    *,
    steps: int = 1,
    rate: float = 1.0,
    sampling: Sampling = "poisson",
) -> Bounds:
    """Bound the smallest epsilon of many Gaussian steps from above and below.

    Parameters
    ----------
    sigma : float or dp_accounting.DpEvent
        Noise multiplier, above 0: the standard deviation of the noise of a sum over the
        clip length. Or an event composed of Gaussian mechanisms, sampled or not, or an
        event that selects one of several such runs. With an event, ``steps`` and
        ``rate`` are not used. With "batches", the event samples without replacement,
        and its noise multipliers are standard deviations over the largest change by
        replacing one example, as in dp-accounting.
    delta : float
        Privacy parameter in (0, 1).
    steps : int
        Number of steps, at least 1.
    rate : float
        Fraction of the data in a batch, in (0, 1]; 1 for all data.
    sampling : {"poisson", "batches", "tree"}
        "poisson" draws each example with probability ``rate``; neighbours are
        add-remove. "batches" draws batches without replacement; neighbours are
        replace-one. "tree" uses each example in one of the steps, in any order, and a
        binary tree over the steps with noise ``sigma * clip`` in each node; neighbours
        are add-remove, and ``rate`` must not be given.

    Returns
    -------
    Bounds
        ``upper`` holds for all data, even if each step is chosen based on earlier
        releases. ``lower`` is attained.

    Raises
    ------
    ValueError
        If a number is out of its range, or an event contains an unsupported mechanism.

    Examples
    --------
    >>> from dpverify.privacy import epsilon
    >>> found = epsilon(1.0, 1e-5, steps=1000, rate=0.01)
    >>> 1.82 < found.lower <= found.upper < 1.83
    True
    """
    check_delta(delta)
    if (
        not isinstance(sigma, int | float)
        and type(sigma).__name__ == "RepeatAndSelectDpEvent"
    ):
        # imported here because it loads scipy.optimize
        from dpverify.privacy.selection import selected_epsilon

        if sampling != "poisson":
            raise check.ArgumentError(
                "sampling", sampling, "must be poisson for an event that selects a run"
            )
        return selected_epsilon(sigma.event, delta, runs=sigma.mean, shape=sigma.shape)
    return _composed(gaussian_steps(sigma, steps, rate, sampling), delta, sampling)


def sigma(
    epsilon: float,
    delta: float,
    *,
    steps: int = 1,
    rate: float = 1.0,
    sampling: Sampling = "poisson",
) -> float:
    """Return the smallest noise multiplier, to six digits, whose upper bound on epsilon is at most ``epsilon``.

    Parameters
    ----------
    epsilon : float
        Target epsilon, from 1e-6 to 300.
    delta, steps, rate, sampling
        As for :func:`epsilon`.

    Returns
    -------
    float
        Standard deviation of the noise of a sum over the clip length.

    Raises
    ------
    ValueError
        If a number is out of its range.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    single_step = gaussian_step(1.0, steps, rate, sampling)
    if rate == 1.0:
        return math.nextafter(
            math.sqrt(single_step.count)
            / (single_step.noise * safe_mu(epsilon, delta))
            * (1.0 + 3e-14),
            math.inf,
        )
    start = max(1.0, rate * math.sqrt(steps) / epsilon) / single_step.noise

    def steps_with(factor: float) -> list[BatchSteps]:
        return [gaussian_step(start * factor, steps, rate, sampling)]

    if sampling != "poisson":
        return start * least_factor(steps_with, epsilon, delta, upper_epsilon)
    # In all known cases the order "removed" has the larger epsilon. If both orders
    # allow its noise, no search for the other order is needed.
    factor = least_factor(steps_with, epsilon, delta, removed_upper)
    if poisson_upper(steps_with(factor), delta) > epsilon:
        factor = least_factor(steps_with, epsilon, delta, poisson_upper)
    return start * factor


def event(
    sigma: float, *, steps: int = 1, rate: float = 1.0, sampling: Sampling = "poisson"
) -> Any:
    """Return the dp-accounting event with the given steps; needs the extra ``accounting``.

    Parameters
    ----------
    sigma, steps, rate, sampling
        As for :func:`epsilon`, without "batches": dp-accounting needs the sizes of the
        batch and the data for that event.

    Returns
    -------
    dp_accounting.DpEvent
        Composed Gaussian steps, sampled or not, or a tree.

    Raises
    ------
    ValueError
        If a number is out of its range, or ``sampling`` is "batches".
    ModuleNotFoundError
        If dp-accounting is not installed.
    """
    gaussian_step(sigma, steps, rate, sampling)
    if sampling == "batches":
        raise check.ArgumentError(
            "sampling",
            sampling,
            "must be poisson or tree: an event of batches needs sizes",
        )
    import dp_accounting

    if sampling == "tree":
        return dp_accounting.SingleEpochTreeAggregationDpEvent(sigma, steps)
    composed = dp_accounting.GaussianDpEvent(sigma)
    composed = (
        composed if rate == 1.0 else dp_accounting.PoissonSampledDpEvent(rate, composed)
    )
    return (
        composed if steps == 1 else dp_accounting.SelfComposedDpEvent(composed, steps)
    )


def _composed(
    steps: Sequence[BatchSteps], delta: float, sampling: str = "poisson"
) -> Bounds:
    if not steps:
        return Bounds(0.0, 0.0, exact=True)
    if any(kind.rate < 1.0 for kind in steps):
        return (
            poisson_epsilon(steps, delta)
            if sampling == "poisson"
            else batch_epsilon(steps, delta)
        )
    mu = math.sqrt(math.fsum(kind.count / kind.noise**2 for kind in steps))
    return Bounds(
        violated_epsilon(mu * (1.0 - 1e-14), delta),
        safe_epsilon(mu * (1.0 + 1e-14), delta),
        exact=False,
    )
