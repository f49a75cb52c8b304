"""Subsampling without replacement: Lemma 3.7, Remark 3.8, and the proof in appendix C, line by line."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import comb

from flint import arb

from dpverify.harness import (
    Budget,
    DerivationCheck,
    ExhaustiveCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    SearchCheck,
)
from dpverify.harness.derivation_check import derived_and_searched
from dpverify.harness.planted import Rule
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.derivations import derive_gaussian, derive_larger_log, derive_last, derive_min
from dpverify.papers.wang2019.privacy.subsampling_bounds import c_1_bound, c_1_tail, c_1_tail_terms, pair_divergence
from dpverify.papers.wang2019.privacy.sum_derivations import derive_c_2, derive_geometric, derive_ratio
from dpverify.symbolic.exact.evaluate import decide
from dpverify.symbolic.exact.numbers import Exact, ball

CHECKS = PaperChecks("wang2019", __name__)

ONE_PAIR = "one pair of neighbours, exactly, at the whole order below alpha; other pairs may have a larger divergence"

Side = Callable[[int, Fraction, Fraction], arb]

GRID = "orders 2 to 200, tau from 1e-4 to 1, sigma^2 from 0.1 to 1000"
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


def _at_most(sides: Callable[[Point], tuple[Exact, Exact]]) -> Rule:
    """The first of two sides against the second."""

    def holds(point: Point, statement: Statement) -> Outcome:
        lhs, rhs = sides(point)
        return Outcome(decide(lhs, "<=", rhs), lhs, rhs)

    return holds


def _grid(budget: Budget) -> Iterator[dict[str, int | str]]:
    orders = (2, 3, 4, 7, 20, 60) if budget.name == "smoke" else (2, 3, 4, 5, 7, 10, 14, 20, 40, 60, 100, 200)
    for order in orders:
        for tau in ("1", "1/2", "1/10", "1/100", "1/10000"):
            for ratio in ("1/10", "7/10", "1", "3", "25", "1000"):
                yield {"order": order, "tau": tau, "ratio": ratio}


def _place(point: Point) -> tuple[int, Fraction, Fraction]:
    return int(point["order"]), point["tau"], point["ratio"]


def _compared(left: Side, right: Side) -> Rule:
    """One side of the proof against another, on the grid."""
    return _at_most(lambda p: (left(*_place(p)), right(*_place(p))))


def _eighth(order: int, tau: Fraction, ratio: Fraction) -> arb:
    """A fault: an eighth of the part tau^2 of C.1, and nothing else."""
    return (ball(tau**2 * comb(order, 2)) * ball(1 / ratio).expm1() / 2).log1p() / (order - 1)


def _ten_tails(order: int, tau: Fraction, ratio: Fraction) -> arb:
    """A fault: the terms of the left side ten times as large."""
    return 10 * c_1_tail(order, tau, ratio)


def _binomials(budget: Budget) -> Iterator[dict[str, int]]:
    top = 40 if budget.name == "smoke" else 200
    yield from ({"order": order, "j": j} for order in range(3, top + 1) for j in range(3, order + 1))


def _binomial(divisor: int) -> Rule:
    return _at_most(lambda p: (Fraction(comb(int(p["order"]), int(p["j"]))), p["order"] ** int(p["j"]) / divisor))


def _inside(budget: Budget) -> Iterator[dict[str, int | str]]:
    """Points at which the conditions of appendix C's end, and C.2, hold."""
    for order, tau, sigma in ((2, "1/18", 1), (2, "1/100", 2), (3, "1/10000", 2), (20, "1/1000000", 10)):
        yield {"order": order, "tau": tau, "sigma": sigma}


def _end_only(budget: Budget) -> Iterator[dict[str, int | str]]:
    """Points at which alpha <= log(1/(tau (1 + sigma^2)))."""
    for order, tau, sigma in ((2, "1/15", 1), (3, "1/10000", 2), (10, "1/100000", 1), (30, "1/100000000000000", 1)):
        yield {"order": order, "tau": tau, "sigma": sigma}


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
    ExhaustiveCheck(
        "lemma-3-7-c-1",
        "one-pair",
        points=_grid,
        holds=_compared(pair_divergence, c_1_bound),
        planted=[Planted("an eighth of the leading part of C.1, alone", holds=_compared(pair_divergence, _eighth))],
        region=GRID,
        leaves_out="the theorem is cited; it is tried on one pair of neighbours",
    ),
    *derived_and_searched("lemma-3-7-min", derive_min),
    ExhaustiveCheck(
        "lemma-3-7-sum-terms",
        "grid",
        points=_grid,
        holds=_compared(c_1_tail, c_1_tail_terms),
        planted=[Planted("ten times the terms", holds=_compared(_ten_tails, c_1_tail_terms))],
        region=GRID,
    ),
    ExhaustiveCheck(
        "lemma-3-7-binomial",
        "integers",
        points=_binomials,
        holds=_binomial(6),
        planted=[Planted("4! instead of 3!", holds=_binomial(24))],
        region="all whole j <= alpha up to 200",
    ),
    *derived_and_searched(
        "lemma-3-7-sum-geometric",
        derive_geometric,
        region={"order": (2, 40)},
        corners=[{"order": 3, "tau": "1/100", "sigma": 1}, {"order": 40, "tau": "1/1000", "sigma": 20}],
    ),
    *derived_and_searched("lemma-3-7-c-2", derive_c_2, corners=CORNERS, region=SMALL, seconds_each=0.02),
    *derived_and_searched("lemma-3-7-c-2-ratio", derive_ratio, corners=CORNERS, region=SMALL, seconds_each=0.02),
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
    *derived_and_searched("lemma-3-7-last-log", derive_larger_log),
    ExhaustiveCheck("lemma-3-7-last-linear", "points", points=_inside, region="four points inside the conditions"),
    DerivationCheck("lemma-3-7-last-linear", "derivation", build=derive_last, variants=("amended",)),
    SearchCheck("lemma-3-7-last", "search", region=SMALL),
    DerivationCheck("lemma-3-7-last", "derivation", build=derive_last),
)
