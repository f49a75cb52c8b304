"""Sample noise at nonzero gradients: below the clip length, above it, or both in one batch.

A difference of two releases from the same state and gradients is noise only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform.coverage import (
    SAMPLES_SHARE,
    affordable_steps,
    batch_sizes,
    representative_steps,
    states_before,
)
from dpverify.conform.guard import copy_state
from dpverify.conform.promise import Promise
from dpverify.conform.records import PrivateOptimizer
from dpverify.foreign import ForeignError

PAIRS = 150  # pairs of releases with the same gradients; their difference is noise only
MIN_PAIRS = 20
SCALE_PAIRS = 50  # where only the scale of noise is tested
WHITENED_COLUMNS = 2**16  # columns of a run that are whitened in one call
KINDS = ("small", "clipped", "mixed")
EARLY_STEPS = 24  # in whole runs, only steps before this one are sampled


class NoiseSample(NamedTuple):
    """Noise at gradients of one kind, in batches of one size; standard normal if the promise is kept."""

    kind: str
    size: int
    numbers: Any  # (pair, number)
    steps: list[int]
    error: ForeignError | None = None


def sample_cases(
    promise: Promise, only_scale: bool = False
) -> list[tuple[str, int, int]]:
    """Return kinds of gradients, sizes of batches and pairs: all kinds at the usual size, mixed ones in all others.

    With ``only_scale``, batches have the usual size and there are fewer pairs.
    """
    if only_scale:
        cases = [(kind, promise.batch, SCALE_PAIRS) for kind in KINDS]
    else:
        other_sizes = [size for size in batch_sizes(promise) if size != promise.batch]
        cases = [(kind, promise.batch, PAIRS) for kind in KINDS]
        cases += [
            ("mixed", size, max(MIN_PAIRS, PAIRS // len(other_sizes)))
            for size in other_sizes
        ]
    steps = 2 * len(_sampled_steps(promise)) * len(cases)
    return [
        (
            kind,
            size,
            max(
                1,
                min(
                    pairs,
                    affordable_steps(SAMPLES_SHARE, promise, size * promise.dimension)
                    // steps,
                ),
            ),
        )
        for kind, size, pairs in cases
    ]


def noise_samples(
    optimizer: PrivateOptimizer, promise: Promise, seed: int, only_scale: bool = False
) -> Iterator[NoiseSample]:
    """Sample noise at nonzero gradients."""
    steps = _sampled_steps(promise)
    for index, (kind, size, pairs) in enumerate(sample_cases(promise, only_scale)):
        gradients = gradients_of_kind(
            kind, size, promise, np.random.default_rng([seed, 10, index])
        )
        try:
            numbers, sampled = _release_differences(
                optimizer, promise, gradients, steps, pairs, [seed, 11, index]
            )
            yield NoiseSample(kind, size, numbers, sampled)
        except ForeignError as error:
            yield NoiseSample(kind, size, None, steps, error)


def _sampled_steps(promise: Promise) -> list[int]:
    return (
        representative_steps(promise)
        if promise.covariance is None
        else list(range(promise.steps))
    )


def gradients_of_kind(
    kind: str, size: int, promise: Promise, rng: np.random.Generator
) -> Any:
    """Return gradients below the clip length ("small"), above it ("clipped"), or alternating ("mixed")."""
    directions = rng.standard_normal((size, promise.dimension))
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-300)
    lengths = {"small": (0.1, 0.3), "clipped": (3.0, 20.0), "mixed": (0.2, 10.0)}[kind]
    return promise.clip * directions * np.resize(lengths, (size, 1))


def _release_differences(
    optimizer: PrivateOptimizer,
    promise: Promise,
    gradients: Any,
    steps: list[int],
    pairs: int,
    seed: list[int],
) -> tuple[Any, list[int]]:
    """Return normalized differences of releases from the same state and gradients, and their steps.

    The differences are standard normal if the promise is kept.
    """
    if promise.covariance is not None:
        noise = _run_differences(
            optimizer, promise, gradients, promise.steps, pairs, seed
        )
        return whitened(noise, promise).reshape(-1, promise.released_dimension), steps
    differences = []
    for step, state in states_before(optimizer, steps, gradients, seed):
        released = []
        for run in range(2 * pairs):
            rng = np.random.default_rng([*seed, step, run])
            released.append(optimizer.step(copy_state(state), gradients.copy(), rng)[1])
        release_array = np.array(released, dtype=float)
        release_array[~np.isfinite(release_array)] = np.nan
        noise = (release_array[0::2] - release_array[1::2]) / math.sqrt(2.0)
        # the state contains a generator that was seeded in the first step
        if step > 0 and not noise.any():
            early_steps = [step for step in steps if step < EARLY_STEPS]
            noise = _run_differences(
                optimizer, promise, gradients, early_steps[-1] + 1, pairs, seed
            )[:, early_steps]
            return noise.reshape(
                -1, promise.released_dimension
            ) / promise.deviation, early_steps
        differences.append(noise / promise.deviation)
    return np.concatenate(differences), steps


def _run_differences(
    optimizer: PrivateOptimizer,
    promise: Promise,
    gradients: Any,
    steps: int,
    pairs: int,
    seed: list[int],
) -> Any:
    """Return scaled differences of whole runs with the same gradients; axes: pair, step, number."""
    runs = np.array(
        [
            _releases_of_run(optimizer, steps, gradients, [*seed, run])
            for run in range(2 * pairs)
        ]
    )
    runs[~np.isfinite(runs)] = np.nan
    return (runs[0::2] - runs[1::2]) / math.sqrt(2.0)


def _releases_of_run(
    optimizer: PrivateOptimizer, steps: int, gradients: Any, seed: list[int]
) -> Any:
    rng = np.random.default_rng(seed)
    state = optimizer.start()
    releases = []
    for _ in range(steps):
        state, released = optimizer.step(state, gradients.copy(), rng)
        releases.append(np.asarray(released, dtype=float))
    return np.array(releases)


def whitened(x: Any, promise: Promise) -> Any:
    """Whiten noise in place; the result is standard normal if the promise is kept. Axes: run, step, number."""
    x /= promise.deviation
    if promise.covariance is None:
        return x
    root = np.linalg.cholesky(np.asarray(promise.covariance, dtype=float))
    for run in x:
        for start in range(0, run.shape[1], WHITENED_COLUMNS):
            run[:, start : start + WHITENED_COLUMNS] = np.linalg.solve(
                root, run[:, start : start + WHITENED_COLUMNS]
            )
    return x
