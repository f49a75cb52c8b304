"""What the tests try: batch sizes that the promised sampling draws, and early, middle and late steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from dpverify.conform.guarded import copied
from dpverify.conform.records import PrivateOptimizer, Promise

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
