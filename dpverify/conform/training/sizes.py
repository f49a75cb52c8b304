"""Test what a training reveals about the number of records, with data sets of several sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import binom

from dpverify.conform.coverage import format_ranges
from dpverify.conform.noise import scale_test
from dpverify.conform.promise import Promise
from dpverify.conform.records import ConformanceTest
from dpverify.conform.training.runs import RunPool, Runs, pool_of

# runs of each size near the promised one; few
# suffice, since steps and divisor are exact
NEAR_RUNS = 2
# expected batch size of the smallest data set, so that many batches are empty
SMALL_BATCH = 1
ROUNDING = 1e-4  # relative tolerance, as in the sensitivity tests
PUBLIC_TEXT = "with these neighbours the number of records is public"


def record_sizes(promise: Promise) -> list[int]:
    """Return sizes near the promised one and near a multiple of the batch size."""
    multiple = max(1, round(promise.examples / promise.batch)) * promise.batch
    sizes = {
        size + change for size in (promise.examples, multiple) for change in (-1, 0, 1)
    }
    return sorted(size for size in sizes if size >= 2)


def few_records(promise: Promise) -> int:
    """Return the size of a data set whose batches are often empty."""
    return max(2, round(SMALL_BATCH * promise.examples / promise.batch))


def largest_size(promise: Promise) -> int:
    """Return the largest data set that the tests build, as an even number."""
    size = record_sizes(promise)[-1]
    return size + size % 2


def is_size_secret(promise: Promise) -> bool:
    """Test whether data sets that differ in size by one record are neighbours."""
    return promise.neighbours == "add-remove" and promise.sampling == "poisson"


def size_tests(
    runs: Runs, promise: Promise, pool: RunPool, dimension: int, alpha: float, seed: int
) -> Iterator[ConformanceTest]:
    """Compare steps, divisor, rate and noise of data sets of several sizes at total level ``alpha``."""
    if not is_size_secret(promise):
        neighbour_pool = pool_of(
            runs, promise, promise.examples - 1, dimension, seed, NEAR_RUNS
        )
        finding = f"{_divisor_text(pool, promise)}; {_divisor_text(neighbour_pool, promise)}; {PUBLIC_TEXT}"
        yield ConformanceTest(
            "number of records", True, finding, "nothing: differences are only stated"
        )
        return
    half_size = promise.examples // 2
    small_size = few_records(promise)
    near_sizes = [
        size
        for size in record_sizes(promise)
        if size not in (promise.examples, half_size, small_size)
    ]
    run_count = len(pool.runs)
    pools = [
        pool,
        *(
            pool_of(runs, promise, size, dimension, seed, NEAR_RUNS)
            for size in near_sizes
        ),
    ]
    distant_pools = [
        pool_of(runs, promise, size, dimension, seed, run_count)
        for size in sorted({half_size, small_size})
    ]
    yield _steps_test([*pools, *distant_pools], promise)
    yield _divisor_test([*pools, *distant_pools], promise)
    level = alpha / (2 * len(distant_pools) + 3)
    distant_pools = [
        sized_pool for sized_pool in distant_pools if sized_pool.fewest_steps
    ]
    for sized_pool in [pool, *distant_pools]:
        yield _rate_test(sized_pool, promise, level)
    for sized_pool in distant_pools:
        name = f"number of records and noise, {sized_pool.records} records"
        yield scale_test(
            name, sized_pool.noise(sized_pool.fewest_steps) / promise.deviation, level
        )
    if distant_pools:
        yield _empty_test(distant_pools[0], promise, 2 * level)


def divisor_of(pool: RunPool, promise: Promise) -> float:
    """Return the divisor of the sum of gradients, measured from the contributions."""
    shares = pool.shares
    return promise.divisor / float(np.median(shares)) if len(shares) else math.inf


def _divisor_text(pool: RunPool, promise: Promise) -> str:
    return f"{pool.records} records: {format_ranges(pool.step_counts)} updates, divisor {divisor_of(pool, promise):.6g}"


def _steps_test(pools: Sequence[RunPool], promise: Promise) -> ConformanceTest:
    wrong_pools = [pool for pool in pools if pool.step_counts != [promise.steps]]
    finding = f"{promise.steps} updates with {_sizes_text(pools)} records"
    if wrong_pools:
        counts_text = ", ".join(
            f"{pool.records} records: {_step_counts_text(pool, promise)}"
            for pool in wrong_pools
        )
        finding = f"the number of updates depends on the data ({counts_text}; {promise.steps} promised), "
        finding += "and everybody sees it"
    sees = "a number of updates that depends on the number of records, or on the batches that are drawn"
    return ConformanceTest(
        "number of records and steps", not wrong_pools, finding, sees
    )


def steps_test(pool: RunPool, promise: Promise) -> ConformanceTest:
    """Test whether all runs have the promised number of updates."""
    is_promised = pool.step_counts == [promise.steps]
    finding = (
        _step_counts_text(pool, promise)
        if is_promised
        else f"{_step_counts_text(pool, promise)}; {promise.steps} are promised"
    )
    return ConformanceTest(
        "number of steps",
        is_promised,
        finding,
        "a number of updates that is not the promised one",
    )


def _step_counts_text(pool: RunPool, promise: Promise) -> str:
    """Return a text about the numbers of updates; runs are cut after one more than promised."""
    counts = [
        f"over {promise.steps}" if count > promise.steps else str(count)
        for count in pool.step_counts
    ]
    return " or ".join(counts) + " updates"


def _divisor_test(pools: Sequence[RunPool], promise: Promise) -> ConformanceTest:
    divisors = {pool.records: divisor_of(pool, promise) for pool in pools}
    first = divisors[pools[0].records]
    different_divisors = {
        records: value
        for records, value in divisors.items()
        if not math.isclose(value, first, rel_tol=ROUNDING)
    }
    finding = f"divisor {first:.6g} with {_sizes_text(pools)} records"
    if different_divisors:
        records = min(different_divisors, key=lambda size: abs(size - pools[0].records))
        finding = (
            f"a gradient is divided by {first:.6g} with {pools[0].records} records, "
            f"and by {different_divisors[records]:.6g}"
        )
        finding += f" with {records}: noise and gradients distinguish some data sets that differ in one record"
    sees = f"divisors of two of these sizes that differ by more than {ROUNDING:.2%}"
    return ConformanceTest(
        "number of records and divisor", not different_divisors, finding, sees
    )


def _rate_test(pool: RunPool, promise: Promise, alpha: float) -> ConformanceTest:
    members = pool.members(pool.fewest_steps)
    rate = promise.batch / promise.examples
    member_count = int(members.sum())
    low = int(binom.ppf(alpha / 2, members.size, rate))
    high = int(binom.isf(alpha / 2, members.size, rate))
    finding = f"a record is in {member_count / members.size:.5f} of the batches; {rate:.5f} promised"
    finding += f", {low / members.size:.5f} to {high / members.size:.5f} allowed"
    detected_error = (high - low) / members.size / rate  # width of the allowed interval
    sees = f"a rate that is {min(detected_error, 1.0):.1%} wrong, with probability 99%"
    name = f"number of records and rate, {pool.records} records"
    return ConformanceTest(name, low <= member_count <= high, finding, sees, alpha)


def _empty_test(pool: RunPool, promise: Promise, alpha: float) -> ConformanceTest:
    """Test whether as many batches are empty as promised, and whether their updates have the promised noise."""
    name = "empty batches"
    steps = pool.fewest_steps
    is_empty = ~pool.members(steps).any(axis=2)
    empty_count = int(is_empty.sum())
    probability = (1.0 - promise.batch / promise.examples) ** pool.records
    low = int(binom.ppf(alpha / 4, is_empty.size, probability))
    high = int(binom.isf(alpha / 4, is_empty.size, probability))
    text = f"{empty_count} of {is_empty.size} batches of {pool.records} records are empty, {low} to {high} allowed"
    sees = "empty batches that are dropped or drawn again"
    if not low <= empty_count <= high or not empty_count:
        return ConformanceTest(name, low <= empty_count <= high, text, sees, alpha)
    result = scale_test(
        name, pool.noise(steps)[is_empty] / promise.deviation, alpha / 2
    )
    finding = f"{text}; their updates have noise {result.found}"
    return replace(
        result, found=finding, sees=f"{sees}, and there {result.sees}", alpha=alpha
    )


def _sizes_text(pools: Sequence[Any]) -> str:
    return format_ranges(sorted({pool.records for pool in pools}))
