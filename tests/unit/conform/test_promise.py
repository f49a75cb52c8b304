"""A promise from an event of dp-accounting, and the fixture for pytest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverify.conform import PrivateOptimizer, Promise
from tests.for_each import for_each


def event(name: str, **fields: Any) -> Any:
    """What dp-accounting's class of this name holds."""
    return type(name, (), fields)()


def sampled(rate: float, sigma: float = 1.1) -> Any:
    inner = event("GaussianDpEvent", noise_multiplier=sigma)
    one = event("PoissonSampledDpEvent", sampling_probability=rate, event=inner)
    return event("SelfComposedDpEvent", event=one, count=500)


def test_an_event_says_sampling_and_noise() -> None:
    promise = Promise.of_event(sampled(1 / 13), clip=2.0, divisor=16)
    assert (promise.sampling, promise.sigma, promise.clip, promise.divisor) == (
        "poisson",
        1.1,
        2.0,
        16,
    )
    assert (promise.examples, promise.batch) == (65, 5)
    whole = Promise.of_event(event("GaussianDpEvent", noise_multiplier=3.0), clip=1.0)
    assert (whole.examples, whole.batch) == (64, 64)
    assert Promise.of_event(sampled(0.05), clip=1.0, examples=200).batch == 10


@for_each(
    ("given", "message"),
    [
        (sampled(0.05), "must be an integer, got rate=0.05, examples=7"),
        (
            event("ComposedDpEvent", events=[sampled(0.1), sampled(0.2)]),
            "one kind, got 2",
        ),
        (event("NoOpDpEvent"), "one kind, got 0"),
        (event("LaplaceDpEvent", noise_multiplier=1.0), "LaplaceDpEvent"),
    ],
)
def test_other_events_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Promise.of_event(given, clip=1.0, examples=7)


def optimizer(scale: float) -> PrivateOptimizer:
    def step(state: Any, gradients: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients * np.minimum(1, 1 / np.maximum(norms, 1e-12))).sum(axis=0)
        return state, (total + scale * rng.standard_normal(total.shape)) / 8

    return PrivateOptimizer(step)


def promise_of(sigma: float) -> Promise:
    return Promise(sigma=sigma, clip=1.0, divisor=8)


def test_the_fixture_passes_what_conforms_and_names_the_fault(
    assert_conforms: Callable[..., Any],
) -> None:
    promise = promise_of(2.0)
    assert assert_conforms(optimizer(2.0), promise, seed=1)
    with pytest.raises(pytest.fail.Exception, match="FAULT  scale of noise"):
        assert_conforms(optimizer(1.5), promise)
