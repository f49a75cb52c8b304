"""A bound on the mean of coin tosses: true ones survive, and every fault is refuted."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.harness.simulation.runs import UPHILL, OptimizerFault
from dpverify.harness.simulation.runs_check import RunsCheck
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement
from tests.unit.harness.simulation.toy import Coin, toss


def make(chance: float = 0.2, **changes: object) -> RunsCheck[Coin]:
    check = RunsCheck(
        "decay",
        "runs",
        cases={"smoke": (Coin("coin", chance),)},
        measure=toss,
        bound=lambda statement, case: 0.3,
        top=lambda statement, case: 1.0,
        faults=((UPHILL, "coin"),),
        seconds_each=lambda case: 1e-3,
        region="one coin",
    )
    return replace(check, **changes)  # type: ignore[arg-type]  # by name


def run(check: RunsCheck[Coin], statement: Statement) -> CheckResult:
    context = Context(statement, BUDGETS["smoke"], 0, check.name)
    total = None
    for block in range(check.blocks(context)):
        total = check.fold(total, check.run_block(context, block))
    return check.finish(context, total)


def test_a_true_bound_is_not_refuted_and_every_fault_is(
    statements: dict[str, Statement],
) -> None:
    found = run(make(), statements["decay"])
    assert found.status == "not refuted"
    assert [control.refuted for control in found.controls] == [True, True]
    assert [control.at_declared_size for control in found.controls] == [True, False]
    assert "would have been seen" in found.statistic
    assert found.counterexamples == []


def test_in_other_units_the_same_is_found_and_an_excess_that_is_named_is_refuted(
    statements: dict[str, Statement],
) -> None:
    def seen(found: CheckResult) -> float:
        (excess,) = re.findall(
            r"an excess of (\S+) would have been seen", found.statistic
        )
        return float(excess)

    one = run(make(), statements["decay"])
    doubled = make(
        measure=lambda *given: 2 * toss(*given),
        bound=lambda *_: 0.6,
        top=lambda *_: 2.0,
    )
    two = run(doubled, statements["decay"])
    assert seen(two) == pytest.approx(2 * seen(one), rel=1e-2)
    assert 0.0 < seen(one) < 0.2
    assert [control.refuted for control in two.controls] == [True, True]


def test_the_error_rate_is_shared_out_among_the_problems(
    statements: dict[str, Statement],
) -> None:
    coins = tuple(Coin(f"coin {k}", 0.2) for k in range(50))
    contexts = [Context(statements["decay"], BUDGETS["smoke"], 0, "runs")] * 2
    many = make(cases={"smoke": coins}, faults=())
    sizes = [
        check._runs(context, coins[0])
        for check, context in zip((make(), many), contexts, strict=True)
    ]
    assert sizes[1] > sizes[0]  # a smaller rate for each takes more runs


def test_a_false_bound_is_refuted_with_its_problem(
    statements: dict[str, Statement],
) -> None:
    found = run(make(0.6), statements["decay"])
    assert found.status == "refuted"
    (example,) = found.counterexamples
    assert 0.3 == float(example.rhs.float) < float(example.lhs.float) < 0.6
    assert example.note.endswith(
        "for all problems together; coin, heads with the chance 0.6"
    )


def test_a_fault_that_is_missed_leaves_the_check_undecided(
    statements: dict[str, Statement],
) -> None:
    found = run(
        make(faults=((replace(UPHILL, direction=1.0), "coin"),)), statements["decay"]
    )
    assert found.status == "inconclusive"
    assert "cannot fail" in found.message


def test_nothing_is_run_where_the_bound_is_above_all_values(
    statements: dict[str, Statement],
) -> None:
    found = run(make(bound=lambda statement, case: 1.0), statements["decay"])
    assert found.status == "inconclusive"
    assert "vacuous" in found.message


def test_a_plan_that_does_not_fit_is_not_begun(
    statements: dict[str, Statement],
) -> None:
    check = make()
    context = Context(statements["decay"], BUDGETS["smoke"], 0, check.name, share=1e-4)
    assert check.blocks(context) == 0
    assert check.finish(context, None).status == "inconclusive"


def test_runs_that_left_the_region_are_counted_and_refute_nothing(
    statements: dict[str, Statement],
) -> None:
    def leaves(
        statement: Statement, case: Coin, seed: int, fault: OptimizerFault
    ) -> float:
        return math.nan if seed % 2 else toss(statement, case, seed, fault)

    refuted, gone = (
        run(make(0.5), statements["decay"]),
        run(make(0.5, measure=leaves), statements["decay"]),
    )
    assert refuted.status == "refuted"
    assert gone.status != "refuted"
    (left,) = re.findall(
        r", (\d+) left the region of its constants and count as 0", gone.statistic
    )
    assert gone.n is not None
    assert 0.3 * gone.n < int(left) < 0.7 * gone.n
    assert f"over {gone.n} runs" in gone.statistic  # each of them is in the mean
    assert "left the region" not in refuted.statistic


def test_a_run_beyond_the_largest_value_counts_as_that(
    statements: dict[str, Statement],
) -> None:
    check = make(
        measure=lambda *given: 10 * toss(*given),
        bound=lambda *_: 0.9,
        top=lambda *_: 3.0,
    )
    context = Context(statements["decay"], BUDGETS["smoke"], 0, check.name)
    values = [
        value
        for block in range(check.blocks(context))
        for value in check.run_block(context, block)[1]
    ]
    assert max(values) == 1.0
    assert min(values) < 1.0


def test_no_two_runs_have_one_seed(statements: dict[str, Statement]) -> None:
    seeds: list[int] = []

    def noted(
        statement: Statement, case: Coin, seed: int, fault: OptimizerFault
    ) -> float:
        seeds.append(seed)
        return toss(statement, case, seed, fault)

    coins = (Coin("coin", 0.2), Coin("other", 0.2))
    check = make(cases={"smoke": coins}, measure=noted)
    blocks = check.blocks(Context(statements["decay"], BUDGETS["smoke"], 0, check.name))
    assert blocks > 3  # several of each coin
    run(check, statements["decay"])
    assert len(set(seeds)) == len(seeds) > 3 * 16
