"""The directed search: what is false is found and confirmed on fresh seeds, what is true survives."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from dpverify.harness import BUDGETS, Context
from dpverify.harness.simulation.runs import OptimizerFault
from dpverify.harness.simulation.runs_search import CONFIRMED, Effort, SearchRunsCheck
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement
from tests.unit.harness.simulation.toy import Coin, Coins, toss


def make(bound: float) -> SearchRunsCheck[Coin]:
    return SearchRunsCheck(
        "decay",
        "search",
        family=Coins(0.5),
        effort={"smoke": Effort(30, 2)},
        measure=toss,
        bound=lambda statement, case: bound,
        top=lambda statement, case: 1.0,
        seconds_each=1e-4,
        region="coins",
    )


def run(
    check: SearchRunsCheck[Coin], statement: Statement, seed: int = 0
) -> CheckResult:
    context = Context(statement, BUDGETS["smoke"], seed, check.name)
    return check.finish(context, [check.run_block(context, 0)])


def test_a_bound_that_is_too_small_is_found_false_on_fresh_seeds(
    statements: dict[str, Statement],
) -> None:
    found = run(make(0.3), statements["decay"])
    assert found.status == "refuted"
    example = found.counterexamples[0]
    assert float(example.lhs.float) > float(example.rhs.float)
    assert "did not use" in example.note


def test_the_true_bound_survives_and_the_largest_ratio_is_told(
    statements: dict[str, Statement],
) -> None:
    found = run(make(0.6), statements["decay"])
    assert found.status == "not refuted"
    assert found.counterexamples == []
    assert "largest ratio of lower confidence limit to bound: 0." in found.message
    assert [control.at_declared_size for control in found.controls] == [True, False]
    assert [control.refuted for control in found.controls] == [True, True]


def test_a_run_without_a_value_counts_as_0(statements: dict[str, Statement]) -> None:
    """Runs that leave the region count in favour of the bound, and do not end the search."""

    def partly(
        statement: Statement, case: Coin, seed: int, fault: OptimizerFault
    ) -> float:
        return math.nan if seed % 16 == 0 else toss(statement, case, seed, fault)

    assert (
        run(replace(make(0.3), measure=partly), statements["decay"]).status == "refuted"
    )
    always = run(replace(make(0.6), measure=lambda *_: math.nan), statements["decay"])
    assert "largest ratio of lower confidence limit to bound: 0" in always.message


def test_the_same_seed_finds_the_same_problem(statements: dict[str, Statement]) -> None:
    assert run(make(0.3), statements["decay"]) == run(make(0.3), statements["decay"])
    assert (
        run(make(0.3), statements["decay"]).statistic
        != run(make(0.3), statements["decay"], seed=1).statistic
    )


def test_nothing_is_searched_where_the_budget_has_no_place_for_it(
    statements: dict[str, Statement],
) -> None:
    context = Context(statements["decay"], BUDGETS["smoke"], 0, "x", share=1e-9)
    assert make(0.3).blocks(context) == 0
    assert make(0.3).finish(context, None).status == "inconclusive"


def test_the_best_problem_is_confirmed_on_seeds_that_neither_search_nor_fault_had(
    statements: dict[str, Statement],
) -> None:
    seeds: list[int] = []

    def noted(
        statement: Statement, case: Coin, seed: int, fault: OptimizerFault
    ) -> float:
        seeds.append(seed)
        return toss(statement, case, seed, fault)

    run(replace(make(0.3), measure=noted), statements["decay"])
    assert len(seeds) == Effort(30, 2).runs + 2 * CONFIRMED
    assert len(set(seeds)) == len(seeds)


def test_the_problem_with_the_largest_gradient_over_its_bound_is_the_best(
    statements: dict[str, Statement],
) -> None:
    tried: list[Coin] = []

    def noted(
        statement: Statement, case: Coin, seed: int, fault: OptimizerFault
    ) -> float:
        tried.append(case)
        return case.chance

    def bound(statement: Statement, case: Coin) -> float:
        # the largest ratio is in the middle, the largest value at one end
        return 0.1 + 4.0 * case.chance**2

    run(replace(make(0.3), measure=noted, bound=bound), statements["decay"])
    (best,) = {case.chance for case in tried[-2 * CONFIRMED : -CONFIRMED]}
    assert best == max(
        (case.chance for case in tried),
        key=lambda chance: chance / (0.1 + 4.0 * chance**2),
    )


def test_a_mean_above_the_bound_refutes_nothing_where_its_limit_is_not(
    statements: dict[str, Statement],
) -> None:
    found = run(make(0.47), statements["decay"])
    mean, limit = re.findall(r"mean (\S+) over .* lower limit (\S+),", found.statistic)[
        0
    ]
    assert float(limit) < 0.47 < float(mean)
    assert (found.status, found.counterexamples) == ("not refuted", [])
