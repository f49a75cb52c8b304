"""Check confidence limits of audits and of proportions: the probability of a wrong limit, summed over all counts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import comb, exp

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.harness import Budget, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide
from dpverify.harness.statistics.effects import proportion_limits
from dpverify.ledger.statements import Statement
from dpverify.privacy.audit.counting import allowance, lower_epsilon

CHECKS = PaperChecks("tools", __name__)


@cache
def _counts(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    pairs = np.array(
        [(right, wrong) for right in range(n + 1) for wrong in range(n + 1 - right)],
        dtype=np.float64,
    )
    return pairs[:, 0], pairs[:, 1]


def _chance_above_epsilon(factor: float, *, forgotten: bool = False) -> LeftSide:
    """Return the probability that the audit's bound exceeds epsilon; ``forgotten`` ignores the correction for delta."""

    def lhs(point: Point, statement: Statement) -> arb:
        n = int(point["n"])
        epsilon = float(point["epsilon"])
        level = float(point["level"]) * factor
        right, wrong = _counts(n)
        bounds = lower_epsilon(
            right, wrong, n, 0.0 if forgotten else float(point["delta"]), level
        )
        p = arb(float(point["p"]))
        r = arb(epsilon).exp() * p + arb(float(point["delta"]))
        powers = [[x**k for k in range(n + 1)] for x in (r, p, 1 - r - p)]
        hit = zip(
            right[bounds > epsilon].astype(int).tolist(),
            wrong[bounds > epsilon].astype(int).tolist(),
            strict=True,
        )
        terms = (
            comb(n, i)
            * comb(n - i, j)
            * powers[0][i]
            * powers[1][j]
            * powers[2][n - i - j]
            for i, j in hit
        )
        return sum(terms, start=arb(0))

    return lhs


def _games(budget: Budget) -> Iterator[PointLike]:
    laws = [("1/50", "0"), ("3/200", "1/50"), ("0", "1/20"), ("0", "1/5"), ("1/8", "0")]
    for n, (p, delta), epsilon, level in itertools.product(
        (1, 7, 40), laws, ("0", "1", "3"), ("1/20", "1/1000")
    ):
        if float(Fraction(p)) * (1 + exp(float(epsilon))) + float(Fraction(delta)) <= 1:
            yield {"n": n, "p": p, "delta": delta, "epsilon": epsilon, "level": level}


def _tail(count: int, n: int, p: arb) -> arb:
    """Return P(Bin(n, p) > count)."""
    return sum(
        (comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(count + 1, n + 1)),
        arb(0),
    )


def _spent_level(fewer: int) -> LeftSide:
    def lhs(point: Point, statement: Statement) -> arb:
        n = int(point["n"])
        delta = float(point["delta"])
        rounds, left = allowance(n, delta, float(point["level"]))
        return _tail(rounds - fewer, n, arb(delta)) + arb(left)

    return lhs


def _shares(budget: Budget) -> Iterator[PointLike]:
    for (n, delta), level in itertools.product(
        [
            (1, "1/50"),
            (40, "1e-5"),
            (40, "1/50"),
            (200, "1/100"),
            (300, "1/5"),
            (60, "9/10"),
            (25, "0"),
        ],
        ("1/20", "1/1000", "1/1000000"),
    ):
        yield {"n": n, "delta": delta, "level": level}


def _wrong(factor: float) -> LeftSide:
    def lhs(point: Point, statement: Statement) -> Fraction:
        n = int(point["n"])
        p = point["p"]
        limits = [
            proportion_limits(k, n, float(point["level"]) * factor)
            for k in range(n + 1)
        ]
        chances = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        above = sum(
            (chances[k] for k, (lower, _) in enumerate(limits) if lower > p),
            Fraction(0),
        )
        below = sum(
            (chances[k] for k, (_, upper) in enumerate(limits) if upper < p),
            Fraction(0),
        )
        return max(above, below)

    return lhs


def _proportions(budget: Budget) -> Iterator[PointLike]:
    chances = range(0, 101, 4 if budget.name == "smoke" else 1)
    for n, p, level in itertools.product((1, 5, 40), chances, ("1/20", "1/1000")):
        yield {"n": n, "p": Fraction(p, 100), "level": level}


CHECKS.add(
    RuleCheck(
        "audit-level",
        "all-counts",
        points=_games,
        lhs=_chance_above_epsilon(1.0),
        region="up to 40 rounds",
        seconds=0.5,
        planted=[
            Planted(
                "twice the level", lhs=_chance_above_epsilon(2.0), at_declared_size=True
            ),
            Planted("delta forgotten", lhs=_chance_above_epsilon(1.0, forgotten=True)),
        ],
    ),
    RuleCheck(
        "audit-share",
        "binomials",
        points=_shares,
        lhs=_spent_level(0),
        region="up to 300 rounds",
        seconds=0.02,
        planted=[
            Planted("one round fewer", lhs=_spent_level(1), at_declared_size=True)
        ],
    ),
    RuleCheck(
        "limits-proportion",
        "all-counts",
        points=_proportions,
        lhs=_wrong(1.0),
        region="up to 40 draws",
        seconds=0.2,
        planted=[Planted("twice the level", lhs=_wrong(2.0), at_declared_size=True)],
    ),
)
