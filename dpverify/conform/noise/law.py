"""Tests of noise that should be independent standard normal numbers.

Tests of the law check dependence and shape; in large dimensions they do not test every pair of coordinates. Tests of
repeats detect what almost never happens by chance: repeated or missing noise and too few digits. A note measures how
often a released number reveals the batch.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import binom, chi2, norm

from dpverify.conform.promise import Promise
from dpverify.conform.records import ConformanceTest, PrivateOptimizer
from dpverify.conform.rounding import (
    BITS,
    COARSER,
    Dtype,
    deviation_rounding,
    has_digits_of,
    rounded,
    unit_roundoff,
)

BEYOND = (1.0, 2.0, 3.0)
MOST_COLUMNS = 2000  # steps or coordinates of which all pairs are tested
BLOCK = 2**22  # numbers compared in one numpy call

COORDINATES = "noise of two coordinates"
TWO_NUMBERS = "noise of two numbers"


def law_tests(x: Any, promise: Promise, alpha: float) -> Iterator[ConformanceTest]:
    """Test dependence and shape of noise ``x`` (run, step, coordinate) with level ``alpha`` for each test.

    A wrong mean or scale also fails these tests.
    """
    dtype = promise.dtype
    steps = sum(run @ run.T for run in x)
    yield _pairs_of_products(
        "noise of two steps", steps, x.shape[0] * x.shape[2], alpha, dtype
    )
    if x.shape[2] <= MOST_COLUMNS:
        yield _pairs(COORDINATES, x, alpha, dtype)
        yield _pairs(TWO_NUMBERS, x.reshape(len(x), -1)[:, :MOST_COLUMNS], alpha, dtype)
    else:
        yield _layers(x, alpha, dtype)
        yield _distances(x, alpha, dtype)
    yield _shape(x, alpha, dtype)


def _pairs(
    name: str, x: Any, alpha: float, dtype: Dtype = "float64"
) -> ConformanceTest:
    """Test the correlation of all pairs of columns."""
    columns = x.reshape(-1, x.shape[-1])
    return _pairs_of_products(name, columns.T @ columns, len(columns), alpha, dtype)


def _pairs_of_products(
    name: str, products: Any, dof: int, alpha: float, dtype: Dtype
) -> ConformanceTest:
    """Test sums of two columns, and single columns: the squared norm of a sum, divided by 2, is chi-square."""
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
    return ConformanceTest(
        name,
        passed,
        words,
        f"a correlation of {least:.2f}, or a variance off by as much",
        alpha,
    )


def _layers(x: Any, alpha: float, dtype: Dtype) -> ConformanceTest:
    """Test the variance of single coordinates and of blocks of 4, 16, ..., to detect layers of any size."""
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
        # the last block may be shorter
        kinds, which = np.unique(dof, return_inverse=True)
        low = np.asarray(chi2.ppf(level, kinds))[which] / rounding
        high = np.asarray(chi2.isf(level, kinds))[which] * rounding
        passed = passed and bool(np.all((low <= sums) & (sums <= high)))
        surprise = np.where(
            sums > dof, (sums - dof) / (high - dof), (dof - sums) / (dof - low)
        )
        far = int(np.argmax(surprise))
        if surprise[far] > worst[1]:
            places = f"{starts[far] + 1} to {starts[far] + counts[far]}"
            worst = (
                places,
                float(surprise[far]),
                float(sums[far] / dof[far]),
                float(low[far] / dof[far]),
            )
    many = runs * steps * lengths[-1]
    least = 1.0 - math.sqrt(chi2.ppf(level, many) / rounding / chi2.isf(0.01, many))
    words = f"coordinates {worst[0]}: variance off by {worst[2] - 1:+.3f}, down to {worst[3] - 1:+.3f} allowed"
    sees = f"a layer of a quarter of all coordinates with {least:.1%} less noise; smaller layers need a larger gap"
    return ConformanceTest(COORDINATES, passed, words, sees, alpha)


def _distances(x: Any, alpha: float, dtype: Dtype) -> ConformanceTest:
    """Test the autocorrelation at every distance between coordinates, in one step and between consecutive steps.

    A sum of products at one distance is a quadratic form of normal numbers. Its matrix has norm at most 1, and its
    squared Frobenius norm F**2 is half the number of products. Its absolute value exceeds ``2 F sqrt(t) + 2 t`` with
    probability at most ``2 exp(-t)``
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
    cross = irfft(following, length)[distances]  # negative distances index from the end
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
    return ConformanceTest(TWO_NUMBERS, worst[1] <= 1.0, words, sees, alpha)


