"""Samples of noise at gradients of several kinds: small ones, clipped ones, and both in one batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform.coverage import batch_sizes, few_steps, states_before
from dpverify.conform.effort import SAMPLES, affordable
from dpverify.conform.guarded import copied
from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.foreign import ForeignError

PAIRS = 150  # of releases at the same gradients, whose difference is noise
LEAST_PAIRS = 20
BLOCK = 2**16  # columns of a run that are whitened together
KINDS = ("small", "clipped", "mixed")
EARLY = 24  # steps of whole runs that are sampled at most


class NoiseSample(NamedTuple):
    """Standard normal numbers, if the promise is kept: noise at gradients of one kind, in batches of one size."""

    kind: str
    size: int
    numbers: Any  # (pair, number)
    steps: list[int]
    error: ForeignError | None = None


def sample_cases(promise: Promise) -> list[tuple[str, int, int]]:
    """Return kinds of gradients, sizes of batches and pairs: all kinds at the usual size, mixed ones in all others."""
    other_sizes = [size for size in batch_sizes(promise) if size != promise.batch]
    cases = [(kind, promise.batch, PAIRS) for kind in KINDS]
    cases += [("mixed", size, max(LEAST_PAIRS, PAIRS // len(other_sizes))) for size in other_sizes]
    steps = 2 * len(_steps(promise)) * len(cases)
    return [
        (kind, size, max(1, min(pairs, affordable(SAMPLES, promise, size * promise.dimension) // steps)))
        for kind, size, pairs in cases
    ]


def noise_samples(optimizer: PrivateOptimizer, promise: Promise, seed: int) -> Iterator[NoiseSample]:
    """Sample noise at gradients that are not 0."""
    steps = _steps(promise)
    for place, (kind, size, pairs) in enumerate(sample_cases(promise)):
        gradients = gradients_of_kind(kind, size, promise, np.random.default_rng([seed, 10, place]))
        try:
            numbers, sampled = _differences(optimizer, promise, gradients, steps, pairs, [seed, 11, place])
            yield NoiseSample(kind, size, numbers, sampled)
        except ForeignError as error:
            yield NoiseSample(kind, size, None, steps, error)


def _steps(promise: Promise) -> list[int]:
    return few_steps(promise) if promise.covariance is None else list(range(promise.steps))


def gradients_of_kind(kind: str, size: int, promise: Promise, rng: np.random.Generator) -> Any:
    """Return gradients below the clip length, above it, or by turns one and the other."""
    directions = rng.standard_normal((size, promise.dimension))
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-300)
    lengths = {"small": (0.1, 0.3), "clipped": (3.0, 20.0), "mixed": (0.2, 10.0)}[kind]
    return promise.clip * directions * np.resize(lengths, (size, 1))


def _differences(
    optimizer: PrivateOptimizer, promise: Promise, gradients: Any, steps: list[int], pairs: int, seed: list[int]
) -> tuple[Any, list[int]]:
    """Return differences of releases from the same state and gradients, and their steps.

    They are standard normal, if the promise is kept.
    """
    if promise.covariance is not None:
        halves = _run_differences(optimizer, promise, gradients, promise.steps, pairs, seed)
        return whitened(halves, promise).reshape(-1, promise.released_dimension), steps
    differences = []
    for step, state in states_before(optimizer, steps, gradients, seed):
        released = []
        for run in range(2 * pairs):
            rng = np.random.default_rng([*seed, step, run])
            released.append(optimizer.step(copied(state), gradients.copy(), rng)[1])
        array = np.array(released, dtype=float)
        array[~np.isfinite(array)] = np.nan
        halves = (array[0::2] - array[1::2]) / math.sqrt(2.0)
        if step > 0 and not halves.any():  # the state holds the generator, which was seeded in the first step
            early = [step for step in steps if step < EARLY]
            halves = _run_differences(optimizer, promise, gradients, early[-1] + 1, pairs, seed)[:, early]
            return halves.reshape(-1, promise.released_dimension) / promise.deviation, early
        differences.append(halves / promise.deviation)
    return np.concatenate(differences), steps


def _run_differences(
    optimizer: PrivateOptimizer, promise: Promise, gradients: Any, steps: int, pairs: int, seed: list[int]
) -> Any:
    """Return differences of whole runs with the same gradients; (pair, step, number)."""
    runs = np.array([_run(optimizer, steps, gradients, [*seed, run]) for run in range(2 * pairs)])
    runs[~np.isfinite(runs)] = np.nan
    return (runs[0::2] - runs[1::2]) / math.sqrt(2.0)


def _run(optimizer: PrivateOptimizer, steps: int, gradients: Any, seed: list[int]) -> Any:
    rng = np.random.default_rng(seed)
    state = optimizer.start()
    releases = []
    for _ in range(steps):
        state, released = optimizer.step(state, gradients.copy(), rng)
        releases.append(np.asarray(released, dtype=float))
    return np.array(releases)


def whitened(x: Any, promise: Promise) -> Any:
    """Return independent standard normal numbers, if the promise is kept; (run, step, number), changed in place."""
    x /= promise.deviation
    if promise.covariance is None:
        return x
    root = np.linalg.cholesky(np.asarray(promise.covariance, dtype=float))
    for run in x:
        for first in range(0, run.shape[1], BLOCK):
            run[:, first : first + BLOCK] = np.linalg.solve(root, run[:, first : first + BLOCK])
    return x
