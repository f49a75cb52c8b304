"""Noise that chance never makes: repeats, no seed, too few digits, and numbers that give the batch away."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.results import ConformanceTest
from dpverify.conform.rounding import BITS, COARSER, has_digits_of, rounded, unit_roundoff

NUMBERS = 20_000  # that are released on each side
MOST_STEPS = 2_000
REFERENCE = "Mironov 2012, On significance of the least significant bits for differential privacy"


def grid_note(optimizer: PrivateOptimizer, promise: Promise, seed: int) -> Iterator[ConformanceTest]:
    """Measure how often a number without the example is too fine for a release with it. A note, never a fault.

    With an example each coordinate is ``x + z``, where ``x`` is the same number in all of them and ``z`` is noise. Both
    are numbers of the type. If the sum is smaller than ``x / 2`` in absolute value, ``z`` is at least as large as
    ``x / 2``, and both are multiples of the type's distance there. So is their sum, which is exact. Without the example
    a number of that size is ``z`` alone, and most of them are finer: each of these shows that the example is not there.
    """
    if promise.dtype == "float64":
        return
    d = promise.dimension
    example = np.full((1, d), promise.clip / math.sqrt(d))
    without = _numbers(optimizer, promise, example[:0] if promise.sampling == "poisson" else 0.0 * example, seed)
    present = _numbers(optimizer, promise, example, seed)
    size = promise.clip / math.sqrt(d)
    distance = 2.0 ** (math.floor(math.log2(size / 2.0)) + 1 - BITS[promise.dtype])  # of numbers next to size / 2
    shares = [
        (_share_of_finer(a, size, distance), _share_of_finer(b, size, distance))
        for a, b in ((without, present), (rounded(without, promise.dtype), rounded(present, promise.dtype)))
    ]
    share, share_without = max(shares, key=lambda pair: pair[0] - pair[1])
    gap = unit_roundoff(promise.dtype)
    finding = f"note: released numbers of {promise.dtype} have gaps of {gap:.2g} to {2 * gap:.2g} of their size. "
    error = math.sqrt((share + share_without) / without.size)
    finding += (
        f"The last digits of one number tell whether an example is there with advantage {share - share_without:.2%}, "
    )
    finding += f"standard error {error:.2%}. The accounting does not cover this ({REFERENCE})"
    yield ConformanceTest("grid", True, finding, "nothing: this is a measurement")


def _numbers(optimizer: PrivateOptimizer, promise: Promise, batch: Any, seed: int) -> Any:
    """Return what first steps release for a batch, as sums."""
    steps = min(MOST_STEPS, max(1, NUMBERS // promise.dimension))
    released = [
        optimizer.step(optimizer.start(), batch.copy(), np.random.default_rng([seed, 17, step]))[1]
        for step in range(steps)
    ]
    return np.asarray(released, dtype=float)[:, : promise.dimension] * promise.divisor


def _share_of_finer(numbers: Any, size: float, distance: float) -> float:
    """Return the share of numbers that are small and no multiples of a distance."""
    return float(np.mean((np.abs(numbers) < size / 2.0) & (np.fmod(numbers, distance) != 0.0)))


FRESH = 0.99  # share of different numbers that independent noise has at least
MOST_NUMBERS = 2**22  # that are compared with each other, and whose digits are looked at
LEAST_NUMBERS = 10_000
NEVER = 1e-9  # probability of equal vectors below which they are a fault


def repeat_tests(raw: Any, promise: Promise) -> Iterator[ConformanceTest]:
    """Test the noise of whole runs at gradients of 0: run, step, coordinate."""
    yield _fresh(raw, promise)
    part = raw.reshape(-1)[:MOST_NUMBERS]
    coarse = next(
        (t for t in COARSER[promise.dtype] if any(has_digits_of(part * u, t, promise.dtype) for u in _units(promise))),
        None,
    )
    kinds = " or ".join(COARSER[promise.dtype])
    yield ConformanceTest(
        "precision",
        coarse is None,
        f"all noise is {coarse}" if coarse else f"noise has the digits of {promise.dtype}",
        f"{kinds}, whose gaps reveal what the noise should hide, even if it is scaled afterwards"
        if kinds
        else "nothing: no type has fewer digits",
    )


def _fresh(raw: Any, promise: Promise) -> ConformanceTest:
    """Test that there is noise in each coordinate, and that none of it is used twice.

    Two normal numbers that are rounded with unit roundoff u are equal with probability at most u: the mean of their
    density times the distance of the numbers of the type is at most 2 u times the integral of ``|x| phi(x)**2``, which
    is 1 / (2 pi). So n of them have at most ``n**2 u / 2`` equal pairs on average, and vectors of d numbers ``u**d``.
    """
    steps = raw.reshape(-1, promise.released_dimension)
    unit = unit_roundoff(promise.dtype)
    number_limit = min(
        MOST_NUMBERS, int((1.0 - FRESH) / unit / 5.0)
    )  # then at most a tenth of what is a fault has a double
    rows = max(1, number_limit // steps.shape[1])
    numbers = steps[:rows]
    is_repeated = number_limit >= LEAST_NUMBERS and np.unique(numbers).size < FRESH * numbers.size
    if math.log(len(steps)) * 2 + math.log(unit) * promise.dimension < math.log(NEVER):
        is_repeated = is_repeated or len({hashlib.sha256(row.tobytes()).digest() for row in steps}) < len(steps)
    silent = np.flatnonzero(~raw.any(axis=(0, 1))) + 1
    words = "the same noise is used more than once" if is_repeated else "no noise is used twice"
    if len(silent):
        is_repeated = True
        words = f"there is no noise{'' if len(silent) == promise.released_dimension else f' in coordinate {silent[0]}'}"
    sees = "noise that is used again, in another step, run or coordinate, or none"
    return ConformanceTest("fresh numbers", not is_repeated, words, sees)


def _units(promise: Promise) -> set[float]:
    """What noise may have been scaled by after it was drawn, turned around."""
    sigma = promise.sigma
    clip = promise.clip
    divisor = promise.divisor
    return {1.0, divisor, divisor / clip, divisor / sigma, divisor / (sigma * clip)}
