"""Statements about another recorded paper: the comparison is as recorded, and a changed formula is noticed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dpverify.ledger import Specs, load_specs
from dpverify.ledger.errors import Problems
from dpverify.ledger.formula import free_names, to_text
from dpverify.ledger.load import bundled_specs, read_specs
from dpverify.ledger.records import Quotation
from dpverify.ledger.specs import ComparedQuotation
from dpverify.symbolic.automatic.quotations import compared, compared_quotations

EXAMPLES = Path(__file__).parents[4] / "docs" / "examples"
OUTSIDE = {
    key: EXAMPLES / key / key / "specs" / key for key in ("abadi2016", "arora2023")
}
BOUND = "4*alpha*G*sigma*sqrt(d*V*log2(T))"
"""The right side of tran2022's Lemma 12."""


@pytest.fixture(scope="module")
def papers() -> Specs:
    return read_specs(bundled_specs(), Problems(), OUTSIDE)


def changed(result: ComparedQuotation, factor: str) -> ComparedQuotation:
    """Compare again with a factor in what is said to be printed."""
    assert result.attributed is not None
    quotation = msgspec.structs.replace(
        result.quotation, formula=f"({to_text(result.attributed)})*{factor}"
    )
    return compared(result.claim, result.quoted, quotation)


def test_quotations_compare_as_they_are_recorded_and_a_changed_exponent_is_noticed(
    papers: Specs,
) -> None:
    results = [*compared_quotations(papers)]
    names = {
        (result.claim.key, result.quoted.key): result.relation for result in results
    }
    assert names == {
        (result.claim.key, result.quoted.key): result.quotation.compared
        for result in results
    }
    assert (
        names[
            "arora2023:section-1-3-tran-complexity",
            "tran2022:abstract-gradient-evaluations",
        ]
        == "differs"
    )
    assert {*names.values()} == {"equal", "weaker", "differs", None}
    for result in results:
        if (
            result.relation == "equal"
            and result.attributed is not None
            and result.printed is not None
        ):
            letters = free_names(result.attributed)
            relations = {
                letter: changed(result, f"{letter}**(1/12)").relation
                for letter in letters - {"delta"}
            }
            assert set(relations.values()) <= {"weaker", "stronger", "differs"}, (
                result.claim.key
            )
            assert relations.get("epsilon", "differs") == "differs", result.claim.key
    bundled = [
        name
        for name in names
        if not any(key.partition(":")[0] in OUTSIDE for key in name)
    ]
    assert [
        (result.claim.key, result.quoted.key)
        for result in compared_quotations(load_specs())
    ] == bundled


def test_bounds_with_constants_are_compared_exactly(papers: Specs) -> None:
    lemma = papers.claim("tran2022:lemma-12")
    factors = {
        "1": "equal",
        "3/2": "weaker",
        "1/2": "stronger",
        "sqrt(sigma)": "differs",
    }
    for factor, relation in factors.items():
        quotation = Quotation(
            claim=lemma.key, formula=f"{BOUND}*{factor}", says="a bound"
        )
        assert compared(lemma, lemma, quotation).relation == relation, factor
