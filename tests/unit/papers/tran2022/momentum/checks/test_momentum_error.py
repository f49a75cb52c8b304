"""The checks on Lemma 11 and the order of the examples find what is wrong, and see what is planted."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpverify.harness import BUDGETS, Check, Context
from dpverify.harness.checks import as_point
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.momentum.checks import (
    error_runs,
    momentum_error,
    momentum_error_orders,
    stated_orders,
)
from tests.for_each import for_each

SPECS = load_specs()
MODULES = (momentum_error, momentum_error_orders)
FRESH, ONCE = {"ordering": "fresh"}, {"ordering": "once"}


def _run(claim: str, name: str, reading: dict[str, str]) -> CheckResult:
    (check,) = (
        check
        for module in MODULES
        for check in module.CHECKS.of(claim)
        if check.name == name
    )
    statement = SPECS.claim(f"tran2022:{claim}").statement(reading, "printed")
    return _result(check, Context(statement, BUDGETS["smoke"], seed=5, check=name))


def _result(check: Check, context: Context) -> CheckResult:
    total: Any = None
    for block in range(check.blocks(context)):
        total = check.fold(total, check.run_block(context, block))
    return check.finish(context, total)


EXPECTED = [
    ("section-3-anchor-unbiased", "independent", FRESH, "argued"),
    ("section-3-anchor-unbiased", "pair", ONCE, "refuted"),
    ("lemma-11-mean-zero", "independent", FRESH, "argued"),
    ("lemma-11-mean-zero", "pair", ONCE, "refuted"),
    ("lemma-11-cross-same-epoch", "all-orders", FRESH, "refuted"),
    ("lemma-11-cross-same-epoch", "ridges", ONCE, "refuted"),
    ("lemma-11-sampling", "ridges", ONCE, "refuted"),
    ("lemma-11-split", "weights", {}, "refuted"),
    ("section-3-error-rate", "start", FRESH, "refuted"),
]


@for_each(("claim", "name", "reading", "status"), EXPECTED)
def test_the_verdict_and_its_controls(
    claim: str, name: str, reading: dict[str, str], status: str
) -> None:
    found = _run(claim, name, reading)
    assert found.status == status
    assert all(control.refuted for control in found.controls)
    if name == "ridges":
        assert any(one.kind == "interior" for one in found.counterexamples)


def test_the_start_up_term_is_missed_under_one_permutation_too() -> None:
    found = _run("lemma-11", "slope", ONCE)
    assert found.status == "refuted"
    assert found.counterexamples


def test_antipodes_come_close_to_the_corrected_lemma_and_stay_below() -> None:
    statement = SPECS.claim("tran2022:lemma-11").statement(FRESH, "printed")
    context = Context(
        statement, BUDGETS["smoke"], 0, "test", as_point(error_runs.ANTIPODES)
    )
    rng = np.random.default_rng(2)
    plain, doubled = (
        error_runs.antipodes(weight)(context, rng, 200).mean() for weight in (1, 2)
    )
    assert 0.4 < plain < 0.58 < doubled


@for_each(("n", "top", "visits"), [(1, 1, 1), (8, 3, 3), (4, 9, 10)])
def test_visits_count_an_epoch_that_is_cut_short(n: int, top: int, visits: int) -> None:
    assert stated_orders._visits(n, top) == visits
