"""Select batch sizes, steps and sample sizes of the tests, and estimate their memory.

The batch sizes are sizes that the promised sampling draws. The steps are early, middle and late ones. In large
dimensions, fewer cases are tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from dpverify.conform.guard import copy_state
from dpverify.conform.promise import Promise
from dpverify.conform.records import PrivateOptimizer
from dpverify.kernels import check

MAX_SHORT_RUN = 24  # runs of at most this many steps are tested in every step
TESTED_FIRST_STEPS = 8  # tested steps at the start of a longer run
TESTED_LAST_STEPS = 4
TESTED_MIDDLE_STEPS = 8
MAX_TESTED_STEPS = 2000  # later steps are not tested
# total gradient entries up to the last tested
# step: in large dimensions that step is earlier
MAX_ENTRIES_OF_STEPS = 5 * 10**7
# consecutive steps whose noise is tested; a long
# run has three such windows: start, middle, end
WINDOW_STEPS = 8
# entries of a batch, 0.5 GB; larger Poisson samples are tested only up to batch + 1
MAX_BATCH_ENTRIES = 2**26
# if at most this many sizes lie between the 5% and
# 95% quantiles of Poisson sampling, all are tried
MAX_TYPICAL_SIZES = 24
FEW_TYPICAL_SIZES = 9  # number of sizes tried otherwise
# probability of a sample below the smallest, or above the largest, size tried (4 *
# batch is tried too)
TAIL_PROBABILITY = 1e-6


def batch_sizes(promise: Promise) -> list[int]:
    """Return batch sizes that the promised sampling draws, including 0 if batches can be empty."""
    batch = promise.batch
    examples = promise.examples
    if promise.sampling == "epochs":
        return sorted({batch, examples % batch} - {0})
    if promise.sampling == "batches" or batch == examples:
        return [batch]
    law = binom(examples, batch / examples)
    low = int(law.ppf(0.05))
    high = int(law.ppf(0.95))
    typical = np.linspace(
        low,
        high,
        high - low + 1 if high - low < MAX_TYPICAL_SIZES else FEW_TYPICAL_SIZES,
    )
    tails = [law.ppf(TAIL_PROBABILITY), law.isf(TAIL_PROBABILITY), 4 * batch]
    sizes = {
        int(size) for size in [0, 1, 2, batch - 1, batch, batch + 1, *typical, *tails]
    }
    largest = max(batch + 1, MAX_BATCH_ENTRIES // promise.dimension)
    return sorted({min(max(size, 0), examples) for size in sizes if size <= largest})


def noise_batch_sizes(promise: Promise) -> list[int]:
    """Return the batch sizes whose noise is tested in whole runs: the promised, the smallest and the largest size."""
    sizes = batch_sizes(promise)
    return sorted({min(max(sizes[0], 1), promise.batch), promise.batch, sizes[-1]})


def tested_steps(promise: Promise) -> list[int]:
    """Return the steps that are tested, counted from 0."""
    affordable = MAX_ENTRIES_OF_STEPS // (promise.batch * promise.dimension)
    end = min(promise.steps, MAX_TESTED_STEPS, max(affordable, TESTED_FIRST_STEPS))
    if end <= MAX_SHORT_RUN:
        return list(range(end))
    middle = (
        np.linspace(
            TESTED_FIRST_STEPS, end - TESTED_LAST_STEPS, TESTED_MIDDLE_STEPS + 2
        )
        .astype(int)
        .tolist()
    )
    return sorted(
        {*range(TESTED_FIRST_STEPS), *middle, *range(end - TESTED_LAST_STEPS, end)}
    )


def representative_steps(promise: Promise) -> list[int]:
    """Return the first, an early, a middle and the last tested step."""
    last_step = tested_steps(promise)[-1]
    return sorted({0, min(2, last_step), last_step // 2, last_step})


def states_before(
    optimizer: PrivateOptimizer,
    steps: Sequence[int],
    gradients: Any,
    seed: Sequence[int],
) -> Iterator[tuple[int, Any]]:
    """Run the optimizer with the same gradients in each step; yield each of ``steps`` and a copy of its prior state."""
    rng = np.random.default_rng(seed)
    state = optimizer.start()
    completed_steps = 0
    for step in steps:
        for _ in range(completed_steps, step):
            state, _ = optimizer.step(state, gradients.copy(), rng)
        completed_steps = step
        yield step, copy_state(state)


def format_ranges(numbers: Sequence[int]) -> str:
    """Format sorted integers; three or more consecutive integers become a range."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    texts = (
        ", ".join(map(str, part)) if len(part) < 3 else f"{part[0]} to {part[-1]}"
        for part in parts
    )
    return ", ".join(texts)


