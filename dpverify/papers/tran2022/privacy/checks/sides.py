"""Left sides of the privacy records: exact Renyi divergences and trade-offs from worst-case sums of squared weights.

A composition of Gaussians in which one example moves node i by m_i standard deviations has mu^2 = sum of m_i^2, a Renyi
divergence of z mu^2/2, and the trade-off of one Gaussian with that mu. The functions ``momentum_*`` are for Theorem 4.
``divergence`` and ``trade_off`` are the left sides of Theorem 8 and its families, over Algorithm 2's released nodes.
``delta_of`` and ``tail_points`` compare a trade-off, at the smallest sigma, with many delta and epsilon. Values are
balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from typing import Final

from flint import arb, ctx

from dpverify.harness import Budget, Point
from dpverify.harness.sides import LeftSide
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import (
    tree_sum_of_squares,
)
from dpverify.papers.tran2022.accounting.algorithm_2_sums import (
    Nodes,
    exact_sums,
    worst_pattern,
)
from dpverify.papers.tran2022.sensitivity.checks.witnesses import ordering_of
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.privacy.participation import Pattern
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.evaluate import definitions
from dpverify.symbolic.exact.numbers import (
    OO,
    ZERO,
    Exact,
    Value,
    ball,
    to_ball,
    to_exact,
    to_value,
)


@lru_cache(maxsize=20_000)
def _worst_pattern(
    steps: int, examples: int, alpha: float, ordering: Ordering
) -> Pattern:
    pattern = tree_sum_of_squares(
        steps, examples, alpha, ordering, accuracy=1.01
    ).pattern
    assert pattern is not None, "patterns of short runs are written down"
    return pattern


@lru_cache(maxsize=20_000)
def _squares_of(pattern: Pattern, steps: int, alpha: Fraction, bits: int) -> arb:
    """Sum squared weights over released nodes for one pattern, in balls; ``bits`` is only part of the cache key."""
    decay = ball(1 - alpha)
    total = arb(0)
    for level in range(steps.bit_length()):
        for block, visits in groupby(pattern, key=lambda t: (t - 1) >> level):
            end = (block + 1) << level
            if block % 2 == 0 and end <= steps:
                total += sum((decay ** (end - t) for t in visits), arb(0)) ** 2
    return total


def value_of(statement: Statement, point: Point, name: str) -> arb:
    """Return the value of a statement's symbol, defined or free, as a ball."""
    if name in statement.let_names:
        return ball(definitions(statement, point)[name])
    return ball(point[name])


def momentum_mu2(point: Point, statement: Statement) -> arb:
    """Return mu^2 of Algorithm 1: squares of 2 alpha G S over the variance 16 alpha^2 G^2 sigma^2 V.

    The accountant provides the worst pattern, and ball arithmetic its value, which is a certain lower bound.
    """
    T = int(point["T"])
    N = int(point["N"])
    alpha = point["alpha"]
    pattern = _worst_pattern(T, N, float(alpha), ordering_of(statement))
    squares = _squares_of(pattern, T, alpha, ctx.prec)
    return squares / (
        4 * value_of(statement, point, "V") * value_of(statement, point, "sigma") ** 2
    )


def momentum_divergence(point: Point, statement: Statement) -> arb:
    """Return the Renyi divergence of Algorithm 1's released nodes if every node moves as far as it can at once."""
    return value_of(statement, point, "z") * momentum_mu2(point, statement) / 2


def momentum_delta(point: Point, statement: Statement) -> arb:
    """Return the exact delta of Algorithm 1's released nodes."""
    return delta_of(
        momentum_mu2(point, statement), value_of(statement, point, "epsilon")
    )


def delta_of(mu2: arb, epsilon: arb) -> arb:
    """Return the exact delta of a Gaussian from its mu^2, or 1 if mu is infinite."""
    if not mu2.is_finite():
        return arb(1)
    return delta_ball(mu2.sqrt(), epsilon) if mu2 > 0 else arb(0)


Points = Callable[[Budget], Iterator[dict[str, int | Fraction | str]]]


def tail_points(deltas: Sequence[Fraction], shares: Sequence[Fraction]) -> Points:
    """Return the points of a check, equal for all budgets: for each delta, some shares of log(1/delta) as epsilon."""

    def points(budget: Budget) -> Iterator[dict[str, int | Fraction | str]]:
        for delta in deltas:
            log = ball(1 / delta).log()
            for share in shares:
                epsilon = Fraction(
                    int(
                        (log * 10**6 * share.numerator / share.denominator)
                        .floor()
                        .fmpz()
                    ),
                    10**6,
                )
                yield {"delta": delta, "epsilon": epsilon}

    return points


# G, Delta, r: the sums that one loss attains in all nodes at once
ALONE: Final = ((0, 1), (2, 3), (4,))

# Weight of each of the five sums, times sigma^2; infinite if a sum moves without noise
Weights = Sequence[Value]


@lru_cache(maxsize=20_000)
def _pattern(
    steps: int,
    examples: int,
    alpha: float,
    ordering: Ordering,
    weights: tuple[float, ...],
    nodes: Nodes,
) -> Pattern:
    return worst_pattern(steps, examples, alpha, ordering, weights, nodes)


@lru_cache(maxsize=20_000)
def _sums(
    steps: int,
    examples: int,
    alpha: Fraction,
    pattern: Pattern,
    nodes: Nodes,
    bits: int,
) -> list[Value]:
    return exact_sums(steps, examples, alpha, pattern, nodes)


