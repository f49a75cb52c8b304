"""The identities' derivations are complete, and end at what is printed or amended, and at nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dpverify.ledger import load_specs
from dpverify.ledger.formula import parse, to_text
from dpverify.papers.tran2022.identities import lemma_17_derivations as lemma
from dpverify.papers.tran2022.identities import window_derivations as windows
from dpverify.symbolic.derive.cited import definitions_used, derivations_under, typed_by_hand
from dpverify.symbolic.derive.conclude import conclude
from dpverify.symbolic.derive.derivation import check_derivation
from dpverify.symbolic.elaborate.proofs import derivation_of
from tests.for_each import for_each
from tests.unit.papers.derived import found_complete

SPECS = load_specs()
ONCE, FRESH = {"ordering": "once"}, {"ordering": "fresh"}


def statement(claim: str, variant: Any = "printed", **reading: str) -> Any:
    return SPECS.claim(f"tran2022:{claim}").statement(reading, variant)


@for_each(
    ("claim", "build", "variant", "reading"),
    [
        ("lemma-11-unrolled", derivation_of, "amended", {}),
        ("section-3-momentum-unrolled", derivation_of, "printed", {}),
        ("equation-3", lemma.as_printed, "printed", ONCE),
        ("lemma-17-step", lemma.one_step, "amended", FRESH),
    ],
)
def test_a_derivation_and_all_below_it_are_complete(claim: str, build: Any, variant: str, reading: Any) -> None:
    said = statement(claim, variant, **reading)
    derivation = build(said)
    if derivation not in found_complete(said):
        chains = [derivation, *(one for _, one in derivations_under(derivation))]
        assert all(check_derivation(one, 8).complete for one in chains)
    assert conclude(derivation, said) == "equal"
    assert typed_by_hand(derivation) == []


def test_one_order_of_the_examples_is_used_where_the_print_needs_it() -> None:
    """Under fresh orders Delta is whatever it is: what is amended holds without any definition of it."""
    printed = windows.window_identity(statement("lemma-17-window", **ONCE))
    amended = windows.window_identity(statement("lemma-17-window", "amended", **FRESH))
    assert any(text.startswith("anchor_before(t) = anchor_grad(t-N)") for text in definitions_used(printed))
    assert definitions_used(amended) == []
    assert conclude(printed, statement("lemma-17-window", **FRESH)) == "equal", "the words are the same"
    with pytest.raises(ValueError, match="no record says what anchor_before is"):
        windows.window_before(statement("lemma-17-window", **FRESH))


@for_each(
    ("old", "new"),
    [
        ("(1 - gamma)**j", "(1 - gamma)**(j + 1)"),
        ("i, 1, q - 1", "i, 1, q - 2"),
        ("(i - 1 - j)", "(i - j)"),
        ("r + 1", "r"),
    ],
)
def test_another_formula_is_not_concluded(old: str, new: str) -> None:
    said = statement("lemma-17", **ONCE)
    text = to_text(said.rhs)
    assert old in text
    other = replace(said, rhs=parse(text.replace(old, new)))
    assert conclude(lemma.as_printed(said), other) in {"differs", "undecided"}
