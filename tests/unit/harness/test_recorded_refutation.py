"""A refutation is taken from the recorded run only where each of its counterexamples is one now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import msgspec
import pytest

from dpverify.harness import (
    BUDGETS,
    Budget,
    Context,
    ExhaustiveCheck,
    Outcome,
    Planted,
    SearchCheck,
)
from dpverify.harness.checks import Check
from dpverify.harness.replay_check import OutputDistance, ReplayCheck, ReplayControl
from dpverify.ledger.check_results import CheckResult, Counterexample, Number
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.statements import Statement
from tests.for_each import for_each


def judged(
    check: Check, statement: Statement, recorded: CheckResult | None = None
) -> CheckResult:
    context = Context(statement, BUDGETS["smoke"], 0, check.name, recorded=recorded)
    return check.finish(context, [check.run_block(context, 0)])


def moved(statement: Statement, scale: float = 1.0) -> Iterator[OutputDistance]:
    """A mechanism whose output number s moves by s."""
    for s in (1, 2, 3):
        yield OutputDistance(
            {"s": Fraction(s)}, scale * s, partial(Fraction, s), f"output {s}"
        )


REPLAY = ReplayCheck(
    "bits",
    "replay",
    replays=moved,
    controls=[
        ReplayControl(
            "scaled",
            "a billionth more",
            partial(moved, scale=1 + 1e-9),
            at_declared_size=True,
        )
    ],
    random=lambda _, rng: (rng.random(), "of a random size"),
    random_runs={"smoke": 20},
    share=1e-9,
)
POINTS = ExhaustiveCheck(
    "bits", "points", points=lambda _: [{"s": s} for s in (1, 2, 3)]
)
CHECKS = (
    SearchCheck("bits", "search"),
    REPLAY,
    POINTS,
    replace(
        POINTS,
        name="rule",
        is_satisfied=lambda point, _: Outcome(
            point["s"] <= 2 - point["s"] / 4, point["s"], 2 - point["s"] / 4
        ),
        planted=(Planted("never", is_satisfied=lambda point, _: False),),
    ),
)


each_check = for_each("check", CHECKS, ids=lambda check: check.name)
"""A search, a measurement, and lists of points with two sides and with a rule."""


@pytest.fixture
def false(statements: dict[str, Statement]) -> Statement:
    """What is false from s = 2 on, where the measurement moves by s."""
    return replace(
        statements["bits"], lhs=parse("s"), relation="<=", rhs=parse("2 - s/4")
    )


def at(example: Counterexample, s: str) -> Counterexample:
    return msgspec.structs.replace(
        example, parameters={"s": Number(exact=s, float=float(Fraction(s)))}
    )


@each_check
def test_its_counterexamples_are_evaluated_and_nothing_is_searched(
    check: Check, false: Statement
) -> None:
    whole = judged(check, false)
    assert whole.status == "refuted"
    wrong = [
        msgspec.structs.replace(one, lhs=Number(float=9.0))
        for one in whole.counterexamples
    ]
    again = judged(
        check, false, msgspec.structs.replace(whole, n=77, counterexamples=wrong)
    )
    assert (again.by_certificate, again.status, again.n) == (True, "refuted", 77)
    # both sides as they are now, not as they are recorded
    assert again.counterexamples == whole.counterexamples


@each_check
def test_one_that_is_none_any_more_counts_nothing(
    check: Check, false: Statement
) -> None:
    """Where the statement holds, outside of its domain, or without exact numbers: then all is done again."""
    whole = judged(check, false)
    first, *others = whole.counterexamples
    for other in (
        at(first, "1"),
        at(first, "-2"),
        at(first, "5/2"),
        at(first, "100000000"),
    ):
        if other.parameters["s"].exact == "100000000" and isinstance(
            check, SearchCheck
        ):
            # it is a counterexample, which only a
            # measurement or a list of points does not reach
            continue
        assert (
            judged(
                check,
                false,
                msgspec.structs.replace(whole, counterexamples=[*others, other]),
            )
            == whole
        )
    inexact = msgspec.structs.replace(first, parameters={"s": Number(float=2.0)})
    assert (
        judged(check, false, msgspec.structs.replace(whole, counterexamples=[inexact]))
        == whole
    )
    assert (
        judged(check, false, msgspec.structs.replace(whole, counterexamples=[]))
        == whole
    )


@each_check
def test_what_the_statement_leaves_out_refutes_nothing(
    check: Check, false: Statement
) -> None:
    """Conditions that came later leave the recorded point out."""
    whole = judged(check, false)
    narrowed = replace(false, requires=(parse_relation("s <= 1"),))
    assert judged(check, narrowed, whole).status != "refuted"


def test_a_measurement_that_does_not_follow_its_law_refutes_nothing(
    false: Statement,
) -> None:
    whole = judged(REPLAY, false)
    other = replace(REPLAY, replays=partial(moved, scale=1 - 1e-9))
    assert judged(other, false, whole).kernel_disagrees


def test_a_point_may_be_one_of_the_standard_budget_only(false: Statement) -> None:
    """There the recorded run found it; a list that has it at no budget any more refutes nothing by it."""

    def more(budget: Budget) -> list[dict[str, int]]:
        return [{"s": s} for s in ((1,) if budget.name == "smoke" else (1, 2, 3))]

    assert judged(
        replace(POINTS, points=more), false, judged(POINTS, false)
    ).by_certificate
    assert (
        judged(
            replace(POINTS, points=lambda _: [{"s": 1}]), false, judged(POINTS, false)
        ).status
        == "not refuted"
    )
