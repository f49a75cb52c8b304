from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpverify.harness import (
    BUDGETS,
    Context,
    Control,
    MeanBound,
    MeanEffect,
    MonteCarloCheck,
    Plan,
    SubGaussian,
    TrajectoryEffect,
    TrajectoryLaw,
)
from dpverify.harness.statistics.mean_judges import Judgement
from dpverify.harness.statistics.pieces import Pieces
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement

PLAN = Plan(TrajectoryEffect(2, 1, scale=1.1), block=300)


def noise(scale: float) -> Any:
    return lambda _context, rng, size: scale * rng.standard_normal((size, 2, 1))


CHECK = MonteCarloCheck(
    "walk",
    "law",
    point={"sigma": "1/2"},
    plan=PLAN,
    simulate=noise(0.5),
    judge=TrajectoryLaw(lambda context: float(context.point["sigma"]) ** 2 * np.eye(2)),
    controls=[Control("too small", "the noise halved", noise(0.25))],
    region="two steps",
)


def run(check: MonteCarloCheck, statement: Statement, **changes: Any) -> CheckResult:
    context = replace(Context(statement, BUDGETS["smoke"], 0, check.name), **changes)
    total: Any = None
    for block in range(check.blocks(context)):
        total = check.fold(total, check.run_block(context, block))
    return check.finish(context, total)


def test_a_kernel_that_follows_its_law(statements: dict[str, Statement]) -> None:
    result = run(CHECK, statements["walk"])
    assert result.status == "not refuted"
    assert not result.kernel_disagrees
    assert result.n == PLAN.n
    assert result.alpha == 1e-6
    assert result.power >= 0.9999
    assert result.detects == "all standard deviations times 1.1"
    assert result.region == "two steps; sigma=1/2"
    assert [(c.name, c.at_declared_size, c.refuted) for c in result.controls] == [
        ("planted scale", True, True),
        ("control too small", False, True),
    ]
    assert set(result.figures) == {"noise-variance"}


def in_pieces(most: int) -> Any:
    def simulate(_context: Context, rng: np.random.Generator, size: int) -> Pieces:
        sizes = [min(most, size - done) for done in range(0, size, most)]
        return Pieces(size, (0.5 * rng.standard_normal((n, 2, 1)) for n in sizes))

    return simulate


def test_a_sample_in_pieces_is_the_sample(statements: dict[str, Statement]) -> None:
    whole, pieces = (
        run(replace(CHECK, simulate=draw), statements["walk"])
        for draw in (noise(0.5), in_pieces(7))
    )
    assert pieces.status == "not refuted"
    assert pieces.statistic == whole.statistic
    assert [control.statistic for control in pieces.controls] == [
        control.statistic for control in whole.controls
    ]


def test_a_kernel_that_does_not_is_no_verdict_on_the_paper(
    statements: dict[str, Statement],
) -> None:
    result = run(replace(CHECK, simulate=noise(0.6)), statements["walk"])
    assert result.status == "inconclusive"
    assert result.kernel_disagrees
    assert result.counterexamples == []


def test_a_control_without_a_fault_shows_that_the_check_cannot_fail(
    statements: dict[str, Statement],
) -> None:
    result = run(
        replace(CHECK, controls=[Control("none", "no fault at all", noise(0.5))]),
        statements["walk"],
    )
    assert result.status == "inconclusive"
    assert (
        "this check cannot fail: it missed the planted fault control none (no fault at all)"
        in result.message
    )


def test_every_sample_has_its_own_numbers(statements: dict[str, Statement]) -> None:
    drawn: dict[int, float] = {}

    def simulate(context: Context, rng: np.random.Generator, size: int) -> Any:
        sample = noise(0.5)(context, rng, size)
        drawn[len(drawn)] = float(sample[0, 0, 0])
        return sample

    check = replace(
        CHECK,
        simulate=simulate,
        controls=[Control("same", "the same kernel", simulate)],
    )
    run(check, statements["walk"])
    assert len(drawn) == 3 * PLAN.blocks
    assert len(set(drawn.values())) == len(drawn)


def test_adding_a_control_changes_no_other_draw(
    statements: dict[str, Statement],
) -> None:
    more = replace(
        CHECK,
        controls=[Control("other", "the noise doubled", noise(1.0)), *CHECK.controls],
    )
    few, many = run(CHECK, statements["walk"]), run(more, statements["walk"])
    assert few.statistic == many.statistic
    assert few.controls[1] == many.controls[2]


