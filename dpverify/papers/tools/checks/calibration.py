"""Check the noise that calibration reports by the delta of a run with it.

For Algorithms 1 and 2 of tran2022, delta is the exact one of the worst pattern of visits. For DP-SRM and DPAGEEM, it
follows from the deviations that a run adds.
"""

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
from dpverify.papers.tools.checks.privacy import delta_lower_bound, down
from dpverify.papers.tran2022.accounting import algorithm_2_sums as definition
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import (
    dp_nsgd_mu,
    largest_sum,
)
from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
from dpverify.papers.tran2022.accounting.noise import (
    AccountedRun,
    UnitNoise,
    sigma_for,
    unit_noise,
)
from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
from dpverify.papers.wang2019.accounting.runs import BatchRun, Kind, least_noise
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.privacy.participation import check_ordering, pattern_count
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("tools", __name__)

MOST_PATTERNS = 300
CLOSER = 1.0002  # accuracy of the search for a pattern of a long run


@cache
def _noise(algorithm: str, run: AccountedRun) -> UnitNoise:
    return unit_noise(algorithm, run)


def _run(point: Point, statement: Statement, algorithm: str) -> AccountedRun:
    ordering = check_ordering(statement.reading["ordering"])
    smoothness = 2.0 if algorithm == "sr-nsgd" else 1.0
    return AccountedRun(
        int(point["N"]),
        int(point["T"]),
        float(point["w"]),
        0.5,
        0.125,
        1.0,
        smoothness,
        ordering,
    )


@cache
def _worst_mu(algorithm: str, run: AccountedRun) -> tuple[Fraction, float]:
    """Return the exact mu^2 at sigma 1 of the worst pattern, and 0; in long runs, 0 and mu of a found pattern."""
    N, T, alpha, gamma, eta, G, L, ordering = astuple(run)
    if pattern_count(T, N, ordering) > MOST_PATTERNS:
        if algorithm == "dp-nsgd":
            return Fraction(0), dp_nsgd_mu(
                Parameters(T, alpha, eta, 1.0, G, ordering), N, accuracy=CLOSER
            ).lower
        return Fraction(0), sr_nsgd_mu(
            SrParameters(T, alpha, gamma, eta, 1.0, G, ordering), N, L, accuracy=CLOSER
        ).lower
    variances = [
        Fraction(deviation) ** 2
        for deviation in _noise(algorithm, run).node_std.values()
    ]
    if algorithm == "dp-nsgd":
        squares, _ = largest_sum(T, N, Fraction(alpha), ordering)
        return (2 * Fraction(alpha) * Fraction(G)) ** 2 * squares / variances[0], 0.0
    sizes = definition.Squares(Fraction(G), Fraction(L), Fraction(eta), *variances)
    return definition.largest_sum(T, N, Fraction(alpha), sizes, ordering)[0], 0.0


def _delta(algorithm: str, factor: float = 1.0, *, lower: bool = False) -> LeftSide:
    """Return delta at the reported sigma times ``factor``; ``lower`` bases sigma on the accountant's lower bound."""

    def lhs(point: Point, statement: Statement) -> arb:
        run = _run(point, statement, algorithm)
        noise = _noise(algorithm, run)
        epsilon = float(point["epsilon"])
        delta = float(point["delta"])
        sigma = (
            sigma_for(noise, epsilon, delta)
            * factor
            * (noise.mu.lower / noise.mu.upper if lower else 1.0)
        )
        exact, reached = _worst_mu(algorithm, run)
        return delta_ball(
            (ball(exact).sqrt() if exact else arb(reached)) / arb(sigma), epsilon
        )

    return lhs


def _runs(*runs: tuple[int, int, str]) -> Iterator[PointLike]:
    for N, T, alpha in runs:
        for epsilon, delta in (
            ("1", "1/131072"),
            ("1/64", "1/8"),
            ("8", "1/1073741824"),
        ):
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


for algorithm, claim in (
    ("dp-nsgd", "calibration-dp-nsgd"),
    ("sr-nsgd", "calibration-sr-nsgd"),
):
    small = Planted(
        "1e-9 less noise", lhs=_delta(algorithm, 1.0 - 1e-9), at_declared_size=True
    )
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
            # Algorithm 1's two bounds differ only by rounding
            planted=[small if algorithm == "dp-nsgd" else differ],
            region="runs with more patterns than can be tried, at one that was found",
        ),
    )


LIPSCHITZ = 2.0
ACCURACY = 0.25


KINDS: dict[str, Kind] = {
    "calibration-dp-srm": "recursive",
    "calibration-dpageem": "descent",
}
"""Kind of run for each claim. The steps of all stages of DPAGEEM are of one kind, like those of DP-SGD."""


