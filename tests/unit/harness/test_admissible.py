"""A refutation is refused where its counterexample does not meet a condition or assumption of its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

import msgspec
import pytest

from dpverify.harness import (
    BUDGETS,
    Budget,
    ExhaustiveCheck,
    PaperChecks,
    Property,
    TrueNeighbour,
)
from dpverify.harness.admissible import reject_inadmissible, unmet_conditions
from dpverify.harness.checks import Context, as_point
from dpverify.harness.run.engine import run_jobs
from dpverify.harness.run.tasks import Job
from dpverify.ledger import load_specs
from dpverify.ledger.check_results import CheckResult, Counterexample, Number
from dpverify.ledger.formula import parse_relation
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Tag
from tests.for_each import for_each

STATEMENT = (
    load_specs().claim("zhang2021:theorem-3-2-start").statement({"region": "ball"})
)
POINT: dict[str, int | str] = {
    "K": 1, "T_0": 100, "t_0": 0, "rho": 0, "c_4": 1, "theta": 2, "mu": 1, "beta": 1, "gap": 1, "L": 1, "sigma": 0,
}  # fmt: skip
MEETS = {tag.name: Property("as the loss is made") for tag in STATEMENT.assumes}


def points(budget: Budget) -> Iterator[Mapping[str, int | str]]:
    yield POINT


def check(meets: Mapping[str, Property]) -> ExhaustiveCheck:
    none = TrueNeighbour("nothing left", lhs=lambda p, s: Fraction(0))
    nine = Fraction(9)
    return ExhaustiveCheck(
        "theorem-3-2-start",
        "demo",
        points=points,
        lhs=lambda p, s: nine,
        neighbours=[none],
        meets=meets,
    )


def refuted(
    statement: Statement = STATEMENT,
    meets: Mapping[str, Property] = MEETS,
    changed: Mapping[str, str] | None = None,
) -> CheckResult:
    numbers = {
        name: Number(exact=str(value), float=0.0)
        for name, value in {**POINT, **(changed or {})}.items()
    }
    side = Number(exact="1", float=1.0)
    example = Counterexample(kind="smallest", parameters=numbers, lhs=side, rhs=side)
    result = CheckResult(
        name="demo", method="exhaustive", status="refuted", counterexamples=[example]
    )
    return reject_inadmissible(check(meets), statement, result)


def test_a_counterexample_with_every_condition_and_property_is_admitted() -> None:
    assert refuted().status == "refuted"


@for_each(("letter", "value", "text"), [
    ("mu", "2", "mu <= beta"),
    ("c_4", "3", "0 < c_4 < 2"),
    ("K", "1/2", "K is an integer"),
    ("c_4", "1/1000", "eta_0 <= max"),
])  # fmt: skip
def test_a_counterexample_outside_the_conditions_or_domains_is_refused(
    letter: str, value: str, text: str
) -> None:
    result = refuted(changed={letter: value})
    assert (result.status, text in result.error) == ("inconclusive", True)


def test_the_domain_of_a_defined_letter_counts() -> None:
    """So it was with alpha = 1.043 of tran2022's theorem-9-display-alpha, where alpha <= 1."""
    statement = load_specs().claim("tran2022:theorem-9-display-alpha").statement()
    point = as_point(
        {"G": 1, "K": 1, "L": 0, "N": 2, "R": 1, "T": 3, "d": 1, "epsilon": 1}
    )
    assert unmet_conditions(statement, point) == ["0 < alpha <= 1", "alpha <= 1"]
    assert unmet_conditions(statement, as_point({**point, "T": 16})) == []


@for_each("name", sorted(MEETS))
def test_each_assumption_needs_a_declared_property(name: str) -> None:
    result = refuted(meets={other: MEETS[other] for other in MEETS if other != name})
    assert (result.status, name in result.error) == ("inconclusive", True)


def test_a_property_is_tested_at_the_counterexample() -> None:
    meets = {
        **MEETS,
        "lipschitz": Property("largest slope", lambda point: point["L"] >= 2),
    }
    assert "lipschitz (largest slope)" in refuted(meets=meets).error
    assert refuted(meets=meets, changed={"L": "2"}).status == "refuted"


def test_a_condition_whose_letters_the_point_lacks_is_declared_by_its_text() -> None:
    open_condition = replace(
        STATEMENT, requires=(*STATEMENT.requires, parse_relation("B <= n"))
    )
    assert "B <= n" in refuted(open_condition).error
    assert (
        refuted(open_condition, {**MEETS, "B <= n": Property("full batch")}).status
        == "refuted"
    )


def test_only_refutations_need_any() -> None:
    result = CheckResult(name="demo", method="search", status="not refuted")
    assert reject_inadmissible(check({}), STATEMENT, result) is result


def test_an_assumption_that_is_added_to_a_record_is_asked_for() -> None:
    more = replace(STATEMENT, assumes=(*STATEMENT.assumes, Tag("noise-off")))
    assert "noise-off" in refuted(more).error


@for_each("budget", ["smoke", "standard"])
@for_each("declared", [True, False])
def test_every_run_asks_for_them(
    budget: str, declared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the smoke budget too, where recorded counterexamples are only evaluated again."""
    own = check(MEETS if declared else {})
    monkeypatch.setattr(Job, "find", lambda self: own)
    recorded = (
        msgspec.structs.replace(refuted(), name="demo") if budget == "smoke" else None
    )
    context = Context(
        STATEMENT, BUDGETS[budget], seed=0, check="demo", recorded=recorded
    )
    (result,), _ = run_jobs(
        [Job("", "zhang2021", own.claim, own.name, context)], workers=1
    )
    assert (result.status, bool(result.error)) == (
        ("refuted", False) if declared else ("inconclusive", True)
    )
    assert result.by_certificate == (budget == "smoke")


def test_checks_of_a_file_share_its_properties() -> None:
    checks = PaperChecks(
        "zhang2021",
        __name__,
        {"lipschitz": Property("of all"), "smooth": Property("of all")},
    )
    checks.add(check({"smooth": Property("own")}))
    found = checks.of("theorem-3-2-start")[0].meets
    assert {name: each.words for name, each in found.items()} == {
        "lipschitz": "of all",
        "smooth": "own",
    }
