"""Two formal sums, or two arrays, held against each other coefficient by coefficient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.harness.planted import Outcome
from dpverify.symbolic.exact.combinations import Combination, Name, first_difference
from dpverify.symbolic.exact.numbers import to_value


def compare_coefficients(left: Combination, right: Combination, in_words: Callable[[Name], str]) -> Outcome:
    """Whether all coefficients agree; the first that do not are the two sides, named by ``in_words``."""
    if (name := first_difference(left, right)) is None:
        return Outcome(True)
    lhs = left.coefficient(name)
    rhs = right.coefficient(name)
    certain = to_value(lhs) < to_value(rhs) or to_value(lhs) > to_value(rhs)
    return Outcome(False if certain else None, lhs, rhs, f"coefficients of {in_words(name)}")


def compare_arrays(
    actual: Any, expected: Any, in_words: Callable[..., str], *, rtol: float, atol: float = 0.0
) -> Outcome:
    """Whether two arrays of floats agree up to rounding; ``in_words`` names an entry by its indices."""
    bad = np.argwhere(~np.isclose(actual, expected, rtol=rtol, atol=atol))
    if not len(bad):
        return Outcome(True)
    at = tuple(int(i) for i in bad[0])
    return Outcome(False, note=f"{in_words(*at)}: {actual[at]} and {expected[at]}")
