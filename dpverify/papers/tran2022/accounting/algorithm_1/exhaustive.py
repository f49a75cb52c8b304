"""The accountant by its definition, node by node, pattern by pattern, in rationals: for short runs, as a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

from dpverify.privacy.participation import Ordering, Pattern, patterns

Node: TypeAlias = tuple[int, int]  # First and last step.


def released_nodes(steps: int) -> Iterator[Node]:
    """Give first and last step, ``[z - lowbit(z) + 1, z]``, of the nodes that some COMPOSE(1, t), t <= T, takes."""
    for z in range(1, steps + 1):
        yield z - (z & -z) + 1, z


def node_weight(node: Node, pattern: Sequence[int], alpha: Fraction) -> Fraction:
    """Sum ``(1-alpha)**(z - t)`` over the visits t in the node [y, z]; ``0**0 = 1``."""
    y, z = node
    return sum(((1 - alpha) ** (z - t) for t in pattern if y <= t <= z), Fraction(0))


def pattern_sum(steps: int, alpha: Fraction, pattern: Sequence[int]) -> Fraction:
    """Sum the squared weights over the released nodes: squared sensitivities in units of ``(2 alpha G)^2``."""
    return sum((node_weight(node, pattern, alpha) ** 2 for node in released_nodes(steps)), Fraction(0))


def largest_sum(steps: int, examples: int, alpha: Fraction, ordering: Ordering) -> tuple[Fraction, Pattern]:
    """Maximize :func:`pattern_sum` by trying every pattern. The maximum, and the first pattern that reaches it."""
    best = max(patterns(steps, examples, ordering), key=lambda pattern: pattern_sum(steps, alpha, pattern))
    return pattern_sum(steps, alpha, best), best
