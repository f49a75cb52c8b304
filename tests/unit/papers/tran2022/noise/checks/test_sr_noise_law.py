"""The kernels of Algorithm 2's noise against the closed form."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.ledger.statements import Statement
from dpverify.papers import load
from dpverify.papers.tran2022.noise.checks.sr_noise_law import variance_figures
from dpverify.papers.tran2022.noise.noise_bounds import NodeVariances, variance_terms
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
    assert "the printed bound divided" in caption(
        "variance-terms", found.figures["variance-terms"]
    )
    assert svg("variance-terms", found.figures["variance-terms"]).startswith(b"<?xml")


def test_exact_terms_are_below_the_corrected_total_and_sum_to_it_at_most() -> None:
    """The corrected total, term by term, at slow decay: no term alone is beyond its own share."""
    columns = variance_figures()["variance-terms"]
    for part in ("1", "2", "3", "4", "5", "total"):
        assert (
            max(columns[f"exact-{part}"])
            <= columns[f"corrected-{part}"][0]
            <= columns[f"printed-{part}"][0]
        )
    nodes = NodeVariances(*(Fraction(v) for v in (16 * 12, 16 * 16 * 383 // 16, 1, 1)))
    assert columns["exact-2"][40] == pytest.approx(
        float(_value(variance_terms(41, 16, Fraction(1, 16), Fraction(1, 5), nodes)[1]))
    )


def _value(x: Any) -> Any:
    return x if isinstance(x, Fraction) else x.mid()
