"""Theorem 4's conclusion, level by level: a bound on the worst sum of squared weights that needs no pattern.

Write L = floor(log2 N), M = ceil(T/N), b = 1 - alpha >= 0 with alpha >= 1/N. On a level k <= L a node holds at most two
visits, so the squares add up to at most twice the visits, 2M; on level 0 to M. Above L there are floor(T/2^(L+1))
released nodes, whose weights are at most min(M, 1 + b/(1 - b^N)). NOTES_privacy.md has the proof.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

THREE_VISITS: Final = Fraction(2368, 1000)
"""Above 2 + 1/e: of three visits the first is N steps before the third at least."""

MANY_VISITS: Final = Fraction(2582, 1000)
"""Above 1 + 1/(1 - 1/e) = 2.58198, the supremum of a node's weight."""


def heaviest(visits: int) -> Fraction:
    """Bound the weight of a node that holds at most so many visits, for alpha >= 1/N, in either ordering."""
    return {1: Fraction(1), 2: Fraction(2), 3: THREE_VISITS}.get(visits, MANY_VISITS)


def squares_bound(steps: int, examples: int) -> Fraction:
    """Bound the sum of squared weights over the nodes that Algorithm 1 releases, for alpha >= 1/N.

    At least the maximum over all patterns, of either ordering.

    Source: in place of the step "4 alpha G" in the proof of ``tran2022:theorem-4``.
    """
    top = examples.bit_length() - 1
    visits = -(-steps // examples)
    if visits == 1:
        return Fraction(steps.bit_length())
    return visits * (1 + 2 * top) + (steps >> top + 1) * heaviest(visits) ** 2


def printed_v(steps: int, examples: int, depth: int) -> Fraction:
    """Give V as the box of Algorithm 1 prints it, exactly."""
    top = examples.bit_length() - 1
    low = (min(depth, top) + 1) * Fraction(steps, examples)
    return low + sum(steps >> j for j in range(top + 1, depth + 1))


def broken_step(steps: int, examples: int, alpha: Fraction, pattern: tuple[int, ...]) -> str:
    """Say which step of the bound one pattern breaks; empty where all hold."""
    top, decay = examples.bit_length() - 1, 1 - alpha
    for level in range(steps.bit_length()):
        weights: dict[int, Fraction] = {}
        for t in pattern:
            block = (t - 1) >> level
            if block % 2 == 0 and block + 1 << level <= steps:
                weights[block] = weights.get(block, Fraction(0)) + decay ** ((block + 1 << level) - t)
        total = sum((weight**2 for weight in weights.values()), Fraction(0))
        if level <= top and total > min(level + 1, 2) * len(pattern):
            return f"level {level}: squares add up to {total}, visits are {len(pattern)}"
        if level > top and any(weight > heaviest(len(pattern)) for weight in weights.values()):
            return f"level {level}: a weight is above {heaviest(len(pattern))}"
    return ""
