"""The noise of whole runs whose gradients are 0, and batches at the ends of epochs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpverify.conform.noise.law import law_tests
from dpverify.conform.noise.runs import MEAN, SCALE, _mean, scale_test
from dpverify.conform.records import Promise
from dpverify.conform.results import ConformanceTest
from dpverify.conform.training.pool import RunPool

DIGITS = 4  # after the point, of noise that is compared: differences of weights are rounded
PARTS = 6  # kinds of tests that share the level


def noise_tests(pool: RunPool, promise: Promise, alpha: float) -> Iterator[ConformanceTest]:
    """Test the noise of all steps, in each coordinate and step; ``alpha`` for all tests together."""
    steps = min(pool.fewest_steps, promise.steps)
    noise = pool.noise(steps)
    x = noise / promise.deviation
    yield _fresh_test(noise, np.round(x, DIGITS))
    part = alpha / PARTS
    where = f"steps 1 to {steps}" if steps == promise.steps else f"steps 1 to {steps} of {promise.steps}"
    mean = _mean(x, part)
    scale = scale_test(SCALE, x, part, promise.dtype)
    if not scale.passed and scale_test(SCALE, x - x.mean(axis=0), part, promise.dtype).passed:
        scale = replace(scale, because=MEAN)
    elif not mean.passed and _mean(x / (x.std() or 1.0), part).passed:
        mean = replace(mean, because=SCALE)
    yield replace(scale, found=f"{scale.found}; {where}")
    yield mean
    because = MEAN if scale.because or scale.passed else SCALE
    centred = x - x.mean(axis=0)
    plain_noise = centred / (centred.std() or 1.0)  # what still fails now has another cause
    for result, plain in zip(law_tests(x, promise, part), law_tests(plain_noise, promise, part), strict=True):
        yield replace(result, because=because if plain.passed else "")


def _fresh_test(noise: Any, rounded: Any) -> ConformanceTest:
    """Whether an update comes back in another step or run, or some number never has noise."""
    updates = rounded.reshape(-1, rounded.shape[2])
    is_repeated = len(np.unique(updates, axis=0)) < len(updates)
    silent_numbers = np.flatnonzero(~noise.any(axis=(0, 1))) + 1
    silent_steps = np.flatnonzero(~noise.any(axis=(0, 2))) + 1
    finding = "no noise is used twice"
    if len(silent_steps):
        finding = f"there is no noise in update {silent_steps[0]}"
    elif len(silent_numbers):
        finding = f"there is no noise in number {silent_numbers[0]} of an update of {noise.shape[2]} numbers"
    elif is_repeated:
        finding = "the same noise is used more than once"
    passed = not is_repeated and not len(silent_numbers)
    sees = "noise that is used again, in another step or run, and numbers or updates without noise"
    return ConformanceTest("fresh numbers", passed, finding, sees)


def has_last_batch(promise: Promise) -> bool:
    """Return whether epochs end with a smaller batch."""
    return promise.sampling == "epochs" and promise.examples % promise.batch > 0


def last_batch_test(pool: RunPool, promise: Promise) -> ConformanceTest:
    """Whether each epoch ends with a batch of what is left."""
    left = promise.examples % promise.batch
    epoch = -(-promise.examples // promise.batch)
    sizes = pool.members(promise.steps).sum(axis=2)
    last = np.arange(1, promise.steps + 1) % epoch == 0
    expected = np.where(last, left, promise.batch)
    wrong = np.argwhere(sizes != expected)
    finding = f"epochs of {epoch - 1} batches of {promise.batch} and one of {left}"
    if len(wrong):
        run, step = wrong[0]
        finding = f"the batch of step {step + 1} has {sizes[run, step]} records, {expected[step]} are promised"
    return ConformanceTest("last batch", not len(wrong), finding, "a last batch that is dropped, filled up or cut")
