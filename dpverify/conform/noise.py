"""The noise of whole trajectories against the promised law: scale, dependence, shape, precision, seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import binom, chi2, norm

from dpverify.conform.coverage import ALL_STEPS, noise_sizes, ranges, states_before, steps_and_sizes, tested_steps
from dpverify.conform.guarded import copied, failed_call
from dpverify.conform.noise_samples import NoiseSample, noise_samples, whitened
from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.results import ConformanceTest, not_tested, worst
from dpverify.foreign import ForeignError

RUNS = 600
MOST_STEPS_OF_RUNS = 7200  # of all runs with batches of one size, where runs are long
LEAST_RUNS = 200
WINDOW = 8  # steps in a row: of a long run the first, some in the middle and the last ones are tested
BEYOND = (1.0, 2.0, 3.0)
MOST_COLUMNS = 2000  # of all steps and coordinates, whose pairs are looked at
ROUNDING = 2.0**-50  # of a few operations in float64; float64's own digits lie so near to a float32 once in 2^26
PARTS = 7  # kinds of tests that share the level

MEAN = "mean of noise"
SCALE = "scale of noise"


def noise_tests(optimizer: PrivateOptimizer, promise: Promise, alpha: float, seed: int) -> Iterator[ConformanceTest]:
    """Test the noise of whole runs at gradients of 0, and its scale at others; ``alpha`` for all tests together."""
    sizes = noise_sizes(promise)
    groups: dict[int, Any] = {}
    for place, size in enumerate(sizes):
        try:
            found = _trajectories(optimizer, promise, size, seed + place)
        except ForeignError as error:
            yield failed_call(f"noise, batches of {size}", error)
            continue
        finite = found[np.isfinite(found).all(axis=(1, 2))]  # others have a finding of their own
        if len(finite) >= LEAST_RUNS:
            groups[size] = finite
        else:
            words = f"{len(finite)} of {len(found)} trajectories are finite, {LEAST_RUNS} are needed"
            yield not_tested(f"{SCALE}, batches of {size}", words)
    white = {size: whitened(_centred(x, promise), promise) for size, x in groups.items()}
    part = alpha / PARTS
    if promise.batch in groups:
        yield from _repeats(groups[promise.batch], promise)
    mean = _mean(white[promise.batch][:, :, : promise.dimension], part) if promise.batch in groups else None
    for size, x in white.items():
        result = scale_test(f"{SCALE}, batches of {size}", x, part / len(sizes))
        if mean is not None and not mean.passed and scale_test(result.name, x - x.mean(axis=0), result.alpha).passed:
            result = replace(result, because=MEAN)
        yield replace(result, found=f"{result.found}; {_steps_text(promise)}")
    yield from _at_gradients(list(noise_samples(optimizer, promise, seed)), promise, part)
    if mean is None:
        return
    yield mean
    x = white[promise.batch]
    because = SCALE if mean.passed else MEAN
    for result, plain in zip(_of_normals(x, part), _of_normals(_standardized(x), part), strict=True):
        yield replace(result, because=because if plain.passed else "")


def _at_gradients(samples: list[NoiseSample], promise: Promise, alpha: float) -> Iterator[ConformanceTest]:
    """Test the scale of noise at gradients that are not 0; of the other batch sizes the worst result is shown."""
    groups: dict[str, list[NoiseSample]] = {}
    for sample in samples:
        other = "" if sample.size == promise.batch else ", other batches"
        groups.setdefault(f"{SCALE}, {sample.kind} gradients{other}", []).append(sample)
    for name, group in groups.items():
        broken = next((sample.error for sample in group if sample.error is not None), None)
        if broken is not None:
            yield failed_call(name, broken)
            continue
        part = alpha / len(samples)
        results = [_scale_of(name, sample, part) for sample in group]
        text = steps_and_sizes(promise, group[0].steps, [sample.size for sample in group])
        shown = worst(results)
        yield replace(shown, found=f"{shown.found}; {text}", alpha=part * len(group))


def _scale_of(name: str, sample: NoiseSample, alpha: float) -> ConformanceTest:
    finite = np.isfinite(sample.numbers).all(axis=1)
    if finite.all():
        result = scale_test(name, sample.numbers, alpha)
        return replace(result, found=f"batches of {sample.size}: {result.found}")
    return not_tested(name, f"{int((~finite).sum())} of {len(finite)} pairs of releases are not finite")


def _windows(promise: Promise) -> list[range]:
    """Return the steps in a row that are tested, counted from 0: all steps of a short run."""
    last = tested_steps(promise)[-1] + 1
    if last <= ALL_STEPS or promise.covariance is not None:
        return [range(promise.steps)]
    middle = (last - WINDOW) // 2
    return [range(first, first + WINDOW) for first in (0, middle, last - WINDOW)]


def _steps_text(promise: Promise) -> str:
    steps = [step + 1 for window in _windows(promise) for step in window]
    return f"steps {ranges(steps)}" + (f" of {promise.steps}" if len(steps) < promise.steps else "")


def _of_normals(x: Any, alpha: float) -> Iterator[ConformanceTest]:
    """Test what a wrong mean or scale changes too; ``alpha`` for each test."""
    yield _pairs("noise of two steps", x.transpose(0, 2, 1), alpha)
    yield _pairs("noise of two coordinates", x, alpha)
    yield _pairs("noise of two numbers", x.reshape(len(x), -1)[:, :MOST_COLUMNS], alpha)
    yield _shape(x, alpha)


def _standardized(x: Any) -> Any:
    """Return noise with mean 0 and variance 1: what still fails with it has another cause."""
    return (x - x.mean(axis=0)) / (float(x.std()) or 1.0)


def _trajectories(optimizer: PrivateOptimizer, promise: Promise, size: int, seed: int) -> Any:
    windows = _windows(promise)
    steps = sum(map(len, windows))
    runs = min(RUNS, max(LEAST_RUNS * 3 // 2, MOST_STEPS_OF_RUNS // steps))
    found = np.empty((runs, steps, promise.released_dimension))
    zero = np.zeros((size, promise.dimension))
    walk = states_before(optimizer, [window[0] for window in windows], zero, [seed, 9])
    column = 0
    for (first, state), window in zip(walk, windows, strict=True):
        for run in range(runs):
            rng = np.random.default_rng([seed, 2, run, first] if first else [seed, 2, run])
            current = optimizer.start() if first == 0 else copied(state)
            for t in range(len(window)):
                current, found[run, column + t] = optimizer.step(current, zero.copy(), rng)
        column += len(window)
    return found


def _centred(x: Any, promise: Promise) -> Any:
    """Take the mean off the statistic, which is not 0 at gradients of 0, and keep its variance."""
    if promise.statistic is None:
        return x
    d = promise.dimension
    free = math.sqrt(len(x) / (len(x) - 1))
    statistic = (x[:, :, d:] - x[:, :, d:].mean(axis=0)) * free
    return np.concatenate([x[:, :, :d], statistic], axis=2)


def _repeats(raw: Any, promise: Promise) -> Iterator[ConformanceTest]:
    """What chance alone never does: numbers that come back, that no seed moves, or that are float32."""
    steps = raw.reshape(-1, promise.released_dimension)
    again = len(np.unique(steps, axis=0)) < len(steps) or np.unique(steps).size < steps.size * 0.99
    silent = [at + 1 for at in range(promise.released_dimension) if not raw[:, :, at].any()]
    words = "the same noise is used more than once" if again else "no noise is used twice"
    if silent:
        where = "" if len(silent) == promise.released_dimension else f" in coordinate {silent[0]}"
        words = f"there is no noise{where}"
    yield ConformanceTest(
        "fresh numbers", not again, words, "noise that is used again, in another step, run or coordinate, or none"
    )
    rough = any(_is_float32(raw * unit) for unit in _units(promise))
    yield ConformanceTest(
        "precision", not rough, "all noise is float32" if rough else "noise has the digits of float64",
        "float32, whose gaps tell apart what the noise should hide, also where it is scaled afterwards",
    )  # fmt: skip


def _units(promise: Promise) -> set[float]:
    """What noise may have been scaled by after it was drawn, turned around."""
    sigma, clip, divisor = promise.sigma, promise.clip, promise.divisor
    return {1.0, divisor, divisor / clip, divisor / sigma, divisor / (sigma * clip)}


def _is_float32(x: Any) -> bool:
    """Whether all numbers are those of float32, but for what arithmetic in float64 may have added."""
    return bool(np.all(np.abs(x - x.astype(np.float32)) <= ROUNDING * np.abs(x)))


def scale_test(name: str, x: Any, alpha: float) -> ConformanceTest:
    """Test the sum of squares of numbers that are standard normal if the promise is kept; shape of ``x``: any."""
    total, dof = float(np.sum(x**2)), x.size
    low, high = chi2.ppf(alpha / 2, dof), chi2.isf(alpha / 2, dof)
    shown = (f"{math.sqrt(value / dof):.4f}" for value in (total, low, high))
    found = "{} times the promised deviation; {} to {} allowed".format(*shown)
    least = math.ceil(1000.0 * (1.0 - math.sqrt(low / chi2.isf(0.01, dof)))) / 1000.0  # rounded up: it is seen
    sees = f"noise {least:.1%} too small, with chance 99%"
    measured = math.sqrt(total / dof)
    return ConformanceTest(name, bool(low <= total <= high), found, sees, alpha, measured=measured, detects=least)


def _mean(x: Any, alpha: float) -> ConformanceTest:
    means = x.mean(axis=0) * math.sqrt(len(x))
    most = norm.isf(alpha / 2 / means.size)
    found = f"largest of {means.size} means {np.abs(means).max():.2f} deviations, {most:.2f} allowed"
    return ConformanceTest(
        "mean of noise", bool(np.abs(means).max() <= most), found, "noise that is not around 0", alpha
    )


def _pairs(name: str, x: Any, alpha: float) -> ConformanceTest:
    """Sums of two columns, and each alone: half of the squares of a sum is chi-square, whatever the pair."""
    columns = x.reshape(-1, x.shape[-1])
    own = np.sum(columns**2, axis=0)
    halves = np.add.outer(own, own) / 2 + columns.T @ columns
    np.fill_diagonal(halves, own)
    one, other = np.triu_indices(len(own))
    found, dof = halves[one, other], len(columns)
    each = alpha / len(found) / 2
    low, high = chi2.ppf(each, dof), chi2.isf(each, dof)
    far = np.argmax(np.abs(found - dof))
    a, b = one[far] + 1, other[far] + 1
    shown = (f"{value / dof - 1:+.3f}" for value in (found[far], low, high))
    of = f"{a}: variance off by" if a == b else f"{a} and {b}: correlation about"
    words = "{} {}, {} to {} allowed".format(of, *shown)
    passed, least = bool(np.all((low <= found) & (found <= high))), 2 * (high / dof - 1)
    return ConformanceTest(name, passed, words, f"a correlation of {least:.2f}, or a variance off by as much", alpha)


def _shape(x: Any, alpha: float) -> ConformanceTest:
    """How many numbers lie beyond one, two and three deviations."""
    told, passed, each = [], True, alpha / len(BEYOND) / 2
    for limit in BEYOND:
        count, chance = int(np.sum(np.abs(x) > limit)), 2 * norm.sf(limit)
        low, high = binom.ppf(each, x.size, chance), binom.isf(each, x.size, chance)
        passed = passed and bool(low <= count <= high)
        told.append(f"{count} beyond {limit:g} ({low:.0f} to {high:.0f})")
    return ConformanceTest(
        "shape of noise", passed, ", ".join(told), "another law of the same variance, not its far tail", alpha
    )
