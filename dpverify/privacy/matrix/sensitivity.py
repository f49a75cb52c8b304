"""Bounds on the sensitivity of a matrix mechanism: the largest change by one example over all steps.

An example that takes part in the steps of a pattern P, with gradients g_i of length at most 1, changes C G by the sum
over i in P of ``C[:, i] g_i``. With ``X = C^T C`` the squared length of this sum is the sum of ``X[i, j] <g_i, g_j>``
over all i, j in P. It is at most the sum of ``abs(X[i, j])``. With gradients that are equal or opposite it is the sum
of ``s_i s_j X[i, j]`` for their signs s. The two sums agree if no entry of X is negative.
"""

from __future__ import annotations

import math

import numpy as np

from dpverify.privacy.matrix.participation import (
    Cyclic,
    Epochs,
    Floats,
    Participation,
    Pattern,
)
from dpverify.privacy.matrix.strategies import MOST_DENSE, Strategy
from dpverify.privacy.participation import Bounds

ASCENTS = 100  # most repetitions of an ascent; each strictly increases the sum


def sensitivity(strategy: Strategy, participation: Participation) -> Bounds:
    """Bound the largest change by adding or removing an example whose gradients have norm at most 1.

    ``pattern`` attains ``lower``, and ``method`` says how ``upper`` was computed. Raises ArgumentError if all pairs of
    steps are needed and there are too many.
    """
    first = participation.earliest(strategy.steps)
    heaviest = participation.heaviest(strategy.energies)
    if len(first) == 1:
        return _of_disjoint(strategy, heaviest, "one step")
    if strategy.bandwidth <= participation.gap:
        return _of_disjoint(strategy, heaviest, "orthogonal columns")
    if strategy.is_decreasing and not isinstance(participation, Epochs):
        # X[i, j] is the sum of c_t c_(t + j - i) over t < steps - j, which decreases in
        # j - i and in j. Of all patterns the earliest has the smallest distances and
        # the earliest steps, and so the largest sum.
        energy = _energy(strategy, first, np.ones(len(first)))
        return _bounds(energy, energy, first, "earliest steps", strategy.relative_error)
    if (
        strategy.is_decreasing
        and isinstance(participation, Epochs)
        and strategy.steps > MOST_DENSE
    ):
        return _of_long_epochs(strategy, participation)
    return _of_all_pairs(strategy, participation, [first, heaviest])


def _energy(strategy: Strategy, pattern: Pattern, signs: Floats) -> float:
    """Return the squared length of a sum of columns, each times its sign."""
    total = strategy.column_sum(pattern, signs)
    return float(total @ total)


def _bounds(
    lower: float, upper: float, pattern: Pattern, method: str, error: float
) -> Bounds:
    """Return the roots of two squares, moved outward by their relative error."""
    least = math.sqrt(max(lower, 0.0)) * (1.0 - error)
    most = math.sqrt(upper) * (1.0 + error)
    return Bounds(
        least,
        most,
        exact=most <= least * (1.0 + 4.0 * error),
        pattern=pattern,
        method=method,
    )


def _of_disjoint(strategy: Strategy, heaviest: Pattern, method: str) -> Bounds:
    """Bound the change if the columns of each pattern are orthogonal, so that squared lengths add up."""
    energy = float(strategy.energies[list(heaviest)].sum())
    return _bounds(energy, energy, heaviest, method, strategy.relative_error)


def _of_all_pairs(
    strategy: Strategy, participation: Participation, starts: list[Pattern]
) -> Bounds:
    """Bound the change by the products of all pairs of columns, and search for a pattern that comes close."""
    products = strategy.gram()
    rounding = strategy.relative_error * strategy.absolute_gram()
    sizes = np.abs(products) + rounding
    if isinstance(participation, Cyclic):
        patterns = [list(pattern) for pattern in participation.patterns(strategy.steps)]
        sums = [float(sizes[np.ix_(pattern, pattern)].sum()) for pattern in patterns]
        upper = max(sums)
        starts = [tuple(patterns[sums.index(upper)])]
        method = "every pattern"
    else:
        row_sums = participation.row_sums(sizes)
        candidate = participation.heaviest(row_sums)
        upper = float(row_sums[list(candidate)].sum())
        starts = [*starts, candidate]
        method = "row by row"
    changes = [_ascend(products, participation, start) for start in starts]
    lowers = [
        _energy(strategy, *change) - float(rounding[np.ix_(change[0], change[0])].sum())
        for change in changes
    ]
    lower = max(lowers)
    pattern, _ = changes[lowers.index(lower)]
    return _bounds(lower, upper, pattern, method, strategy.relative_error)


def _ascend(
    products: Floats, participation: Participation, pattern: Pattern
) -> tuple[Pattern, Floats]:
    """Increase the sum of ``s_i s_j X[i, j]`` over a pattern with signs s, until it no longer increases.

    The sum is convex in the vector of signs. So the pattern and signs that maximize the linearization are no worse.
    """
    signs = np.ones(len(pattern))
    best = (pattern, signs)
    value = -math.inf
    for _ in range(ASCENTS):
        slopes = products[:, list(pattern)] @ signs
        increased = float(signs @ slopes[list(pattern)])
        if increased <= value:
            break
        value = increased
        best = (pattern, signs)
        pattern = participation.heaviest(np.abs(slopes))
        signs = np.where(slopes[list(pattern)] < 0.0, -1.0, 1.0)
    return best


def _of_long_epochs(strategy: Strategy, participation: Epochs) -> Bounds:
    """Bound the change for many steps, one in each epoch, from the least distance between two epochs' steps."""
    steps = strategy.steps
    length = participation.length
    first = participation.earliest(steps)
    column = strategy.column_sum((0,), np.ones(1))
    begins = np.array(first)
    upper = float(strategy.energies[begins].sum())
    for distance in range(1, len(first)):
        gap = (distance - 1) * length + 1
        sums = np.cumsum(column[: steps - gap] * column[gap:])
        upper += 2.0 * float(sums[steps - begins[distance:] - 1].sum())
    close_pairs = [
        begin + length - 1 if epoch % 2 == 0 else begin
        for epoch, begin in enumerate(first)
    ]
    candidates = [first, tuple(step for step in close_pairs if step < steps)]
    energies = [
        _energy(strategy, pattern, np.ones(len(pattern))) for pattern in candidates
    ]
    lower = max(energies)
    pattern = candidates[energies.index(lower)]
    return _bounds(
        lower, upper, pattern, "least distances of epochs", strategy.relative_error
    )
