from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from dpverify.harness import BUDGETS, Context, ExhaustiveCheck, Outcome, Planted, Point
from dpverify.harness.search.exhaustive_check import unimplied_conditions
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.statements import Statement
from tests.for_each import for_each


def run(check: ExhaustiveCheck, statement: Statement) -> CheckResult:
    context = Context(statement, BUDGETS["smoke"], 0, check.name)
    return check.finish(context, [check.run_block(context, 0)])


def up_to(last: int) -> Callable[[object], list[dict[str, int]]]:
    return lambda _: [{"s": s} for s in range(1, last + 1)]


def test_points_that_prose_calls_enough_are_an_argument(
    statements: dict[str, Statement],
) -> None:
    check = ExhaustiveCheck(
        "sum",
        "all",
        points=lambda _: [{"n": n} for n in range(1, 13)],
        why_sufficient="n <= 12",
    )
    result = run(check, statements["sum"])
    assert result.status == "argued"
    assert result.n == 12
    assert "n <= 12" in result.message
    assert [c.refuted for c in result.controls] == [True]


def test_exact_arithmetic_proves_a_statement_without_letters(
    statements: dict[str, Statement],
) -> None:
    closed = replace(
        statements["sum"],
        lhs=parse("sum(i, i, 1, 4)"),
        rhs=parse("10"),
        domains={},
        requires=(),
    )
    check = ExhaustiveCheck(
        "sum", "all", points=lambda _: [{}], why_sufficient="it has no letters"
    )
    assert run(check, closed).status == "proved"
    assert (
        run(replace(check, lhs=lambda point, statement: Fraction(10)), closed).status
        == "argued"
    )
    never = Planted("never", is_satisfied=lambda point, statement: False)
    assert (
        run(
            replace(
                check, is_satisfied=lambda point, statement: True, planted=(never,)
            ),
            closed,
        ).status
        == "argued"
    )


def test_without_a_reason_why_they_are_enough_points_prove_nothing(
    statements: dict[str, Statement],
) -> None:
    check = ExhaustiveCheck(
        "sum", "some", points=lambda _: [{"n": n} for n in range(1, 13)]
    )
    assert run(check, statements["sum"]).status == "not refuted"


def test_a_proof_needs_no_more_than_the_statement_grants(
    statements: dict[str, Statement],
) -> None:
    """Points that are enough on a narrower domain prove nothing of the statement."""
    check = ExhaustiveCheck(
        "sum",
        "all",
        points=lambda _: [{"n": n} for n in range(1, 12)],
        where=["n <= 11"],
        why_sufficient="n <= 11",
    )
    refused = run(check, statements["sum"])
    assert refused.status == "not refuted"
    assert "it needs n <= 11, which the statement does not grant" in refused.message
    narrower = replace(statements["sum"], requires=(parse_relation("n <= 11"),))
    assert run(check, narrower).status == "argued"


@for_each(
    ("where", "granted"),
    [("n >= 1", True), ("1 <= n", True), ("n >= 0", True), ("2*n <= 24", True), ("n <= 13", True), ("n <= 11", False),
     ("1 <= n <= 11", False), ("1 <= n <= 12", True), ("n >= 2", False), ("m >= 1", False), ("n < 0", False)],
)  # fmt: skip
def test_what_follows_from_the_conditions_is_granted(
    statements: dict[str, Statement], where: str, granted: bool
) -> None:
    statement = replace(statements["sum"], requires=(parse_relation("n <= 12"),))
    assert (unimplied_conditions([where], statement) == []) is granted


def test_a_violation_refutes(statements: dict[str, Statement]) -> None:
    result = run(ExhaustiveCheck("bits", "all", points=up_to(9)), statements["bits"])
    assert result.status == "refuted"
    assert [(c.kind, c.parameters["s"].exact) for c in result.counterexamples] == [
        ("smallest", "1")
    ]


def test_the_largest_ratio_stands_beside_the_first_violation(
    statements: dict[str, Statement],
) -> None:
    statement = replace(statements["bits"], lhs=parse("s"), rhs=parse("3"))
    result = run(ExhaustiveCheck("bits", "all", points=up_to(9)), statement)
    found = [(c.kind, c.parameters["s"].exact) for c in result.counterexamples]
    assert found == [("smallest", "4"), ("largest-ratio", "9")]


def even(point: Point, statement: Statement) -> Outcome:
    del statement
    return Outcome(
        point["s"] % 2 == 0,
        point["s"] % 2,
        Fraction(0),
        note=f"s = {point['s']} is odd",
    )


def test_a_rule_with_its_planted_fault(statements: dict[str, Statement]) -> None:
    planted = [
        Planted(
            "odd",
            is_satisfied=lambda point, statement: not even(point, statement).ok,
            at_declared_size=True,
        )
    ]
    evens = ExhaustiveCheck(
        "walk",
        "rule",
        points=lambda _: [{"s": 2}, {"s": 4}],
        is_satisfied=even,
        planted=planted,
    )
    result = run(evens, statements["walk"])
    assert result.status == "not refuted"
    assert [
        (c.name, c.fault, c.at_declared_size, c.refuted) for c in result.controls
    ] == [("odd", "another rule", True, True)]
    refuted = run(replace(evens, points=up_to(3)), statements["walk"])
    assert refuted.status == "refuted"
    assert refuted.counterexamples[0].note == "s = 1 is odd"
    assert refuted.counterexamples[0].lhs.exact == "1"


