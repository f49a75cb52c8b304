"""Lemma 7's counterexamples are certain."""

from __future__ import annotations

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers import load
from dpverify.papers.tran2022.noise.checks.sr_noise_points import at_points
from tests.for_each import for_each

SPECS = load_specs()


ONCE = {"ordering": "once"}


def statement(claim: str, reading: dict[str, str] | None = None) -> Statement:
    return SPECS.claim(f"tran2022:{claim}").statement(reading or {}, "printed")


def run(claim: str, name: str, on: Statement) -> CheckResult:
    checks = load("tran2022")
    assert checks is not None
    (check,) = (check for check in checks.of(claim) if check.name == name)
    context = Context(on, BUDGETS["smoke"], seed=3, check=name)
    total = None
    for block in range(check.blocks(context)):
        total = check.fold(total, check.run_block(context, block))
    return check.finish(context, total)


REFUTED = [
    ("lemma-7-var-2-step", "6"),
    ("lemma-7-coefficient", "2"),
    ("lemma-7-var-5", "2"),
    ("lemma-7-var-5-plugged", "3"),
    ("lemma-7-var", "2"),
    ("lemma-7-var-numbers", "2"),
    ("lemma-7-numbers", "2"),
    ("lemma-7", "2"),
]


# the others' points have T < N
AWAY_FROM_EDGES = {"lemma-7-var-2-step", "lemma-7-coefficient", "lemma-7-var-numbers"}


@for_each(("claim", "examples"), REFUTED)
def test_counterexamples_are_in_the_domain_and_certain(
    claim: str, examples: str
) -> None:
    found = run(
        claim, "counterexamples", statement(claim, ONCE if claim == "lemma-7" else None)
    )
    assert found.status == "refuted"
    kinds = {c.kind: c for c in found.counterexamples}
    assert kinds["smallest"].parameters["N"].exact == examples
    assert ("interior" in kinds) == (claim in AWAY_FROM_EDGES)


def test_a_point_outside_the_domain_is_no_counterexample() -> None:
    check = at_points(
        "lemma-7-coefficient",
        {"N": 2, "alpha": "1/4", "gamma": "1/2", "window": 3},
        None,
    )
    on = statement("lemma-7-coefficient")
    with pytest.raises(
        ValueError, match=r"must meet alpha >= 1/N, gamma <= 1/2: none of 1 does"
    ):
        check.run_block(Context(on, BUDGETS["smoke"], seed=3, check=check.name), 0)
