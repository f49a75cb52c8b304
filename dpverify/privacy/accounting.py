"""Epsilon of Gaussian steps from both sides, the noise for an epsilon, and the same for events of dp-accounting.

A step adds up what each example of a batch gives, at most ``clip`` in norm, and adds noise of deviation
``sigma * clip``. With one example more or less its sensitivity is ``clip``, with one replaced it is twice that.
``batches`` has both bounds and their proofs.

A tree over T steps releases the sum over each dyadic interval within 1..T with noise of its own. An example that is in
one step is in the intervals around that step, one of each length up to the longest that fits: at most
floor(log2 T) + 1, and step 1 is in so many. Their sums are one Gaussian mechanism of sensitivity ``clip`` times the
root of that number, so that both bounds are those of so many steps on all data.
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
from dpverify.privacy.gaussian_safe import missed_epsilon, safe_epsilon, safe_mu
from dpverify.privacy.participation import Bounds

Sampling: TypeAlias = Literal["poisson", "batches", "tree"]


def gaussian_steps(sigma: float | Any, steps: int, rate: float, sampling: Sampling = "poisson") -> list[BatchSteps]:
    """Read a noise multiplier with its steps, or an event in its place, which says how many there are."""
    if isinstance(sigma, int | float):
        return [gaussian_step(sigma, steps, rate, sampling)]
    return steps_of_event(sigma, sampling)


def gaussian_step(sigma: float, steps: int, rate: float, sampling: str = "poisson") -> BatchSteps:
    """Give steps of one kind in the units of ``batches``, and refuse a number that is out of its range by its name."""
    if sampling not in ("poisson", "batches", "tree"):
        raise check.ArgumentError("sampling", sampling, "must be poisson, batches or tree")
    if sampling == "tree":
        if rate != 1.0:
            raise check.ArgumentError("rate", rate, "must be left out for a tree: nothing is sampled")
        return BatchSteps(1.0, check.positive(sigma=sigma), check.whole(1, steps=steps).bit_length())
    count = check.whole(1, MOST_STEPS, steps=steps)
    return BatchSteps(rate, check.positive(sigma=sigma) / (2.0 if sampling == "batches" else 1.0), count)


def steps_of_event(event: Any, sampling: Sampling = "poisson") -> list[BatchSteps]:
    """Read a ``dp_accounting.DpEvent`` that is made up of Gaussian ones; others are refused by their names.

    Its samples are Poisson's, or "batches" without replacement: the two have other neighbours, and are not mixed.
    """
    name = type(event).__name__
    batches = sampling == "batches"
    if name == "GaussianDpEvent":
        return [BatchSteps(1.0, float(event.noise_multiplier))]
    if name == "NoOpDpEvent":
        return []
    if name == "SingleEpochTreeAggregationDpEvent" and not batches:  # the example is in its largest tree at worst
        counts = event.step_counts
        return [gaussian_step(float(event.noise_multiplier), int(np.max(counts)), 1.0, "tree")]
    if name == "ComposedDpEvent":
        return [kind for part in event.events for kind in steps_of_event(part, sampling)]
    if name == "SelfComposedDpEvent":
        return [BatchSteps(s.rate, s.noise, s.count * int(event.count)) for s in steps_of_event(event.event, sampling)]
    if name == ("SampledWithoutReplacementDpEvent" if batches else "PoissonSampledDpEvent"):
        inner = steps_of_event(event.event, sampling)
        if len(inner) == 1 and (inner[0].rate, inner[0].count) == (1.0, 1):
            rate = event.sample_size / event.source_dataset_size if batches else event.sampling_probability
            return [BatchSteps(float(rate), inner[0].noise)]
        name = "a sample of several steps"
    rule = "batches without replacement or not" if batches else "sampled by Poisson or not, trees"
    raise check.ArgumentError("event", name, f"must be Gaussian events, {rule}, and composed, for sampling={sampling}")


def epsilon(
    sigma: float | Any, delta: float, *, steps: int = 1, rate: float = 1.0, sampling: Sampling = "poisson"
) -> Bounds:
    """Bound the smallest epsilon of many Gaussian steps from both sides.

    Parameters
    ----------
    sigma : float or dp_accounting.DpEvent
        Noise multiplier, above 0: deviation of the noise of a sum over the clip length. Or an event that is made up of
        Gaussian ones, sampled or not, and composed, or that selects a run of such; then ``steps`` and ``rate`` are not
        used. With "batches" its samples are drawn without replacement, and its noise multipliers are deviations over
        what replacing one example changes: that is how dp-accounting reads such events.
    delta : float
        Privacy parameter in (0, 1).
    steps : int
        How many, at least 1.
    rate : float
        Part of the data in a batch, in (0, 1]; 1 for all of it.
    sampling : {"poisson", "batches", "tree"}
        Each example with probability ``rate``, for one example more or less; or batches without replacement, for one
        example replaced; or each example in one of the steps, in any order, and a binary tree over them with noise
        ``sigma * clip`` in each node, for one example more or less, where ``rate`` is left out.

    Returns
    -------
    Bounds
        ``upper`` holds for all data, also where each step is chosen by what was released before; ``lower`` is reached.

    Raises
    ------
    ValueError
        If a number is out of its range, or an event holds another mechanism.

    Examples
    --------
    >>> from dpverify.privacy import epsilon
    >>> found = epsilon(1.0, 1e-5, steps=1000, rate=0.01)
    >>> 1.82 < found.lower <= found.upper < 1.83
    True
    """
    check_delta(delta)
    if not isinstance(sigma, int | float) and type(sigma).__name__ == "RepeatAndSelectDpEvent":
        from dpverify.privacy.selection import selected_epsilon  # it loads scipy.optimize

        if sampling != "poisson":
            raise check.ArgumentError("sampling", sampling, "must be poisson for an event that selects a run")
        return selected_epsilon(sigma.event, delta, runs=sigma.mean, shape=sigma.shape)
    return _composed(gaussian_steps(sigma, steps, rate, sampling), delta, sampling)


def sigma(epsilon: float, delta: float, *, steps: int = 1, rate: float = 1.0, sampling: Sampling = "poisson") -> float:
    """Find a noise multiplier that is certain to give an epsilon, as small as the upper bound allows to six digits.

    Parameters
    ----------
    epsilon : float
        What is asked for, from 1e-6 to 300.
    delta, steps, rate, sampling
        As for :func:`epsilon`.

    Returns
    -------
    float
        Deviation of the noise of a sum over the clip length.

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
            math.sqrt(single_step.count) / (single_step.noise * safe_mu(epsilon, delta)) * (1.0 + 3e-14), math.inf
        )
    start = max(1.0, rate * math.sqrt(steps) / epsilon) / single_step.noise

    def steps_with(factor: float) -> list[BatchSteps]:
        return [gaussian_step(start * factor, steps, rate, sampling)]

    if sampling != "poisson":
        return start * least_factor(steps_with, epsilon, delta, upper_epsilon)
    # One order has the larger epsilon as far as anybody has seen. If both orders allow its noise, the other is not
    # needed for the search.
    factor = least_factor(steps_with, epsilon, delta, removed_upper)
    if poisson_upper(steps_with(factor), delta) > epsilon:
        factor = least_factor(steps_with, epsilon, delta, poisson_upper)
    return start * factor


