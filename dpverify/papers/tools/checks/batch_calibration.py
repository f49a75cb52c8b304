"""The noise that calibration reports for DP-SRM and DPAGEEM, held against delta from the deviations that a run adds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from flint import arb

from dpverify.harness import Budget, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide
from dpverify.ledger.statements import Statement
from dpverify.papers.tools.checks.privacy import down
from dpverify.papers.tools.checks.seen_delta import seen_delta
from dpverify.papers.wang2019.accounting.runs import BatchRun, Kind, needed
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.symbolic.exact.numbers import ball

CHECKS = PaperChecks("tools", __name__)

LIPSCHITZ = 2.0
ACCURACY = 0.25


KINDS: dict[str, Kind] = {"calibration-dp-srm": "recursive", "calibration-dpageem": "descent"}
"""DPAGEEM's stages together are steps of one kind, as are those of DP-SGD."""


def _run(point: Point, statement: Statement) -> BatchRun:
    batch = int(point["batch"])
    kind = KINDS[statement.key.partition(":")[2]]
    if kind == "descent":
        return BatchRun(kind, int(point["N"]), int(point["T"]), batch, batch, lipschitz=LIPSCHITZ)
    first = min(int(point["N"]), 2 * batch)
    return BatchRun(kind, int(point["N"]), int(point["T"]), batch, first, float(point["w"]), ACCURACY, LIPSCHITZ)


@cache
def _deviations(run: BatchRun, epsilon: float, delta: float) -> tuple[float, float]:
    return run.deviations(needed(run, epsilon, delta).noise)


def _ratios(point: Point, statement: Statement, factor: float) -> tuple[arb, arb]:
    """What one example changes in the first and in a later estimate at most, over the deviation that is added.

    A batch's mean changes by 2G/b_0, and by 2 ((1 - gamma) zeta + gamma G)/b: the letters of (B.2) and (B.4).
    """
    run = _run(point, statement)
    first, later = _deviations(run, float(point["epsilon"]), down(point["delta"]))
    weight, lipschitz, accuracy = (Fraction(number) for number in (run.gamma, LIPSCHITZ, ACCURACY))
    length = (1 - weight) * accuracy + weight * lipschitz
    return (
        ball(2 * lipschitz / run.batch_0) / (ball(Fraction(first)) * ball(Fraction(factor))),
        ball(2 * length / run.batch) / (ball(Fraction(later)) * ball(Fraction(factor))),
    )


def _exact(factor: float = 1.0) -> LeftSide:
    """Delta where every batch is all of the data: one Gaussian of all steps together."""

    def lhs(point: Point, statement: Statement) -> arb:
        first, later = _ratios(point, statement, factor)
        squares = ball(point["T"]) * later**2
        if KINDS[statement.key.partition(":")[2]] == "recursive":
            squares += first**2
        return delta_ball(squares.sqrt(), float(point["epsilon"]))

    return lhs


def _seen(factor: float = 1.0) -> LeftSide:
    """Delta of the later steps alone, from below, by adding up rounded losses."""

    def lhs(point: Point, statement: Statement) -> Fraction:
        _, later = _ratios(point, statement, factor)
        rate = float(point["batch"] / point["N"])
        return Fraction(seen_delta(rate, float((1 / later).mid()), int(point["T"]), float(point["epsilon"])))

    return lhs


def _whole(budget: Budget) -> Iterator[PointLike]:
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
            yield {"N": N, "T": T, "batch": N, "w": weight, "epsilon": epsilon, "delta": delta}


def _sampled(budget: Budget) -> Iterator[PointLike]:
    for N, T, batch, epsilon, delta in (
        (32561, 1302, 50, "1/5", "1e-5"),
        (32561, 651, 100, "1/2", "1e-5"),
        (49990, 625, 200, "1/2", "1e-5"),
        (1000, 100, 100, "1", "1e-6"),
        (100, 10, 40, "2", "1e-4"),
        (100, 50, 45, "3", "1e-3"),
    ):
        yield {"N": N, "T": T, "batch": batch, "w": "1/100", "epsilon": epsilon, "delta": delta}


for claim in KINDS:
    CHECKS.add(
        RuleCheck(
            claim,
            "all-data",
            points=_whole,
            lhs=_exact(),
            planted=[Planted("2% less noise", lhs=_exact(0.98), at_declared_size=True)],
            region="batches of all of the data, where delta is known in balls, with the deviations that a run adds",
            seconds=0.5,
        ),
        RuleCheck(
            claim,
            "batches",
            points=_sampled,
            lhs=_seen(),
            planted=[Planted("a third less noise", lhs=_seen(2 / 3), at_declared_size=True)],
            region="smaller batches, later steps only; delta from below by losses that share no code with the tool",
            seconds=0.5,
        ),
    )
