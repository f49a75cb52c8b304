from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

import dpverify.report
from dpverify.ledger.check_results import (
    CheckResult,
    ControlResult,
    Counterexample,
    DerivationResult,
    StepResult,
    StepStatus,
)
from dpverify.ledger.records import Status
from dpverify.report.pages.templates import environment, evidence, render
from tests.for_each import for_each
from tests.unit.report.rendering import cells
from tests.unit.report.sample import about, result

FOLDER = Path(dpverify.report.__file__).parent / "templates"


@for_each("name", sorted(path.name for path in FOLDER.iterdir()))
def test_every_template_can_be_read_and_its_filters_are_there(name: str) -> None:
    assert name.endswith(".md.j2")
    assert environment().get_template(name).name == name


def test_what_a_template_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'results' is undefined"):
        render("claim", shared=True, figures="figures", shown=())


def check(name: str, status: Status, **more: Any) -> CheckResult:
    return CheckResult(
        name=name, method=more.pop("method", "search"), status=status, **more
    )


def chain(*statuses: StepStatus) -> DerivationResult:
    steps = [
        StepResult(expression="x", latex="x", relation="<=", rule="drop", status=each)
        for each in statuses
    ]
    return DerivationResult(
        name="chain", whose="paper", steps=steps, complete="undecided" not in statuses
    )


PROOF = check("proof", "proved")
OPEN = check("open", "inconclusive", n=5)
SEEN = check(
    "law",
    "not refuted",
    n=900,
    alpha=1e-3,
    power=0.5,
    detects="a factor 2",
    method="monte-carlo",
)
BLIND = check(
    "blind",
    "not refuted",
    controls=[ControlResult(name="f", fault="", at_declared_size=True, refuted=False)],
)
MISSED = "not refuted by `blind` (**planted faults not seen: f**)"
FOUND = Counterexample(
    kind="smallest", parameters={"n": about(1.0)}, lhs=about(2.0), rhs=about(1.0)
)


@for_each(
    ("status", "checks", "words"),
    [
        # what says less than the verdict is left
        # out, unless it is blind or could not decide
        ("proved", [PROOF, SEEN], "proved by `proof`"),
        ("proved", [PROOF, BLIND], f"proved by `proof`; {MISSED}"),
        ("proved", [PROOF, OPEN], "proved by `proof`; inconclusive by `open` (n=5)"),
        ("not refuted", [SEEN], "not refuted by `law` (n=900, alpha=0.001, power 0.5, would have seen a factor 2)"),
        ("refuted", [check("search", "refuted", n=7)], "refuted by `search`"),
    ],
)  # fmt: skip
def test_evidence_names_what_the_verdict_rests_on(
    status: Status, checks: list[CheckResult], words: str
) -> None:
    assert (
        evidence(result("lemma-1", "Lemma 1", "inequality", status, checks=checks))
        == f"Evidence: {words}."
    )


def test_a_derivation_alone_is_what_the_status_says_already() -> None:
    checks = [check("chain", "proved", derivation=chain("proved", "proved"))]
    assert not evidence(
        result("lemma-1", "Lemma 1", "inequality", "proved", checks=checks)
    )
    argued = evidence(
        result("lemma-1", "Lemma 1", "inequality", "argued", checks=checks)
    )
    assert argued == "Evidence: 1 derivation."


def test_evidence_leaves_out_what_stands_above_it() -> None:
    found = check("search", "refuted", counterexamples=[FOUND])
    assert (
        evidence(result("lemma-1", "Lemma 1", "inequality", "refuted", checks=[found]))
        == ""
    )
    told = evidence(
        result("lemma-1", "Lemma 1", "inequality", "refuted", checks=[found, BLIND])
    )
    assert told == f"Evidence: {MISSED}."


def test_evidence_shows_the_open_steps_of_a_chain_alone() -> None:
    checks = [check("chain", "inconclusive", derivation=chain("proved", "undecided"))]
    told = evidence(
        result("lemma-1", "Lemma 1", "inequality", "inconclusive", checks=checks)
    )
    above, below = told.split("\n\nOpen in `chain`, the chain of the paper:\n\n")
    assert above == "Evidence: 1 derivation; inconclusive by `chain`."
    head, _, *rows = [cells(line) for line in below.splitlines()]
    assert head == ["step", "relation", "expression", "rule", "status"]
    assert [(row[0], row[-2], row[-1]) for row in rows] == [
        ("1", "drop", "**undecided**")
    ]
