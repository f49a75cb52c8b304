"""What chance alone never does: noise that comes back, that no seed moves, or that has too few digits."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.conform.records import Promise
from dpverify.conform.results import ConformanceTest
from dpverify.conform.rounding import COARSER, has_digits_of, unit_roundoff

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