def test_a_plan_over_its_share_draws_nothing_and_says_what_would_decide(
    statements: dict[str, Statement],
) -> None:
    check = replace(
        CHECK, plan=Plan(TrajectoryEffect(2, 1, scale=1.1), seconds_each=1.0)
    )
    result = run(check, statements["walk"], share=10.0)
    assert result.status == "inconclusive"
    assert result.n == 0
    assert f"the plan has {PLAN.n} replications" in result.message
    assert "its share of the smoke budget is 10" in result.message
    assert result.detects == "all standard deviations times 1.1"


def test_a_plan_may_depend_on_the_budget(statements: dict[str, Statement]) -> None:
    def plan(context: Context) -> Plan:
        return Plan(
            TrajectoryEffect(2, 1, scale=1.5 if context.budget.name == "smoke" else 1.1)
        )

    result = run(replace(CHECK, plan=plan), statements["walk"])
    assert result.n < PLAN.n
    assert result.detects == "all standard deviations times 1.5"


BOUND = MonteCarloCheck(
    "size",
    "mean",
    point={},
    plan=Plan(MeanEffect(0.05, SubGaussian(1.0))),
    simulate=lambda _context, rng, size: np.abs(rng.standard_normal(size)),
    judge=MeanBound(SubGaussian(1.0)),
)


def test_each_sample_is_judged_once_and_at_the_level_of_the_plan(
    statements: dict[str, Statement],
) -> None:
    asked: list[float] = []

    class Asked(MeanBound):
        def decide(self, context: Context, statistics: Any, alpha: float) -> Judgement:
            asked.append(alpha)
            return super().decide(context, statistics, alpha)

    plan = replace(PLAN, effect=MeanEffect(0.05, SubGaussian(1.0)), alpha=1e-4)
    result = run(
        replace(BOUND, plan=plan, judge=Asked(SubGaussian(1.0))), statements["size"]
    )
    # of its own sample, of the planted fault and of the true neighbour
    assert asked == [1e-4] * 3
    assert result.alpha == 1e-4


def test_a_false_bound_is_refuted_by_its_confidence_limit(
    statements: dict[str, Statement],
) -> None:
    result = run(BOUND, statements["size"])
    assert result.status == "refuted"
    (found,) = result.counterexamples
    assert found.note.startswith(
        "statistical: the left side is a one-sided confidence limit at alpha = 1e-06"
    )
    assert 0.7 < float(found.lhs.float) < 0.7979
    assert found.rhs.float == 0.7


def test_a_true_bound_is_not_refuted_though_it_is_tight(
    statements: dict[str, Statement],
) -> None:
    tight = replace(
        BOUND, judge=MeanBound(SubGaussian(1.0), bound=lambda _: 0.79788456)
    )
    result = run(tight, statements["size"])
    assert result.status == "not refuted"
    assert [c.refuted for c in result.controls] == [True]


def test_a_simulation_of_the_wrong_size_is_refused(
    statements: dict[str, Statement],
) -> None:
    with pytest.raises(
        ValueError, match="simulate of 'law' must return 300 replications, got 2"
    ):
        run(
            replace(CHECK, simulate=lambda _c, _r, _s: np.zeros((2, 2, 1))),
            statements["walk"],
        )


def test_a_refutation_counts_only_if_the_kernel_of_a_true_neighbour_is_not_refuted(
    statements: dict[str, Statement],
) -> None:
    def constant(value: float) -> Any:
        return lambda context, rng, size: np.full(size, value)

    def neighbour(value: float) -> MonteCarloCheck:
        return replace(
            BOUND,
            simulate=constant(9.0),
            neighbours=[Control("true", "a true kernel", constant(value))],
        )

    spared = run(neighbour(0.0), statements["size"])
    assert (spared.status, [one.refuted for one in spared.true_neighbours]) == (
        "refuted",
        [False, False],
    )
    assert [one.name for one in spared.true_neighbours] == [
        "moved to the bound",
        "kernel true",
    ]
    refuted = run(neighbour(9.0), statements["size"])
    assert refuted.status == "inconclusive"
    assert (
        refuted.error
        == "this check cannot pass: it refuted the true neighbour kernel true (a true kernel)"
    )
