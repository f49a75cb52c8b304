"""The first size N = 10^(k/20) at which a bound, in units of the trivial one, is below 1; it falls below it once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

PER_DECADE = 20  # sizes that are tried: N = 10^(k/PER_DECADE), rounded


def size(k: int) -> int:
    """N number k of those that are tried."""
    return round(10 ** (k / PER_DECADE))


def first_below(bound: Callable[[int], float]) -> int:
    """Smallest k with ``bound(size(k)) < 1``, by bisection."""
    return 2 + bisect_left(range(2, 14 * PER_DECADE), True, key=lambda k: bound(size(k)) < 1)


def first_below_near(bound: Callable[[int], float], guess: int) -> int:
    """The same k, step by step from a guess: for a bound that is costly to evaluate."""
    k = guess
    while not bound(size(k)) < 1:
        k += 1
    while bound(size(k - 1)) < 1:
        k -= 1
    return k
