"""Check both bounds on epsilon for batches without replacement, where delta is known, and for many steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from flint import arb

from dpverify.harness import Budget, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide
from dpverify.ledger.statements import Statement
from dpverify.papers.tools.checks.privacy import delta_lower_bound, down
from dpverify.privacy.batches import BatchSteps, batch_epsilon
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.privacy.participation import Bounds
from dpverify.symbolic.exact.numbers import Exact, ball

CHECKS = PaperChecks("tools", __name__)


@cache
def _reported_bounds(q: float, sigma: float, T: int, delta: float) -> Bounds:
    return batch_epsilon([BatchSteps(q, sigma, T)], delta)


def _end(point: Point, side: str) -> float:
    q = float(point["q"])
    sigma = float(point["sigma"])
    T = int(point["T"])
    bounds = _reported_bounds(q, sigma, T, down(point["delta"]))
    return bounds.upper if side == "upper" else bounds.lower


def _exact(point: Point, epsilon: float) -> arb:
    """Return delta of one step, H_c((1-q) N(0, s^2) + q N(1, s^2), N(0, s^2)), or of many steps on all of the data."""
    q = ball(Fraction(float(point["q"])))
    s = ball(Fraction(float(point["sigma"])))
    if point["q"] == 1:
        return delta_ball(ball(point["T"]).sqrt() / s, epsilon)
    threshold = arb(epsilon).exp() - 1 + q
    x = arb(1) / 2 + s**2 * (threshold / q).log()
    width = s * arb(2).sqrt()
    return (q * ((x - 1) / width).erfc() - threshold * (x / width).erfc()) / 2


def _delta_at_upper(factor: float = 1.0) -> LeftSide:
    def lhs(point: Point, statement: Statement) -> Exact:
        return _exact(point, factor * _end(point, "upper"))

    return lhs


def _delta_at_lower(factor: float = 1.0, least: float = 0.0) -> LeftSide:
    """Return the left side: the least delta for epsilon in [0, lower bound), or 1 if the lower bound is 0.

    Delta falls with epsilon and is continuous, so the least value is the delta at the lower bound. A positive lower
    bound is wrong exactly if this value is below delta, and the lower bound 0 is never wrong.
    """

    def lhs(point: Point, statement: Statement) -> Exact:
        end = max(factor * _end(point, "lower"), least)
        return _exact(point, end) if end > 0.0 else Fraction(1)

    return lhs


def _delta_lower_bound(factor: float = 1.0) -> LeftSide:
    def lhs(point: Point, statement: Statement) -> Fraction:
        at = float(point["q"]), float(point["sigma"]), int(point["T"])
        return Fraction(delta_lower_bound(*at, factor * _end(point, "upper")))

    return lhs


def _points_with_known_delta(budget: Budget) -> Iterator[PointLike]:
    noises = [
        ("1/1000", "1"),
        ("1/100", "3/5"),
        ("1/4", "2"),
        ("9/10", "3"),
        ("1/2", "20"),
        ("1/2000", "1/2"),
        # delta is below 1e-4 at epsilon 0, so that 0 is the correct lower bound
        ("1/10000", "1/2"),
        ("1/20", "4/5"),
        ("1/3", "1"),
        ("3/4", "6"),
    ]
    for (q, sigma), delta in itertools.product(noises, ("1e-4", "1e-9")):
        yield {"q": q, "sigma": sigma, "T": 1, "delta": delta}
    for sigma, T, delta in (
        ("1", 1, "1e-5"),
        ("10", 100, "1e-3"),
        ("30", 5000, "1e-8"),
        ("3", 7, "1e-20"),
    ):
        yield {"q": 1, "sigma": sigma, "T": T, "delta": delta}


def _points_with_many_steps(budget: Budget) -> Iterator[PointLike]:
    for q, sigma, T, delta in (
        ("50/32561", "1.3187", 1302, "1e-5"),
        ("200/49990", "1.1314", 625, "1e-5"),
        ("1/10", "2", 100, "1e-6"),
        ("1/2", "3", 10, "1e-4"),
        ("9/10", "5", 50, "1e-3"),
        ("1", "10", 100, "1e-3"),
        ("1/100", "3/4", 300, "1e-5"),
        ("1/20", "1", 40, "1e-8"),
        ("1/4", "4", 200, "1e-5"),
        ("1/3", "2", 5, "1e-2"),
        ("3/4", "6", 20, "1e-7"),
        ("1/1000", "3/5", 2000, "1e-6"),
        ("1/200", "9/10", 500, "1e-7"),
        ("1/50", "3/2", 250, "1e-4"),
        ("1/8", "5/2", 60, "1e-9"),
        ("1/5", "1", 8, "1e-5"),
        ("2/5", "8", 400, "1e-6"),
        ("3/5", "2", 3, "1e-3"),
        ("4/5", "12", 150, "1e-5"),
        ("19/20", "7", 30, "1e-8"),
    ):
        yield {"q": q, "sigma": sigma, "T": T, "delta": delta}


KNOWN = "one step, and many on all of the data, where delta is known in balls"
CHECKS.add(
    RuleCheck(
        "batches-upper",
        "known",
        points=_points_with_known_delta,
        lhs=_delta_at_upper(),
        seconds=0.4,
        region=KNOWN,
        planted=[
            Planted("2% less epsilon", lhs=_delta_at_upper(0.98), at_declared_size=True)
        ],
    ),
    RuleCheck(
        "batches-upper",
        "many-steps",
        points=_points_with_many_steps,
        lhs=_delta_lower_bound(),
        seconds=0.3,
        planted=[
            Planted(
                "a third less epsilon",
                lhs=_delta_lower_bound(2 / 3),
                at_declared_size=True,
            )
        ],
    ),
    RuleCheck(
        "batches-lower",
        "known",
        points=_points_with_known_delta,
        lhs=_delta_at_lower(),
        seconds=0.4,
        region=KNOWN,
        planted=[
            Planted(
                "2% more epsilon", lhs=_delta_at_lower(1.02), at_declared_size=True
            ),
            Planted(
                "an epsilon above 0 where 0 is the right lower end",
                lhs=_delta_at_lower(least=1e-6),
            ),
        ],
    ),
)
