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
    COARSER_DTYPES,
    SIGNIFICANT_BITS,
    Dtype,
    deviation_rounding,
    has_digits_of,
    round_to,
    unit_roundoff,
)

TAIL_LIMITS = (1.0, 2.0, 3.0)
MAX_COLUMNS = 2000  # steps or coordinates of which all pairs are tested
BLOCK_NUMBERS = 2**22  # numbers compared in one numpy call
COORDINATES_NAME = "noise of two coordinates"
TWO_NUMBERS_NAME = "noise of two numbers"


def law_tests(x: Any, promise: Promise, alpha: float) -> Iterator[ConformanceTest]:
    """Test dependence and shape of noise ``x`` (run, step, coordinate) with level ``alpha`` for each test.

    A wrong mean or scale also fails these tests.
    """
    dtype = promise.dtype
    step_products = sum(run @ run.T for run in x)
    yield _products_test(
        "noise of two steps", step_products, x.shape[0] * x.shape[2], alpha, dtype
    )
    if x.shape[2] <= MAX_COLUMNS:
        yield _column_pairs_test(COORDINATES_NAME, x, alpha, dtype)
        yield _column_pairs_test(
            TWO_NUMBERS_NAME, x.reshape(len(x), -1)[:, :MAX_COLUMNS], alpha, dtype
        )
    else:
        yield _blocks_test(x, alpha, dtype)
        yield _autocorrelation_test(x, alpha, dtype)
    yield _shape_test(x, alpha, dtype)


def _column_pairs_test(
    name: str, x: Any, alpha: float, dtype: Dtype = "float64"
) -> ConformanceTest:
    """Test the correlation of all pairs of columns."""
    columns = x.reshape(-1, x.shape[-1])
    return _products_test(name, columns.T @ columns, len(columns), alpha, dtype)


