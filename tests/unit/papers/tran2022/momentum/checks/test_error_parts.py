from __future__ import annotations

from dpverify.harness import BUDGETS, Context
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.momentum.checks.error_parts import (
    CHECKS,
    RUN,
    error_figure,
)
from dpverify.papers.tran2022.momentum.momentum_error_bounds import PARTS
from dpverify.report.pages.figures import svg

SPECS = load_specs()


def test_the_check_holds_at_every_step_and_sees_each_fault() -> None:
    check = CHECKS.find("lemma-11", "error-parts")
    statement = SPECS.claim("tran2022:lemma-11").statement(
        {"ordering": "fresh"}, "amended"
    )
    assert check.applies(statement)
    found = check.run_block(Context(statement, BUDGETS["smoke"], 0), 0)
    assert found.status == "not refuted"
    assert found.n == RUN.steps
    assert len(found.controls) == len(PARTS) + 1
    assert all(control.refuted for control in found.controls)


def test_bounds_that_are_not_the_lemma_s_are_seen_and_are_no_verdict() -> None:
    check = CHECKS.find("lemma-11", "error-parts")
    printed = SPECS.claim("tran2022:lemma-11").statement(
        {"ordering": "fresh"}, "printed"
    )
    found = check.run_block(Context(printed, BUDGETS["smoke"], 0), 0)
    assert found.status == "inconclusive"
    assert found.kernel_disagrees


def test_the_figure_is_drawn_with_each_part_below_its_bounds() -> None:
    ((name, columns),) = error_figure().items()
    assert svg(name, columns).startswith(b"<?xml")
    for part in PARTS:
        for kind in {"corrected", "printed"} & {
            column.split("-")[0] for column in columns if column.endswith(part)
        }:
            pairs = zip(
                columns[f"attained-{part}"], columns[f"{kind}-{part}"], strict=True
            )
            assert all(attained <= bound for attained, bound in pairs)