def _batch_run(point: Point, statement: Statement) -> BatchRun:
    batch = int(point["batch"])
    kind = KINDS[statement.key.partition(":")[2]]
    if kind == "descent":
        return BatchRun(
            kind, int(point["N"]), int(point["T"]), batch, batch, lipschitz=LIPSCHITZ
        )
    first = min(int(point["N"]), 2 * batch)
    return BatchRun(
        kind,
        int(point["N"]),
        int(point["T"]),
        batch,
        first,
        float(point["w"]),
        ACCURACY,
        LIPSCHITZ,
    )


@cache
def _deviations(run: BatchRun, epsilon: float, delta: float) -> tuple[float, float]:
    return run.deviations(least_noise(run, epsilon, delta).noise)


def _ratios(point: Point, statement: Statement, factor: float) -> tuple[arb, arb]:
    """Return the largest change by one example of the first and of a later estimate, over the added deviation.

    A batch's mean changes by 2G/b_0, and by 2 ((1 - gamma) zeta + gamma G)/b, with the symbols of (B.2) and (B.4).
    """
    run = _batch_run(point, statement)
    first, later = _deviations(run, float(point["epsilon"]), down(point["delta"]))
    weight, lipschitz, accuracy = (
        Fraction(number) for number in (run.gamma, LIPSCHITZ, ACCURACY)
    )
    length = (1 - weight) * accuracy + weight * lipschitz
    return (
        ball(2 * lipschitz / run.batch_0)
        / (ball(Fraction(first)) * ball(Fraction(factor))),
        ball(2 * length / run.batch) / (ball(Fraction(later)) * ball(Fraction(factor))),
    )


def _exact(factor: float = 1.0) -> LeftSide:
    """Return delta if every batch is all of the data: one Gaussian for all steps together."""

    def lhs(point: Point, statement: Statement) -> arb:
        first, later = _ratios(point, statement, factor)
        squares = ball(point["T"]) * later**2
        if KINDS[statement.key.partition(":")[2]] == "recursive":
            squares += first**2
        return delta_ball(squares.sqrt(), float(point["epsilon"]))

    return lhs


def _later_delta_lower_bound(factor: float = 1.0) -> LeftSide:
    """Return a lower bound on the delta of the later steps alone, from sums of rounded losses."""

    def lhs(point: Point, statement: Statement) -> Fraction:
        _, later = _ratios(point, statement, factor)
        rate = float(point["batch"] / point["N"])
        return Fraction(
            delta_lower_bound(
                rate, float((1 / later).mid()), int(point["T"]), float(point["epsilon"])
            )
        )

    return lhs


def _full_batch_points(budget: Budget) -> Iterator[PointLike]:
    runs = (
        (1, 1, "1"),
        (7, 3, "1/2"),
        (40, 12, "1/3"),
        (100, 40, "1/8"),
        (800, 150, "1/20"),
        (5000, 999, "1/64"),
        (10**6, 4, "3/4"),
    )
    for N, T, weight in runs:
        for epsilon, delta in (("1/8", "1e-3"), ("1", "1e-5"), ("4", "1e-8")):
            yield {
                "N": N,
                "T": T,
                "batch": N,
                "w": weight,
                "epsilon": epsilon,
                "delta": delta,
            }


def _sampled(budget: Budget) -> Iterator[PointLike]:
    for N, T, batch, epsilon, delta in (
        (32561, 1302, 50, "1/5", "1e-5"),
        (32561, 651, 100, "1/2", "1e-5"),
        (49990, 625, 200, "1/2", "1e-5"),
        (1000, 100, 100, "1", "1e-6"),
        (100, 10, 40, "2", "1e-4"),
        (100, 50, 45, "3", "1e-3"),
    ):
        yield {
            "N": N,
            "T": T,
            "batch": batch,
            "w": "1/100",
            "epsilon": epsilon,
            "delta": delta,
        }


for claim in KINDS:
    CHECKS.add(
        RuleCheck(
            claim,
            "all-data",
            points=_full_batch_points,
            lhs=_exact(),
            planted=[Planted("2% less noise", lhs=_exact(0.98), at_declared_size=True)],
            region="batches of all of the data, where delta is known in balls, with the deviations that a run adds",
            seconds=0.5,
        ),
        RuleCheck(
            claim,
            "batches",
            points=_sampled,
            lhs=_later_delta_lower_bound(),
            planted=[
                Planted(
                    "a third less noise",
                    lhs=_later_delta_lower_bound(2 / 3),
                    at_declared_size=True,
                )
            ],
            region="smaller batches, later steps only; delta from below by losses that share no code with the tool",
            seconds=0.5,
        ),
    )