def squares(
    weights: Weights,
    point: Point,
    ordering: Ordering,
    nodes: Nodes,
    used: Sequence[int],
) -> Value:
    """Return mu^2 sigma^2 of the families ``used``, for the pattern that makes it largest."""
    T = int(point["T"])
    N = int(point["N"])
    alpha = point["alpha"]
    floats = tuple(_float(w) if i in used else 0.0 for i, w in enumerate(weights))
    pattern = _pattern(T, N, float(alpha), ordering, floats, nodes)
    total: Value = ZERO
    for i, family_sum in enumerate(_sums(T, N, alpha, pattern, nodes, ctx.prec)):
        if i in used and (isinstance(family_sum, arb) or family_sum != 0):
            weight = weights[i]
            if isinstance(weight, arb) and not weight.is_finite():
                return OO
            total = total + weight * family_sum
    return total


def _float(weight: Value) -> float:
    value = (
        float(arb(weight).mid())
        if isinstance(weight, arb)
        else float(Fraction(int(weight.p), int(weight.q)))
    )
    return value if math.isfinite(value) else 1e30


def ratio(above: Value, below: Value) -> Value:
    """Return the quotient: infinite where there is no noise, and 0 where nothing moves either."""
    if not isinstance(below, arb) and below == 0:
        return ZERO if not isinstance(above, arb) and above == 0 else OO
    return above / below


def box_weights(point: Point, statement: Statement) -> Weights:
    """Return the weights of the sums for the statement's V and delta: 4 G^2 / (delta_G^2 V), and so on."""
    constants = {
        name: to_value(value) for name, value in definitions(statement, point).items()
    }
    constants |= {name: to_value(value) for name, value in point.items()}
    first = constants.get("V_first", ZERO)
    later = constants.get("V_later", ZERO)
    moved_g = 2 * constants.get("G", ZERO)
    moved = 2 * constants["eta"] * constants["N"] * constants["L"]
    g = constants.get("delta_G", ZERO)
    delta = constants.get("delta_Delta", ZERO)
    r = constants.get("delta_r", ZERO)
    # Delta inside [1, 2N]: the box and the proof differ
    early = later if "V_later" in statement.let_names else first
    return [
        ratio(moved_g**2, g**2 * first),
        ratio(moved_g**2, g**2 * later),
        ratio(moved**2, delta**2 * early),
        ratio(moved**2, delta**2 * later),
        ratio(moved**2, r**2 * later),
    ]


def divergence(used: Sequence[int], nodes: Nodes = "read") -> LeftSide:
    """Return the left side with the Renyi divergence of some families.

    For the printed statement, it is the divergence of the largest single family, which a loss attains: a lower bound.
    For the other variants, it is the sum over families for one pattern: an upper bound, because a loss need not attain
    all of them at once.
    """
    squared = _squared(used, nodes)

    def lhs(point: Point, statement: Statement) -> Exact:
        z = to_value(point["z"])
        sigma = to_value(point["sigma"])
        return to_exact(z * squared(point, statement) / (2 * sigma**2))

    return lhs


def trade_off(used: Sequence[int], nodes: Nodes = "read") -> LeftSide:
    """Return the left side with the exact delta of some families, from the same mu as :func:`divergence`."""
    squared = _squared(used, nodes)

    def lhs(point: Point, statement: Statement) -> Exact:
        mu2 = to_ball(squared(point, statement) / to_value(point["sigma"]) ** 2)
        return delta_of(mu2, ball(point["epsilon"]))

    return lhs


def _second_step(point: Point, statement: Statement) -> Value:
    """Return mu^2 sigma^2 of the r node [1, 2] alone, for an example that is used at step 2.

    The first step has length eta for every noise, so a loss with curvature L moves the node by 2 eta L.
    """
    constants = {
        name: to_value(value) for name, value in definitions(statement, point).items()
    }
    constants |= {name: to_value(value) for name, value in point.items()}
    return ratio(
        (2 * constants["eta"] * constants["L"]) ** 2,
        constants["delta_r"] ** 2 * constants["V_later"],
    )


def second_step_divergence(point: Point, statement: Statement) -> Exact:
    """Return the Renyi divergence of the r node [1, 2], which is at most that of all nodes together."""
    z = to_value(point["z"])
    sigma = to_value(point["sigma"])
    return to_exact(z * _second_step(point, statement) / (2 * sigma**2))


def second_step_delta(point: Point, statement: Statement) -> Exact:
    """Return the exact delta of the r node [1, 2], which is at most that of all nodes together."""
    mu2 = to_ball(_second_step(point, statement) / to_value(point["sigma"]) ** 2)
    return delta_of(mu2, ball(point["epsilon"]))


def _squared(used: Sequence[int], nodes: Nodes) -> Callable[[Point, Statement], Value]:
    def squared(point: Point, statement: Statement) -> Value:
        ordering = ordering_of(statement)
        weights = box_weights(point, statement)
        if statement.variant != "printed":
            return squares(weights, point, ordering, nodes, used)
        parts = [
            squares(weights, point, ordering, nodes, [i for i in family if i in used])
            for family in ALONE
        ]
        largest = parts[0]
        for part in parts[1:]:
            if not part <= largest:
                largest = part
        return largest

    return squared
