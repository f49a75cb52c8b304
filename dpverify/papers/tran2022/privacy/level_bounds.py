"""The noise of Algorithm 1's box, exactly."""

from __future__ import annotations

from fractions import Fraction


def printed_v(steps: int, examples: int, depth: int) -> Fraction:
    """Give V as the box of Algorithm 1 prints it, exactly."""
    top = examples.bit_length() - 1
    low = (min(depth, top) + 1) * Fraction(steps, examples)
    return low + sum(steps >> j for j in range(top + 1, depth + 1))