def _products_test(
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
    worst = np.argmax(np.abs(statistics - dof))
    i = first[worst] + 1
    j = second[worst] + 1
    ratios = (f"{value / dof - 1:+.3f}" for value in (statistics[worst], low, high))
    columns_text = (
        f"{i}: variance off by" if i == j else f"{i} and {j}: correlation about"
    )
    finding = "{} {}, {} to {} allowed".format(columns_text, *ratios)
    passed = bool(np.all((low <= statistics) & (statistics <= high)))
    smallest_correlation = 2 * (high / dof - 1)
    return ConformanceTest(
        name,
        passed,
        finding,
        f"a correlation of {smallest_correlation:.2f}, or a variance off by as much",
        alpha,
    )


def _blocks_test(x: Any, alpha: float, dtype: Dtype) -> ConformanceTest:
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
        distinct_dof, inverse = np.unique(dof, return_inverse=True)
        low = np.asarray(chi2.ppf(level, distinct_dof))[inverse] / rounding
        high = np.asarray(chi2.isf(level, distinct_dof))[inverse] * rounding
        passed = passed and bool(np.all((low <= sums) & (sums <= high)))
        excess = np.where(
            sums > dof, (sums - dof) / (high - dof), (dof - sums) / (dof - low)
        )
        worst_block = int(np.argmax(excess))
        if excess[worst_block] > worst[1]:
            coordinates = f"{starts[worst_block] + 1} to {starts[worst_block] + counts[worst_block]}"
            worst = (
                coordinates,
                float(excess[worst_block]),
                float(sums[worst_block] / dof[worst_block]),
                float(low[worst_block] / dof[worst_block]),
            )
    largest_block = runs * steps * lengths[-1]
    reduction = 1.0 - math.sqrt(
        chi2.ppf(level, largest_block) / rounding / chi2.isf(0.01, largest_block)
    )
    finding = f"coordinates {worst[0]}: variance off by {worst[2] - 1:+.3f}, down to {worst[3] - 1:+.3f} allowed"
    sees = f"a layer of a quarter of all coordinates with {reduction:.1%} less noise; smaller layers need a larger gap"
    return ConformanceTest(COORDINATES_NAME, passed, finding, sees, alpha)


def _autocorrelation_test(x: Any, alpha: float, dtype: Dtype) -> ConformanceTest:
    """Test the autocorrelation at every distance between coordinates, in one step and between consecutive steps.

    A sum of products at one distance is a quadratic form of normal numbers. Its matrix has norm at most 1, and its
    squared Frobenius norm F**2 is half the number of products. Its absolute value exceeds ``2 F sqrt(t) + 2 t`` with
    probability at most ``2 exp(-t)``
    (Laurent and Massart, Adaptive estimation of a quadratic functional, Ann. Statist. 28, 2000, Lemma 1).
    """
    runs, steps, d = x.shape
    length = next_fast_len(2 * d, real=True)
    step_spectrum = np.zeros(length // 2 + 1)
    lag_spectrum = np.zeros(length // 2 + 1, dtype=complex)
    for run in x:
        previous = None
        for vector in run:
            transformed = rfft(vector, length)
            step_spectrum += np.abs(transformed) ** 2
            if previous is not None:
                lag_spectrum += previous.conj() * transformed
            previous = transformed
    level = math.log(2 * 3 * d / alpha)
    rounding = (1.0 + deviation_rounding(dtype)) ** 2
    distances = np.arange(1 - d, d)
    # negative distances index from the end
    lag_sums = irfft(lag_spectrum, length)[distances]
    cases = (
        ("in one step", distances[d:], irfft(step_spectrum, length)[1:d], runs * steps),
        ("in two steps in a row", distances, lag_sums, runs * (steps - 1)),
    )
    worst = ("", 0.0, 0.0)
    for kind, lags, sums, vector_count in cases:
        products = vector_count * (d - np.abs(lags)).astype(float)
        allowed = rounding * (np.sqrt(2.0 * products * level) + 2.0 * level)
        ratio = np.abs(sums) / allowed
        index = int(np.argmax(ratio))
        if ratio[index] > worst[1]:
            text = f"coordinates {lags[index]} apart {kind}: correlation about {sums[index] / products[index]:+.3f}"
            worst = (text, float(ratio[index]), float(allowed[index] / products[index]))
    smallest_correlation = 2.0 * math.sqrt(2.0 * level / (runs * steps * d / 2))
    finding = f"{worst[0]}, up to {worst[2]:.3f} allowed"
    sees = f"a correlation of {smallest_correlation:.2g} at one distance, in half of all coordinates"
    return ConformanceTest(TWO_NUMBERS_NAME, worst[1] <= 1.0, finding, sees, alpha)


def _shape_test(x: Any, alpha: float, dtype: Dtype = "float64") -> ConformanceTest:
    """Test how many numbers lie beyond one, two and three deviations, with limits that allow for rounding."""
    counts = []
    passed = True
    level = alpha / len(TAIL_LIMITS) / 2
    rounding = 1.0 + deviation_rounding(dtype)
    numbers = x.reshape(-1)
    for limit in TAIL_LIMITS:
        count = sum(
            int(np.sum(np.abs(numbers[start : start + BLOCK_NUMBERS]) > limit))
            for start in range(0, numbers.size, BLOCK_NUMBERS)
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
MAX_GRID_STEPS = 2_000
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
    absent_numbers = _released_numbers(
        optimizer,
        promise,
        example[:0] if promise.sampling == "poisson" else 0.0 * example,
        seed,
    )
    present_numbers = _released_numbers(optimizer, promise, example, seed)
    coordinate = promise.clip / math.sqrt(d)
    # spacing just below coordinate / 2
    spacing = 2.0 ** (
        math.floor(math.log2(coordinate / 2.0)) + 1 - SIGNIFICANT_BITS[promise.dtype]
    )
    fractions = [
        (
            _fraction_of_finer(a, coordinate, spacing),
            _fraction_of_finer(b, coordinate, spacing),
        )
        for a, b in (
            (absent_numbers, present_numbers),
            (
                round_to(absent_numbers, promise.dtype),
                round_to(present_numbers, promise.dtype),
            ),
        )
    ]
    absent_fraction, present_fraction = max(
        fractions, key=lambda pair: pair[0] - pair[1]
    )
    gap = unit_roundoff(promise.dtype)
    finding = f"note: released numbers of {promise.dtype} have gaps of {gap:.2g} to {2 * gap:.2g} of their size. "
    error = math.sqrt((absent_fraction + present_fraction) / absent_numbers.size)
    finding += (
        "The last digits of one number tell whether an example is there with "
        f"advantage {absent_fraction - present_fraction:.2%}, "
    )
    finding += (
        f"standard error {error:.2%}. The accounting does not cover this ({REFERENCE})"
    )
    yield ConformanceTest("grid", True, finding, "nothing: this is a measurement")


def _released_numbers(
    optimizer: PrivateOptimizer, promise: Promise, batch: Any, seed: int
) -> Any:
    """Return the releases of many first steps on a batch, multiplied by the divisor."""
    steps = min(MAX_GRID_STEPS, max(1, RELEASED_NUMBERS // promise.dimension))
    released = [
        optimizer.step(
            optimizer.start(), batch.copy(), np.random.default_rng([seed, 17, step])
        )[1]
        for step in range(steps)
    ]
    return np.asarray(released, dtype=float)[:, : promise.dimension] * promise.divisor


def _fraction_of_finer(numbers: Any, coordinate: float, spacing: float) -> float:
    """Return the fraction of numbers that are below ``coordinate / 2`` and not multiples of ``spacing``."""
    return float(
        np.mean(
            (np.abs(numbers) < coordinate / 2.0) & (np.fmod(numbers, spacing) != 0.0)
        )
    )


MIN_DISTINCT_FRACTION = 0.99  # least fraction of distinct numbers in independent noise
MAX_REPEAT_NUMBERS = 2**22  # numbers that are tested for repeats and for their digits
MIN_REPEAT_NUMBERS = 10_000
# if equal vectors have a smaller probability than this, they are a fault
NEGLIGIBLE = 1e-9
# number of distinct seeds: PyTorch's CPU generators use only 32 bits of a seed
SEEDS = 2**32
EXCESS_PROBABILITY = 1e-6  # bound on the probability of more repeats than allowed


def repeat_tests(noise: Any, promise: Promise) -> Iterator[ConformanceTest]:
    """Test noise at gradients of 0 (axes: run, step, coordinate) for repeats and for too few digits."""
    yield _fresh_numbers_test(noise, promise)
    numbers = noise.reshape(-1)[:MAX_REPEAT_NUMBERS]
    coarse_dtype = next(
        (
            dtype
            for dtype in COARSER_DTYPES[promise.dtype]
            if any(
                has_digits_of(numbers * scale, dtype, promise.dtype)
                for scale in _inverse_scales(promise)
            )
        ),
        None,
    )
    coarser_dtypes = " or ".join(COARSER_DTYPES[promise.dtype])
    yield ConformanceTest(
        "precision",
        coarse_dtype is None,
        f"all noise is {coarse_dtype}"
        if coarse_dtype
        else f"noise has the digits of {promise.dtype}",
        f"{coarser_dtypes}, whose gaps reveal what the noise should hide, even if it is scaled afterwards"
        if coarser_dtypes
        else "nothing: no type has fewer digits",
    )


def chance_repeats(vectors: int) -> int:
    """Return how many noise vectors may repeat others by chance, if each is drawn from a seed of 32 bits.

    If k vectors repeat others, some k pairs of equal seeds form a forest. There are at most ``pairs**k / k!`` forests
    of k edges. All pairs of a given forest have equal seeds with probability ``SEEDS**-k``. The probability of more
    repeats than the returned number is below EXCESS_PROBABILITY.
    """
    mean = vectors * (vectors - 1) / 2 / SEEDS
    repeats = 0
    while mean ** (repeats + 1) / math.factorial(repeats + 1) >= EXCESS_PROBABILITY:
        repeats += 1
    return repeats


def chance_repeats_text(vectors: int) -> str:
    """Return a text that states the number of repeats that a test allows."""
    repeats = chance_repeats(vectors)
    return (
        f"; {repeats} of {vectors} vectors may repeat others by equal seeds of 32 bits"
        if repeats
        else ""
    )


def _fresh_numbers_test(noise: Any, promise: Promise) -> ConformanceTest:
    """Test that each coordinate has noise and that no noise is used twice.

    Two normal numbers that are rounded with unit roundoff u are equal with probability at most u: the expectation of
    their density times the spacing of the type is at most 2 u times the integral of ``|x| phi(x)**2``, which is
    1 / (2 pi). So n numbers have at most ``n**2 u / 2`` equal pairs on average. Two vectors of d numbers are equal with
    probability at most ``u**d``.
    """
    steps = noise.reshape(-1, promise.released_dimension)
    u = unit_roundoff(promise.dtype)
    number_limit = min(
        MAX_REPEAT_NUMBERS, int((1.0 - MIN_DISTINCT_FRACTION) / u / 5.0)
    )  # then the expected number of equal pairs is at most a tenth of the fault threshold
    rows = max(1, number_limit // steps.shape[1])
    numbers = steps[:rows]
    is_fault = (
        number_limit >= MIN_REPEAT_NUMBERS
        and np.unique(numbers).size < MIN_DISTINCT_FRACTION * numbers.size
    )
    if math.log(len(steps)) * 2 + math.log(u) * promise.dimension < math.log(
        NEGLIGIBLE
    ):
        distinct_count = len({hashlib.sha256(row.tobytes()).digest() for row in steps})
        is_fault = is_fault or len(steps) - distinct_count > chance_repeats(len(steps))
    silent_coordinates = np.flatnonzero(~noise.any(axis=(0, 1))) + 1
    finding = (
        "the same noise is used more than once"
        if is_fault
        else "no noise is used twice"
    )
    if len(silent_coordinates):
        is_fault = True
        finding = "there is no noise"
        if len(silent_coordinates) < promise.released_dimension:
            finding += f" in coordinate {silent_coordinates[0]}"
    sees = f"noise that is used again, in another step, run or coordinate, or none{chance_repeats_text(len(steps))}"
    return ConformanceTest("fresh numbers", not is_fault, finding, sees)


def _inverse_scales(promise: Promise) -> set[float]:
    """Return inverses of factors by which an optimizer may have scaled its noise after drawing it."""
    sigma = promise.sigma
    clip = promise.clip
    divisor = promise.divisor
    return {1.0, divisor, divisor / clip, divisor / sigma, divisor / (sigma * clip)}
