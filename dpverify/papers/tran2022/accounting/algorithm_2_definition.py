"""Algorithm 2's accountant by its definition: what Algorithm 4 reads, node by node and pattern by pattern.

In rational numbers, for short runs only. Everything faster is compared with this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq

from dpverify.papers.tran2022.trees.compose_bounds import Node, compose_intervals
from dpverify.privacy.participation import Pattern, patterns
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import ZERO, to_fraction


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
