"""Subsampling without replacement: Lemma 3.7, Remark 3.8, and the proof in appendix C, line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

from dpverify.harness import (
    Budget,
    ExhaustiveCheck,
    PaperChecks,
    Point,
    Property,
    SearchCheck,
)
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.subsampling_bounds import pair_divergence
from dpverify.symbolic.exact.numbers import Exact

CHECKS = PaperChecks("wang2019", __name__)

ONE_PAIR = "one pair of neighbours, exactly, at the whole order below alpha; other pairs may have a larger divergence"

GRID = "orders 2 to 200, tau from 1e-4 to 1, sigma from 1/3 to 32"
SMALL: dict[str, tuple[int | str, int]] = {"order": (2, 60), "sigma": ("1/10", 20)}
CORNERS: tuple[Mapping[str, int | str], ...] = (
    {"order": 2, "tau": "1/100", "sigma": 2},
    {"order": 2, "tau": "1/10", "sigma": 2},
)


def _gaussian(point: Point, statement: Statement) -> Fraction:
    """Divergence of two Gaussians as far apart as the sensitivity, which the query can be."""
    return point["alpha"] * point["Delta"] ** 2 / (2 * point["sigma"] ** 2)


def _subsampled(point: Point, statement: Statement) -> Exact:
    """Divergence of a pair at the whole part of the order; divergences grow with the order."""
    order = int(next(point[name] for name in ("alpha", "order", "whole") if name in point))
    ratio = (point["sigma"] / point.get("Delta", Fraction(1))) ** 2
    return pair_divergence(order, point["tau"], ratio) if order >= 2 else Fraction(0)


def _printed_points(budget: Budget) -> Iterator[dict[str, int | Fraction]]:
    """Points inside the printed conditions: one ratio of noise to sensitivity, in larger and larger units."""
    for ratio in (Fraction(1), Fraction(21, 25), Fraction(2)):
        for unit in (1, 2, 3, 10):
            for alpha in (2, 9, 30, 80):
                for tau in (Fraction(1, 69), Fraction(1, 1000), Fraction(1, 10**6)):
                    sigma = ratio * unit
                    log = -math.log(tau * alpha * (1 + ratio**2))
                    if alpha <= 2 * sigma**2 * log / 3 + 0.999:
                        yield {"Delta": unit, "sigma": sigma, "alpha": alpha, "tau": tau}


def _grid(budget: Budget) -> Iterator[dict[str, int | str]]:
    orders = (2, 3, 4, 7, 20, 60) if budget.name == "smoke" else (2, 3, 4, 5, 7, 10, 14, 20, 40, 60, 100, 200)
    for order in orders:
        for tau in ("1", "1/2", "1/10", "1/100", "1/10000"):
            for sigma in ("1/3", "5/6", "1", "7/4", "5", "32"):
                yield {"order": order, "tau": tau, "sigma": sigma}


def _inside(budget: Budget) -> Iterator[dict[str, int | str]]:
    """Points at which the conditions of appendix C's end, and C.2, hold."""
    for order, tau, sigma in ((2, "1/18", 1), (2, "1/100", 2), (3, "1/10000", 2), (20, "1/1000000", 10)):
        yield {"order": order, "tau": tau, "sigma": sigma}


def _end_only(budget: Budget) -> Iterator[dict[str, int | str]]:
    """Points at which alpha <= log(1/(tau (1 + sigma^2)))."""
    for order, tau, sigma in ((2, "1/15", 1), (3, "1/10000", 2), (10, "1/100000", 1), (30, "1/100000000000000", 1)):
        yield {"order": order, "tau": tau, "sigma": sigma}


PAIR = {
    "subsampled-without-replacement": Property(
        "a share tau of all samples without replacement has the example", lambda point: 0 < point["tau"] <= 1
    ),
    "gaussian-mechanism": Property("one release with Gaussian noise of deviation sigma"),
    "neighbour-replace-one": Property("the query moves by Delta where the one example that is replaced is drawn"),
}

CHECKS.add(
    SearchCheck("lemma-3-7-gaussian", "search", lhs=_gaussian, region={"Delta": (0, 20), "sigma": (0, 20)}),
    ExhaustiveCheck(
        "lemma-3-7",
        "one-pair",
        variants=("printed",),
        points=_printed_points,
        lhs=_subsampled,
        meets=PAIR,
        region="sigma/Delta(q) 1, 0.84 and 2, Delta(q) from 1 to 10, orders from 2 to 80, tau from 1e-6 to 1/69",
        leaves_out=ONE_PAIR,
    ),
    SearchCheck(
        "lemma-3-7",
        "search",
        variants=("amended",),
        lhs=_subsampled,
        region={"whole": (2, 60), "sigma": (0, 30), "Delta": (0, 5)},
        corners=[{"Delta": 1, "sigma": 10, "tau": "1/1000000", "whole": 60}],
        leaves_out=ONE_PAIR,
        seconds_each=0.02,
    ),
    SearchCheck(
        "remark-3-8",
        "search",
        lhs=_subsampled,
        region={"alpha": (1, 60), "sigma": (0, 30)},
        corners=[{"sigma": "21/25", "tau": "1/1000", "alpha": 2}, {"sigma": 10, "tau": "1/1000000", "alpha": 60}],
        leaves_out=ONE_PAIR,
        seconds_each=0.02,
    ),
    ExhaustiveCheck(
        "lemma-3-7-c-1",
        "one-pair",
        points=_grid,
        lhs=_subsampled,
        region=GRID,
        leaves_out="the theorem is cited; it is tried on one pair of neighbours",
    ),
    SearchCheck("lemma-3-7-min", "search"),
    SearchCheck("lemma-3-7-sum-terms", "search", region={"order": (2, 40), "sigma": ("1/3", 32)}, seconds_each=0.02),
    SearchCheck("lemma-3-7-binomial", "search", region={"order": (3, 200), "chosen": (3, 200)}),
    SearchCheck(
        "lemma-3-7-sum-geometric",
        "search",
        region={"order": (2, 40)},
        corners=[{"order": 3, "tau": "1/100", "sigma": 1}, {"order": 40, "tau": "1/1000", "sigma": 20}],
    ),
    SearchCheck("lemma-3-7-c-2", "search", corners=CORNERS, region=SMALL, seconds_each=0.02),
    SearchCheck("lemma-3-7-c-2-ratio", "search", corners=CORNERS, region=SMALL, seconds_each=0.02),
    ExhaustiveCheck(
        "lemma-3-7-conditions",
        "points",
        variants=("printed",),
        points=_end_only,
        region="four points inside the condition",
    ),
    SearchCheck(
        "lemma-3-7-conditions",
        "search",
        variants=("amended",),
        corners=[{"order": order, "tau": tau, "sigma": "27/20"} for order, tau in ((2, "1/22"), (6, "1/1200"))],
        region=SMALL,
    ),
    SearchCheck("lemma-3-7-last-log", "search"),
    ExhaustiveCheck("lemma-3-7-last-linear", "points", points=_inside, region="four points inside the conditions"),
    SearchCheck("lemma-3-7-last", "search", region=SMALL),
)
