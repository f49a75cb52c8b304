"""Simulated utility bounds: exact limits, checks that can fail, and the known counterexample in a run."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpverify.harness import Context
from dpverify.harness.budget import BUDGETS
from dpverify.harness.context import as_point
from dpverify.harness.statistics.printed_side import printed_side
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.checks import utility_simulation_limits as limits
from dpverify.papers.tran2022.utility.checks.utility_simulation_cases import NO_FAULT, UPHILL, Case, run_theorem_6
from dpverify.papers.tran2022.utility.checks.utility_simulation_check import RunsCheck
from dpverify.papers.tran2022.utility.checks.utility_simulation_verdict import moved

FRESH = {"ordering": "fresh", "depth": "levels"}


def _theorem_6(variant: str) -> Statement:
    return load_specs().claim("tran2022:theorem-6").statement(FRESH, variant)  # type: ignore[arg-type]  # a literal


def _check(**changes: object) -> RunsCheck:
    check = RunsCheck(
        "theorem-6",
        "runs",
        cases={"smoke": (Case("slope", 16, 2**14, reach=0.05, bend=20.0),)},
        measure=lambda statement, case, seed, fault: run_theorem_6(statement, case, seed, fault).gradient,
        bound=lambda statement, case: printed_side(statement, case.point),
        top=lambda statement, case: case.top,
        faults=((UPHILL, "slope"),),
        seconds_each=lambda case: 1e-3,
        region="one slope",
    )
    return replace(check, **changes)  # type: ignore[arg-type]  # by name


def _run(check: RunsCheck, variant: str = "amended") -> CheckResult:
    context = Context(_theorem_6(variant), BUDGETS["smoke"], 0, check.name)
    total = None
    for block in range(check.blocks(context)):
        total = check.fold(total, check.run_block(context, block))
    return check.finish(context, total)


@pytest.mark.parametrize("mean", [0.2, 0.6])
def test_the_capital_of_a_coin_is_fair_on_average(mean: float) -> None:
    expected = 0.0
    for number in range(2**8):
        tosses = [number >> k & 1 for k in range(8)]
        chance = np.prod([mean if toss else 1 - mean for toss in tosses])
        expected += chance * np.exp(limits.log_capital(tosses, mean))
    assert expected == pytest.approx(1.0, rel=1e-12)


def test_the_limit_is_seldom_above_the_mean() -> None:
    rng = np.random.default_rng(0)
    above = sum(limits.lower_limit(list(rng.random(20) < 0.1), 0.05) > 0.1 for _ in range(2000))
    assert 0 < above <= 100


def test_the_limit_of_values_that_do_not_vary_is_close_to_them() -> None:
    assert 0.1 < limits.lower_limit([0.15] * 60, 1e-6) < 0.15
    assert limits.lower_limit([0.0] * 60, 1e-6) == 0.0
    with pytest.raises(ValueError, match="at least 0"):
        limits.log_capital([-0.1], 0.5)


@pytest.mark.parametrize("bound", [0.3, 0.75])
def test_the_planned_number_of_runs_sees_the_declared_excess(bound: float) -> None:
    n, mean = limits.runs_needed(bound, 1e-3, 0.99), limits.Excess(bound).mean
    rng = np.random.default_rng(1)
    seen = sum(limits.lower_limit(list(rng.random(n) < mean), 1e-3) > bound for _ in range(400))
    assert seen >= 390
    assert limits.Excess(bound).power(n, 1e-3) >= 0.99 > limits.Excess(bound).power(n - 1, 1e-3)


def test_values_move_to_a_mean_and_stay_in_their_range() -> None:
    values = [0.0, 0.2, 1.0]
    for target in (0.1, 0.4, 0.9, 1.0):
        found = moved(values, target)
        assert np.mean(found) == pytest.approx(target)
        assert min(found) >= 0.0
        assert max(found) <= 1.0


def test_a_true_bound_is_not_refuted_and_every_fault_is() -> None:
    found = _run(_check())
    assert found.status == "not refuted"
    assert [control.refuted for control in found.controls] == [True, True]
    assert [control.at_declared_size for control in found.controls] == [True, False]
    assert "would have been seen" in found.statistic
    assert found.counterexamples == []


def test_a_wrong_optimizer_is_refuted() -> None:
    def uphill(statement: Statement, case: Case, seed: int, fault: object) -> float:
        del fault
        return run_theorem_6(statement, case, seed, UPHILL).gradient

    found = _run(_check(measure=uphill))
    assert found.status == "refuted"
    assert float(found.counterexamples[0].lhs.float) > float(found.counterexamples[0].rhs.float)


def test_a_fault_that_is_missed_leaves_the_check_undecided() -> None:
    found = _run(_check(faults=((replace(UPHILL, direction=1.0), "slope"),)))
    assert found.status == "inconclusive"
    assert "cannot fail" in found.message


def test_nothing_is_run_where_the_bound_is_above_the_slope() -> None:
    check = _check(cases={"smoke": (Case("slope", 4, 100),)})
    found = _run(check)
    assert found.status == "inconclusive"
    assert "vacuous" in found.message


def test_a_plan_that_does_not_fit_is_not_begun() -> None:
    check = _check()
    context = Context(_theorem_6("amended"), BUDGETS["smoke"], 0, check.name, share=1e-4)
    assert check.blocks(context) == 0
    assert check.finish(context, None).status == "inconclusive"


def test_the_smallest_known_counterexample_keeps_its_gradient_in_a_run() -> None:
    """N = 121, T = 3712256, delta = 1/2, G = L = 1, R = 176: bound 0.999, and no run leaves the slope."""
    statement = _theorem_6("printed")
    point = as_point({"N": 121, "T": 3712256, "d": 3, "delta": "1/2", "G": 1, "L": 1, "R": 176})
    bound = printed_side(statement, point)
    reach = 175.5 / (3712256 / 121) ** 0.5
    case = Case("ramp", 121, 3712256, 3, Fraction(1, 2), reach=reach, bend=(3712256 / 121) ** 0.5)
    assert case.problem.gap <= 176.0 + 1e-9
    found = run_theorem_6(statement, case, 0, NO_FAULT)
    assert found.gradient == 1.0 > bound
    assert found.farthest <= 175.5
