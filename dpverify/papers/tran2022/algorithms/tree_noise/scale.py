"""How much noise Algorithm 1 puts on a node: V as its box prints it, and the deviation 4 alpha G sigma sqrt(V)."""

from __future__ import annotations

import math
from fractions import Fraction

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS


def levels(steps: int) -> int:
    """Number of levels of the tree that the steps 1..T use: lengths 1, 2, 4, ..., up to the largest power within T.

    ``floor(log2(T)) + 1``. Algorithm 1's loop ``for b = 0, ..., R - 1`` draws every node that it uses exactly if its
    depth R is at least this.
    """
    return check.whole(1, MOST_STEPS - 1, steps=steps).bit_length()


def printed_v(examples: int, steps: int, depth: int) -> Fraction:
    """V of Algorithm 1, exactly as printed.

    ``(min(R, floor(log2 N)) + 1) T/N + sum of floor(T / 2^j) over j = floor(log2 N) + 1, ..., R``.

    Source: Algorithm 1, third line of the box. A number of node visits per example should be an integer; the printed
    T/N is none unless N divides T.
    """
    examples = check.whole(1, examples=examples)
    steps = check.whole(1, MOST_STEPS - 1, steps=steps)
    depth = check.whole(0, 62, depth=depth)
    log_n = examples.bit_length() - 1
    return (min(depth, log_n) + 1) * Fraction(steps, examples) + sum(steps >> j for j in range(log_n + 1, depth + 1))


def node_deviation(alpha: float, lipschitz: float, sigma: float, v: float | Fraction) -> float:
    """Standard deviation of one node's noise in each coordinate: ``4 alpha G sigma sqrt(V)`` (Algorithm 1)."""
    v = check.positive(v=v)
    return (
        4.0
        * check.weight(alpha=alpha)
        * check.positive(lipschitz=lipschitz)
        * check.not_negative(sigma=sigma)
        * math.sqrt(v)
    )
