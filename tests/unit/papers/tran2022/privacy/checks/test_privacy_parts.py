"""Section 2's sentence on the tree is judged for every epsilon, as it is printed."""

from dataclasses import replace

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.privacy.checks.privacy_parts import (
    CHECKS,
    CONSTANT,
    NOT_PRIVATE,
)

CLAIM = load_specs().claim("tran2022:section-2-tree-private")


def judged(statement: Statement) -> CheckResult:
    check = CHECKS.find("section-2-tree-private", "constants")
    found: CheckResult = check.run_block(
        Context(statement, BUDGETS["smoke"], 0, "constants"), 0
    )
    return found


def test_no_constant_serves_for_every_epsilon() -> None:
    found = judged(CLAIM.statement())
    assert found.status == "refuted"
    smallest = found.counterexamples[0]
    at = {name: number.exact for name, number in smallest.parameters.items()}
    assert at == {
        "constant": str(CONSTANT),
        "t": "2",
        "epsilon": "32",
        "delta": "1/10",
        "G": "1",
    }
    assert 0.65 < float(smallest.lhs.float) < 0.651
    assert f"{len(NOT_PRIVATE)} violations" in found.message


def test_the_constant_serves_under_the_conditions_of_the_amendment_only() -> None:
    amended = CLAIM.statement(variant="amended")
    assert judged(amended).status == "not refuted"
    assert judged(replace(amended, requires=amended.requires[:1])).status == "refuted"
