"""Find the first size N = 10^(k/20) from which a bound stays better than the trivial bound."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

PER_DECADE = 20  # number of sizes per decade: N = 10^(k/PER_DECADE), rounded


def size(k: int) -> int:
    """Return the k-th size N."""
    return round(10 ** (k / PER_DECADE))


def first_below(bound: Callable[[int], float]) -> int:
    """Return the smallest k with ``bound(size(k)) < 1``, by bisection."""
    return 2 + bisect_left(
        range(2, 14 * PER_DECADE), True, key=lambda k: bound(size(k)) < 1
    )


def first_below_near(bound: Callable[[int], float], guess: int) -> int:
    """Return the same k, step by step from a guess: for a bound that is costly to evaluate."""
    k = guess
    while not bound(size(k)) < 1:
        k += 1
    while bound(size(k - 1)) < 1:
        k -= 1
    return k
