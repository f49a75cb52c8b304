"""A check that refutes everything is noticed: it refutes a true neighbour of its claim, too, or has none."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpverify.harness import (
    BUDGETS,
    Check,
    Context,
    ExhaustiveCheck,
    Outcome,
    Planted,
    SearchCheck,
    TrueNeighbour,
)
from dpverify.harness import neighbours as module
from dpverify.harness.sides import Prober, Rule
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.formula import parse
from dpverify.ledger.records import Relation
from dpverify.ledger.statements import Statement
from tests.for_each import for_each


@pytest.fixture
def words(statements: dict[str, Statement]) -> Statement:
    """A statement that a rule decides."""
    return statements["walk"]


@pytest.fixture
def bound(statements: dict[str, Statement]) -> Statement:
    """A bound n on what is measured."""
    return replace(statements["sum"], relation="<=", lhs=None, rhs=parse("n"))


def run(check: Check, statement: Statement) -> CheckResult:
    context = Context(statement, BUDGETS["smoke"], 0, check.name)
    return check.finish(context, [check.run_block(context, 0)])


def at_most(most: int) -> Rule:
    return lambda point, statement: Outcome(
        point["s"] <= most, point["s"], Fraction(most)
    )


def always(point: Any, statement: Any) -> Outcome:
    return Outcome(False)


def rule_check(
    is_satisfied: Rule, points: range, *neighbours: TrueNeighbour
) -> ExhaustiveCheck:
    return ExhaustiveCheck(
        "words",
        "rule",
        points=lambda _: ({"s": s} for s in points),
        is_satisfied=is_satisfied,
        planted=[Planted("less", is_satisfied=at_most(1))],
        neighbours=neighbours,
    )


def test_a_rule_that_spares_a_point_refutes(words: Statement) -> None:
    result = run(rule_check(at_most(5), range(1, 10)), words)
    assert (result.status, result.error) == ("refuted", "")
    assert [(one.name, one.refuted) for one in result.true_neighbours] == [
        ("other points", False)
    ]
    told = "the statement at 5 of 9 points: a counterexample but for s = 1"
    assert [(one.fault, one.statistic) for one in result.true_neighbours] == [
        (told, "5 points")
    ]


def test_points_like_a_counterexample_come_first(words: Statement) -> None:
    points = [{"s": 1, "t": 3}, {"s": 2, "t": 3}, {"s": 1, "t": 9}, {"s": 9, "t": 9}]
    check = replace(rule_check(at_most(5), range(1)), points=lambda _: points)
    (neighbour,) = run(check, words).true_neighbours
    assert (
        neighbour.fault
        == "the statement at 3 of 4 points: a counterexample but for s = 1"
    )


def test_a_point_that_is_not_decided_is_no_neighbour(words: Statement) -> None:
    def open_or_not(point: Any, statement: Any) -> Outcome:
        return Outcome(False if point["s"] > 5 else None)

    assert (
        "no true neighbour" in run(rule_check(open_or_not, range(1, 10)), words).error
    )


def test_a_rule_that_refutes_what_it_spared_before_is_noticed(words: Statement) -> None:
    asked = list[int]()

    def moody(point: Any, statement: Any) -> Outcome:
        asked.append(1)
        return Outcome(point["s"] <= 5 and len(asked) < 10)

    result = run(rule_check(moody, range(1, 10)), words)
    assert "it refuted the true neighbour other points" in result.error


def test_a_rule_that_is_changed_to_refute_always_is_an_error_of_ours(
    words: Statement,
) -> None:
    result = run(rule_check(always, range(1, 10)), words)
    assert (result.status, result.counterexamples) == ("inconclusive", [])
    assert result.error.startswith(
        "this check cannot pass: it refuted the statement and has no true neighbour"
    )


def test_a_rule_without_a_point_to_spare_needs_a_neighbour(words: Statement) -> None:
    assert run(rule_check(at_most(5), range(6, 10)), words).status == "inconclusive"
    larger = TrueNeighbour("ten", is_satisfied=at_most(10))
    assert run(rule_check(at_most(5), range(6, 10), larger), words).status == "refuted"


@for_each("neighbour", [always, at_most(8)])
def test_a_refuted_neighbour_is_named(neighbour: Rule, words: Statement) -> None:
    result = run(
        rule_check(
            at_most(5), range(6, 10), TrueNeighbour("ten", is_satisfied=neighbour)
        ),
        words,
    )
    assert result.status == "inconclusive"
    assert (
        result.error
        == "this check cannot pass: it refuted the true neighbour ten (another rule)"
    )


def test_a_measured_side_needs_a_neighbour_and_formulas_have_one(
    bound: Statement,
) -> None:
    measured = SearchCheck("bound", "search", lhs=lambda p, s: p["n"] + 7)
    result = run(measured, bound)
    assert "no true neighbour" in result.error
    larger = TrueNeighbour("thrice", rhs="3*printed + 7")
    spared = run(
        SearchCheck(
            "bound", "search", lhs=lambda p, s: p["n"] + 7, neighbours=[larger]
        ),
        bound,
    )
    assert spared.status == "refuted"
    assert [one.name for one in spared.true_neighbours] == [
        "thrice",
        "measured for printed",
        "printed for measured",
    ]


@for_each("relation", ["<=", "<", ">=", ">", "="])
@for_each("rhs", ["n", "-n", "0*n", "sqrt(n)"])
def test_the_printed_side_in_the_place_of_the_left_one_is_never_refuted(
    relation: Relation, rhs: str, bound: Statement
) -> None:
    statement = replace(bound, relation=relation, rhs=parse(rhs))
    (neighbour,) = module.printed_for_measured(
        statement, [{"n": Fraction(n)} for n in range(1, 9)]
    )
    assert (neighbour.refuted, neighbour.statistic) == (
        False,
        f"{module.MOST_POINTS} points",
    )


def test_a_comparison_that_is_changed_to_fail_always_is_noticed(
    bound: Statement, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = replace(bound, lhs=parse("n + 7"))
    check = SearchCheck("bound", "search")
    assert run(check, statement).status == "refuted"
    true_sides = Prober._sides
    monkeypatch.setattr(
        Prober,
        "_sides",
        lambda self, point, side: (*true_sides(self, point, side)[:2], False),
    )
    result = run(check, statement)
    assert result.status == "inconclusive"
    assert "it refuted the true neighbour printed for measured" in result.error


def test_a_comparison_that_is_changed_to_fail_at_some_points_is_noticed(
    bound: Statement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points at which the statement holds do not show it, where it is wrong at the others only."""
    check = SearchCheck("bound", "search", lhs=lambda p, s: 3 * p["n"] - 9)
    assert run(check, bound).status == "refuted"
    true_sides = Prober._sides

    def failing(self: Prober, point: Any, side: Any) -> Any:
        left, right, holds = true_sides(self, point, side)
        return left, right, holds and point["n"] < 5

    monkeypatch.setattr(Prober, "_sides", failing)
    result = run(check, bound)
    assert result.status == "inconclusive"
    assert "it refuted the true neighbour measured for printed" in result.error


@for_each("relation", ["<=", "<", ">=", ">", "="])
@for_each("measured", [-7, 0, 7])
def test_a_measured_side_is_not_refuted_by_itself(
    relation: Relation, measured: int, bound: Statement
) -> None:
    statement = replace(bound, relation=relation)
    prober = Prober(statement, lambda p, s: Fraction(measured))
    probes = [
        probe
        for n in range(1, 4)
        if (probe := prober.probe({"n": Fraction(n)})) is not None
    ]
    neighbours = module.measured_for_printed(
        statement, lambda p, s: Fraction(measured), probes
    )
    assert [one.refuted for one in neighbours] == ([] if relation == "=" else [False])


def test_a_check_of_any_kind_that_refutes_without_a_neighbour_is_an_error() -> None:
    class Other(Check):
        method = "search"

    result = Other("claim", "other").result(status="refuted")
    assert (result.status, result.error[:22]) == (
        "inconclusive",
        "this check cannot pass",
    )
