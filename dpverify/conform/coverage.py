"""Select batch sizes, steps and sample sizes of the tests, and estimate their memory.

The batch sizes are sizes that the promised sampling draws. The steps are early, middle and late ones. In large
dimensions, fewer cases are tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from dpverify.conform.guarded import copied
from dpverify.conform.promise import Promise
from dpverify.conform.records import PrivateOptimizer
from dpverify.kernels import check

ALL_STEPS = 24  # runs of at most this many steps are tested in every step
FIRST_STEPS = 8  # tested steps at the start of a longer run
LAST_STEPS = 4
MIDDLE_STEPS = 8
MOST_STEPS = 2000  # later steps are not tested
# total gradient entries up to the last tested
# step: in large dimensions that step is earlier
MOST_WALKED = 5 * 10**7
# consecutive steps whose noise is tested; a long
# run has three such windows: start, middle, end
WINDOW = 8
# entries of a batch, 0.5 GB; larger Poisson samples are tested only up to batch + 1
MOST_GRADIENTS = 2**26
# if at most this many sizes lie between the 5% and
# 95% quantiles of Poisson sampling, all are tried
TYPICAL = 24
FEW_TYPICAL = 9  # number of sizes tried otherwise
# probability of a sample below the smallest, or above the largest, size tried (4 *
# batch is tried too)
TAIL = 1e-6


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
        low, high, high - low + 1 if high - low < TYPICAL else FEW_TYPICAL
    )
    tails = [law.ppf(TAIL), law.isf(TAIL), 4 * batch]
    sizes = {
        int(size) for size in [0, 1, 2, batch - 1, batch, batch + 1, *typical, *tails]
    }
    largest = max(batch + 1, MOST_GRADIENTS // promise.dimension)
    return sorted({min(max(size, 0), examples) for size in sizes if size <= largest})


def noise_sizes(promise: Promise) -> list[int]:
    """Return the batch sizes whose noise is tested in whole runs: the promised, the smallest and the largest size."""
    sizes = batch_sizes(promise)
    return sorted({min(max(sizes[0], 1), promise.batch), promise.batch, sizes[-1]})


def tested_steps(promise: Promise) -> list[int]:
    """Return the steps that are tested, counted from 0."""
    walked = MOST_WALKED // (promise.batch * promise.dimension)
    last = min(promise.steps, MOST_STEPS, max(walked, FIRST_STEPS))
    if last <= ALL_STEPS:
        return list(range(last))
    middle = (
        np.linspace(FIRST_STEPS, last - LAST_STEPS, MIDDLE_STEPS + 2)
        .astype(int)
        .tolist()
    )
    return sorted({*range(FIRST_STEPS), *middle, *range(last - LAST_STEPS, last)})


def few_steps(promise: Promise) -> list[int]:
    """Return the first, an early, a middle and the last tested step."""
    last = tested_steps(promise)[-1]
    return sorted({0, min(2, last), last // 2, last})


def states_before(
    optimizer: PrivateOptimizer,
    steps: Sequence[int],
    gradients: Any,
    seed: Sequence[int],
) -> Iterator[tuple[int, Any]]:
    """Run the optimizer with the same gradients in each step; yield each of ``steps`` and a copy of its prior state."""
    rng = np.random.default_rng(seed)
    state = optimizer.start()
    done = 0
    for step in steps:
        for _ in range(done, step):
            state, _ = optimizer.step(state, gradients.copy(), rng)
        done = step
        yield step, copied(state)


def ranges(numbers: Sequence[int]) -> str:
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


def steps_and_sizes(
    promise: Promise, steps: Sequence[int], sizes: Sequence[int]
) -> str:
    """Return a text that lists the tested steps and batch sizes."""
    of = f" of {promise.steps}" if len(steps) < promise.steps else ""
    return (
        f"steps {ranges([step + 1 for step in steps])}{of}, batches of {ranges(sizes)}"
    )


# of noise in one array, 268 MB; exceeded only if SHORTEST runs need more
MOST_NUMBERS = 2**25
# work budget of all tests, about 15 s of numpy; unit: one pass over one number
LEAST_WORK = 1.5e9
WORK_PER_ROOT = 6e6  # budget in large dimensions, per square root of the dimension
NOISE_WORK = 3  # work of drawing one number of noise
RUNS = 0.2  # fractions of the budget: whole runs with gradients of 0
SAMPLES = 0.2  # noise at nonzero gradients
SEARCH = 0.3  # sensitivity search
STATE = 0.2
# arrays as large as the largest batch: the batch,
# its copy, and temporaries of the optimizer
ARRAYS = 4
# arrays as large as the noise of all runs: the noise, a copy, and temporaries of a test
NOISE_ARRAYS = 3
STEP_VECTORS = 64  # further vectors of the released dimension
SHORTEST = 2  # fewest runs that have a mean and a variance


def affordable(share: float, promise: Promise, numbers: float) -> int:
    """Return how many steps a fraction of the work budget allows, at least 1; a batch has ``numbers`` entries."""
    work = max(LEAST_WORK, WORK_PER_ROOT * promise.dimension**0.5)
    return max(
        1, int(share * work / (numbers + NOISE_WORK * promise.released_dimension))
    )


def steps_of_runs(promise: Promise) -> int:
    """Return in how many steps of a run the noise is tested: all steps of a short run, three windows of a long one."""
    last = tested_steps(promise)[-1] + 1
    if promise.covariance is not None:
        return promise.steps
    return last if last <= ALL_STEPS else 3 * WINDOW


def noise_runs(promise: Promise, size: int, requested: int) -> int:
    """Return how many whole runs with batches of this size the memory and work limits allow, at most ``requested``."""
    steps = steps_of_runs(promise)
    fit = MOST_NUMBERS // (steps * promise.released_dimension)
    paid = affordable(RUNS / 3, promise, size * promise.dimension) // steps
    return min(requested, max(SHORTEST, min(fit, paid)))


def check_memory(promise: Promise, outputs: int = 0) -> None:
    """Raise an error, before anything is drawn, if the tests of a promise do not fit in the memory of this machine."""
    d = promise.released_dimension
    runs = max(MOST_NUMBERS, SHORTEST * steps_of_runs(promise) * d)
    floats = (
        ARRAYS * max(batch_sizes(promise)) * promise.dimension
        + NOISE_ARRAYS * min(runs, 600 * steps_of_runs(promise) * d)
        + STEP_VECTORS * d
        + ARRAYS * (promise.examples + promise.steps * promise.batch)
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
