"""The noise of whole trajectories against the promised law: scale, dependence, shape, precision, seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import binom, chi2, norm

from dpverify.conform.guarded import failed_call
from dpverify.conform.records import ConformanceTest, PrivateOptimizer, Promise
from dpverify.foreign import ForeignError

RUNS = 600
LEAST_RUNS = 200  # finite ones, where some are not
BEYOND = (1.0, 2.0, 3.0)
MOST_COLUMNS = 2000  # of all steps and coordinates, whose pairs are looked at
ROUNDING = 2.0**-50  # of a few operations in float64; float64's own digits lie so near to a float32 once in 2^26


def noise_tests(optimizer: PrivateOptimizer, promise: Promise, alpha: float, seed: int) -> Iterator[ConformanceTest]:
    """Test the noise that gradients of 0 leave, in batches of several sizes; ``alpha`` for all tests together."""
    sizes = sorted({1, promise.batch, 4 * promise.batch})
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
            words = f"not tested: {len(finite)} of {RUNS} trajectories are finite, {LEAST_RUNS} are needed"
            name = f"scale of noise, batches of {size}"
            yield ConformanceTest(name, False, words, "nothing", because="finite numbers")
    white = {size: _whitened(x, promise) for size, x in groups.items()}
    part = alpha / 6
    if promise.batch in groups:
        yield from _repeats(groups[promise.batch], optimizer, promise, seed)
    mean = _mean(white[promise.batch], part) if promise.batch in groups else None
    for size, x in white.items():
        found = scale_test(f"scale of noise, batches of {size}", x, part / len(sizes))
        if mean is not None and not mean.passed and scale_test(found.name, x - x.mean(axis=0), found.alpha).passed:
            found = replace(found, because=MEAN)
        yield found
    if mean is None:
        return
    yield mean
    x = white[promise.batch]
    because = SCALE if mean.passed else MEAN
    for found, plain in zip(_of_normals(x, part), _of_normals(_standardized(x), part), strict=True):
        yield replace(found, because=because if plain.passed else "")


MEAN = "mean of noise"
SCALE = "scale of noise"


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
    found = np.empty((RUNS, promise.steps, promise.dimension))
    zero = np.zeros((size, promise.dimension))
    for run in range(RUNS):
        rng, state = np.random.default_rng([seed, 2, run]), optimizer.start()
        for t in range(promise.steps):
            state, found[run, t] = optimizer.step(state, zero.copy(), rng)
    return found


def _whitened(x: Any, promise: Promise) -> Any:
    """Independent standard normal numbers, if the promise is kept."""
    x = x / promise.deviation
    if promise.covariance is None:
        return x
    root = np.linalg.cholesky(np.asarray(promise.covariance, dtype=float))
    return np.linalg.solve(root, x.transpose(1, 0, 2).reshape(promise.steps, -1)).reshape(
        promise.steps, len(x), promise.dimension
    ).transpose(1, 0, 2)  # fmt: skip


def _repeats(raw: Any, optimizer: PrivateOptimizer, promise: Promise, seed: int) -> Iterator[ConformanceTest]:
    """What chance alone never does: numbers that come back, that no seed moves, or that are float32."""
    steps = raw.reshape(-1, promise.dimension)
    again = len(np.unique(steps, axis=0)) < len(steps) or np.unique(steps).size < steps.size * 0.99
    silent = [at + 1 for at in range(promise.dimension) if not raw[:, :, at].any()]
    words = "the same noise is used more than once" if again else "no noise is used twice"
    if silent:
        where = "" if len(silent) == promise.dimension else f" in coordinate {silent[0]}"
        words = f"there is no noise{where}"
    yield ConformanceTest(
        "fresh numbers", not again, words, "noise that is used again, in another step, run or coordinate, or none"
    )
    rough = any(_is_float32(raw * unit) for unit in _units(promise))
    yield ConformanceTest(
        "precision", not rough, "all noise is float32" if rough else "noise has the digits of float64",
        "float32, whose gaps tell apart what the noise should hide, also where it is scaled afterwards",
    )  # fmt: skip
    zero = np.zeros((promise.batch, promise.dimension))
    once, twice = (optimizer.step(optimizer.start(), zero, np.random.default_rng([seed, 3]))[1] for _ in range(2))
    same = np.array_equal(once, twice)
    yield ConformanceTest(
        "generator", same, "the same seed gives the same noise" if same else "the same seed gives different noise",
        "noise that does not come from the generator that is given",
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
    return ConformanceTest(
        name, bool(low <= total <= high), found, f"noise {least:.1%} too small, with chance 99%", alpha
    )


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
