"""Sums of squared weights over the nodes of Algorithm 2, per family, for one pattern of visits of one example.

With one example replaced, a G node moves by at most 2G times its weight S = sum of ``(1-alpha)**(z - t)`` over the
visits t in it, a Delta node by at most 2 eta N L S, an r node by at most 2 eta N L times R, the same sum with every
term times (p - 1)/N, p the place of t in its epoch. All are reached at once where G is large (NOTES_privacy.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from dpverify.privacy.participation import Ordering, Pattern, pattern_count, patterns

Nodes: TypeAlias = Literal["read", "all"]
"""Nodes that Algorithm 4 can read, or all nodes of the tree, as the proofs count them."""

MOST_PATTERNS = 3000
"""Where there are more patterns than this, the largest sum is searched for from several starts."""


class FamilySums(NamedTuple):
    """Sums over nodes of S^2 (G inside [1, 2N], G elsewhere, Delta inside and elsewhere) and of R^2 (r)."""

    g_first: float
    g_later: float
    delta_first: float
    delta_later: float
    drift: float


class Weights(NamedTuple):
    """What each of the five sums counts for: squared sensitivity per squared deviation of a weight of 1."""

    g_first: float
    g_later: float
    delta_first: float
    delta_later: float
    drift: float


def family_sums(steps: int, examples: int, alpha: float, pattern: Sequence[int], nodes: Nodes = "read") -> FamilySums:
    """Sum the squared weights of one pattern, family by family.

    Parameters
    ----------
    steps, examples : int
        T and N, at least 1.
    alpha : float
        Momentum weight in (0, 1].
    pattern : sequence of int
        Steps of one example, in rising order.
    nodes : {"read", "all"}
        "read": G and Delta no longer than N, Delta only after the first epoch, r only left halves. "all": every dyadic
        interval inside [1, T], Delta only after the first epoch.

    Returns
    -------
    FamilySums
        Up to a relative rounding error of 1e-11; without units.
    """
    T, N = steps, examples
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    sums = [0.0] * 5
    for level in range(T.bit_length()):
        for end, visits in _nodes_of(level, T, pattern):
            begin = end - (1 << level)
            weights = [math.exp(log_decay * (end - t)) if end > t else 1.0 for t in visits]
            total = sum(weights) ** 2
            first = end <= 2 * N
            if nodes == "all" or 1 << level <= N:
                sums[0 if first else 1] += total
                if begin >= N:
                    sums[2 if first else 3] += total
            if nodes == "all" or begin >> level & 1 == 0:
                sums[4] += (sum(w * ((t - 1) % N) for w, t in zip(weights, visits, strict=True)) / N) ** 2
    return FamilySums(*sums)


def _nodes_of(level: int, T: int, pattern: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Ends of the nodes of a level that hold a visit, with the visits; incomplete nodes are no nodes."""
    for block, visits in itertools.groupby(pattern, key=lambda t: (t - 1) >> level):
        end = (block + 1) << level
        if end <= T:
            yield end, list(visits)


def weighted(sums: FamilySums, weights: Weights) -> float:
    """Add up the five sums, each with what it counts for; 0 times anything is 0."""
    return sum(w * s for w, s in zip(weights, sums, strict=True) if s > 0.0)


def largest(
    steps: int, examples: int, alpha: float, ordering: Ordering, weights: Weights, nodes: Nodes = "read"
) -> tuple[float, Pattern, bool]:
    """Maximize the weighted sum over patterns.

    Parameters
    ----------
    steps, examples, alpha, ordering
        T, N, momentum weight, "fresh" or "once".
    weights : Weights
        What each sum counts for.
    nodes : {"read", "all"}
        As in :func:`family_sums`.

    Returns
    -------
    (float, tuple of int, bool)
        The value, a pattern with it, and whether every pattern was tried. Otherwise it is a lower bound: what moving
        one visit at a time cannot improve.
    """
    T, N = steps, min(examples, steps)

    def value(pattern: Pattern) -> float:
        return weighted(family_sums(T, examples, alpha, pattern, nodes), weights)

    if ordering == "once" or pattern_count(T, N, ordering) <= MOST_PATTERNS:
        best = max(patterns(T, N, ordering), key=value)
        return value(best), best, True
    starts = [tuple(range(place, T + 1, N)) for place in {1, N // 2 + 1, N}]
    best = max((_climbed(start, T, N, value) for start in starts), key=value)
    return value(best), best, False


def _climbed(start: Pattern, T: int, N: int, value: object) -> Pattern:
    """Move one visit at a time within its epoch while that helps."""
    assert callable(value)
    pattern, reached = start, value(start)
    while True:
        before = reached
        for i in range(len(pattern)):
            begin = (pattern[i] - 1) // N * N
            for t in range(begin + 1, min(begin + N, T) + 1):
                moved = (*pattern[:i], t, *pattern[i + 1 :])
                if (other := value(moved)) > reached:
                    pattern, reached = moved, other
        if reached == before:
            return pattern
