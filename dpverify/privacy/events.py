"""Gaussian steps from numbers, or from events of dp-accounting."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from dpverify.kernels import check
from dpverify.privacy.batches import MOST_STEPS, BatchSteps

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
