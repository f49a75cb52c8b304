"""Check the accountants of Algorithms 1 and 2 against all patterns, or against runs in which no points are merged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from math import sqrt
from typing import Literal

import numpy as np

from dpverify.harness import Budget, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import (
    largest_sum,
    pattern_value,
    tree_sum_of_squares,
)
from dpverify.papers.tran2022.accounting.algorithm_1.fresh import FreshTree
from dpverify.papers.tran2022.accounting.algorithm_2 import nodes
from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_sum_of_squares
from dpverify.papers.tran2022.accounting.algorithm_2.fresh import SrTree
from dpverify.papers.tran2022.accounting.algorithm_2.long import long_run
from dpverify.papers.tran2022.accounting.algorithm_2_sums import Squares
from dpverify.papers.tran2022.accounting.algorithm_2_sums import (
    largest_sum as largest_sum_2,
)
from dpverify.papers.tran2022.accounting.blocks import SAFETY, bounds_of
from dpverify.privacy.participation import Bounds, check_ordering, pattern_count
from dpverify.shared_types import Ordering

CHECKS = PaperChecks("tools", __name__)

Side = Literal["lower", "upper"]
Ends = tuple[Fraction, Fraction]

ALPHAS = ("1", "1/2", "1/10", "1/1000")
MOST_PATTERNS = 300
COARSE = [
    (96, 5, "0.3"),
    (200, 7, "0.05"),
    (300, 50, "0.02"),
    (511, 33, "1/1000"),
    (777, 100, "0.005"),
    (1000, 12, "0.1"),
]
"""Steps, examples and alpha of runs with a computable exact maximum, from which coarse merging differs by percents."""


def _weight(point: Point) -> float:
    return float(point["w"])


def _ordering(statement: Statement) -> Ordering:
    return check_ordering(statement.reading["ordering"])


def _ends(bounds: Bounds) -> Ends:
    return Fraction(bounds.lower), Fraction(bounds.upper)


@cache
def _exact_1(T: int, N: int, alpha: float, ordering: Ordering) -> Ends:
    """Return bounds on the maximum: equal if all patterns are tried, otherwise from trees without merging."""
    if pattern_count(T, N, ordering) <= MOST_PATTERNS:
        value, _ = largest_sum(T, N, Fraction(alpha), ordering)
        return value, value
    return _ends(
        bounds_of(
            partial(FreshTree, T, N, alpha, 0.0), partial(pattern_value, T, alpha)
        )
    )


@cache
def _reported_1(T: int, N: int, alpha: float, ordering: Ordering, close: float) -> Ends:
    """Return the reported bounds, or, if ``close`` is not 0, those of the tree that merges points this close."""
    if close == 0.0:
        return _ends(tree_sum_of_squares(T, N, alpha, ordering))
    return _of_trees(partial(FreshTree, T, N, alpha, close))


def _of_trees(tree: Callable[..., FreshTree | SrTree]) -> Ends:
    """Return the bounds from merging upwards and downwards, before the value of a traced pattern corrects them."""
    (upper, _), (lower, _) = (tree(upper=above).run().best() for above in (True, False))
    return Fraction(lower * (1.0 - SAFETY)), Fraction(upper * (1.0 + SAFETY))


def _ratio_1(
    side: Side, fault: Callable[[Fraction], Fraction] = Fraction
) -> Callable[[Point, Statement], Fraction]:
    def lhs(point: Point, statement: Statement) -> Fraction:
        run = int(point["T"]), int(point["N"]), _weight(point), _ordering(statement)
        return _ratio_to_true(
            side, _exact_1(*run), _reported_1(*run, float(point["close"])), fault
        )

    return lhs


def _ratio_to_true(
    side: Side, true: Ends, bounds: Ends, fault: Callable[[Fraction], Fraction]
) -> Fraction:
    """Return the true value over the upper bound, or the lower bound over the true value, rounded conservatively."""
    return true[0] / fault(bounds[1]) if side == "upper" else fault(bounds[0]) / true[1]


def _points_1(budget: Budget) -> Iterator[PointLike]:
    least = 5 if budget.name == "smoke" else 1
    for alpha, T, N in itertools.product(ALPHAS, range(1, 14), range(1, 8)):
        if (T + N) % least == 0 and pattern_count(T, N, "fresh") <= MOST_PATTERNS:
            yield {"T": T, "N": N, "w": alpha, "close": 0}


def _merged_1(budget: Budget) -> Iterator[PointLike]:
    for (T, N, alpha), close in itertools.product(
        COARSE, ("0.3", "0.1", "0.03", "0.01", "0.001", "0.0001")
    ):
        yield {"T": T, "N": N, "w": alpha, "close": close}


def _drawn(sizes: int) -> Squares:
    """Return random sizes and deviations of Algorithm 2 with rational squares."""
    rng = np.random.default_rng([sizes, 7])
    number = [
        Fraction(int(a), int(b))
        for a, b in zip(rng.integers(1, 31, 7), rng.integers(1, 11, 7), strict=True)
    ]
    number[2] /= int(rng.choice([1, 10, 100]))
    return Squares(*number)


def _in_floats(T: int, N: int, s: Squares) -> nodes.NodeSensitivities:
    jump = 2 * s.smoothness * s.eta * N
    cap = 4 * s.lipschitz
    root = sqrt(s.delta)
    return nodes.NodeSensitivities(
        T,
        N,
        float(cap * s.lipschitz / s.g_first),
        float(cap * s.lipschitz / s.g_later),
        float(min(jump, cap)) / root,
        float(cap) / root,
        float((2 * s.eta * s.smoothness) ** 2 / s.drift),
    )


@cache
def _exact_2(T: int, N: int, alpha: float, ordering: Ordering, sizes: int) -> Fraction:
    return largest_sum_2(T, N, Fraction(alpha), _drawn(sizes), ordering)[0]


@cache
def _reported_2(
    T: int,
    N: int,
    alpha: float,
    ordering: Ordering,
    sizes: int,
    close: float,
    grain: int,
) -> Ends:
    sensitivities = _in_floats(T, N, _drawn(sizes))
    if close == 0.0:
        return _ends(sr_sum_of_squares(sensitivities, alpha, ordering))
    return _of_trees(partial(SrTree, sensitivities, alpha, close, grain))


def _ratio_2(
    side: Side, fault: Callable[[Fraction], Fraction] = Fraction
) -> Callable[[Point, Statement], Fraction]:
    def lhs(point: Point, statement: Statement) -> Fraction:
        run = (
            int(point["T"]),
            int(point["N"]),
            _weight(point),
            _ordering(statement),
            int(point["sizes"]),
        )
        true = _exact_2(*run)
        return _ratio_to_true(
            side,
            (true, true),
            _reported_2(*run, float(point["close"]), int(point["grain"])),
            fault,
        )

    return lhs


def _points_2(budget: Budget) -> Iterator[PointLike]:
    rng = np.random.default_rng(7)
    remaining_points = 20 if budget.name == "smoke" else 60
    while remaining_points:
        T = int(rng.integers(1, 31))
        N = int(rng.integers(1, 12))
        if (
            max(pattern_count(T, N, ordering) for ordering in ("fresh", "once"))
            <= MOST_PATTERNS
        ):
            remaining_points -= 1
            yield {
                "T": T,
                "N": N,
                "w": ALPHAS[remaining_points % 4],
                "sizes": remaining_points,
                "close": 0,
                "grain": 0,
            }


def _merged_2(budget: Budget) -> Iterator[PointLike]:
    runs = [(17, 8, "1/10"), (15, 5, "1/2"), (12, 6, "1"), (16, 7, "1/50")]
    for (T, N, alpha), close, grain in itertools.product(
        runs, ("0.1", "0.003"), range(3)
    ):
        yield {"T": T, "N": N, "w": alpha, "sizes": T, "close": close, "grain": grain}


LONG: dict[tuple[int, int], tuple[float, float, float, float]] = {
    (1025, 700): (0.25, 1.0, 50.0, 1.0),
    (1500, 500): (1.0, 0.1, 0.13, 4.0),
}
"""Examples and epochs, with parameters of the sensitivities of G, Delta (one visit, all visits) and r nodes."""


def _points_long(budget: Budget) -> Iterator[PointLike]:
    for N, epochs in list(LONG)[: 1 if budget.name == "smoke" else None]:
        yield {"N": N, "T": epochs * N + N // 3, "w": Fraction(1, N)}


@cache
def _long(N: int, T: int, alpha: float) -> tuple[Fraction, Fraction]:
    """Return a lower bound, the value of an actual pattern, and the upper bound for long runs."""
    g, late, cap, drift = LONG[N, T // N]
    run = nodes.NodeSensitivities(T, N, 20 * g, g, late, cap, drift / N**2)
    return Fraction(sr_sum_of_squares(run, alpha).lower), Fraction(
        long_run(run, alpha).upper
    )


def _ratio_long(point: Point, statement: Statement) -> Fraction:
    reached, upper = _long(int(point["N"]), int(point["T"]), _weight(point))
    return reached / upper


def _percent(sign: int) -> Callable[[Fraction], Fraction]:
    return lambda value: value * (1 + sign * Fraction(1, 100))


for claim, ratio, short, merged, sizes in (
    ("accountant-1", _ratio_1, _points_1, _merged_1, "T <= 13, N <= 7, all patterns"),
    (
        "accountant-2",
        _ratio_2,
        _points_2,
        _merged_2,
        "T <= 30, N <= 11, all patterns, drawn sizes",
    ),
):
    sides: tuple[tuple[Side, int], ...] = (("upper", -1), ("lower", 1))
    for side, sign in sides:
        fault = Planted(
            "1% off", lhs=ratio(side, _percent(sign)), at_declared_size=True
        )
        CHECKS.add(
            RuleCheck(
                f"{claim}-{side}",
                "all-patterns",
                points=short,
                lhs=ratio(side),
                planted=[fault],
                region=sizes,
                seconds=0.18,
            ),
            RuleCheck(
                f"{claim}-{side}",
                "merged",
                points=merged,
                lhs=ratio(side),
                planted=[fault],
                readings={"ordering": "fresh"},
                region="runs in which points are merged, from 30% to 0.01% apart",
                seconds=0.13,
            ),
        )
CHECKS.add(
    RuleCheck(
        "accountant-2-long",
        "patterns",
        points=_points_long,
        lhs=_ratio_long,
        seconds=1.0,
    )
)