def steps_and_sizes_text(
    promise: Promise, steps: Sequence[int], sizes: Sequence[int]
) -> str:
    """Return a text that lists the tested steps and batch sizes."""
    total = f" of {promise.steps}" if len(steps) < promise.steps else ""
    return f"steps {format_ranges([step + 1 for step in steps])}{total}, batches of {format_ranges(sizes)}"


# of noise in one array, 268 MB; exceeded only if MIN_RUNS runs need more
MAX_NOISE_NUMBERS = 2**25
# work budget of all tests, about 15 s of numpy; unit: one pass over one number
MIN_WORK = 1.5e9
WORK_PER_ROOT = 6e6  # budget in large dimensions, per square root of the dimension
NOISE_WORK = 3  # work of drawing one number of noise
RUNS_SHARE = 0.2  # fractions of the budget: whole runs with gradients of 0
SAMPLES_SHARE = 0.2  # noise at nonzero gradients
SEARCH_SHARE = 0.3  # sensitivity search
STATE_SHARE = 0.2
# arrays as large as the largest batch: the batch,
# its copy, and temporaries of the optimizer
BATCH_ARRAYS = 4
# arrays as large as the noise of all runs: the noise, a copy, and temporaries of a test
NOISE_ARRAYS = 3
STEP_VECTORS = 64  # further vectors of the released dimension
MIN_RUNS = 2  # fewest runs that have a mean and a variance


def affordable_steps(share: float, promise: Promise, batch_entries: float) -> int:
    """Return how many steps a fraction of the work budget allows, at least 1; a batch has ``batch_entries`` entries."""
    work = max(MIN_WORK, WORK_PER_ROOT * promise.dimension**0.5)
    return max(
        1, int(share * work / (batch_entries + NOISE_WORK * promise.released_dimension))
    )


def noise_steps_per_run(promise: Promise) -> int:
    """Return in how many steps of a run the noise is tested: all steps of a short run, three windows of a long one."""
    end = tested_steps(promise)[-1] + 1
    if promise.covariance is not None:
        return promise.steps
    return end if end <= MAX_SHORT_RUN else 3 * WINDOW_STEPS


def noise_run_count(promise: Promise, size: int, requested: int) -> int:
    """Return how many whole runs with batches of this size the memory and work limits allow, at most ``requested``."""
    steps = noise_steps_per_run(promise)
    runs_in_memory = MAX_NOISE_NUMBERS // (steps * promise.released_dimension)
    affordable_runs = (
        affordable_steps(RUNS_SHARE / 3, promise, size * promise.dimension) // steps
    )
    return min(requested, max(MIN_RUNS, min(runs_in_memory, affordable_runs)))


def check_memory(promise: Promise, outputs: int = 0) -> None:
    """Raise an error, before anything is drawn, if the tests of a promise do not fit in the memory of this machine."""
    d = promise.released_dimension
    runs = max(MAX_NOISE_NUMBERS, MIN_RUNS * noise_steps_per_run(promise) * d)
    floats = (
        BATCH_ARRAYS * max(batch_sizes(promise)) * promise.dimension
        + NOISE_ARRAYS * min(runs, 600 * noise_steps_per_run(promise) * d)
        + STEP_VECTORS * d
        + BATCH_ARRAYS * (promise.examples + promise.steps * promise.batch)
        + 4 * outputs * 2 * d
    )
    sizes = {
        "dimension": promise.dimension,
        "batch": promise.batch,
        "steps": promise.steps,
    }
    check.memory(
        floats,
        **sizes,
        examples=promise.examples,
        **({"outputs": outputs} if outputs else {}),
    )
