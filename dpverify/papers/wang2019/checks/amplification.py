"""Subsampling without replacement: Lemma 3.7 and Remark 3.8."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from dpverify.harness import Budget, DerivationCheck, ExhaustiveCheck, PaperChecks, Point, SearchCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy_derivations import derive_gaussian
from dpverify.papers.wang2019.subsampling_bounds import pair_divergence
from dpverify.symbolic.exact.numbers import Exact

CHECKS = PaperChecks("wang2019", __name__)

ONE_PAIR = "one pair of neighbours, exactly, at the whole order below alpha; other pairs may have a larger divergence"


def _gaussian(point: Point, statement: Statement) -> Fraction:
    """Divergence of two Gaussians as far apart as the sensitivity, which the query can be."""
    return point["alpha"] * point["Delta"] ** 2 / (2 * point["sigma"] ** 2)


def _subsampled(point: Point, statement: Statement) -> Exact:
    """Divergence of a pair at the whole part of the order; divergences grow with the order."""
    order = int(point["alpha"])
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


CHECKS.add(
    DerivationCheck("lemma-3-7-gaussian", "derivation", build=derive_gaussian),
    SearchCheck("lemma-3-7-gaussian", "search", lhs=_gaussian, region={"Delta": (0, 20), "sigma": (0, 20)}),
    ExhaustiveCheck(
        "lemma-3-7",
        "one-pair",
        variants=("printed",),
        points=_printed_points,
        lhs=_subsampled,
        region="sigma/Delta(q) 1, 0.84 and 2, Delta(q) from 1 to 10, orders from 2 to 80, tau from 1e-6 to 1/69",
        leaves_out=ONE_PAIR,
    ),
    SearchCheck(
        "lemma-3-7",
        "search",
        variants=("amended",),
        lhs=_subsampled,
        region={"alpha": (1, 60), "sigma": (0, 30), "Delta": (0, 5)},
        corners=[{"Delta": 1, "sigma": 10, "tau": "1/1000000", "alpha": 60}],
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
)
