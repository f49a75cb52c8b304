"""Lemmas at the theorems' parameters: Lemma 5 on every run, and means over t of the other bounds."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpverify.harness import Check, Context
from dpverify.harness.checks import BUDGETS, as_point
from dpverify.harness.sides import printed_side
from dpverify.harness.simulation.runs import NO_FAULT
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.checks import simulation_lemmas as lemmas
from dpverify.papers.tran2022.utility.checks.simulation_cases import (
    SlopeCase,
    run_theorem_6,
    run_theorem_9,
)
from tests.for_each import for_each

FRESH = {"ordering": "fresh", "depth": "levels"}


def _statement(claim: str, reading: dict[str, str]) -> Statement:
    return load_specs().claim(f"tran2022:{claim}").statement(reading, "amended")


def _run(check: Check, statement: Statement, budget: str) -> CheckResult:
    context = Context(statement, BUDGETS[budget], 0, check.name)
    total = None
    for block in range(check.blocks(context)):
        total = check.fold(total, check.run_block(context, block))
    return check.finish(context, total)


def test_parameters_are_those_of_the_theorems() -> None:
    case = SlopeCase(
        "slope",
        16,
        16 * 64,
        2,
        Fraction(1, 100),
        slope=0.5,
        reach=0.4,
        bend=4.0,
        offset=0.5,
    )
    of_6 = _statement("theorem-6", FRESH)
    assert lemmas.run_6(case, 3, NO_FAULT).gradient == pytest.approx(
        run_theorem_6(of_6, case, 3).gradient, rel=1e-9
    )
    of_9 = _statement("theorem-9", {"ordering": "fresh"})
    found, expected = (
        lemmas.run_9(case, 3, NO_FAULT, "fresh"),
        run_theorem_9(of_9, case, 3),
    )
    assert found.noise == pytest.approx(expected.noise, rel=1e-9)
    assert found.gradient == pytest.approx(expected.gradient, rel=1e-6)


def test_the_mean_of_the_momentum_bound_is_the_mean_over_the_steps() -> None:
    statement = _statement("lemma-11", {"ordering": "fresh"})
    case = SlopeCase(
        "antipodes", 4, 4 * 9, slope=0.25, reach=0.3, bend=4.0, offset=0.75
    )
    fixed = {**case.point, "alpha": Fraction(1, 4), "eta": Fraction(1, 12)}
    steps = [printed_side(statement, as_point({**fixed, "t": t})) for t in range(1, 37)]
    assert lemmas._momentum_bound(statement, case) == pytest.approx(
        sum(steps) / 36, rel=1e-12
    )


def test_lemma_5_holds_on_every_run_and_sees_its_faults() -> None:
    check = lemmas.CHECKS.find("lemma-5", "whole-runs")
    for variant in ("printed", "amended"):
        statement = load_specs().claim("tran2022:lemma-5").statement({}, variant)
        found = _run(check, statement, "smoke")
        assert found.status == "not refuted"
        assert [control.refuted for control in found.controls] == [True, True]


@for_each(
    ("claim", "name", "reading"),
    [
        ("lemma-11", "runs", {"ordering": "fresh"}),
        ("lemma-12", "runs", {"depth": "levels"}),
    ],
)
def test_true_bounds_survive_and_faults_are_seen(
    claim: str, name: str, reading: dict[str, str]
) -> None:
    found = _run(
        lemmas.CHECKS.find(claim, name), _statement(claim, reading), "standard"
    )
    assert found.status == "not refuted"
    assert all(control.refuted for control in found.controls)
