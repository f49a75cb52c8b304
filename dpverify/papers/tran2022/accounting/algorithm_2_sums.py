"""Exact sums of squared weights over the nodes of Algorithm 2, for patterns of visits of one example.

``read_nodes``, ``pattern_sum`` and ``largest_sum`` follow the definition of the accountant: what Algorithm 4 reads,
node by node and pattern by pattern, in rational numbers, for short runs only. Every faster accountant is compared with
them.

``exact_sums`` and ``worst_pattern`` take the sums per family. A G node moves by at most 2G times its weight S = sum of
``(1-alpha)**(z - t)`` over the visits t in it, a Delta node by 2 eta N L S, an r node by 2 eta N L R, R with every term
times (p - 1)/N, p the place of t in its epoch. Each family reaches this in all its nodes where G is large; their sum is
an upper bound (NOTES_privacy.md, section 3).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

from flint import fmpq

from dpverify.papers.tran2022.trees.tree_aggregation_bounds import Node, compose_intervals
from dpverify.privacy.participation import Pattern, pattern_count, patterns
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import ZERO, Value, power, to_fraction, to_value


@dataclass(frozen=True)
class Squares:
    """Sizes and noise of Algorithm 2, in rational numbers."""

    lipschitz: Fraction  # G, L and the length of a step
    smoothness: Fraction
    eta: Fraction
    # variances of a node of G that ends by step 2N, of a later one, of a node of Delta, and of r; above 0
    g_first: Fraction
    g_later: Fraction
    delta: Fraction
    drift: Fraction


def read_nodes(steps: int, examples: int) -> dict[str, set[Node]]:
    """Collect the nodes that Algorithm 4 reads in the steps 1..T, by going through its lines; 0 < gamma < 1.

    Of "G", "Delta" and "r" the nodes.

    Source: Algorithm 4, with the repairs that it needs to run; compare
    ``literal_output``.
    """
    T = steps
    N = examples
    nodes: dict[str, set[Node]] = {"G": set(), "Delta": set(), "r": set()}
    for t in range(1, T + 1):
        q, r = divmod(t, N)
        nodes["r"].update(compose_intervals(1, t))
        nodes["G"].update(compose_intervals(1, r))
        for i in range(q):
            nodes["G"].update(compose_intervals(r + 1, r + N))
            if i >= 1:
                window = compose_intervals(t - i * N + 1, t - (i - 1) * N)
                nodes["G"].update(window)
                nodes["Delta"].update(window)
    return nodes


def pattern_sum(
    examples: int, alpha: Fraction, squares: Squares, nodes: dict[str, set[Node]], pattern: Sequence[int]
) -> Fraction:
    """Sum squared sensitivity over variance of all nodes, for one pattern.

    G: 2 G times the sum of weights. Delta: the largest ``sum c_i (h_i - h_{i-1})`` with jumps of at most D = 2 L eta N
    and ``|h| <= 2G``: D for each of the latest visits, until 4G is used up. r: 2 eta L times the sum of (p - 1)
    weights.
    """
    keep, lipschitz, smoothness, eta = map(_rational, (1 - alpha, squares.lipschitz, squares.smoothness, squares.eta))
    total = ZERO
    jump = 2 * smoothness * eta * examples
    for family, intervals in nodes.items():
        for y, z in intervals:
            inside = [t for t in pattern if y <= t <= z]
            weights = [keep ** (z - t) for t in inside]
            if family == "G":
                variance = squares.g_first if z <= 2 * examples else squares.g_later
                moved = 2 * lipschitz * sum(weights, ZERO)
            elif family == "Delta":
                variance = squares.delta
                left = 4 * lipschitz
                moved = ZERO
                for weight in reversed(weights):
                    moved += min(jump, left) * weight
                    left -= min(jump, left)
            else:
                variance = squares.drift
                places = [(t - 1) % examples for t in inside]
                moved = 2 * eta * smoothness * sum((p * w for p, w in zip(places, weights, strict=True)), ZERO)
            total += moved**2 / _rational(variance)
    return to_fraction(total)


def _rational(value: Fraction) -> fmpq:
    return fmpq(*value.as_integer_ratio())  # whose arithmetic is ten times faster


def largest_sum(
    steps: int, examples: int, alpha: Fraction, squares: Squares, ordering: Ordering
) -> tuple[Fraction, Pattern]:
    """Maximize :func:`pattern_sum` by trying every pattern. mu^2, and the first pattern that reaches it."""
    nodes = read_nodes(steps, examples)

    def value(pattern: Pattern) -> Fraction:
        return pattern_sum(examples, alpha, squares, nodes, pattern)

    best = max(patterns(steps, examples, ordering), key=value)
    return value(best), best


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
