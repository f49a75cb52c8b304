"""The kernels of Algorithm 2's noise against the closed form."""

from __future__ import annotations

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers import load
from dpverify.report.pages.figures import caption, svg

SPECS = load_specs()


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


def test_weights_of_the_kernel_are_the_closed_form() -> None:
    found = run("algorithm-2-threshold", "weights", statement("algorithm-2-threshold"))
    assert found.status == "not refuted"
    assert all(control.refuted for control in found.controls)
    assert "Printed bound divided" in caption("variance-terms", found.figures["variance-terms"])
    assert svg("variance-terms", found.figures["variance-terms"]).startswith(b"<?xml")
