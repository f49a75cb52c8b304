"""The problems that are simulated and searched, and a search of them that finds what is false."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpverify.harness import Context
from dpverify.harness.checks import BUDGETS
from dpverify.harness.sides import printed_side
from dpverify.harness.simulation.runs_search import Effort, SearchRunsCheck
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.utility.checks.simulation_cases import (
    SlopeCase,
    SlopeFamily,
    rounded_up,
    run_theorem_6,
)
from tests.for_each import for_each

FRESH = {"ordering": "fresh", "depth": "levels"}


def _check(bound_times: float = 1.0) -> SearchRunsCheck[SlopeCase]:
    return SearchRunsCheck(
        "theorem-6",
        "search",
        family=SlopeFamily((2.0, 4.0), (11.0, 12.0), (0.0, 1.0)),
        effort={"smoke": Effort(30, 2)},
        measure=lambda statement, case, seed, fault: (
            run_theorem_6(statement, case, seed, fault).gradient
        ),
        bound=lambda statement, case: bound_times * printed_side(statement, case.point),
        top=lambda statement, case: case.top,
        seconds_each=1e-4,
        region="small",
    )


def _run(check: SearchRunsCheck[SlopeCase], seed: int = 0) -> CheckResult:
    statement = load_specs().claim("tran2022:theorem-6").statement(FRESH, "amended")
    context = Context(statement, BUDGETS["smoke"], seed, check.name)
    total = None
    for block in range(check.blocks(context)):
        total = check.fold(total, check.run_block(context, block))
    return check.finish(context, total)


def test_a_bound_that_is_too_small_is_found_false_on_fresh_seeds() -> None:
    found = _run(_check(0.3))
    assert found.status == "refuted"
    example = found.counterexamples[0]
    assert float(example.lhs.float) > float(example.rhs.float)
    assert "did not use" in example.note


def test_the_true_bound_survives_and_the_largest_ratio_is_told() -> None:
    found = _run(_check())
    # at these sizes half the bound may be true as well
    assert found.status in {"not refuted", "inconclusive"}
    assert found.counterexamples == []
    assert "largest ratio of lower confidence limit to bound: 0." in found.message
    assert [control.at_declared_size for control in found.controls] == [True, False]


def test_the_same_seed_finds_the_same_problem() -> None:
    assert _run(_check(0.3)) == _run(_check(0.3))
    assert _run(_check(0.3)).statistic != _run(_check(0.3), seed=1).statistic


def test_every_place_of_a_family_is_a_problem_within_it() -> None:
    family = SlopeFamily(
        (2.0, 10.0),
        (11.0, 20.0),
        deltas=(Fraction(1, 2), Fraction(1, 10)),
        scales=(1.0, 0.25),
    )
    rng = np.random.default_rng(0)
    places = [*rng.random((200, 9)).tolist(), [0.0] * 9, [1.0] * 9]
    for place in places:
        case = family.case(place)
        assert 4 <= case.examples <= 1024
        assert 4 * case.examples <= case.steps <= 2**20
        assert 1 <= case.dimension <= 8
        assert case.problem.lipschitz == pytest.approx(case.slope + case.offset)
        assert case.slope > 0


@for_each("value", ["1", "59", "1/16", "2/3", "1/3000000", "123456789", "9999.5"])
def test_rounding_up_stays_above_and_close(value: str) -> None:
    exact = Fraction(value)
    rounded = rounded_up(exact)
    assert exact <= rounded <= exact * (1 + Fraction(1, 999))
    assert rounded_up(Fraction(59)) == 59


def test_a_problem_in_other_units_has_the_same_numbers_in_these_units() -> None:
    case = SlopeCase("slope", 16, 16 * 64, slope=1.0, reach=0.5, bend=4.0)
    small = replace(case, slope=2.0**-10)
    for name in ("G", "L", "R"):
        assert float(small.point[name]) == pytest.approx(
            2.0**-10 * float(case.point[name]), rel=2e-3
        )
