"""The page of what papers say about each other."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dpverify.ledger.errors import Problems
from dpverify.ledger.formula import parse
from dpverify.ledger.load import bundled_specs, read_specs
from dpverify.ledger.specs import ComparedQuotation
from dpverify.report.pages.repository import quotations_page

SPECS = (
    Path(__file__).parents[4]
    / "docs"
    / "examples"
    / "arora2023"
    / "arora2023"
    / "specs"
    / "arora2023"
)


def test_a_statement_has_both_formulas_and_both_verdicts_and_a_record_is_described_once() -> (
    None
):
    specs = read_specs(bundled_specs(), Problems(), {"arora2023": SPECS})
    claim = specs.claim("arora2023:section-1-3-tran-complexity")
    record = specs.claim("tran2022:abstract-gradient-evaluations")
    (quotation,) = claim.record.quotes
    item = ComparedQuotation(
        claim, record, quotation, parse("2*d"), parse("3*d"), "differs"
    )
    part = msgspec.structs.replace(quotation, formula="2*d", remark="")
    again = ComparedQuotation(claim, record, part, parse("2*d"), parse("2*d"), "equal")
    page = quotations_page([item, again], specs, {record.key: "there.md#here"})
    assert "The formulas differ: $`2 d`$; the record has $`3 d`$." in page
    assert (
        "Verdict on the statement, `section-1-3-tran-complexity`: ✗ refuted (misprint)."
        in page
    )
    name = "Verdict on the record [`abstract-gradient-evaluations`](there.md#here)"
    assert page.count(f"{name} (Abstract") == 1
    assert "With evaluation = one-pass: ✓ proved." in page
    assert (
        f"- Recorded with `section-1-3-tran-complexity`, which is about more than this.\n- {name}: as above."
        in page
    )
    assert "## arora2023 on Song et al. (2021)" in page
    assert "- `wang2019:theorem-4-4-ratio`, ✗ refuted (utility). Arora et al." in page
