"""Exact sums of squared weights over the nodes of Algorithm 2, for patterns of visits of one example.

A visit is a step that uses the replaced example. A pattern is the list of all visits of
a run.

``read_nodes``, ``pattern_sum`` and ``largest_sum`` follow the definition of the
accountant. They enumerate the nodes that Algorithm 4 reads, and every pattern, in
rational numbers, so they suit short runs only. The faster accountants are tested
against them.

``exact_sums`` and ``worst_pattern`` compute one sum per family of nodes. A G node [y, z] moves by at most 2G times its
weight S, the sum of ``(1-alpha)**(z - t)`` over the visits t in it. A Delta node moves by at most 2 eta N L S. An r
node moves by at most 2 eta N L R, where R is S with each term multiplied by (p - 1)/N and p is the place of t in its
epoch. If G is large, each family attains these bounds in all its nodes. The sum over the families is an upper bound
(NOTES_privacy.md, section 3).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

from flint import fmpq

from dpverify.papers.tran2022.trees.tree_aggregation_bounds import (
    Node,
    compose_intervals,
)
from dpverify.privacy.participation import Pattern, pattern_count, patterns
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import ZERO, Value, power, to_fraction, to_value


@dataclass(frozen=True)
class Squares:
    """Constants and node variances of Algorithm 2, in rational numbers."""

    lipschitz: Fraction  # G
    smoothness: Fraction  # L
    eta: Fraction  # length of a step
    # Variances of the nodes; above 0.
    g_first: Fraction  # G nodes that end by step 2N
    g_later: Fraction  # later G nodes
    delta: Fraction  # Delta nodes
    drift: Fraction  # r nodes


def read_nodes(steps: int, examples: int) -> dict[str, set[Node]]:
    """Return the nodes of "G", "Delta" and "r" that the lines of Algorithm 4 read in the steps 1..T; 0 < gamma < 1.

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
    examples: int,
    alpha: Fraction,
    squares: Squares,
    nodes: dict[str, set[Node]],
    pattern: Sequence[int],
) -> Fraction:
    """Sum squared sensitivity over variance of all nodes, for one pattern.

    The sensitivity of a G node is 2 G times its sum of weights c_i. That of a Delta node is the largest ``sum c_i (h_i
    - h_{i-1})`` with ``|h_i - h_{i-1}| <= D = 2 L eta N`` and ``|h_i| <= 2G``: the latest visits use the jump D until
    4G is used up. That of an r node is 2 eta L times the sum of the weights times (p - 1).
    """
    keep, lipschitz, smoothness, eta = map(
        _rational, (1 - alpha, squares.lipschitz, squares.smoothness, squares.eta)
    )
    total = ZERO
    jump = 2 * smoothness * eta * examples
    for family, intervals in nodes.items():
        for y, z in intervals:
            inside = [t for t in pattern if y <= t <= z]
            weights = [keep ** (z - t) for t in inside]
            if family == "G":
                variance = squares.g_first if z <= 2 * examples else squares.g_later
                change = 2 * lipschitz * sum(weights, ZERO)
            elif family == "Delta":
                variance = squares.delta
                left = 4 * lipschitz
                change = ZERO
                for weight in reversed(weights):
                    change += min(jump, left) * weight
                    left -= min(jump, left)
            else:
                variance = squares.drift
                places = [(t - 1) % examples for t in inside]
                change = (
                    2
                    * eta
                    * smoothness
                    * sum((p * w for p, w in zip(places, weights, strict=True)), ZERO)
                )
            total += change**2 / _rational(variance)
    return to_fraction(total)


def _rational(value: Fraction) -> fmpq:
    # arithmetic with fmpq is ten times faster than with Fraction
    return fmpq(*value.as_integer_ratio())


