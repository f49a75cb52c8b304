"""What a state remembers of a Poisson batch: its size is secret if neighbours differ by one example."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpverify.conform import PrivateOptimizer, Promise, Release, Statistic
from dpverify.conform.guard import GuardedOptimizer
from dpverify.conform.state import state_tests
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


def remembers_size(size: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    return len(g), dp_sgd(None, g, rng)[1] + 1e-3 * size


@for_each(
    ("promised", "passed"),
    [(PROMISE, False), (promise(sampling="batches", neighbours="replace-one"), True)],
)
def test_a_state_that_remembers_the_size_of_a_poisson_batch_is_a_fault(
    promised: Promise, passed: bool
) -> None:
    (test,) = state_tests(
        PrivateOptimizer(remembers_size, start=lambda: BATCH), promised, 0
    )
    assert test.is_tested
    assert test.passed == passed


@for_each("is_drawn", [True, False])
def test_a_clip_length_by_a_count_over_the_drawn_size_is_a_fault(
    is_drawn: bool,
) -> None:
    """The same count over the expected size is right."""
    promised = promise(
        adaptive_clip=True, statistic=Statistic(sensitivity=0.5, deviation=10.0)
    )

    def step(length: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Release]:
        noise = SIGMA * length * rng.standard_normal(g.shape[1])
        count = (
            np.sum((np.linalg.norm(g, axis=1) <= length) - 0.5)
            + 10.0 * rng.standard_normal()
        )
        following = length * np.exp(
            -0.2 * count / (max(1, len(g)) if is_drawn else BATCH)
        )
        return following, Release(
            (clipped(g, length).sum(axis=0) + noise) / BATCH, length, count
        )

    guarded = GuardedOptimizer(PrivateOptimizer(step, start=lambda: CLIP), promised)
    (test,) = state_tests(guarded.optimizer, promised, 0)
    assert test.is_tested
    assert test.passed != is_drawn
