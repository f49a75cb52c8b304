from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpverify.harness import (
    BUDGETS,
    Context,
    Outcome,
    Planted,
    Point,
    RuleCheck,
    of_variant,
)
from dpverify.harness.search.derived_checks import away_from_boundaries
from dpverify.harness.sides import Rule
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement
from tests.for_each import for_each


def below(limit: int) -> Rule:
    """Rule that s stays below a limit."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        return Outcome(
            point["s"] < limit, point["s"], Fraction(limit), f"s = {point['s']}"
        )

    return is_satisfied


def check(limit: int, fault: int = 1) -> RuleCheck:
    planted = [
        Planted("a lower limit", is_satisfied=below(fault), at_declared_size=True)
    ]
    points = [{"s": s} for s in range(1, 9)]
    return RuleCheck(
        "walk",
        "rule",
        points=lambda _: points,
        is_satisfied=below(limit),
        why_sufficient="so it is",
        planted=planted,
    )


def run(a_check: RuleCheck, statement: Statement, budget: str = "smoke") -> CheckResult:
    return a_check.run_block(Context(statement, BUDGETS[budget], 0, a_check.name), 0)


def test_rule_that_holds_is_argued_and_its_planted_fault_is_refuted(
    statements: dict[str, Statement],
) -> None:
    result = run(check(9, fault=8), statements["walk"])
    assert (result.status, result.message) == (
        "argued",
        "8 points, 0 violations; so it is",
    )
    assert [(control.name, control.refuted) for control in result.controls] == [
        ("a lower limit", True)
    ]


def test_check_that_misses_its_planted_fault_says_so(
    statements: dict[str, Statement],
) -> None:
    result = run(check(9, fault=9), statements["walk"])
    assert result.status == "inconclusive"
    assert "cannot fail" in result.message


def test_violation_shows_the_smallest_and_one_in_the_interior(
    statements: dict[str, Statement],
) -> None:
    result = run(check(2), statements["walk"])
    assert result.status == "refuted"
    assert "so it is" not in result.message, (
        "a refuted rule is not argued by its points"
    )
    found = [
        (c.kind, c.parameters["s"].exact, c.lhs.exact, c.note)
        for c in result.counterexamples
    ]
    assert found == [("smallest", "2", "2", "s = 2"), ("interior", "3", "3", "s = 3")]


def test_the_author_says_what_the_interior_is(statements: dict[str, Statement]) -> None:
    result = run(
        replace(check(2), interior=lambda point: point["s"] == 7), statements["walk"]
    )
    assert [c.parameters["s"].exact for c in result.counterexamples] == ["2", "7"]
    alone = run(replace(check(2), interior=lambda _: False), statements["walk"])
    assert [c.kind for c in alone.counterexamples] == ["smallest"]


def test_rule_about_a_kernel_is_no_verdict_on_the_paper(
    statements: dict[str, Statement],
) -> None:
    result = run(replace(check(2), about_kernel=True), statements["walk"])
    assert (result.status, result.kernel_disagrees) == ("inconclusive", True)


def test_figures_go_with_the_result(statements: dict[str, Statement]) -> None:
    result = run(
        replace(check(9), figures=lambda _: {"walk": {"x": [1.0]}}), statements["walk"]
    )
    assert result.figures == {"walk": {"x": [1.0]}}


def test_each_variant_has_its_own_rule(statements: dict[str, Statement]) -> None:
    rule = of_variant(below(2), below(9))
    assert (
        run(replace(check(9), is_satisfied=rule), statements["walk"]).status
        == "refuted"
    )
    assert (
        run(
            replace(check(9), is_satisfied=rule),
            replace(statements["walk"], variant="amended"),
        ).status
        == "argued"
    )


@for_each(("budget", "seconds"), [("smoke", 0.5), ("standard", 5.0), ("full", 50.0)])
def test_longer_budgets_cost_more(
    statements: dict[str, Statement], budget: str, seconds: float
) -> None:
    costly = replace(check(9), seconds=0.5)
    assert (
        costly.cost(Context(statements["walk"], BUDGETS[budget], 0, "rule")) == seconds
    )


def test_the_interior_is_away_from_every_boundary() -> None:
    assert away_from_boundaries({"N": Fraction(3), "alpha": Fraction(1, 2)})
    assert not away_from_boundaries({"N": Fraction(3), "alpha": Fraction(1)})
    assert not away_from_boundaries({"N": Fraction(2), "alpha": Fraction(1, 2)})
