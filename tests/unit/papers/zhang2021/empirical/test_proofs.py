"""Comparisons of rates are proved from text on their conditions, and not without them."""

from __future__ import annotations

from dataclasses import replace

from dpverify.ledger import load_specs
from dpverify.ledger.statements import Statement
from dpverify.symbolic.elaborate.examination import examine
from tests.for_each import for_each

SPECS = load_specs()


def statement_of(claim: str) -> Statement:
    """The statement of a claim that has a proof as text."""
    spec = SPECS.claim(f"zhang2021:{claim}")
    return spec.statement({}, spec.proofs.proofs_of(claim)[0].variant)


@for_each(
    "claim",
    [
        "section-1-1-e-2",
        "section-1-1-e-3",
        "section-1-1-p-2-ball",
        "theorem-3-2-better-e-2",
        "theorem-3-4-case",
        "theorem-3-4-other-case",
        "section-1-1-gap-p-1",
    ],
)
def test_a_comparison_is_proved_on_its_conditions_only(claim: str) -> None:
    statement = statement_of(claim)
    assert examine(statement).certificate is not None
    assert examine(replace(statement, requires=())).certificate is None


@for_each("claim", ["theorem-3-2-total", "theorem-3-3-momentum"])
def test_statements_without_further_conditions_are_proved(claim: str) -> None:
    assert examine(statement_of(claim)).certificate is not None
