"""Proofs of wang2019 as text with one number changed are refused."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from dpverify.ledger import load_specs
from dpverify.ledger.proof_book import ProofBook
from dpverify.symbolic.elaborate.examination import examine
from dpverify.symbolic.elaborate.formulas import ProofError
from tests.for_each import for_each

SPECS = load_specs()


def is_proved(claim: str, old: str, new: str) -> bool:
    """Whether the first proof of a claim is accepted with a text in the place of another one."""
    spec = SPECS.claim(f"wang2019:{claim}")
    proof = spec.proofs.proofs_of(claim)[0]
    assert old in proof.chain
    changed = msgspec.structs.replace(proof, chain=proof.chain.replace(old, new, 1))
    book: ProofBook = replace(spec.proofs, proofs=(changed,))
    statement = replace(spec.statement(spec.readings()[0], proof.variant), proofs=book)
    try:
        return examine(statement, points=20).certificate is not None
    except ProofError:
        return False


@for_each(
    ("claim", "old", "new"),
    [
        ("section-1-rrpsgd-utility", "9/10*rate", "91/100*rate*(1 + 1/99)"),
        ("section-4-1-change", "<= right  ", "<= 2*L*moved*99/100  "),
        ("theorem-4-4-step-tangent", "length**2/(8*L)", "length**2/(7*L)"),
        ("lemma-3-7-binomial", "chosen = 3)", "chosen = 2)"),
        ("lemma-3-7-last", "<= right", "<= right*99/100"),
        ("lemma-3-9", "(rho - epsilon)", "(rho - 2*epsilon)"),
        ("lemma-b-1", "t = mechanisms", "t = mechanisms + 1"),
        ("lemma-d-1", "b = 1)", "b = 99/100)"),
    ],
)
def test_a_false_text_is_refused(claim: str, old: str, new: str) -> None:
    assert is_proved(claim, "\n", "\n")
    assert not is_proved(claim, old, new)