def event(sigma: float, *, steps: int = 1, rate: float = 1.0, sampling: Sampling = "poisson") -> Any:
    """Make the event of dp-accounting that :func:`epsilon` would be asked about (the extra ``accounting``).

    Parameters
    ----------
    sigma, steps, rate, sampling
        As for :func:`epsilon`, but that dp-accounting has no event of batches without their sizes.

    Returns
    -------
    dp_accounting.DpEvent
        Gaussian steps, sampled or not and composed, or a tree.

    Raises
    ------
    ValueError
        If a number is out of its range, or batches are asked for.
    ModuleNotFoundError
        If dp-accounting is not installed.
    """
    gaussian_step(sigma, steps, rate, sampling)
    if sampling == "batches":
        raise check.ArgumentError("sampling", sampling, "must be poisson or tree: an event of batches needs sizes")
    import dp_accounting

    if sampling == "tree":
        return dp_accounting.SingleEpochTreeAggregationDpEvent(sigma, steps)
    composed = dp_accounting.GaussianDpEvent(sigma)
    composed = composed if rate == 1.0 else dp_accounting.PoissonSampledDpEvent(rate, composed)
    return composed if steps == 1 else dp_accounting.SelfComposedDpEvent(composed, steps)


def _composed(steps: Sequence[BatchSteps], delta: float, sampling: str = "poisson") -> Bounds:
    if not steps:
        return Bounds(0.0, 0.0, exact=True)
    if any(kind.rate < 1.0 for kind in steps):
        return poisson_epsilon(steps, delta) if sampling == "poisson" else batch_epsilon(steps, delta)
    mu = math.sqrt(math.fsum(kind.count / kind.noise**2 for kind in steps))
    return Bounds(missed_epsilon(mu * (1.0 - 1e-14), delta), safe_epsilon(mu * (1.0 + 1e-14), delta), exact=False)
