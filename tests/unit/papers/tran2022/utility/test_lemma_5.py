"""Lemma 5's proofs end at what is printed, and at nothing sharper."""

from __future__ import annotations

from fractions import Fraction

from dpverify.harness.sides import moved_side
from dpverify.ledger.load import load_specs
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.define import expand_definition
from dpverify.symbolic.elaborate.proofs import derivation_of
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import conclude


@for_each("claim", ["lemma-5-case-1", "lemma-5-cases", "lemma-5-telescoped", "lemma-5"])
def test_the_derivation_ends_at_the_print_and_no_sharper(claim: str) -> None:
    statement = expand_definition(
        load_specs().claim(f"tran2022:{claim}").statement({}, "printed")
    )
    derivation = derivation_of(statement)
    assert check_derivation(derivation, points=40).complete
    assert conclude(derivation, statement) == "equal"
    assert conclude(derivation, moved_side(statement, "*", Fraction(99, 100))) not in {
        "equal",
        "weaker",
    }
