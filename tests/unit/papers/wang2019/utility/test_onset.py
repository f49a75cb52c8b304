"""From which n the corrected theorem says something: against its record, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.harness.search.derived_checks import OnsetCheck
from dpverify.ledger.load import load_specs
from dpverify.papers.wang2019.accounting.onset import (
    OnsetSetting,
    best_beta,
    bound,
    needed_cost,
    onsets,
    printed_cost,
)
from dpverify.papers.wang2019.utility.checks.onset import CHECKS
from dpverify.privacy.gaussian import epsilon_of
from dpverify.report.pages.figures import caption, svg
from tests.for_each import for_each

SPECS = load_specs()


@for_each("claim", ["theorem-4-4", "theorem-5-2"])
def test_the_check_holds_sees_its_fault_and_draws(claim: str) -> None:
    check = CHECKS.find(claim, "onset")
    assert isinstance(check, OnsetCheck)
    statement = SPECS.claim(f"wang2019:{claim}").statement({}, "amended")
    short = check.run_block(Context(statement, BUDGETS["smoke"], 0), 0)
    assert (short.status, short.n, short.figures) == ("not refuted", 2, {})
    found = check.run_block(Context(statement, BUDGETS["standard"], 0), 0)
    assert found.status == "not refuted"
    assert all(control.refuted for control in found.controls)
    assert "d = 100, epsilon = 0.1: 8.9e+04 / 2.2e+04" in found.message
    for name, columns in found.figures.items():
        assert svg(name, columns).startswith(b"<?xml")
        assert "the corrected bound from n = 89000 on" in caption(name, columns)
        assert "with this noise from n = 22000 on" in caption(name, columns)


def test_the_printed_theorem_has_no_onset_as_its_constant_is_not_printed() -> None:
    statement = SPECS.claim("wang2019:theorem-5-2").statement({}, "printed")
    check = CHECKS.find("theorem-5-2", "onset")
    assert not check.applies(statement)


def test_noise_as_printed_at_the_best_beta_and_as_needed() -> None:
    cell = OnsetSetting(3, 0.7, 1e-5, 2.0)
    betas = np.linspace(0.01, 0.99, 9801)
    ratio = math.log(1e5) / 0.7
    costs = 14.0 * (ratio / (1.0 - betas) + 1.0) / (betas * 0.7)
    assert printed_cost(cell) == pytest.approx(costs.min(), rel=1e-6)
    assert betas[costs.argmin()] == pytest.approx(best_beta(cell), abs=1e-3)
    assert epsilon_of(2.0 / math.sqrt(needed_cost(cell)), 1e-5) == pytest.approx(
        0.7, rel=1e-9
    )
    c = bound(printed_cost, 1e5, cell) * 3.0 / 17.0
    assert c**3 == pytest.approx(3 * printed_cost(cell) * 7.0 / 1e10)
    assert bound(printed_cost, 10, cell) == math.inf, "no accuracy below G"
    assert bound(printed_cost, 1e5, cell._replace(drop=1e-7)) == math.inf, (
        "a first batch above n"
    )
    assert onsets(cell).needed < onsets(cell).corrected