def largest_sum(
    steps: int, examples: int, alpha: Fraction, squares: Squares, ordering: Ordering
) -> tuple[Fraction, Pattern]:
    """Maximize :func:`pattern_sum` over all patterns; return the maximum, mu^2, and the first maximizer."""
    nodes = read_nodes(steps, examples)

    def value(pattern: Pattern) -> Fraction:
        return pattern_sum(examples, alpha, squares, nodes, pattern)

    best = max(patterns(steps, examples, ordering), key=value)
    return value(best), best


Nodes: TypeAlias = Literal["read", "all"]
"""Nodes that Algorithm 4 can read, or all nodes of the tree, as the proofs count them."""

G_FIRST, G_LATER, DELTA_FIRST, DELTA_LATER, DRIFT = range(5)
"""Families: G nodes that end by step 2N, later G nodes, the same for Delta nodes, and r nodes."""

# If there are more patterns, ``worst_pattern`` uses a local search from several starts.
MOST_PATTERNS = 400


class VisitedNode(NamedTuple):
    """One node of one family."""

    family: int
    end: int  # its last step
    visits: list[int]  # steps of the example in it


def node_terms(
    steps: int, examples: int, pattern: Sequence[int], nodes: Nodes = "read"
) -> Iterator[VisitedNode]:
    """Yield the nodes of each family that contain a visit."""
    # "read": G and Delta nodes no longer than N, and r nodes
    # that are left halves. "all": every dyadic interval in [1,
    # T]. In both cases Delta nodes begin after the first epoch.
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
    steps: int,
    examples: int,
    alpha: Fraction,
    pattern: Sequence[int],
    nodes: Nodes = "read",
) -> list[Value]:
    """Return the sums of squared weights of one pattern, exact or as balls, for the five families; no units."""
    sums: list[Value] = [ZERO] * 5
    for family, end, visits in node_terms(steps, examples, pattern, nodes):
        total: Value = ZERO
        for t in visits:
            share = (
                Fraction((t - 1) % examples, examples)
                if family == DRIFT
                else Fraction(1)
            )
            total = total + to_value(share) * power(1 - alpha, end - t)
        sums[family] = sums[family] + total * total
    return sums


def _float_sums(
    steps: int, examples: int, alpha: float, pattern: Sequence[int], nodes: Nodes
) -> list[float]:
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    sums = [0.0] * 5
    for family, end, visits in node_terms(steps, examples, pattern, nodes):
        total = 0.0
        for t in visits:
            weight = math.exp(log_decay * (end - t)) if end > t else 1.0
            total += (
                weight * ((t - 1) % examples) / examples if family == DRIFT else weight
            )
        sums[family] += total * total
    return sums


def worst_pattern(
    steps: int,
    examples: int,
    alpha: float,
    ordering: Ordering,
    weights: Sequence[float],
    nodes: Nodes = "read",
) -> Pattern:
    """Return a pattern that maximizes a weighted sum of the five sums, exactly or by local search."""
    T, N = steps, min(examples, steps)

    def value(pattern: Pattern) -> float:
        sums = _float_sums(T, examples, alpha, pattern, nodes)
        return sum(
            weight * summand for weight, summand in zip(weights, sums, strict=True)
        )

    if ordering == "once" or pattern_count(T, N, ordering) <= MOST_PATTERNS:
        return max(patterns(T, N, ordering), key=value)
    starts = [tuple(range(place, T + 1, N)) for place in sorted({1, N // 2 + 1, N})]
    return max((_climbed(start, T, N, value) for start in starts), key=value)


def _climbed(
    start: Pattern, T: int, N: int, value: Callable[[Pattern], float]
) -> Pattern:
    """Move one visit at a time within its epoch while that increases the value."""
    pattern = start
    reached = value(start)
    before = -1.0
    while reached > before:
        before = reached
        for i in range(len(pattern)):
            begin = (pattern[i] - 1) // N * N
            for t in range(begin + 1, min(begin + N, T) + 1):
                candidate = (*pattern[:i], t, *pattern[i + 1 :])
                if (candidate_value := value(candidate)) > reached:
                    pattern = candidate
                    reached = candidate_value
    return pattern
