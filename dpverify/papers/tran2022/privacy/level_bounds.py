"""Theorem 4's and Theorem 8's conclusions, level by level: bounds on sums of squared weights that need no pattern.

Write L = floor(log2 N), M = ceil(T/N), m = floor((T-1)/N), the number of visits after the first epoch, and b = 1 -
alpha >= 0 with alpha >= 1/N. On a level k <= L a node holds at most two visits, so the squares add up to at most twice
the visits, 2M; on level 0 to M. Above L Algorithm 1 releases floor(T/2^(L+1)) nodes, whose weights are at most min(M, 1
+ b/(1 - b^N)). Nodes of G and Delta that Algorithm 4 reads are no longer than N. NOTES_privacy.md has the proofs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, Literal, TypeAlias

from flint import arb

from dpverify.symbolic.exact.numbers import ball


def printed_v(steps: int, examples: int, depth: int) -> Fraction:
    """Give V as the box of Algorithm 1 prints it, exactly."""
    top = examples.bit_length() - 1
    low = (min(depth, top) + 1) * Fraction(steps, examples)
    return low + sum(steps >> j for j in range(top + 1, depth + 1))


DRIFT_WEIGHT: Final = Fraction(1582, 1000)  # Above 1/(1 - 1/e) = 1.58198

Part: TypeAlias = Literal["first", "later", "r", "r-all", "total"]
"""G and Delta inside [1, 2N]; elsewhere; r nodes that are read; all r nodes; everything that is read."""


def family_bounds(steps: int, examples: int, *, all_drift: bool = False) -> list[Fraction]:
    """Bound the sums for alpha >= 1/N: G inside [1, 2N], G elsewhere, Delta inside, Delta elsewhere, r."""
    top = examples.bit_length() - 1
    later = (steps - 1) // examples
    far = Fraction(examples - 1, examples) ** 2
    long = sum(steps >> j for j in range(top + 1, steps.bit_length())) if all_drift else steps >> top + 1
    return [
        Fraction(2 + 4 * top),
        Fraction(later * (1 + 2 * top)),
        Fraction(1 + top),
        Fraction(later * (1 + 2 * top)),
        far * ((1 + 2 * top) * Fraction(steps, examples) + long * DRIFT_WEIGHT**2),
    ]


def part_bound(part: Part, steps: int, examples: int) -> arb:
    """Bound mu^2 sigma^2 of a part, with the deviations of the proof of Theorem 8, which needs at most 1.

    In "total" Delta nodes inside [1, 2N] have V_>2N, as in Algorithm 2; the bound on Delta nodes elsewhere holds for
    both together, as it counts all visits after the first epoch.
    """
    log = arb(examples).log() / arb(2).log()
    v_first, v_later = 3 * log, 4 * log * steps / examples
    bounds = [ball(b) for b in family_bounds(steps, examples, all_drift=part == "r-all")]
    g_first, g_later, delta_first, delta_later, drift = bounds
    if part == "first":
        return g_first / (4 * v_first) + delta_first / v_first
    if part == "later":
        return g_later / (4 * v_later) + delta_later / v_later
    if part == "total":
        return g_first / (4 * v_first) + g_later / (4 * v_later) + (delta_later + drift) / v_later
    return drift / v_later
