"""Data sets of several sizes: what is tried, and the smallest faults that are declared."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpverify.conform.training.runs import DecodedRun, RunPool
from dpverify.conform.training.sizes import (
    _empty_test,
    _rate_test,
    few_records,
    largest_size,
    record_sizes,
)
from tests.for_each import for_each
from tests.unit.conform.training.catalogue import (
    BATCH,
    CLIP,
    FIXED,
    PROMISE,
    SIGMA,
    STEPS,
    N,
)

RATE = BATCH / N
ALPHA = 1e-5
RUNS = 100


def pool_with(
    rate: float, records: int, seed: int, *, redrawn: bool = False, quiet: bool = False
) -> RunPool:
    """Draw a pool of Poisson samples with a rate; ``quiet``: updates of empty batches have half of the noise."""
    rng = np.random.default_rng(seed)
    members = rng.random((RUNS, STEPS, records)) < rate
    while redrawn and not members.any(axis=2).all():
        empty = ~members.any(axis=2)
        members[empty] = rng.random((int(empty.sum()), records)) < rate
    noise = SIGMA * CLIP / BATCH * rng.standard_normal((RUNS, STEPS, 10))
    if quiet:
        noise[~members.any(axis=2)] *= 0.5
    runs = [
        DecodedRun(number, part, chosen.astype(float), STEPS)
        for number, (part, chosen) in enumerate(zip(noise, members, strict=True))
    ]
    return RunPool(records, runs)


def declared(test: Any) -> float:
    """The part of the rate that a test declares to detect."""
    words: str = test.sees
    return float(words.partition("a rate that is ")[2].partition("%")[0]) / 100


@for_each("seed", range(5))
@for_each("sign", [-1, 1])
def test_a_rate_that_is_wrong_by_the_declared_part_is_found(
    seed: int, sign: int
) -> None:
    right = _rate_test(pool_with(RATE, N, seed), PROMISE, ALPHA)
    assert right.passed
    part = declared(right)
    assert part < 0.12
    assert not _rate_test(
        pool_with(RATE * (1 + sign * part), N, seed), PROMISE, ALPHA
    ).passed


def test_empty_batches_that_are_drawn_again_or_have_less_noise_are_found() -> None:
    few = few_records(PROMISE)
    assert _empty_test(pool_with(RATE, few, 0), PROMISE, ALPHA).passed
    redrawn = _empty_test(pool_with(RATE, few, 0, redrawn=True), PROMISE, ALPHA)
    assert not redrawn.passed
    assert "0 of 800 batches" in redrawn.found
    quiet = _empty_test(pool_with(RATE, few, 0, quiet=True), PROMISE, ALPHA)
    assert not quiet.passed
    assert "their updates have noise 0.4997" in quiet.found


def test_sizes_lie_on_both_sides_of_a_multiple_of_the_batch_size() -> None:
    assert record_sizes(PROMISE) == [N - 1, N, N + 1]
    assert largest_size(PROMISE) == N + 2
    assert few_records(PROMISE) == 8
    assert record_sizes(FIXED) == record_sizes(PROMISE)
