"""The accountant of Algorithm 1: certified bounds of what its noise is worth against the worst visits of one example.

A released node [y, z] of COMPOSE(1, t) moves by at most 2 alpha G times the sum of ``(1-alpha)**(z - t)`` over the
visits in it, and one loss reaches this in all nodes at once: a composition of Gaussian mechanisms, with ``mu^2 = (2
alpha G / deviation)^2 * sum over released nodes of (sum of weights)^2`` at the pattern that makes it largest.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Final

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.papers.tran2022.accounting import blocks
from dpverify.papers.tran2022.accounting.algorithm_1.fresh import FreshTree
from dpverify.papers.tran2022.accounting.algorithm_1.once import pattern_value, values_by_place
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.privacy.participation import Bounds, check_ordering
from dpverify.shared_types import Ordering

ACCURACY: Final = 1.001  # Upper over lower bound, unless another is asked for.

CLOSENESS: Final = (0.0, 1e-3, 2e-4, 5e-5, 1e-5)
"""How close points are merged: in turn, until the bounds are close enough; without merging they are exact."""


def tree_sum_of_squares(
    steps: int, examples: int, alpha: float, ordering: Ordering = "fresh", *, accuracy: float = ACCURACY
) -> Bounds:
    """Maximize, over the visits of one example, the sum of squared weights over the nodes that Algorithm 1 releases."""
    # ``max over patterns of sum over nodes of (sum over visits t of (1-alpha)**(z - t))^2``; refined until upper over
    # lower bound is at most ``accuracy`` or no more can be done. "once" is exact, and so is "fresh" save where hulls
    # become long (alpha well below 1/N). In place of ``tran2022:theorem-4``; NOTES_accountant.md has the proofs.
    T = check.whole(1, MOST_STEPS - 1, steps=steps)
    N = check.whole(1, examples=examples)
    alpha = check.weight(alpha=alpha)
    accuracy = blocks.checked_accuracy(accuracy)
    N = min(N, T)
    if (check_ordering(ordering) == "once" and N < T) or N == T <= blocks.ONE_EPOCH:
        return blocks.best_place(values_by_place(T, N, alpha), T, N)
    return _fresh(T, N, alpha, accuracy)


def _fresh(T: int, N: int, alpha: float, accuracy: float) -> Bounds:
    blocks.check_blocks(T, N)
    best = Bounds(0.0, math.inf, exact=False)
    if N <= blocks.ONE_EPOCH:  # the same place everywhere is a pattern too
        best = replace(blocks.best_place(values_by_place(T, N, alpha), T, N), upper=math.inf, exact=False)
    trees = (partial(FreshTree, T, N, alpha, close) for close in CLOSENESS)
    return blocks.refine(best, trees, partial(pattern_value, T, alpha), accuracy)


def dp_nsgd_mu(parameters: Parameters, examples: int, *, accuracy: float = ACCURACY) -> Bounds:
    """Give the Gaussian privacy parameter mu of Algorithm 1, in place of ``tran2022:theorem-4``."""
    # Replacing one example is at most as visible as N(0, 1) against N(mu, 1), for the ``upper`` mu; a loss and a
    # pattern exist for which it is as visible as for the ``lower`` one. Infinite where sigma is 0.
    bounds = tree_sum_of_squares(parameters.steps, examples, parameters.alpha, parameters.ordering, accuracy=accuracy)
    deviation = parameters.node_deviation(examples)
    if deviation == 0.0:
        return Bounds(math.inf, math.inf, bounds.exact, bounds.pattern)
    factor = 2.0 * parameters.alpha * parameters.lipschitz / deviation
    lower = math.sqrt(bounds.lower) * factor
    upper = math.sqrt(bounds.upper) * factor
    return blocks.outward(lower, upper, exact=bounds.exact, pattern=bounds.pattern)