def _shape(x: Any, alpha: float, dtype: Dtype = "float64") -> ConformanceTest:
    """Test how many numbers lie beyond one, two and three deviations, with limits that allow for rounding."""
    counts, passed, level = [], True, alpha / len(BEYOND) / 2
    rounding = 1.0 + deviation_rounding(dtype)
    flat = x.reshape(-1)
    for limit in BEYOND:
        count = sum(
            int(np.sum(np.abs(flat[at : at + BLOCK]) > limit))
            for at in range(0, flat.size, BLOCK)
        )
        low = binom.ppf(level, x.size, 2 * norm.sf(limit * rounding))
        high = binom.isf(level, x.size, 2 * norm.sf(limit / rounding))
        passed = passed and bool(low <= count <= high)
        counts.append(f"{count} beyond {limit:g} ({low:.0f} to {high:.0f})")
    return ConformanceTest(
        "shape of noise",
        passed,
        ", ".join(counts),
        "another law of the same variance, not its far tail",
        alpha,
    )


# coordinates released with the example, and as many without it
RELEASED_NUMBERS = 20_000
MOST_STEPS = 2_000
REFERENCE = "Mironov 2012, On significance of the least significant bits for differential privacy"


def grid_note(
    optimizer: PrivateOptimizer, promise: Promise, seed: int
) -> Iterator[ConformanceTest]:
    """Measure how often the last digits of a number show that an example is absent. This is a note, never a fault.

    With the example, each coordinate is ``x + z``, where ``x`` is a constant and ``z`` is noise. Both are numbers of
    the type. If ``|x + z| < x / 2``, then ``|z| > x / 2``, so ``x`` and ``z`` are multiples of the spacing of the type
    at ``x / 2``. Then ``x + z`` is exact and is also such a multiple. Without the example, a number of that size is
    ``z`` alone and usually not such a multiple, which reveals that the example is absent.
    """
    if promise.dtype == "float64":
        return
    d = promise.dimension
    example = np.full((1, d), promise.clip / math.sqrt(d))
    without = _numbers(
        optimizer,
        promise,
        example[:0] if promise.sampling == "poisson" else 0.0 * example,
        seed,
    )
    present = _numbers(optimizer, promise, example, seed)
    size = promise.clip / math.sqrt(d)
    # spacing just below size / 2
    distance = 2.0 ** (math.floor(math.log2(size / 2.0)) + 1 - BITS[promise.dtype])
    shares = [
        (_share_of_finer(a, size, distance), _share_of_finer(b, size, distance))
        for a, b in (
            (without, present),
            (rounded(without, promise.dtype), rounded(present, promise.dtype)),
        )
    ]
    share, share_without = max(shares, key=lambda pair: pair[0] - pair[1])
    gap = unit_roundoff(promise.dtype)
    finding = f"note: released numbers of {promise.dtype} have gaps of {gap:.2g} to {2 * gap:.2g} of their size. "
    error = math.sqrt((share + share_without) / without.size)
    finding += (
        "The last digits of one number tell whether an example is there with "
        f"advantage {share - share_without:.2%}, "
    )
    finding += (
        f"standard error {error:.2%}. The accounting does not cover this ({REFERENCE})"
    )
    yield ConformanceTest("grid", True, finding, "nothing: this is a measurement")


