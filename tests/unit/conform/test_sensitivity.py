"""The search for what one example changes: a release that is no number is a change without bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise
from dpverify.conform.sensitivity import sensitivity_tests
from tests.for_each import for_each
from tests.unit.conform.catalogue import BATCH, CLIP, PROMISE, Array, clipped, dp_sgd, promise


@for_each("value", [np.nan, np.inf])
def test_a_release_that_is_not_finite_for_one_kind_of_batch_alone_is_a_fault(value: float) -> None:
    """What a division by a length of 0 leaves: as many others as opposite ones, and a sum of exactly 0."""

    def step(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        state, released = dp_sgd(state, g, rng)
        return state, np.full_like(released, value) if len(g) == 3 else released

    sensitivity, every = sensitivity_tests(PrivateOptimizer(step), PROMISE, 0)
    assert not sensitivity.passed
    assert "what is released is not finite for some batches" in sensitivity.found
    assert every.passed


@for_each("place", [0, 3])
@for_each("fault", ["not clipped", "ten times the weight"])
def test_an_example_that_counts_more_in_one_place_of_the_batch_is_a_fault(place: int, fault: str) -> None:
    def step(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        state, released = dp_sgd(state, g, rng)
        example = g[place : place + 1]
        more = example - clipped(example) if fault == "not clipped" else 9.0 * clipped(example)
        return state, released + more.sum(axis=0) / BATCH

    fixed = promise(sampling="batches", neighbours="replace-one")
    assert not next(sensitivity_tests(PrivateOptimizer(step), fixed, 0)).passed
    assert next(sensitivity_tests(PrivateOptimizer(dp_sgd), fixed, 0)).passed


@for_each("kind", [promise(), promise(sampling="batches", neighbours="replace-one")])
@for_each("share", [0.25, 0.5, 0.75])
def test_a_clip_length_that_is_a_quantile_of_the_batch_is_a_fault(share: float, kind: Promise) -> None:
    """One example moves the quantile from the short others to the long ones, and all of these change."""

    def step(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        lengths = np.linalg.norm(g, axis=1, keepdims=True)
        shorter = min(CLIP, np.quantile(lengths, share)) if len(g) else CLIP
        return dp_sgd(state, g * np.minimum(1.0, shorter / np.maximum(lengths, 1e-12)), rng)

    result = next(sensitivity_tests(PrivateOptimizer(step), kind, 0))
    assert not result.passed
    assert "the rest long" in result.found
