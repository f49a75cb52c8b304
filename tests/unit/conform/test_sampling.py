"""Batches that differ from the promised sampling in one respect, and batches that follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from dpverify.conform import Promise
from dpverify.conform.records import Batches
from dpverify.conform.sampling import sampling_tests
from tests.for_each import for_each

Array = Any
BATCH = 16
ALPHA = 5e-5
POISSON = Promise(sigma=1.1, clip=0.7, divisor=BATCH, examples=200, batch=BATCH)
FIXED = replace(POISSON, sampling="batches", examples=208)
EPOCHS = replace(POISSON, sampling="epochs")
FULL = replace(POISSON, examples=BATCH)


def of_steps(draw: Callable[[int, np.random.Generator], Array]) -> Batches:
    """Return batches of which each is drawn independently."""
    return lambda n, steps, rng: (draw(n, rng) for _ in range(steps))


def of_epochs(size: int, *, drop_last: bool = False) -> Batches:
    """Return batches of permutations of the data."""

    def draw(n: int, rng: np.random.Generator) -> Iterator[Array]:
        while True:
            order = rng.permutation(n)
            yield from (
                order[i : i + size] for i in range(0, n - (size - 1) * drop_last, size)
            )

    return lambda n, steps, rng: islice(draw(n, rng), steps)


poisson = of_steps(lambda n, rng: np.flatnonzero(rng.random(n) < BATCH / n))
fixed = of_steps(lambda n, rng: rng.choice(n, BATCH, replace=False))
cut_at_26 = of_steps(lambda n, rng: np.flatnonzero(rng.random(n) < BATCH / n)[:26])
in_order = of_steps(lambda n, rng: np.arange(n))


def shares(data: Callable[[int], list[Array]]) -> Batches:
    """Return batches of which each of several ranks draws an equal share from its part of the data."""

    def draw(n: int, rng: np.random.Generator) -> Array:
        parts = data(n)
        return np.concatenate(
            [rng.choice(part, BATCH // len(parts), replace=False) for part in parts]
        )

    return of_steps(draw)


FAULTS: dict[str, tuple[Batches, Promise, list[str]]] = {
    "reshuffled epochs for fresh batches": (
        of_epochs(BATCH, drop_last=True), FIXED, ["common, at most 0", "common in 8 steps, none"]
    ),
    "reshuffled epochs of large data": (
        of_epochs(BATCH, drop_last=True), replace(FIXED, examples=60_000), ["common in 8 steps, none"]
    ),
    "epochs of smaller batches": (of_epochs(BATCH - 1), EPOCHS, ["batches"]),
    "epochs without their last batch": (of_epochs(BATCH, drop_last=True), EPOCHS, ["next epoch"]),
    "ranks share examples in turn": (
        shares(lambda n: [np.arange(0, n, 2), np.arange(1, n, 2)]), FIXED, ["parts of the data, every second example"]
    ),
    "ranks have blocks of examples": (
        shares(lambda n: np.array_split(np.arange(n), 4)),
        FIXED,
        ["parts of the data, the first half", "parts of the data, the first quarter"],
    ),
    "batches are cut at a size that is seldom": (cut_at_26, POISSON, ["large batches, beyond 0.42%"]),
}  # fmt: skip


@for_each("name", FAULTS)
def test_a_fault_is_found_in_the_tests_that_are_made_for_it(name: str) -> None:
    batches, promise, names = FAULTS[name]
    results = list(sampling_tests(batches, promise, ALPHA, 0))
    assert [test.name for test in results if not test.passed] == names


@for_each(
    ("batches", "promise"),
    [(poisson, POISSON), (fixed, FIXED), (of_epochs(BATCH), EPOCHS), (in_order, FULL)],
)
def test_batches_that_follow_the_promise_pass(
    batches: Batches, promise: Promise
) -> None:
    for seed in range(5):
        results = list(sampling_tests(batches, promise, ALPHA, seed))
        assert [test.name for test in results if not test.passed] == []
        assert sum(test.alpha for test in results) <= ALPHA * (1 + 1e-9)


def test_one_order_of_all_examples_is_a_fault_where_batches_are_smaller() -> None:
    first = of_steps(lambda n, rng: np.arange(BATCH))
    assert "seeds of batches" in {
        test.name for test in sampling_tests(first, FIXED, ALPHA, 0) if not test.passed
    }