def test_a_point_at_which_a_side_has_no_value_is_counted_and_leaves_it_open(
    statements: dict[str, Statement],
) -> None:
    statement = replace(statements["bits"], lhs=parse("0*s/(s - 2)"), rhs=parse("s"))
    result = run(
        ExhaustiveCheck("bits", "all", points=up_to(3), why_sufficient="all"), statement
    )
    assert (result.status, result.n) == ("inconclusive", 2)
    assert "1 at which a side is undefined" in result.message


def test_a_rule_that_cannot_decide_is_inconclusive(
    statements: dict[str, Statement],
) -> None:
    planted = [Planted("never", is_satisfied=lambda _p, _s: False)]
    check = ExhaustiveCheck(
        "walk",
        "rule",
        points=up_to(3),
        is_satisfied=lambda _p, _s: None,
        planted=planted,
        why_sufficient="all",
    )
    result = run(check, statements["walk"])
    assert result.status == "inconclusive"
    assert "3 not decided" in result.message


def test_a_fault_that_is_missed_makes_it_inconclusive(
    statements: dict[str, Statement],
) -> None:
    planted = [Planted("none", is_satisfied=lambda _p, _s: True)]
    check = ExhaustiveCheck(
        "walk",
        "rule",
        points=up_to(3),
        is_satisfied=lambda _p, _s: True,
        planted=planted,
    )
    result = run(check, statements["walk"])
    assert result.status == "inconclusive"
    assert "this check cannot fail: it missed the planted fault none" in result.message


def test_a_planted_right_side(statements: dict[str, Statement]) -> None:
    statement = replace(statements["bits"], rhs=parse("log2(s) + 1"))
    check = ExhaustiveCheck(
        "bits",
        "all",
        points=up_to(9),
        planted=[Planted("one fewer", rhs="printed - 1")],
    )
    result = run(check, statement)
    assert [(c.name, c.refuted) for c in result.controls] == [
        ("sharper", True),
        ("one fewer", True),
    ]
    assert result.slack is not None
    assert result.slack.min.exact == "1"


def test_no_points_are_refused(statements: dict[str, Statement]) -> None:
    with pytest.raises(ValueError, match="'all' must not be empty"):
        run(ExhaustiveCheck("sum", "all", points=lambda _: []), statements["sum"])


def test_a_rule_needs_a_fault_and_no_left_side() -> None:
    with pytest.raises(ValueError, match="must plant a fault"):
        ExhaustiveCheck("walk", "rule", points=up_to(3), is_satisfied=even)
    with pytest.raises(ValueError, match="not both"):
        ExhaustiveCheck(
            "walk",
            "rule",
            points=up_to(3),
            is_satisfied=even,
            lhs=lambda _p, _s: Fraction(0),
        )


def test_points_that_break_the_conditions_are_left_out_and_counted(
    statements: dict[str, Statement],
) -> None:
    statement = replace(
        statements["bits"],
        lhs=parse("s"),
        rhs=parse("3"),
        requires=(parse_relation("s <= 4"),),
    )
    result = run(ExhaustiveCheck("bits", "all", points=up_to(9)), statement)
    assert (result.n, [c.parameters["s"].exact for c in result.counterexamples]) == (
        4,
        ["4"],
    )
    assert (
        result.message
        == "4 points, 1 violations, 5 more skipped because they do not meet the conditions"
    )
    within = replace(statement, requires=(parse_relation("s <= 3"),))
    assert (
        run(ExhaustiveCheck("bits", "all", points=up_to(9)), within).status
        == "not refuted"
    )


def test_points_that_all_break_the_conditions_are_refused(
    statements: dict[str, Statement],
) -> None:
    statement = replace(statements["bits"], requires=(parse_relation("s > 9"),))
    with pytest.raises(ValueError, match="'all' must meet s > 9: none of 9 does"):
        run(ExhaustiveCheck("bits", "all", points=up_to(9)), statement)


def test_conditions_count_for_a_rule_where_its_points_set_all_symbols(
    statements: dict[str, Statement],
) -> None:
    planted = [Planted("never", is_satisfied=lambda _p, _s: False)]
    statement = replace(
        statements["bits"], requires=(parse_relation("mod(s, 2) == 0"),)
    )
    check = ExhaustiveCheck(
        "bits", "rule", points=up_to(9), is_satisfied=even, planted=planted
    )
    assert (run(check, statement).status, run(check, statement).n) == ("not refuted", 4)
    own = replace(
        check,
        points=lambda _: [{"k": k} for k in (1, 2)],
        is_satisfied=lambda point, _: point["k"] < 3,
    )
    assert run(own, statement).n == 2
