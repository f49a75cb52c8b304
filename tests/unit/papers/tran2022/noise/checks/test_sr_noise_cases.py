"""Section 4's noise, for one release."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.load import load_specs
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers import load
from dpverify.papers.tran2022.noise.checks.sr_noise_cases import delta_of

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


def test_a_gaussian_release_is_private_at_the_delta_of_its_shift() -> None:
    """delta(shift, 0) is the total variation distance, and it falls with epsilon and rises with the shift."""
    at_zero = float(delta_of(arb(2), arb(0)).mid())
    assert at_zero == pytest.approx(math.erf(1 / math.sqrt(2)))
    assert delta_of(arb(2), arb(1)) < delta_of(arb(2), arb(0)) < delta_of(arb(3), arb(0))


@pytest.mark.parametrize("ordering", ["fresh", "once"])
def test_one_release_needs_more_noise_than_section_4_says_where_gamma_is_small(ordering: str) -> None:
    on = statement("section-4-noise-two-cases", {"ordering": ordering})
    found = run("section-4-noise-two-cases", "one-release", on)
    assert found.status == "refuted"
    for found_at in found.counterexamples:
        gamma, eta = (Fraction(found_at.parameters[name].exact or "0") for name in ("gamma", "eta"))
        assert gamma < eta
