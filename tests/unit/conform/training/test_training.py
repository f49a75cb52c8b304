"""Trainings from Python: what they may yield, and what becomes of code that fails."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpverify as dv
from dpverify.conform import Conformance
from dpverify.conform.training import TrainingData
from tests.for_each import for_each
from tests.unit.conform.training.catalogue import (
    BATCH,
    CLIP,
    FIXED,
    PROMISE,
    SIGMA,
    STEPS,
    clipped,
    clipped_sum,
    normal,
    poisson,
    train,
)

COUNT = 50


def of(
    make: Callable[..., Any], promise: dv.Promise = PROMISE, **options: Any
) -> Conformance:
    return dv.conformance_of_training(make, promise, count=COUNT, **options)


def in_parts(data: TrainingData, seed: int) -> Iterator[Any]:
    """Yields the same list of arrays again and again, whose numbers it changes."""
    parts = [np.zeros(data.layers[0]), np.zeros((1, data.dimension - data.layers[0]))]
    for update in train(data, seed):
        parts[0][:] = update[: len(parts[0])]
        parts[1][:] = update[len(parts[0]) :]
        yield parts


def of_global_generators(data: TrainingData, seed: int) -> Iterator[Any]:
    del seed
    for step in range(STEPS):
        batch = np.array(
            [i for i in range(len(data)) if random.random() < BATCH / PROMISE.examples],
            dtype=int,
        )
        noise = np.random.normal(size=data.dimension)  # noqa: NPY002
        yield (clipped_sum(data, batch, step) + SIGMA * CLIP * noise) / BATCH


@for_each("make", [in_parts, of_global_generators])
def test_updates_in_parts_and_global_generators_are_supported(
    make: Callable[..., Any],
) -> None:
    result = of(make)
    assert result, str(result)


def without_end(data: TrainingData, seed: int) -> Iterator[Any]:
    rng = np.random.default_rng(seed)
    while True:
        (batch,) = poisson(len(data), rng, steps=1)
        yield (
            clipped_sum(data, batch, 0) + normal(rng, data.dimension, 0, batch)
        ) / BATCH


def test_a_training_without_an_end_has_a_wrong_number_of_steps() -> None:
    (steps, *_) = [
        test for test in of(without_end).failed if test.name == "number of steps"
    ]
    assert steps.found == "over 8 updates; 8 are promised"


def unseeded(data: TrainingData, seed: int) -> Iterator[Any]:
    del seed
    return train(data, int(np.random.default_rng().integers(2**31)))


def test_a_training_that_ignores_the_seed_is_a_fault_and_only_its_noise_is_tested() -> (
    None
):
    result = of(unseeded)
    assert [test.name for test in result.failed] == ["generator"]
    assert "only noise is tested" in result.failed[0].found
    assert [test.name for test in result.not_tested] == [
        "sensitivity",
        "number of records",
        "batches",
    ]


def not_finite(data: TrainingData, seed: int) -> Iterator[Any]:
    """The mean of an empty batch is not a number."""
    rng = np.random.default_rng(seed)
    for step, batch in enumerate(poisson(len(data), rng)):
        total = clipped_sum(data, batch, step) + normal(
            rng, data.dimension, step, batch
        )
        yield np.full(data.dimension, np.nan) if not len(batch) else total / BATCH


def test_updates_that_are_not_finite_are_a_fault() -> None:
    found = of(not_finite).failed
    assert found[-1].name == "finite numbers"
    assert "not finite; the first is update" in found[-1].found


def raising(data: TrainingData, seed: int) -> Iterator[Any]:
    for step, update in enumerate(train(data, seed)):
        if step == 3:
            raise SystemExit(0)
        yield update


def short(data: TrainingData, seed: int) -> Iterator[Any]:
    return (update[1:] for update in train(data, seed))


def nothing(data: TrainingData, seed: int) -> Any:
    del data, seed


@for_each(
    ("make", "message"),
    [
        (raising, "training raised SystemExit: 0"),
        (
            short,
            "training yields update 1 of 49 numbers; it must have at least 50 numbers, one per weight",
        ),
        (nothing, "training raised TypeError: 'NoneType' object is not iterable"),
    ],
)
def test_code_that_fails_is_a_fault(make: Callable[..., Any], message: str) -> None:
    found = of(make).failed[0]
    assert found.name == "calls in this training"
    assert message in found.found


def test_a_training_without_updates_is_a_fault() -> None:
    found = of(lambda data, seed: [])
    assert [test.name for test in found.failed] == ["number of steps"]
    assert found.failed[0].found == "0 updates; 8 are promised"


def hanging(data: TrainingData, seed: int) -> Iterator[Any]:
    yield next(train(data, seed))
    time.sleep(600)


def leaving(data: TrainingData, seed: int) -> Iterator[Any]:
    yield next(train(data, seed))
    os._exit(0)


@for_each(
    ("make", "message"),
    [
        (hanging, "training did not return within 2 s"),
        (leaving, "training ended its process with exit code 0"),
    ],
)
def test_a_training_that_does_not_return_is_a_fault(
    make: Callable[..., Any], message: str
) -> None:
    found = of(make, timeout=2.0).failed[-1]
    assert found.found == message


def test_a_limit_changes_nothing_for_a_training_that_returns() -> None:
    assert str(of(train, timeout=60.0)) == str(of(train))


@for_each(
    ("options", "message"),
    [
        ({"count": 49}, "count must be at least 50, got count=49"),
        ({"ranks": 5}, "ranks must be 1 to 4, got ranks=5"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"timeout": -1.0}, "timeout must be at least 0"),
        ({"promise": replace(PROMISE, examples=2001)}, "examples must be at most 2000"),
        (
            {"promise": replace(PROMISE, adaptive_clip=True)},
            "adaptive_clip must be False",
        ),
        (
            {"promise": replace(PROMISE, clip_schedule=[CLIP] * STEPS)},
            "clip_schedule must be None",
        ),
    ],
)
def test_options_outside_of_their_ranges_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        dv.conformance_of_training(train, **{"promise": PROMISE, **options})


def test_a_public_number_of_records_is_stated() -> None:
    def make(data: TrainingData, seed: int) -> Iterator[Any]:
        return train(data, seed, divisor=lambda n: n)

    promise = replace(FIXED, divisor=FIXED.examples, sampling="poisson")
    tests = {test.name: test for test in of(make, promise).tests}
    assert tests["number of records"].passed
    assert (
        "48 records: 8 updates, divisor 48; 47 records: 8 updates, divisor 47"
        in tests["number of records"].found
    )


@for_each("fault", ["up to 1.03 clip lengths", "all numbers are negative"])
def test_records_that_are_not_clipped_are_found_by_length_and_sign(fault: str) -> None:
    def total(data: TrainingData, batch: Any, step: int) -> Any:
        g = data.gradients(batch)
        norms = np.linalg.norm(g, axis=1, keepdims=True)
        is_unclipped = (
            norms < 1.03 * CLIP
            if fault.startswith("up")
            else (g < 0).all(axis=1, keepdims=True)
        )
        return clipped_sum(data, batch, step) + np.where(
            is_unclipped, g - clipped(g), 0.0
        ).sum(axis=0)

    failed = {
        test.name
        for test in of(lambda data, seed: train(data, seed, total=total)).failed
    }
    assert failed >= {
        "sensitivity, linear model",
        "sensitivity, sequence model",
        "sensitivity, convolution model",
    }
