"""Simulated utility bounds: checks that can fail, and the known counterexample in a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from dpverify.harness import Context
from dpverify.harness.checks import BUDGETS, as_point
from dpverify.harness.sides import printed_side
from dpverify.harness.simulation.runs import NO_FAULT, UPHILL
from dpverify.harness.simulation.runs_check import RunsCheck
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.checks.simulation import _seconds_6, _seconds_9
from dpverify.papers.tran2022.utility.checks.simulation_cases import (
    SlopeCase,
    run_theorem_6,
)
from tests.for_each import for_each

FRESH = {"ordering": "fresh", "depth": "levels"}


def _theorem_6(variant: str) -> Statement:
    return load_specs().claim("tran2022:theorem-6").statement(FRESH, variant)  # type: ignore[arg-type]  # a literal


def _check(**changes: object) -> RunsCheck[SlopeCase]:
    check = RunsCheck(
        "theorem-6",
        "runs",
        cases={"smoke": (SlopeCase("slope", 16, 2**14, reach=0.05, bend=20.0),)},
        measure=lambda statement, case, seed, fault: (
            run_theorem_6(statement, case, seed, fault).gradient
        ),
        bound=lambda statement, case: printed_side(statement, case.point),
        top=lambda statement, case: case.top,
        faults=((UPHILL, "slope"),),
        seconds_each=lambda case: 1e-3,
        region="one slope",
    )
    return replace(check, **changes)  # type: ignore[arg-type]  # by name


def _run(check: RunsCheck[SlopeCase], variant: str = "amended") -> CheckResult:
    context = Context(_theorem_6(variant), BUDGETS["smoke"], 0, check.name)
    total = None
    for block in range(check.blocks(context)):
        total = check.fold(total, check.run_block(context, block))
    return check.finish(context, total)


def test_a_true_bound_is_not_refuted_and_every_fault_is() -> None:
    found = _run(_check())
    assert found.status == "not refuted"
    assert [control.refuted for control in found.controls] == [True, True]
    assert [control.at_declared_size for control in found.controls] == [True, False]
    assert "would have been seen" in found.statistic
    assert found.counterexamples == []


def test_a_wrong_optimizer_is_refuted() -> None:
    def uphill(
        statement: Statement, case: SlopeCase, seed: int, fault: object
    ) -> float:
        del fault
        return run_theorem_6(statement, case, seed, UPHILL).gradient

    found = _run(_check(measure=uphill))
    assert found.status == "refuted"
    assert float(found.counterexamples[0].lhs.float) > float(
        found.counterexamples[0].rhs.float
    )


@for_each("seconds", [_seconds_6, _seconds_9])
def test_seconds_are_those_of_the_steps_and_more_in_more_dimensions(
    seconds: Callable[[SlopeCase], float],
) -> None:
    case = SlopeCase("slope", 16, 2**14)
    each = seconds(case) / 2**14
    assert 1e-9 < each < seconds(replace(case, dimension=8)) / 2**14 < 1e-6
    assert seconds(replace(case, steps=2**15)) == pytest.approx(2 * seconds(case))


def test_antipodes_take_longer() -> None:
    case = SlopeCase("slope", 16, 2**14)
    assert _seconds_6(replace(case, offset=0.3)) > _seconds_6(case)


def test_nothing_is_run_where_the_bound_is_above_the_slope() -> None:
    check = _check(cases={"smoke": (SlopeCase("slope", 4, 100),)})
    found = _run(check)
    assert found.status == "inconclusive"
    assert "vacuous" in found.message


def test_the_smallest_known_counterexample_keeps_its_gradient_in_a_run() -> None:
    """N = 121, T = 3712256, delta = 1/2, G = L = 1, R = 176: bound 0.999, and no run leaves the slope."""
    statement = _theorem_6("printed")
    point = as_point(
        {"N": 121, "T": 3712256, "d": 3, "delta": "1/2", "G": 1, "L": 1, "R": 176}
    )
    bound = printed_side(statement, point)
    reach = 175.5 / (3712256 / 121) ** 0.5
    case = SlopeCase(
        "ramp",
        121,
        3712256,
        3,
        Fraction(1, 2),
        reach=reach,
        bend=(3712256 / 121) ** 0.5,
    )
    assert case.problem.gap <= 176.0 + 1e-9
    found = run_theorem_6(statement, case, 0, NO_FAULT)
    assert found.gradient == 1.0 > bound
    assert found.farthest <= 175.5
