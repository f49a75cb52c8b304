"""Test the noise of whole runs at gradients of 0, and the scale of the noise at nonzero gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import chi2, norm

from dpverify.conform.coverage import (
    MAX_SHORT_RUN,
    MIN_RUNS,
    WINDOW_STEPS,
    format_ranges,
    noise_batch_sizes,
    noise_run_count,
    states_before,
    steps_and_sizes_text,
    tested_steps,
)
from dpverify.conform.guard import copy_state, failed_call_test, tf32_note
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
    untested_result,
    worst_test,
)
from dpverify.conform.rounding import Dtype, deviation_rounding
from dpverify.foreign import ForeignError

RUNS = 600
# total steps of all runs with batches of one size, if runs are long
MAX_TOTAL_STEPS = 7200
MIN_FINITE_RUNS = 200
SCALE_RUNS = 100  # where only the scale of noise is tested
SQUARED_NUMBERS = 2**20  # numbers squared in one numpy call
MANY_NUMBERS = 10**6
LEVEL_PARTS = 7  # number of tests that share the level

MEAN_NAME = "mean of noise"
SCALE_NAME = "scale of noise"


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
    sizes = [promise.batch] if only_scale else noise_batch_sizes(promise)
    level = alpha / LEVEL_PARTS
    usual_noise: Any = None  # whitened noise at batches of the promised size
    mean: ConformanceTest | None = None
    for index, size in enumerate(
        [promise.batch, *(size for size in sizes if size != promise.batch)]
    ):
        try:
            trajectories = _noise_trajectories(
                optimizer, promise, size, seed + sizes.index(size), only_scale
            )
        except ForeignError as error:
            yield failed_call_test(f"noise, batches of {size}", error)
            continue
        needed_runs = min(MIN_FINITE_RUNS, max(MIN_RUNS, 2 * len(trajectories) // 3))
        # other runs have a separate finding
        is_finite = np.isfinite(trajectories).all(axis=(1, 2))
        if is_finite.sum() < needed_runs:
            reason = f"{is_finite.sum()} of {len(trajectories)} trajectories are finite, {needed_runs} are needed"
            yield untested_result(f"{SCALE_NAME}, batches of {size}", reason)
            continue
        finite_runs = trajectories if is_finite.all() else trajectories[is_finite]
        if index == 0 and not only_scale:
            yield from repeat_tests(finite_runs, promise)
            yield from grid_note(optimizer, promise, seed)
            yield from tf32_note(promise)
        x = whitened(_centre_statistic(finite_runs, promise), promise)
        del trajectories, finite_runs
        result = scale_test(
            f"{SCALE_NAME}, batches of {size}", x, level / len(sizes), promise.dtype
        )
        if index == 0:
            usual_noise = x
            mean = mean_test(x[:, :, : promise.dimension], level)
        if mean is not None and not mean.passed:
            x = x - x.mean(axis=0)
            recheck = scale_test(result.name, x, result.alpha, promise.dtype)
            result = replace(result, because=MEAN_NAME) if recheck.passed else result
        yield replace(result, found=f"{result.found}; {_steps_text(promise)}")
    yield from _gradient_noise_tests(optimizer, promise, level, seed, only_scale)
    if mean is None:
        return
    yield mean
    if only_scale:
        return
    because = SCALE_NAME if mean.passed else MEAN_NAME
    results = list(law_tests(usual_noise, promise, level))
    usual_noise -= usual_noise.mean(axis=0)
    # tests that still fail have another cause
    usual_noise /= _root_mean_square(usual_noise) or 1.0
    for result, recheck in zip(
        results, law_tests(usual_noise, promise, level), strict=True
    ):
        yield replace(result, because=because if recheck.passed else "")


def _root_mean_square(x: Any) -> float:
    """Return the root mean square."""
    return math.sqrt(_sum_of_squares(x) / x.size)


def _gradient_noise_tests(
    optimizer: PrivateOptimizer,
    promise: Promise,
    alpha: float,
    seed: int,
    only_scale: bool,
) -> Iterator[ConformanceTest]:
    """Test the scale of noise at nonzero gradients; yield the worst result of all sizes that are not promised."""
    groups: dict[str, list[tuple[NoiseSample, ConformanceTest | None]]] = {}
    cases = sample_cases(promise, only_scale)
    level = alpha / len(cases)
    for sample in noise_samples(optimizer, promise, seed, only_scale):
        suffix = "" if sample.size == promise.batch else ", other batches"
        name = f"{SCALE_NAME}, {sample.kind} gradients{suffix}"
        result = (
            _sample_scale_test(name, sample, level, promise.dtype)
            if sample.error is None
            else None
        )
        groups.setdefault(name, []).append((sample._replace(numbers=None), result))
    for name, group in groups.items():
        error = next(
            (sample.error for sample, _ in group if sample.error is not None), None
        )
        if error is not None:
            yield failed_call_test(name, error)
            continue
        results = [result for _, result in group if result is not None]
        worst_result = worst_test(results)
        text = steps_and_sizes_text(
            promise, group[0][0].steps, [sample.size for sample, _ in group]
        )
        yield replace(
            worst_result,
            found=f"{worst_result.found}; {text}",
            alpha=level * len(group),
        )


def _sample_scale_test(
    name: str, sample: NoiseSample, alpha: float, dtype: Dtype
) -> ConformanceTest:
    is_finite = np.isfinite(sample.numbers).all(axis=1)
    if is_finite.all():
        result = scale_test(name, sample.numbers, alpha, dtype)
        return replace(result, found=f"batches of {sample.size}: {result.found}")
    return untested_result(
        name,
        f"{int((~is_finite).sum())} of {len(is_finite)} pairs of releases are not finite",
    )


def _tested_windows(promise: Promise) -> list[range]:
    """Return ranges of tested steps, counted from 0: all steps of a short run, three windows of a long one."""
    end = tested_steps(promise)[-1] + 1
    if promise.covariance is not None:
        return [range(promise.steps)]
    if end <= MAX_SHORT_RUN:
        return [range(end)]
    middle = (end - WINDOW_STEPS) // 2
    return [
        range(first, first + WINDOW_STEPS) for first in (0, middle, end - WINDOW_STEPS)
    ]


def _steps_text(promise: Promise) -> str:
    steps = [step + 1 for window in _tested_windows(promise) for step in window]
    return f"steps {format_ranges(steps)}" + (
        f" of {promise.steps}" if len(steps) < promise.steps else ""
    )


def _noise_trajectories(
    optimizer: PrivateOptimizer,
    promise: Promise,
    size: int,
    seed: int,
    only_scale: bool,
) -> Any:
    windows = _tested_windows(promise)
    steps = sum(map(len, windows))
    requested = (
        SCALE_RUNS
        if only_scale
        else min(RUNS, max(MIN_FINITE_RUNS * 3 // 2, MAX_TOTAL_STEPS // steps))
    )
    runs = noise_run_count(promise, size, requested)
    trajectories = np.empty((runs, steps, promise.released_dimension))
    zero = np.zeros((size, promise.dimension))
    states = states_before(
        optimizer, [window[0] for window in windows], zero, [seed, 9]
    )
    offset = 0
    for (first, state), window in zip(states, windows, strict=True):
        for run in range(runs):
            rng = np.random.default_rng(
                [seed, 2, run, first] if first else [seed, 2, run]
            )
            run_state = optimizer.start() if first == 0 else copy_state(state)
            for step in range(len(window)):
                run_state, trajectories[run, offset + step] = optimizer.step(
                    run_state, zero.copy(), rng
                )
        offset += len(window)
    return trajectories


def _centre_statistic(x: Any, promise: Promise) -> Any:
    """Subtract the mean of the statistic in place, since it may be nonzero at gradients of 0, and keep its variance."""
    if promise.statistic is None:
        return x
    d = promise.dimension
    variance_correction = math.sqrt(len(x) / (len(x) - 1))
    x[:, :, d:] = (x[:, :, d:] - x[:, :, d:].mean(axis=0)) * variance_correction
    return x


def scale_test(
    name: str, x: Any, alpha: float, dtype: Dtype = "float64"
) -> ConformanceTest:
    """Test the sum of squares of ``x``, which is standard normal if the promise is kept and has any shape."""
    total = _sum_of_squares(x)
    dof = x.size
    rounding = (1.0 + deviation_rounding(dtype)) ** 2
    low = chi2.ppf(alpha / 2, dof) / rounding
    high = chi2.isf(alpha / 2, dof) * rounding
    numbers = (
        f"{math.sqrt(value / dof):.{_decimals(dof)}f}" for value in (total, low, high)
    )
    finding = "{} times the promised deviation; {} to {} allowed".format(*numbers)
    # rounded up
    smallest_reduction = (
        math.ceil(1000.0 * (1.0 - math.sqrt(low / chi2.isf(0.01, dof)))) / 1000.0
    )
    sees = f"noise {smallest_reduction:.1%} too small, with probability 99%"
    measured = math.sqrt(total / dof)
    return ConformanceTest(
        name,
        bool(low <= total <= high),
        finding,
        sees,
        alpha,
        measured=measured,
        detects=smallest_reduction,
    )


def _decimals(dof: int) -> int:
    """Return the number of decimals for a deviation: more for large samples, whose limits are close to 1."""
    return 4 if dof < MANY_NUMBERS else 6


def _sum_of_squares(x: Any) -> float:
    """Return the sum of squares without a temporary array as large as ``x``."""
    flat = x.reshape(-1)
    return float(
        np.sum(
            [
                np.sum(flat[start : start + SQUARED_NUMBERS] ** 2)
                for start in range(0, flat.size, SQUARED_NUMBERS)
            ]
        )
    )


def mean_test(x: Any, alpha: float) -> ConformanceTest:
    """Test the means of all numbers over the runs ``x``, which are standard normal if the promise is kept."""
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