def _numbers(
    optimizer: PrivateOptimizer, promise: Promise, batch: Any, seed: int
) -> Any:
    """Return the releases of many first steps on a batch, multiplied by the divisor."""
    steps = min(MOST_STEPS, max(1, RELEASED_NUMBERS // promise.dimension))
    released = [
        optimizer.step(
            optimizer.start(), batch.copy(), np.random.default_rng([seed, 17, step])
        )[1]
        for step in range(steps)
    ]
    return np.asarray(released, dtype=float)[:, : promise.dimension] * promise.divisor


def _share_of_finer(numbers: Any, size: float, distance: float) -> float:
    """Return the fraction of numbers that are below ``size / 2`` and not multiples of ``distance``."""
    return float(
        np.mean((np.abs(numbers) < size / 2.0) & (np.fmod(numbers, distance) != 0.0))
    )


FRESH = 0.99  # least fraction of distinct numbers in independent noise
MOST_NUMBERS = 2**22  # numbers that are tested for repeats and for their digits
LEAST_NUMBERS = 10_000
NEVER = 1e-9  # if equal vectors have a smaller probability than this, they are a fault
# number of distinct seeds: PyTorch's CPU generators use only 32 bits of a seed
SEEDS = 2**32
RARE = 1e-6  # bound on the probability of more repeats than allowed


def repeat_tests(raw: Any, promise: Promise) -> Iterator[ConformanceTest]:
    """Test noise ``raw`` (run, step, coordinate) at gradients of 0 for repeats and for too few digits."""
    yield _fresh(raw, promise)
    part = raw.reshape(-1)[:MOST_NUMBERS]
    coarse = next(
        (
            t
            for t in COARSER[promise.dtype]
            if any(has_digits_of(part * u, t, promise.dtype) for u in _units(promise))
        ),
        None,
    )
    kinds = " or ".join(COARSER[promise.dtype])
    yield ConformanceTest(
        "precision",
        coarse is None,
        f"all noise is {coarse}"
        if coarse
        else f"noise has the digits of {promise.dtype}",
        f"{kinds}, whose gaps reveal what the noise should hide, even if it is scaled afterwards"
        if kinds
        else "nothing: no type has fewer digits",
    )


def chance_repeats(vectors: int) -> int:
    """Return how many noise vectors may repeat others by chance, if each is drawn from a seed of 32 bits.

    If k vectors repeat others, some k pairs of equal seeds form a forest. There are at most ``pairs**k / k!`` forests
    of k edges. All pairs of a given forest have equal seeds with probability ``SEEDS**-k``. The probability of more
    repeats than the returned number is below RARE.
    """
    mean = vectors * (vectors - 1) / 2 / SEEDS
    repeats = 0
    while mean ** (repeats + 1) / math.factorial(repeats + 1) >= RARE:
        repeats += 1
    return repeats


def chance_words(vectors: int) -> str:
    """Return a text that states the number of repeats that a test allows."""
    repeats = chance_repeats(vectors)
    return (
        f"; {repeats} of {vectors} vectors may repeat others by equal seeds of 32 bits"
        if repeats
        else ""
    )


def _fresh(raw: Any, promise: Promise) -> ConformanceTest:
    """Test that each coordinate has noise and that no noise is used twice.

    Two normal numbers that are rounded with unit roundoff u are equal with probability at most u: the expectation of
    their density times the spacing of the type is at most 2 u times the integral of ``|x| phi(x)**2``, which is
    1 / (2 pi). So n numbers have at most ``n**2 u / 2`` equal pairs on average. Two vectors of d numbers are equal with
    probability at most ``u**d``.
    """
    steps = raw.reshape(-1, promise.released_dimension)
    unit = unit_roundoff(promise.dtype)
    number_limit = min(
        MOST_NUMBERS, int((1.0 - FRESH) / unit / 5.0)
    )  # then the expected number of equal pairs is at most a tenth of the fault threshold
    rows = max(1, number_limit // steps.shape[1])
    numbers = steps[:rows]
    is_repeated = (
        number_limit >= LEAST_NUMBERS and np.unique(numbers).size < FRESH * numbers.size
    )
    if math.log(len(steps)) * 2 + math.log(unit) * promise.dimension < math.log(NEVER):
        different = len({hashlib.sha256(row.tobytes()).digest() for row in steps})
        is_repeated = is_repeated or len(steps) - different > chance_repeats(len(steps))
    silent = np.flatnonzero(~raw.any(axis=(0, 1))) + 1
    words = (
        "the same noise is used more than once"
        if is_repeated
        else "no noise is used twice"
    )
    if len(silent):
        is_repeated = True
        words = f"there is no noise{'' if len(silent) == promise.released_dimension else f' in coordinate {silent[0]}'}"
    sees = f"noise that is used again, in another step, run or coordinate, or none{chance_words(len(steps))}"
    return ConformanceTest("fresh numbers", not is_repeated, words, sees)


def _units(promise: Promise) -> set[float]:
    """Return inverses of factors by which an optimizer may have scaled its noise after drawing it."""
    sigma = promise.sigma
    clip = promise.clip
    divisor = promise.divisor
    return {1.0, divisor, divisor / clip, divisor / sigma, divisor / (sigma * clip)}
