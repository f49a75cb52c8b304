"""The sigma that calibration reports, held against the exact delta of the worst pattern of visits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from fractions import Fraction
from functools import cache

from flint import arb

from dpverify.harness import Budget, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.accounting import algorithm_2_definition as definition
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import dp_nsgd_mu
from dpverify.papers.tran2022.accounting.algorithm_1.once import largest_sum
from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
from dpverify.papers.tran2022.accounting.noise import AccountedRun, UnitNoise, sigma_for, unit_noise
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.privacy.participation import check_ordering, pattern_count
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("tools", __name__)

MOST_PATTERNS = 300
CLOSER = 1.0002  # the accuracy with which a pattern of a long run is looked for


@cache
def _noise(algorithm: str, run: AccountedRun) -> UnitNoise:
    return unit_noise(algorithm, run)


def _run(point: Point, statement: Statement, algorithm: str) -> AccountedRun:
    ordering = check_ordering(statement.reading["ordering"])
    smoothness = 2.0 if algorithm == "sr-nsgd" else 1.0
    return AccountedRun(int(point["N"]), int(point["T"]), float(point["w"]), 0.5, 0.125, 1.0, smoothness, ordering)


@cache
def _worst(algorithm: str, run: AccountedRun) -> tuple[Fraction, float]:
    """Square of mu at sigma 1, exactly, of the worst pattern; in long runs mu of one that exists, else 0."""
    N, T, alpha, gamma, eta, G, L, ordering = astuple(run)
    if pattern_count(T, N, ordering) > MOST_PATTERNS:
        if algorithm == "dp-nsgd":
            return Fraction(0), dp_nsgd_mu(Parameters(T, alpha, eta, 1.0, G, ordering), N, accuracy=CLOSER).lower
        return Fraction(0), sr_nsgd_mu(
            SrParameters(T, alpha, gamma, eta, 1.0, G, ordering), N, L, accuracy=CLOSER
        ).lower
    variances = [Fraction(deviation) ** 2 for deviation in _noise(algorithm, run).node_std.values()]
    if algorithm == "dp-nsgd":
        squares, _ = largest_sum(T, N, Fraction(alpha), ordering)
        return (2 * Fraction(alpha) * Fraction(G)) ** 2 * squares / variances[0], 0.0
    sizes = definition.Squares(Fraction(G), Fraction(L), Fraction(eta), *variances)
    return definition.largest_sum(T, N, Fraction(alpha), sizes, ordering)[0], 0.0


def _delta(algorithm: str, factor: float = 1.0, *, lower: bool = False) -> LeftSide:
    """Delta at the reported sigma, times a factor; ``lower``: sigma made from the accountant's lower bound."""

    def lhs(point: Point, statement: Statement) -> arb:
        run = _run(point, statement, algorithm)
        noise = _noise(algorithm, run)
        epsilon = float(point["epsilon"])
        delta = float(point["delta"])
        sigma = sigma_for(noise, epsilon, delta) * factor * (noise.mu.lower / noise.mu.upper if lower else 1.0)
        exact, reached = _worst(algorithm, run)
        return delta_ball((ball(exact).sqrt() if exact else arb(reached)) / arb(sigma), epsilon)

    return lhs


def _runs(*runs: tuple[int, int, str]) -> Iterator[PointLike]:
    for N, T, alpha in runs:
        for epsilon, delta in (("1", "1/131072"), ("1/64", "1/8"), ("8", "1/1073741824")):
            yield {"N": N, "T": T, "w": alpha, "epsilon": epsilon, "delta": delta}


def _short(budget: Budget) -> Iterator[PointLike]:
    return _runs(
        (2, 7, "1/2"),
        (3, 9, "1/2"),
        (4, 11, "1/4"),
        (6, 4, "1/8"),
        (3, 10, "1"),
        (5, 8, "1/16"),
        (2, 10, "3/4"),
    )


def _long(budget: Budget) -> Iterator[PointLike]:
    return _runs(
        (70, 5000, "1/50"),
        (130, 20003, "1/100"),
        (20, 1000, "1/4"),
        (40, 777, "1/10"),
        (64, 2048, "1/64"),
        (100, 3001, "1"),
        (200, 1500, "1/3"),
    )


for algorithm, claim in (("dp-nsgd", "calibration-dp-nsgd"), ("sr-nsgd", "calibration-sr-nsgd")):
    small = Planted("1e-9 less noise", lhs=_delta(algorithm, 1.0 - 1e-9), at_declared_size=True)
    differ = Planted("from the lower bound", lhs=_delta(algorithm, lower=True))
    CHECKS.add(
        RuleCheck(
            claim,
            "all-patterns",
            points=_short,
            lhs=_delta(algorithm),
            planted=[small],
            seconds=0.15,
            region="up to 11 steps, all patterns",
        ),
        RuleCheck(
            claim,
            "long-runs",
            points=_long,
            lhs=_delta(algorithm),
            readings={"ordering": "fresh"},
            seconds=0.5,
            planted=[small if algorithm == "dp-nsgd" else differ],  # Algorithm 1's two bounds differ by rounding alone
            region="runs with more patterns than can be tried, at one that was found",
        ),
    )
