"""The accountant of Algorithm 1: certified bounds of what its noise is worth against the worst visits of one example.

One example is replaced. A released node [y, z] then moves by at most 2 alpha G times the sum of ``(1-alpha)**(z - t)``
over the visits t in it, and one loss reaches this in all nodes at once. So, given everything released before, the run
is a composition of Gaussian mechanisms with ``mu^2 = (2 alpha G / deviation)^2 * sum over released nodes of (sum of
weights)^2``; the worst pattern makes it largest. The released nodes are those of COMPOSE(1, t), t = 1..T.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.dyadic import MOST_STEPS
from dpverify.papers.tran2022.accounting.algorithm_1.fresh import (
    SAFETY,
    FreshTree,
    TooManyPointsError,
    best_point,
    final_block,
    trace,
)
from dpverify.papers.tran2022.accounting.algorithm_1.once import values_by_place
from dpverify.papers.tran2022.accounting.algorithm_1.pattern import pattern_value
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.privacy.participation import Bounds, Ordering, Pattern, check_ordering

ACCURACY: Final = 1.001
"""Upper over lower bound, unless another is asked for."""

SHORT: Final = 4096
"""For runs of up to this many steps the exact maximum is tried first."""

LONGEST_PATTERN: Final = 100_000
"""Patterns of more visits than this are not written down."""

ONE_EPOCH: Final = 1 << 22
"""Runs of up to this many steps within one epoch, where both orderings are the same, are done place by place."""

MOST_BLOCKS: Final = 500_000
"""About how many blocks of different content may be looked at."""

CLOSENESS: Final = (1e-3, 2e-4, 5e-5, 1e-5)
"""How close points are merged: in turn, until the bounds are close enough."""

MANY_BLOCKS: Final = 20_000
"""From this many on the coarsest is tried first; else it is left out."""

EXACT: Final = 1.0 + 1e-10
"""Bounds whose ratio is no more than this differ by their margin against rounding only."""


def tree_sum_of_squares(
    steps: int, examples: int, alpha: float, ordering: Ordering = "fresh", *, accuracy: float = ACCURACY
) -> Bounds:
    """Maximize, over the visits of one example, the sum of squared weights over the nodes that Algorithm 1 releases.

    ``accuracy``: the bounds are refined until upper over lower bound is at most this, above 1, or no more can be done.
    "once" is exact, and so are short runs (up to 4096 steps, save where very many sums of weights lie close together).
    Of ``max over patterns of sum over nodes of (sum over visits t of (1-alpha)**(z - t))^2``; without units.

    Source: Algorithms 1 and 3; in place of ``tran2022:theorem-4``. NOTES_accountant.md has the proofs.
    """
    T, N = check.whole(1, MOST_STEPS - 1, steps=steps), check.whole(1, examples=examples)
    alpha, accuracy = check.weight(alpha=alpha), check.positive(accuracy=accuracy)
    if not accuracy > 1.0:
        raise check.ArgumentError("accuracy", accuracy, "must be above 1")
    N = min(N, T)
    if (check_ordering(ordering) == "once" and N < T) or N == T <= ONE_EPOCH:
        return _once(T, N, alpha)
    return _fresh(T, N, alpha, accuracy)


def _once(T: int, N: int, alpha: float) -> Bounds:
    values = values_by_place(T, N, alpha)
    place = int(np.argmax(values))
    value = float(values[place])
    pattern = tuple(range(place + 1, T + 1, N)) if T // N <= LONGEST_PATTERN else None
    return outward(value, value, exact=True, pattern=pattern)


def _fresh(T: int, N: int, alpha: float, accuracy: float) -> Bounds:
    levels = T.bit_length()
    blocks = sum(min(1 << k, N, (T >> k) + 1, T // N + 2 if 1 << k < N else T) for k in range(levels))
    if blocks > MOST_BLOCKS:
        rule = f"make about {blocks} blocks of different content, more than {MOST_BLOCKS}: no bound in reasonable time"
        raise check.ArgumentError("steps and examples", f"({T}, {N})", rule)
    once = _once(T, N, alpha) if N <= ONE_EPOCH else Bounds(0.0, math.inf, exact=False)
    best = Bounds(once.lower, math.inf, exact=False, pattern=once.pattern)  # the same place everywhere is a pattern too
    closeness = CLOSENESS if blocks >= MANY_BLOCKS else CLOSENESS[1:]
    for close in (0.0, *closeness) if T <= SHORT else closeness:
        try:
            found = _bounds(T, N, alpha, close)
        except TooManyPointsError:
            continue
        best = best_of(best, found)
        if best.exact or best.ratio <= accuracy:
            break
    return best


def best_of(one: Bounds, two: Bounds) -> Bounds:
    """Join two pairs of bounds of one number."""
    better = max((two, one), key=lambda bounds: bounds.lower)
    upper = max(min(one.upper, two.upper), better.lower)
    return Bounds(better.lower, upper, exact=upper <= better.lower * EXACT, pattern=better.pattern)


def _bounds(T: int, N: int, alpha: float, close: float) -> Bounds:
    block = final_block(FreshTree(N, alpha, close, upper=True), T)
    upper, state = best_point(block)
    if T // N <= LONGEST_PATTERN:
        pattern = tuple(trace(block, state, 0))
        lower = pattern_value(T, alpha, pattern)
        return outward(lower, max(lower, upper), exact=upper <= lower * EXACT, pattern=pattern)
    lower, _ = best_point(final_block(FreshTree(N, alpha, close, upper=False), T))
    return outward(lower, max(lower, upper), exact=upper <= lower * EXACT, pattern=None)


def outward(lower: float, upper: float, *, exact: bool, pattern: Pattern | None) -> Bounds:
    """Give bounds that are certain in spite of rounding: all terms are nonnegative, so a relative margin is enough."""
    return Bounds(lower * (1.0 - SAFETY), upper * (1.0 + SAFETY), exact, pattern)


def dp_nsgd_mu(parameters: Parameters, examples: int, *, accuracy: float = ACCURACY) -> Bounds:
    """Give the Gaussian privacy parameter mu of Algorithm 1.

    Replacing one example is at most as visible as N(0, 1) against N(mu, 1), for the ``upper`` mu; a loss and a pattern
    exist for which it is as visible as for the ``lower`` one. Infinite where sigma is 0.

    Source: Algorithm 1 with the noise of its box; in place of ``tran2022:theorem-4``.
    """
    bounds = tree_sum_of_squares(parameters.steps, examples, parameters.alpha, parameters.ordering, accuracy=accuracy)
    deviation = parameters.node_deviation(examples)
    return mu_of(bounds, 2.0 * parameters.alpha * parameters.lipschitz, deviation)


def mu_of(squares: Bounds, unit: float, deviation: float) -> Bounds:
    """Turn a sum of squared weights into mu.

    ``unit * sqrt(squares) / deviation``; infinite where the deviation is 0.
    """
    if deviation == 0.0:
        return Bounds(math.inf, math.inf, squares.exact, squares.pattern)
    factor = unit / deviation
    lower, upper = math.sqrt(squares.lower) * factor, math.sqrt(squares.upper) * factor
    return outward(lower, upper, exact=squares.exact, pattern=squares.pattern)
