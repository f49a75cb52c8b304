"""Test the noise of whole runs at gradients of 0, and the scale of the noise at nonzero gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import chi2, norm

from dpverify.conform.coverage import (
    ALL_STEPS,
    SHORTEST,
    WINDOW,
    noise_runs,
    noise_sizes,
    ranges,
    states_before,
    steps_and_sizes,
    tested_steps,
)
from dpverify.conform.guarded import copied, failed_call, tf32_note
from dpverify.conform.noise.law import grid_note, law_tests, repeat_tests
from dpverify.conform.noise.samples import (
    NoiseSample,
    noise_samples,
    sample_cases,
    whitened,
)
from dpverify.conform.promise import Promise
from dpverify.conform.records import (
    ConformanceTest,
    PrivateOptimizer,
    not_tested,
    worst,
)
from dpverify.conform.rounding import Dtype, deviation_rounding
from dpverify.foreign import ForeignError

RUNS = 600
# total steps of all runs with batches of one size, if runs are long
MOST_STEPS_OF_RUNS = 7200
LEAST_RUNS = 200
SCALE_RUNS = 100  # where only the scale of noise is tested
SQUARED_NUMBERS = 2**20  # numbers squared in one numpy call
MANY = 10**6
PARTS = 7  # number of tests that share the level

MEAN = "mean of noise"
SCALE = "scale of noise"


def noise_tests(
    optimizer: PrivateOptimizer,
    promise: Promise,
    alpha: float,
    seed: int,
    only_scale: bool = False,
) -> Iterator[ConformanceTest]:
    """Test the noise of whole runs at gradients of 0, and its scale at others; ``alpha`` for all tests together.

    With ``only_scale``, only mean and scale are tested, in fewer runs and in batches of the promised size.
    """
    sizes = [promise.batch] if only_scale else noise_sizes(promise)
    part = alpha / PARTS
    usual: Any = None  # whitened noise at batches of the promised size
    mean: ConformanceTest | None = None
    for place, size in enumerate(
        [promise.batch, *(size for size in sizes if size != promise.batch)]
    ):
        try:
            trajectories = _trajectories(
                optimizer, promise, size, seed + sizes.index(size), only_scale
            )
        except ForeignError as error:
            yield failed_call(f"noise, batches of {size}", error)
            continue
        needed = min(LEAST_RUNS, max(SHORTEST, 2 * len(trajectories) // 3))
        # other runs have a separate finding
        finite = np.isfinite(trajectories).all(axis=(1, 2))
        if finite.sum() < needed:
            words = f"{finite.sum()} of {len(trajectories)} trajectories are finite, {needed} are needed"
            yield not_tested(f"{SCALE}, batches of {size}", words)
            continue
        raw = trajectories if finite.all() else trajectories[finite]
        if place == 0 and not only_scale:
            yield from repeat_tests(raw, promise)
            yield from grid_note(optimizer, promise, seed)
            yield from tf32_note(promise)
        x = whitened(_centred(raw, promise), promise)
        del trajectories, raw
        result = scale_test(
            f"{SCALE}, batches of {size}", x, part / len(sizes), promise.dtype
        )
        if place == 0:
            usual = x
            mean = _mean(x[:, :, : promise.dimension], part)
        if mean is not None and not mean.passed:
            x = x - x.mean(axis=0)
            plain = scale_test(result.name, x, result.alpha, promise.dtype)
            result = replace(result, because=MEAN) if plain.passed else result
        yield replace(result, found=f"{result.found}; {_steps_text(promise)}")
    yield from _at_gradients(optimizer, promise, part, seed, only_scale)
    if mean is None:
        return
    yield mean
    if only_scale:
        return
    because = SCALE if mean.passed else MEAN
    results = list(law_tests(usual, promise, part))
    usual -= usual.mean(axis=0)
    usual /= _deviation(usual) or 1.0  # tests that still fail have another cause
    for result, plain in zip(results, law_tests(usual, promise, part), strict=True):
        yield replace(result, because=because if plain.passed else "")


def _deviation(x: Any) -> float:
    """Return the root mean square."""
    return math.sqrt(_squares(x) / x.size)


def _at_gradients(
    optimizer: PrivateOptimizer,
    promise: Promise,
    alpha: float,
    seed: int,
    only_scale: bool,
) -> Iterator[ConformanceTest]:
    """Test the scale of noise at nonzero gradients; yield the worst result of all sizes that are not promised."""
    groups: dict[str, list[tuple[NoiseSample, ConformanceTest | None]]] = {}
    cases = sample_cases(promise, only_scale)
    part = alpha / len(cases)
    for sample in noise_samples(optimizer, promise, seed, only_scale):
        suffix = "" if sample.size == promise.batch else ", other batches"
        name = f"{SCALE}, {sample.kind} gradients{suffix}"
        result = (
            _scale_of(name, sample, part, promise.dtype)
            if sample.error is None
            else None
        )
        groups.setdefault(name, []).append((sample._replace(numbers=None), result))
    for name, group in groups.items():
        broken = next(
            (sample.error for sample, _ in group if sample.error is not None), None
        )
        if broken is not None:
            yield failed_call(name, broken)
            continue
        results = [result for _, result in group if result is not None]
        worst_result = worst(results)
        text = steps_and_sizes(
            promise, group[0][0].steps, [sample.size for sample, _ in group]
        )
        yield replace(
            worst_result, found=f"{worst_result.found}; {text}", alpha=part * len(group)
        )


def _scale_of(
    name: str, sample: NoiseSample, alpha: float, dtype: Dtype
) -> ConformanceTest:
    finite = np.isfinite(sample.numbers).all(axis=1)
    if finite.all():
        result = scale_test(name, sample.numbers, alpha, dtype)
        return replace(result, found=f"batches of {sample.size}: {result.found}")
    return not_tested(
        name,
        f"{int((~finite).sum())} of {len(finite)} pairs of releases are not finite",
    )


def _windows(promise: Promise) -> list[range]:
    """Return ranges of tested steps, counted from 0: all steps of a short run, three windows of a long one."""
    last = tested_steps(promise)[-1] + 1
    if promise.covariance is not None:
        return [range(promise.steps)]
    if last <= ALL_STEPS:
        return [range(last)]
    middle = (last - WINDOW) // 2
    return [range(first, first + WINDOW) for first in (0, middle, last - WINDOW)]


def _steps_text(promise: Promise) -> str:
    steps = [step + 1 for window in _windows(promise) for step in window]
    return f"steps {ranges(steps)}" + (
        f" of {promise.steps}" if len(steps) < promise.steps else ""
    )


def _trajectories(
    optimizer: PrivateOptimizer,
    promise: Promise,
    size: int,
    seed: int,
    only_scale: bool,
) -> Any:
    windows = _windows(promise)
    steps = sum(map(len, windows))
    requested = (
        SCALE_RUNS
        if only_scale
        else min(RUNS, max(LEAST_RUNS * 3 // 2, MOST_STEPS_OF_RUNS // steps))
    )
    runs = noise_runs(promise, size, requested)
    trajectories = np.empty((runs, steps, promise.released_dimension))
    zero = np.zeros((size, promise.dimension))
    walk = states_before(optimizer, [window[0] for window in windows], zero, [seed, 9])
    column = 0
    for (first, state), window in zip(walk, windows, strict=True):
        for run in range(runs):
            rng = np.random.default_rng(
                [seed, 2, run, first] if first else [seed, 2, run]
            )
            current = optimizer.start() if first == 0 else copied(state)
            for t in range(len(window)):
                current, trajectories[run, column + t] = optimizer.step(
                    current, zero.copy(), rng
                )
        column += len(window)
    return trajectories


def _centred(x: Any, promise: Promise) -> Any:
    """Subtract the mean of the statistic in place, since it may be nonzero at gradients of 0, and keep its variance."""
    if promise.statistic is None:
        return x
    d = promise.dimension
    free = math.sqrt(len(x) / (len(x) - 1))
    x[:, :, d:] = (x[:, :, d:] - x[:, :, d:].mean(axis=0)) * free
    return x


def scale_test(
    name: str, x: Any, alpha: float, dtype: Dtype = "float64"
) -> ConformanceTest:
    """Test the sum of squares of ``x``, which is standard normal if the promise is kept and has any shape."""
    total = _squares(x)
    dof = x.size
    rounding = (1.0 + deviation_rounding(dtype)) ** 2
    low = chi2.ppf(alpha / 2, dof) / rounding
    high = chi2.isf(alpha / 2, dof) * rounding
    numbers = (
        f"{math.sqrt(value / dof):.{_digits(dof)}f}" for value in (total, low, high)
    )
    finding = "{} times the promised deviation; {} to {} allowed".format(*numbers)
    # rounded up
    least = math.ceil(1000.0 * (1.0 - math.sqrt(low / chi2.isf(0.01, dof)))) / 1000.0
    sees = f"noise {least:.1%} too small, with probability 99%"
    measured = math.sqrt(total / dof)
    return ConformanceTest(
        name,
        bool(low <= total <= high),
        finding,
        sees,
        alpha,
        measured=measured,
        detects=least,
    )


def _digits(dof: int) -> int:
    """Return the number of decimals for a deviation: more for large samples, whose limits are close to 1."""
    return 4 if dof < MANY else 6


def _squares(x: Any) -> float:
    """Return the sum of squares without a temporary array as large as ``x``."""
    flat = x.reshape(-1)
    return float(
        np.sum(
            [
                np.sum(flat[at : at + SQUARED_NUMBERS] ** 2)
                for at in range(0, flat.size, SQUARED_NUMBERS)
            ]
        )
    )


def _mean(x: Any, alpha: float) -> ConformanceTest:
    means = x.mean(axis=0) * math.sqrt(len(x))
    limit = norm.isf(alpha / 2 / means.size)
    finding = f"largest of {means.size} means {np.abs(means).max():.2f} deviations, {limit:.2f} allowed"
    return ConformanceTest(
        "mean of noise",
        bool(np.abs(means).max() <= limit),
        finding,
        "noise whose mean is not 0",
        alpha,
    )
