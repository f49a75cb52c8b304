"""Lemma 17 is proved as printed under one order of the examples only, and no other formula is proved in its place."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from dpverify.ledger import load_specs
from dpverify.ledger.formula import parse, to_text
from dpverify.symbolic.elaborate.examination import examine
from dpverify.symbolic.elaborate.formulas import ProofError
from tests.for_each import for_each

SPECS = load_specs()
ONCE = {"ordering": "once"}
FRESH = {"ordering": "fresh"}


def test_one_order_of_the_examples_is_used_where_the_print_needs_it() -> None:
    claim = SPECS.claim("tran2022:lemma-17-window")
    statement = claim.statement(ONCE)
    assert examine(statement).problems == ()
    book = claim.proofs
    without_reading = tuple(
        msgspec.structs.replace(proof, reading={})
        for proof in book.proofs_of("lemma-17-window")
    )
    of_fresh_orders = replace(
        claim.statement(FRESH), proofs=replace(book, proofs=without_reading)
    )
    with pytest.raises(ProofError, match="no record says what anchor_before is"):
        examine(of_fresh_orders)


@for_each(
    ("old", "new"),
    [
        ("(1 - gamma)**j", "(1 - gamma)**(j + 1)"),
        ("i, 1, q - 1", "i, 1, q - 2"),
        ("(i - 1 - j)", "(i - j)"),
        ("r + 1", "r"),
    ],
)
def test_another_formula_is_not_proved(old: str, new: str) -> None:
    statement = SPECS.claim("tran2022:lemma-17").statement(ONCE)
    assert statement.rhs is not None
    text = to_text(statement.rhs)
    assert old in text
    result = examine(replace(statement, rhs=parse(text.replace(old, new))))
    assert result.certificate is None
    assert result.problems != ()
