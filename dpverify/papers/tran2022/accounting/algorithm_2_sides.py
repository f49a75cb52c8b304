"""Sums of squared weights over the nodes of Algorithm 2, per family, for one pattern of visits of one example.

A G node moves by at most 2G times its weight S = sum of ``(1-alpha)**(z - t)`` over the visits t in it, a Delta node by
2 eta N L S, an r node by 2 eta N L R, R with every term times (p - 1)/N, p the place of t in its epoch. Each family
reaches this in all its nodes where G is large; their sum is an upper bound (NOTES_privacy.md, section 3).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

from dpverify.privacy.participation import Pattern, pattern_count, patterns
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import ZERO, Value, power, to_value

Nodes: TypeAlias = Literal["read", "all"]
"""Nodes that Algorithm 4 can read, or all nodes of the tree, as the proofs count them."""

G_FIRST, G_LATER, DELTA_FIRST, DELTA_LATER, DRIFT = range(5)
"""G and Delta nodes inside [1, 2N] and elsewhere, and r nodes."""

MOST_PATTERNS = 400  # Where there are more patterns than this, the largest sum is searched for from several starts.


class VisitedNode(NamedTuple):
    """One node of one family."""

    family: int
    end: int  # its last step
    visits: list[int]  # steps of the example in it


def node_terms(steps: int, examples: int, pattern: Sequence[int], nodes: Nodes = "read") -> Iterator[VisitedNode]:
    """Give the nodes that hold a visit, family by family."""
    # "read": G and Delta no longer than N, r only left halves; "all": every dyadic interval in [1, T]; Delta only after
    # the first epoch.
    for level in range(steps.bit_length()):
        for block, group in itertools.groupby(pattern, key=lambda t: (t - 1) >> level):
            end = (block + 1) << level
            if end > steps:
                continue
            visits = list(group)
            later = int(end > 2 * examples)
            if nodes == "all" or 1 << level <= examples:
                yield VisitedNode(G_FIRST + later, end, visits)
                if end - (1 << level) >= examples:
                    yield VisitedNode(DELTA_FIRST + later, end, visits)
            if nodes == "all" or block % 2 == 0:
                yield VisitedNode(DRIFT, end, visits)


def exact_sums(
    steps: int, examples: int, alpha: Fraction, pattern: Sequence[int], nodes: Nodes = "read"
) -> list[Value]:
    """Sum the squared weights of one pattern, exactly or in balls, family by family. Five sums, without units."""
    sums: list[Value] = [ZERO] * 5
    for family, end, visits in node_terms(steps, examples, pattern, nodes):
        total: Value = ZERO
        for t in visits:
            share = Fraction((t - 1) % examples, examples) if family == DRIFT else Fraction(1)
            total = total + to_value(share) * power(1 - alpha, end - t)
        sums[family] = sums[family] + total * total
    return sums


def _float_sums(steps: int, examples: int, alpha: float, pattern: Sequence[int], nodes: Nodes) -> list[float]:
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    sums = [0.0] * 5
    for family, end, visits in node_terms(steps, examples, pattern, nodes):
        total = 0.0
        for t in visits:
            weight = math.exp(log_decay * (end - t)) if end > t else 1.0
            total += weight * ((t - 1) % examples) / examples if family == DRIFT else weight
        sums[family] += total * total
    return sums


def worst_pattern(
    steps: int, examples: int, alpha: float, ordering: Ordering, weights: Sequence[float], nodes: Nodes = "read"
) -> Pattern:
    """Maximize a weighted sum of the five sums over patterns: exactly, or until moving a visit improves nothing."""
    T, N = steps, min(examples, steps)

    def value(pattern: Pattern) -> float:
        sums = _float_sums(T, examples, alpha, pattern, nodes)
        return sum(weight * summand for weight, summand in zip(weights, sums, strict=True))

    if ordering == "once" or pattern_count(T, N, ordering) <= MOST_PATTERNS:
        return max(patterns(T, N, ordering), key=value)
    starts = [tuple(range(place, T + 1, N)) for place in sorted({1, N // 2 + 1, N})]
    return max((_climbed(start, T, N, value) for start in starts), key=value)


def _climbed(start: Pattern, T: int, N: int, value: Callable[[Pattern], float]) -> Pattern:
    """Move one visit at a time within its epoch while that helps."""
    pattern = start
    reached = value(start)
    before = -1.0
    while reached > before:
        before = reached
        for i in range(len(pattern)):
            begin = (pattern[i] - 1) // N * N
            for t in range(begin + 1, min(begin + N, T) + 1):
                moved = (*pattern[:i], t, *pattern[i + 1 :])
                if (moved_value := value(moved)) > reached:
                    pattern = moved
                    reached = moved_value
    return pattern
