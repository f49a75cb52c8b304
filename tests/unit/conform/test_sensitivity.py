"""The search for what one example changes: a release that is no number is a change without bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise
from dpverify.conform.rounding import round_to
from dpverify.conform.sensitivity import sensitivity_tests
from tests.for_each import for_each
from tests.unit.conform.catalogue import (
    BATCH,
    CLIP,
    PROMISE,
    SIGMA,
    Array,
    clipped,
    dp_sgd,
    promise,
)


@for_each("value", [np.nan, np.inf])
def test_a_release_that_is_not_finite_for_one_kind_of_batch_alone_is_a_fault(
    value: float,
) -> None:
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
def test_an_example_that_counts_more_in_one_place_of_the_batch_is_a_fault(
    place: int, fault: str
) -> None:
    def step(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        state, released = dp_sgd(state, g, rng)
        example = g[place : place + 1]
        more = (
            example - clipped(example)
            if fault == "not clipped"
            else 9.0 * clipped(example)
        )
        return state, released + more.sum(axis=0) / BATCH

    fixed = promise(sampling="batches", neighbours="replace-one")
    assert not next(sensitivity_tests(PrivateOptimizer(step), fixed, 0)).passed
    assert next(sensitivity_tests(PrivateOptimizer(dp_sgd), fixed, 0)).passed


@for_each("kind", [promise(), promise(sampling="batches", neighbours="replace-one")])
@for_each("share", [0.25, 0.5, 0.75])
def test_a_clip_length_that_is_a_quantile_of_the_batch_is_a_fault(
    share: float, kind: Promise
) -> None:
    """One example moves the quantile from the short others to the long ones, and all of these change."""

    def step(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        lengths = np.linalg.norm(g, axis=1, keepdims=True)
        shorter = min(CLIP, np.quantile(lengths, share)) if len(g) else CLIP
        return dp_sgd(
            state, g * np.minimum(1.0, shorter / np.maximum(lengths, 1e-12)), rng
        )

    result = next(sensitivity_tests(PrivateOptimizer(step), kind, 0))
    assert not result.passed
    assert "the rest long" in result.found


UNCLIPPED: dict[str, Callable[[Array, Array], Array]] = {
    "up to 1.03 clip lengths": lambda g, norms: norms < 1.03 * CLIP,
    "up to 1.3 clip lengths": lambda g, norms: norms < 1.3 * CLIP,
    "between 2 and 4 clip lengths": lambda g, norms: (
        (norms > 2 * CLIP) & (norms < 4 * CLIP)
    ),
    "no large positive coordinate": lambda g, norms: (
        g.max(axis=1, keepdims=True) < CLIP / np.sqrt(g.shape[1])
    ),
    "the first coordinate is negative": lambda g, norms: g[:, :1] < 0,
    "all coordinates are negative": lambda g, norms: (g < 0).all(axis=1, keepdims=True),
}
TWIN = "the norm is at most the clip length"


@for_each("dtype", ["float64", "float32", "bfloat16"])
@for_each("name", [*UNCLIPPED, TWIN])
def test_gradients_that_are_not_clipped_are_found_by_length_and_sign(
    name: str, dtype: Any
) -> None:
    is_unclipped = UNCLIPPED.get(name, lambda g, norms: norms <= CLIP)

    def step(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        norms = np.linalg.norm(g, axis=1, keepdims=True)
        kept: Array = np.where(is_unclipped(g, norms), g, clipped(g)) if len(g) else g
        return state, round_to(
            (kept.sum(axis=0) + SIGMA * CLIP * rng.standard_normal(g.shape[1])) / BATCH,
            dtype,
        )

    assert next(
        sensitivity_tests(PrivateOptimizer(step), promise(dtype=dtype), 0)
    ).passed == (name == TWIN)


def test_a_clip_factor_of_squared_norms_is_a_fault() -> None:
    def step(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        factors = np.minimum(
            1.0, CLIP / np.maximum((g * g).sum(axis=1, keepdims=True), 1e-12)
        )
        return state, (
            (g * factors).sum(axis=0) + SIGMA * CLIP * rng.standard_normal(g.shape[1])
        ) / BATCH

    assert not next(sensitivity_tests(PrivateOptimizer(step), PROMISE, 0)).passed
