"""Sides of the privacy records: exact Renyi divergences and trade-offs from worst-case sums of squared weights.

A composition of Gaussians in which one example moves node i by m_i standard deviations has mu^2 = sum of m_i^2, a Renyi
divergence of z mu^2/2, and the trade-off of one Gaussian with that mu; the last two functions hold it, at the smallest
sigma, against many delta and epsilon. Values are balls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import groupby

from flint import arb, ctx

from dpverify.harness import Budget, Point
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import tree_sum_of_squares
from dpverify.papers.tran2022.sensitivity.checks.nodes import ordering_of
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.privacy.participation import Pattern
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import ball
from dpverify.symbolic.exact.statements import definitions


@lru_cache(maxsize=20_000)
def _worst_pattern(steps: int, examples: int, alpha: float, ordering: Ordering) -> Pattern:
    pattern = tree_sum_of_squares(steps, examples, alpha, ordering, accuracy=1.01).pattern
    assert pattern is not None, "patterns of short runs are written down"
    return pattern


@lru_cache(maxsize=20_000)
def _squares_of(pattern: Pattern, steps: int, alpha: Fraction, bits: int) -> arb:
    """Sum squared weights over released nodes for one pattern, in ball arithmetic with so many bits."""
    decay = ball(1 - alpha)
    total = arb(0)
    for level in range(steps.bit_length()):
        for block, visits in groupby(pattern, key=lambda t: (t - 1) >> level):
            end = (block + 1) << level
            if block % 2 == 0 and end <= steps:
                total += sum((decay ** (end - t) for t in visits), arb(0)) ** 2
    return total


def value_of(statement: Statement, point: Point, name: str) -> arb:
    """Give a symbol of the statement, defined or free, as a ball."""
    if name in statement.let_names:
        return ball(definitions(statement, point)[name])
    return ball(point[name])


def momentum_mu2(point: Point, statement: Statement) -> arb:
    """Give mu^2 of Algorithm 1: squares of 2 alpha G S over the variance 16 alpha^2 G^2 sigma^2 V.

    The worst pattern comes from the accountant, its value from ball arithmetic: certainly no more than the truth.
    """
    T = int(point["T"])
    N = int(point["N"])
    alpha = point["alpha"]
    pattern = _worst_pattern(T, N, float(alpha), ordering_of(statement))
    squares = _squares_of(pattern, T, alpha, ctx.prec)
    return squares / (4 * value_of(statement, point, "V") * value_of(statement, point, "sigma") ** 2)


def momentum_divergence(point: Point, statement: Statement) -> arb:
    """Give the Renyi divergence of Algorithm 1's released nodes; every node moves by its most at once."""
    return value_of(statement, point, "z") * momentum_mu2(point, statement) / 2


def momentum_delta(point: Point, statement: Statement) -> arb:
    """Give the exact delta of Algorithm 1's released nodes."""
    return delta_of(momentum_mu2(point, statement), value_of(statement, point, "epsilon"))


def delta_of(mu2: arb, epsilon: arb) -> arb:
    """Give the exact delta of a Gaussian from its mu^2; infinite mu: 1."""
    if not mu2.is_finite():
        return arb(1)
    return delta_ball(mu2.sqrt(), epsilon) if mu2 > 0 else arb(0)


Points = Callable[[Budget], Iterator[dict[str, int | Fraction | str]]]


def tail_points(deltas: Sequence[Fraction], shares: Sequence[Fraction]) -> Points:
    """Make the points of a check, the same for all budgets: for each delta some shares of log(1/delta) as epsilon."""

    def points(budget: Budget) -> Iterator[dict[str, int | Fraction | str]]:
        for delta in deltas:
            log = ball(1 / delta).log()
            for share in shares:
                epsilon = Fraction(int((log * 10**6 * share.numerator / share.denominator).floor().fmpz()), 10**6)
                yield {"delta": delta, "epsilon": epsilon}

    return points
