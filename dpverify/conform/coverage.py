"""What the tests try, how much they draw in large dimensions, and the memory that this takes.

They try batch sizes that the promised sampling draws, and early, middle and late steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from dpverify.conform.guarded import copied
from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.kernels import check

ALL_STEPS = 24  # a run of at most so many steps is tested in each of them
FIRST_STEPS = 8  # of a longer run
LAST_STEPS = 4
MIDDLE_STEPS = 8
MOST_STEPS = 2000  # the tests look at no later step
MOST_WALKED = 5 * 10**7  # numbers of gradients on the way to the last step: in large dimensions it is an earlier one
WINDOW = 8  # steps in a row whose noise is tested: of a long run the first, some in the middle and the last ones
MOST_GRADIENTS = 2**26  # numbers in a batch, 0.5 GB: larger Poisson samples than the promised size are left out
TYPICAL = 24  # sizes of Poisson samples between their 5% and 95% quantiles, up to so many of which all are tried
FEW_TYPICAL = 9  # are tried if there are more
TAIL = 1e-6  # chance of smaller and of larger samples than are tried, besides those of four times the promised size


def batch_sizes(promise: Promise) -> list[int]:
    """Return batch sizes that the promised sampling draws, 0 among them if batches can be empty."""
    batch = promise.batch
    examples = promise.examples
    if promise.sampling == "epochs":
        return sorted({batch, examples % batch} - {0})
    if promise.sampling == "batches" or batch == examples:
        return [batch]
    law = binom(examples, batch / examples)
    low = int(law.ppf(0.05))
    high = int(law.ppf(0.95))
    typical = np.linspace(low, high, high - low + 1 if high - low < TYPICAL else FEW_TYPICAL)
    tails = [law.ppf(TAIL), law.isf(TAIL), 4 * batch]
    sizes = {int(size) for size in [0, 1, 2, batch - 1, batch, batch + 1, *typical, *tails]}
    largest = max(batch + 1, MOST_GRADIENTS // promise.dimension)
    return sorted({min(max(size, 0), examples) for size in sizes if size <= largest})


def noise_sizes(promise: Promise) -> list[int]:
    """Return the batch sizes whose noise is tested in whole runs: the usual one and the smallest and largest."""
    sizes = batch_sizes(promise)
    return sorted({min(max(sizes[0], 1), promise.batch), promise.batch, sizes[-1]})


def tested_steps(promise: Promise) -> list[int]:
    """Return the steps that are tested, counted from 0."""
    walked = MOST_WALKED // (promise.batch * promise.dimension)
    last = min(promise.steps, MOST_STEPS, max(walked, FIRST_STEPS))
    if last <= ALL_STEPS:
        return list(range(last))
    middle = np.linspace(FIRST_STEPS, last - LAST_STEPS, MIDDLE_STEPS + 2).astype(int).tolist()
    return sorted({*range(FIRST_STEPS), *middle, *range(last - LAST_STEPS, last)})


def few_steps(promise: Promise) -> list[int]:
    """Return an early, a middle and the last of the tested steps, and the first one."""
    last = tested_steps(promise)[-1]
    return sorted({0, min(2, last), last // 2, last})


def states_before(
    optimizer: PrivateOptimizer, steps: Sequence[int], gradients: Any, seed: Sequence[int]
) -> Iterator[tuple[int, Any]]:
    """Walk with the same gradients in each step; yield a copy of the state before each of some steps."""
    rng = np.random.default_rng(seed)
    state = optimizer.start()
    done = 0
    for step in steps:
        for _ in range(done, step):
            state, _ = optimizer.step(state, gradients.copy(), rng)
        done = step
        yield step, copied(state)


def ranges(numbers: Sequence[int]) -> str:
    """Write sorted whole numbers, those that follow each other as one range."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    texts = (", ".join(map(str, part)) if len(part) < 3 else f"{part[0]} to {part[-1]}" for part in parts)
    return ", ".join(texts)


def steps_and_sizes(promise: Promise, steps: Sequence[int], sizes: Sequence[int]) -> str:
    """Say which steps and batch sizes were tested."""
    of = f" of {promise.steps}" if len(steps) < promise.steps else ""
    return f"steps {ranges([step + 1 for step in steps])}{of}, batches of {ranges(sizes)}"


MOST_NUMBERS = 2**25  # of noise in one array, 268 MB; a run of few steps is kept whole, however long its vectors are
LEAST_WORK = 1.5e9  # what all tests together may take, about 15 s of numpy; the unit is a pass over one number
WORK_PER_ROOT = 6e6  # in large dimensions, times the root of the dimension
NOISE_WORK = 3  # of drawing one number of noise
RUNS = 0.2  # shares of the work: whole runs at gradients of 0
SAMPLES = 0.2  # noise at other gradients
SEARCH = 0.3  # what one example changes
STATE = 0.2
ARRAYS = 4  # of the largest batch: it, its copy, and what an optimizer makes of it
NOISE_ARRAYS = 3  # as large as all runs: their noise, a copy, and what a test makes of it
STEP_VECTORS = 64  # vectors of the dimension that the tests hold besides
SHORTEST = 2  # runs, which their means and variances need


def affordable(share: float, promise: Promise, numbers: float) -> int:
    """Return how many steps a share of the work allows, with so many numbers in a batch; at least 1."""
    work = max(LEAST_WORK, WORK_PER_ROOT * promise.dimension**0.5)
    return max(1, int(share * work / (numbers + NOISE_WORK * promise.released_dimension)))


def steps_of_runs(promise: Promise) -> int:
    """Return how many steps of a run have their noise tested: all of a short one, parts of a long one."""
    last = tested_steps(promise)[-1] + 1
    if promise.covariance is not None:
        return promise.steps
    return last if last <= ALL_STEPS else 3 * WINDOW


def noise_runs(promise: Promise, size: int, requested: int) -> int:
    """Return how many whole runs with batches of this size can be kept and paid for, at most ``requested``."""
    steps = steps_of_runs(promise)
    fit = MOST_NUMBERS // (steps * promise.released_dimension)
    paid = affordable(RUNS / 3, promise, size * promise.dimension) // steps
    return min(requested, max(SHORTEST, min(fit, paid)))


def check_memory(promise: Promise, outputs: int = 0) -> None:
    """Refuse a promise whose tests do not fit in the memory of this machine, before anything is drawn."""
    d = promise.released_dimension
    runs = max(MOST_NUMBERS, SHORTEST * steps_of_runs(promise) * d)
    floats = (
        ARRAYS * max(batch_sizes(promise)) * promise.dimension
        + NOISE_ARRAYS * min(runs, 600 * steps_of_runs(promise) * d)
        + STEP_VECTORS * d
        + ARRAYS * (promise.examples + promise.steps * promise.batch)
        + 4 * outputs * 2 * d
    )
    sizes = {"dimension": promise.dimension, "batch": promise.batch, "steps": promise.steps}
    check.memory(floats, **sizes, examples=promise.examples, **({"outputs": outputs} if outputs else {}))
