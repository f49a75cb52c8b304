"""Left sides of Theorem 8 and its families: exact Renyi divergences and trade-offs of Algorithm 2's released nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from flint import arb, ctx

from dpverify.harness import Point
from dpverify.harness.sides import LeftSide
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.accounting.algorithm_2_sides import Nodes, exact_sums, worst_pattern
from dpverify.papers.tran2022.privacy.checks.sides import delta_of
from dpverify.papers.tran2022.sensitivity.checks.nodes import ordering_of
from dpverify.privacy.participation import Pattern
from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import OO, ZERO, Exact, Value, ball, to_ball, to_exact, to_value
from dpverify.symbolic.exact.statements import definitions

ALONE: Final = ((0, 1), (2, 3), (4,))  # G, Delta, r: the sums that one loss reaches in all nodes at once

Weights = Sequence[Value]  # What each of the five sums counts for, times sigma^2; infinite if it moves without noise


@lru_cache(maxsize=20_000)
def _pattern(
    steps: int, examples: int, alpha: float, ordering: Ordering, weights: tuple[float, ...], nodes: Nodes
) -> Pattern:
    return worst_pattern(steps, examples, alpha, ordering, weights, nodes)


@lru_cache(maxsize=20_000)
def _sums(steps: int, examples: int, alpha: Fraction, pattern: Pattern, nodes: Nodes, bits: int) -> list[Value]:
    return exact_sums(steps, examples, alpha, pattern, nodes)


def squares(weights: Weights, point: Point, ordering: Ordering, nodes: Nodes, used: Sequence[int]) -> Value:
    """Give mu^2 sigma^2 of the families ``used``, for the pattern that makes it largest."""
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
    value = float(arb(weight).mid()) if isinstance(weight, arb) else float(Fraction(int(weight.p), int(weight.q)))
    return value if math.isfinite(value) else 1e30


def ratio(above: Value, below: Value) -> Value:
    """Divide; infinite where there is no noise, and 0 where nothing moves either."""
    if not isinstance(below, arb) and below == 0:
        return ZERO if not isinstance(above, arb) and above == 0 else OO
    return above / below


def box_weights(point: Point, statement: Statement) -> Weights:
    """Give what the sums count for with the statement's own V and delta: 4 G^2 / (delta_G^2 V), and so on."""
    constants = {name: to_value(value) for name, value in definitions(statement, point).items()}
    constants |= {name: to_value(value) for name, value in point.items()}
    first = constants.get("V_first", ZERO)
    later = constants.get("V_later", ZERO)
    moved_g = 2 * constants.get("G", ZERO)
    moved = 2 * constants["eta"] * constants["N"] * constants["L"]
    g = constants.get("delta_G", ZERO)
    delta = constants.get("delta_Delta", ZERO)
    r = constants.get("delta_r", ZERO)
    early = later if "V_later" in statement.let_names else first  # Delta inside [1, 2N]: the box and the proof differ
    return [
        ratio(moved_g**2, g**2 * first),
        ratio(moved_g**2, g**2 * later),
        ratio(moved**2, delta**2 * early),
        ratio(moved**2, delta**2 * later),
        ratio(moved**2, r**2 * later),
    ]


def divergence(used: Sequence[int], nodes: Nodes = "read") -> LeftSide:
    """Make the Renyi divergence of some families.

    Of the printed statement it is that of one family alone, the largest, which a loss attains: a lower bound. Of what
    holds it is the sum over families for one pattern: an upper bound, as no loss need reach all at once.
    """
    squared = _squared(used, nodes)

    def lhs(point: Point, statement: Statement) -> Exact:
        z = to_value(point["z"])
        sigma = to_value(point["sigma"])
        return to_exact(z * squared(point, statement) / (2 * sigma**2))

    return lhs


def trade_off(used: Sequence[int], nodes: Nodes = "read") -> LeftSide:
    """Make the exact delta of some families, from the same mu as :func:`divergence`."""
    squared = _squared(used, nodes)

    def lhs(point: Point, statement: Statement) -> Exact:
        mu2 = to_ball(squared(point, statement) / to_value(point["sigma"]) ** 2)
        return delta_of(mu2, ball(point["epsilon"]))

    return lhs


def _second_step(point: Point, statement: Statement) -> Value:
    """Give mu^2 sigma^2 of the r node [1, 2] alone, for an example that is used at step 2.

    The first step has the length eta whatever the noise, so that a loss which bends with L moves the node by 2 eta L.
    """
    constants = {name: to_value(value) for name, value in definitions(statement, point).items()}
    constants |= {name: to_value(value) for name, value in point.items()}
    return ratio((2 * constants["eta"] * constants["L"]) ** 2, constants["delta_r"] ** 2 * constants["V_later"])


def second_step_divergence(point: Point, statement: Statement) -> Exact:
    """Give the Renyi divergence of the r node [1, 2], which is at most that of all nodes together."""
    z = to_value(point["z"])
    sigma = to_value(point["sigma"])
    return to_exact(z * _second_step(point, statement) / (2 * sigma**2))


def second_step_delta(point: Point, statement: Statement) -> Exact:
    """Give the exact delta of the r node [1, 2], which is at most that of all nodes together."""
    mu2 = to_ball(_second_step(point, statement) / to_value(point["sigma"]) ** 2)
    return delta_of(mu2, ball(point["epsilon"]))


def _squared(used: Sequence[int], nodes: Nodes) -> Callable[[Point, Statement], Value]:
    def squared(point: Point, statement: Statement) -> Value:
        ordering = ordering_of(statement)
        weights = box_weights(point, statement)
        if statement.variant != "printed":
            return squares(weights, point, ordering, nodes, used)
        parts = [squares(weights, point, ordering, nodes, [i for i in family if i in used]) for family in ALONE]
        largest = parts[0]
        for part in parts[1:]:
            if not part <= largest:
                largest = part
        return largest

    return squared
