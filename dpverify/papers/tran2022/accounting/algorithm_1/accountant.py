"""The accountant of Algorithm 1: certified bounds on mu for the worst pattern of visits of one example.

A visit is a step that uses the replaced example. Between neighbouring data sets, a
released node [y, z] of COMPOSE(1, t) moves by at most 2 alpha G times its sum of
weights, the sum of ``(1-alpha)**(z - t)`` over the visits t in it. One loss attains
this in all nodes at once. The run is thus a composition of Gaussian mechanisms with
``mu^2 = (2 alpha G / deviation)^2 * sum over released nodes of (sum of weights)^2``,
maximized over the patterns of visits.

With one permutation for all epochs ("once") the visits are N steps apart, so a block of 2^k steps depends only on the
distance from its beginning to its first visit, modulo N. One array of N entries for each level gives the sums for every
place in N log2(T) operations. With fresh permutations the bounds come from ``fresh``. For short runs, the same sums are
also computed by their definition in rational numbers, over all nodes and patterns, as a reference for tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.accounting import blocks
from dpverify.papers.tran2022.accounting.algorithm_1.fresh import FreshTree
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.privacy.participation import Bounds, Pattern, check_ordering, patterns
from dpverify.shared_types import Ordering


@kernel
def double(
    S: Vector, Q: Vector, half: int, decay: float, S_out: Vector, Q_out: Vector
) -> None:
    """Join blocks of ``half`` steps; entry j is for a first visit j steps after the beginning, 0 beyond the length."""
    N = S.shape[0]
    shift = half % N
    for j in range(min(2 * half, N)):
        k = j - shift if j >= shift else j - shift + N
        S_out[j] = decay * S[j] + S[k]
        Q_out[j] = Q[j] + S[j] * S[j] + Q[k]


@kernel
def add_node(S: Vector, Q: Vector, begin: int, length: int, out: Vector) -> None:
    """Add the value of the node with the steps begin + 1 .. begin + length to ``out[p]``, for each place p from 0."""
    N = S.shape[0]
    shift = begin % N
    for k in range(min(length, N)):
        p = k + shift if k + shift < N else k + shift - N
        out[p] += Q[k] + S[k] * S[k]


def values_by_place(steps: int, examples: int, alpha: float) -> Vector:
    """Return the sums of squared weights over the released nodes of Algorithm 1 for the places 1 .. min(N, T)."""
    N = min(examples, steps)
    check.memory(6 * N, examples=examples)
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    S = np.zeros(N)
    Q = np.zeros(N)
    out = np.zeros(N)
    S_next = np.zeros(N)
    Q_next = np.zeros(N)
    S[0] = 1.0
    for level in range(steps.bit_length()):
        if steps >> level & 1:
            add_node(S, Q, steps >> level + 1 << level + 1, 1 << level, out)
        if steps >> level + 1:
            double(S, Q, 1 << level, math.exp(log_decay * (1 << level)), S_next, Q_next)
            S, S_next, Q, Q_next = S_next, S, Q_next, Q
    return out


@kernel
def sum_of_pattern(visits: NDArray[np.int64], T: int, log_decay: float) -> float:
    """Sum over released nodes [y, z] the squared sum of ``exp(log_decay (z - t))`` over visits t, which increase."""
    total = 0.0
    k = 0
    while (T >> k) > 0:
        level_total = 0.0
        weight = 0.0
        a = -1
        for i in range(visits.shape[0]):
            x = visits[i] - 1
            if x >> k != a:
                level_total += weight * weight
                weight = 0.0
                a = x >> k
            if a % 2 == 0 and (a + 1) << k <= T:
                ahead = ((a + 1) << k) - 1 - x
                weight += math.exp(log_decay * ahead) if ahead > 0 else 1.0
        total += level_total + weight * weight
        k += 1
    return total


def pattern_value(steps: int, alpha: float, pattern: Sequence[int]) -> float:
    """Sum the squared weights of one pattern over the released nodes of Algorithm 1, in floats."""
    log_decay = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    return sum_of_pattern(np.asarray(pattern, dtype=np.int64), steps, log_decay)


def released_nodes(steps: int) -> Iterator[tuple[int, int]]:
    """Yield first and last step, ``[z - lowbit(z) + 1, z]``, of the nodes that some COMPOSE(1, t), t <= T, uses."""
    for z in range(1, steps + 1):
        yield z - (z & -z) + 1, z


def node_weight(
    node: tuple[int, int], pattern: Sequence[int], alpha: Fraction
) -> Fraction:
    """Sum ``(1-alpha)**(z - t)`` over the visits t in the node [y, z]; ``0**0 = 1``."""
    y, z = node
    return sum(((1 - alpha) ** (z - t) for t in pattern if y <= t <= z), Fraction(0))


def pattern_sum(steps: int, alpha: Fraction, pattern: Sequence[int]) -> Fraction:
    """Sum the squared weights over the released nodes: squared sensitivities in units of ``(2 alpha G)^2``."""
    return sum(
        (node_weight(node, pattern, alpha) ** 2 for node in released_nodes(steps)),
        Fraction(0),
    )


def largest_sum(
    steps: int, examples: int, alpha: Fraction, ordering: Ordering
) -> tuple[Fraction, Pattern]:
    """Maximize :func:`pattern_sum` over all patterns; return the maximum and the first pattern that attains it."""
    best = max(
        patterns(steps, examples, ordering),
        key=lambda pattern: pattern_sum(steps, alpha, pattern),
    )
    return pattern_sum(steps, alpha, best), best


ACCURACY: Final = 1.001  # Default ratio of upper to lower bound.

CLOSENESS: Final = (0.0, 1e-3, 2e-4, 5e-5, 1e-5)
"""Relative differences for merging points, tried in turn until the bounds are close. Without merging they are exact."""


def tree_sum_of_squares(
    steps: int,
    examples: int,
    alpha: float,
    ordering: Ordering = "fresh",
    *,
    accuracy: float = ACCURACY,
) -> Bounds:
    """Bound the largest sum of squared weights over Algorithm 1's released nodes, over the visits of one example."""
    # ``max over patterns of sum over nodes of (sum over visits t of (1-alpha)**(z -
    # t))^2``. The bounds are refined until their ratio is at most ``accuracy`` or no
    # finer tree is left. They are exact for "once", and for "fresh" unless hulls become
    # long (alpha well below 1/N). Replaces ``tran2022:theorem-4``; NOTES_accountant.md
    # has the proofs.
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
    # the same place in every epoch is also a pattern of "fresh": a lower bound
    if N <= blocks.ONE_EPOCH:
        best = replace(
            blocks.best_place(values_by_place(T, N, alpha), T, N),
            upper=math.inf,
            exact=False,
        )
    trees = (partial(FreshTree, T, N, alpha, close) for close in CLOSENESS)
    return blocks.refine(best, trees, partial(pattern_value, T, alpha), accuracy)


def dp_nsgd_mu(
    parameters: Parameters, examples: int, *, accuracy: float = ACCURACY
) -> Bounds:
    """Return bounds on the Gaussian privacy parameter mu of Algorithm 1, in place of ``tran2022:theorem-4``."""
    # The outputs on neighbouring data sets are at most as distinguishable as N(0, 1)
    # and N(mu, 1) for mu = ``upper``. A loss and a pattern exist for which they are as
    # distinguishable as for mu = ``lower``. Infinite if sigma is 0.
    bounds = tree_sum_of_squares(
        parameters.steps,
        examples,
        parameters.alpha,
        parameters.ordering,
        accuracy=accuracy,
    )
    deviation = parameters.node_deviation(examples)
    if deviation == 0.0:
        return Bounds(math.inf, math.inf, bounds.exact, bounds.pattern)
    factor = 2.0 * parameters.alpha * parameters.lipschitz / deviation
    lower = math.sqrt(bounds.lower) * factor
    upper = math.sqrt(bounds.upper) * factor
    return blocks.widened(lower, upper, exact=bounds.exact, pattern=bounds.pattern)
