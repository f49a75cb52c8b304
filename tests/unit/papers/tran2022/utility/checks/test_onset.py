"""The check that holds the onsets."""

from __future__ import annotations

from dpverify.harness import BUDGETS, Context
from dpverify.harness.search.derived_checks import OnsetCheck
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.accounting import onset
from dpverify.papers.tran2022.utility.checks.onset import CHECKS
from dpverify.report.pages.figures import svg
from tests.for_each import for_each

SPECS = load_specs()


READINGS = {
    "theorem-6": {"ordering": "fresh", "depth": "levels"},
    "theorem-9": {"ordering": "fresh"},
}


THEOREMS: tuple[onset.Theorem, ...] = ("theorem-6", "theorem-9")


@for_each("theorem", THEOREMS)
def test_the_check_holds_sees_its_fault_and_draws(theorem: onset.Theorem) -> None:
    check = CHECKS.find(theorem, "onset")
    assert isinstance(check, OnsetCheck)
    statement = SPECS.claim(f"tran2022:{theorem}").statement(
        READINGS[theorem], "amended"
    )
    assert check.applies(statement)
    short = check.run_block(Context(statement, BUDGETS["smoke"], 0), 0)
    assert (short.status, short.n, short.figures) == ("not refuted", 2, {})
    found = check.run_block(Context(statement, BUDGETS["standard"], 0), 0)
    assert found.status == "not refuted"
    assert all(control.refuted for control in found.controls)
    assert "d = 100, epsilon = 0.1" in found.message
    assert "R/G = 10" in found.message
    ((name, columns),) = found.figures.items()
    assert name == f"onset-{theorem}"
    assert svg(name, columns).startswith(b"<?xml")
    for less, more in (
        ("cell-least", "cell-needed"),
        ("cell-needed", "cell-corrected"),
    ):
        assert all(a <= b for a, b in zip(columns[less], columns[more], strict=True))


def test_a_bound_that_is_not_the_record_s_is_our_fault_and_no_verdict() -> None:
    check = CHECKS.find("theorem-9", "onset")
    wrong = SPECS.claim("tran2022:theorem-9").statement(
        READINGS["theorem-9"], "printed"
    )

    found = check.run_block(Context(wrong, BUDGETS["smoke"], 0), 0)
    assert found.status == "inconclusive"
    assert found.kernel_disagrees
