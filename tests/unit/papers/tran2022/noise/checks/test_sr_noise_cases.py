"""Section 4's noise, for one release."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers import load

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


@pytest.mark.parametrize("ordering", ["fresh", "once"])
def test_one_release_needs_more_noise_than_section_4_says_where_gamma_is_small(ordering: str) -> None:
    on = statement("section-4-noise-two-cases", {"ordering": ordering})
    found = run("section-4-noise-two-cases", "one-release", on)
    assert found.status == "refuted"
    for found_at in found.counterexamples:
        gamma, eta = (Fraction(found_at.parameters[name].exact or "0") for name in ("gamma", "eta"))
        assert gamma < eta
