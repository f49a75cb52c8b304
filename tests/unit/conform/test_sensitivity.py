"""The search for what one example changes: a release that is no number is a change without bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpverify.conform import PrivateOptimizer
from dpverify.conform.sensitivity import sensitivity_tests
from tests.for_each import for_each
from tests.unit.conform.catalogue import PROMISE, Array, dp_sgd


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
