"""Noise that should be independent standard normal numbers: dependence and shape, in large dimensions by columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import binom, chi2, norm

from dpverify.conform.records import Promise
from dpverify.conform.results import ConformanceTest
from dpverify.conform.rounding import Dtype, deviation_rounding

BEYOND = (1.0, 2.0, 3.0)
MOST_COLUMNS = 2000  # of steps or coordinates, all pairs of which are looked at
BLOCK = 2**22  # numbers that are looked at together

COORDINATES = "noise of two coordinates"
NUMBERS = "noise of two numbers"


def law_tests(x: Any, promise: Promise, alpha: float) -> Iterator[ConformanceTest]:
    """Test what a wrong mean or scale changes too; ``x``: run, step, coordinate; ``alpha`` for each of four tests."""
    dtype = promise.dtype
    steps = sum(run @ run.T for run in x)
    yield _pairs_of_products("noise of two steps", steps, x.shape[0] * x.shape[2], alpha, dtype)
    if x.shape[2] <= MOST_COLUMNS:
        yield _pairs(COORDINATES, x, alpha, dtype)
        yield _pairs(NUMBERS, x.reshape(len(x), -1)[:, :MOST_COLUMNS], alpha, dtype)
    else:
        yield _layers(x, alpha, dtype)
        yield _distances(x, alpha, dtype)
    yield _shape(x, alpha, dtype)


def _pairs(name: str, x: Any, alpha: float, dtype: Dtype = "float64") -> ConformanceTest:
    """Test all pairs of columns."""
    columns = x.reshape(-1, x.shape[-1])
    return _pairs_of_products(name, columns.T @ columns, len(columns), alpha, dtype)


def _pairs_of_products(name: str, products: Any, dof: int, alpha: float, dtype: Dtype) -> ConformanceTest:
    """Sums of two columns, and each alone: half of the squares of a sum is chi-square, whatever the pair."""
    squares = np.diag(products)
    halves = np.add.outer(squares, squares) / 2 + products
    np.fill_diagonal(halves, squares)
    first, second = np.triu_indices(len(squares))
    statistics = halves[first, second]
    level = alpha / len(statistics) / 2
    rounding = (1.0 + deviation_rounding(dtype)) ** 2
    low = chi2.ppf(level, dof) / rounding
    high = chi2.isf(level, dof) * rounding
    far = np.argmax(np.abs(statistics - dof))
    a = first[far] + 1
    b = second[far] + 1
    ratios = (f"{value / dof - 1:+.3f}" for value in (statistics[far], low, high))
    of = f"{a}: variance off by" if a == b else f"{a} and {b}: correlation about"
    words = "{} {}, {} to {} allowed".format(of, *ratios)
    passed = bool(np.all((low <= statistics) & (statistics <= high)))
    least = 2 * (high / dof - 1)
    return ConformanceTest(name, passed, words, f"a correlation of {least:.2f}, or a variance off by as much", alpha)


def _layers(x: Any, alpha: float, dtype: Dtype) -> ConformanceTest:
    """Test the variance of single coordinates and of 4, 16, ... in a row, so that a layer of any size shows."""
    runs, steps, d = x.shape
    squares = np.zeros(d)
    for run in x:
        squares += np.einsum("td,td->d", run, run)
    lengths = [4**power for power in range(math.ceil(math.log(d, 4)))]
    level = alpha / sum(-(-d // length) for length in lengths) / 2
    rounding = (1.0 + deviation_rounding(dtype)) ** 2
    worst = ("", 0.0, 0.0, 0.0)
    passed = True
    for length in lengths:
        starts = np.arange(0, d, length)
        sums = np.add.reduceat(squares, starts)
        counts = np.diff([*starts, d])
        dof = runs * steps * counts.astype(float)
        kinds, which = np.unique(dof, return_inverse=True)  # the last part may be shorter
        low = np.asarray(chi2.ppf(level, kinds))[which] / rounding
        high = np.asarray(chi2.isf(level, kinds))[which] * rounding
        passed = passed and bool(np.all((low <= sums) & (sums <= high)))
        surprise = np.where(sums > dof, (sums - dof) / (high - dof), (dof - sums) / (dof - low))
        far = int(np.argmax(surprise))
        if surprise[far] > worst[1]:
            places = f"{starts[far] + 1} to {starts[far] + counts[far]}"
            worst = (places, float(surprise[far]), float(sums[far] / dof[far]), float(low[far] / dof[far]))
    many = runs * steps * lengths[-1]
    least = 1.0 - math.sqrt(chi2.ppf(level, many) / rounding / chi2.isf(0.01, many))
    words = f"coordinates {worst[0]}: variance off by {worst[2] - 1:+.3f}, down to {worst[3] - 1:+.3f} allowed"
    sees = f"a layer of a quarter of all coordinates with {least:.1%} less noise; smaller layers need a larger gap"
    return ConformanceTest(COORDINATES, passed, words, sees, alpha)


def _distances(x: Any, alpha: float, dtype: Dtype) -> ConformanceTest:
    """Test the sums of products of numbers at any distance, in one step and from one step to the next.

    Such a sum is a quadratic form of normal numbers whose matrix has norm at most 1 and half of its number of products
    as its squared Frobenius norm F**2. It is beyond ``2 F sqrt(t) + 2 t`` with probability at most ``2 exp(-t)``
    (Laurent and Massart, Adaptive estimation of a quadratic functional, Ann. Statist. 28, 2000, Lemma 1).
    """
    runs, steps, d = x.shape
    length = next_fast_len(2 * d, real=True)
    same = np.zeros(length // 2 + 1)
    following = np.zeros(length // 2 + 1, dtype=complex)
    for run in x:
        before = None
        for vector in run:
            transformed = rfft(vector, length)
            same += np.abs(transformed) ** 2
            if before is not None:
                following += before.conj() * transformed
            before = transformed
    level = math.log(2 * 3 * d / alpha)
    rounding = (1.0 + deviation_rounding(dtype)) ** 2
    distances = np.arange(1 - d, d)
    cross = irfft(following, length)[distances]  # negative places count from the end
    cases = (
        ("in one step", distances[d:], irfft(same, length)[1:d], runs * steps),
        ("in two steps in a row", distances, cross, runs * (steps - 1)),
    )
    worst = ("", 0.0, 0.0)
    for words, far, sums, times in cases:
        products = times * (d - np.abs(far)).astype(float)
        allowed = rounding * (np.sqrt(2.0 * products * level) + 2.0 * level)
        share = np.abs(sums) / allowed
        place = int(np.argmax(share))
        if share[place] > worst[1]:
            text = f"coordinates {far[place]} apart {words}: correlation about {sums[place] / products[place]:+.3f}"
            worst = (text, float(share[place]), float(allowed[place] / products[place]))
    least = 2.0 * math.sqrt(2.0 * level / (runs * steps * d / 2))
    words = f"{worst[0]}, up to {worst[2]:.3f} allowed"
    sees = f"a correlation of {least:.2g} at one distance, in half of all coordinates"
    return ConformanceTest(NUMBERS, worst[1] <= 1.0, words, sees, alpha)


def _shape(x: Any, alpha: float, dtype: Dtype = "float64") -> ConformanceTest:
    """How many numbers lie beyond one, two and three deviations; rounding moves each limit by its own size."""
    counts, passed, level = [], True, alpha / len(BEYOND) / 2
    rounding = 1.0 + deviation_rounding(dtype)
    flat = x.reshape(-1)
    for limit in BEYOND:
        count = sum(int(np.sum(np.abs(flat[at : at + BLOCK]) > limit)) for at in range(0, flat.size, BLOCK))
        low = binom.ppf(level, x.size, 2 * norm.sf(limit * rounding))
        high = binom.isf(level, x.size, 2 * norm.sf(limit / rounding))
        passed = passed and bool(low <= count <= high)
        counts.append(f"{count} beyond {limit:g} ({low:.0f} to {high:.0f})")
    return ConformanceTest(
        "shape of noise", passed, ", ".join(counts), "another law of the same variance, not its far tail", alpha
    )
