"""What the grid of a low precision gives away: numbers that only one of two neighbouring batches can release."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.results import ConformanceTest
from dpverify.conform.rounding import BITS, rounded, unit_roundoff

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
