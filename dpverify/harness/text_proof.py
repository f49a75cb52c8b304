"""A proof that ``proofs.toml`` has as text, as a check: it judges a statement like any derivation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpverify.harness.derivation_check import Build, DerivationCheck
from dpverify.ledger.statements import Statement

if TYPE_CHECKING:
    from dpverify.symbolic.derive.derivation import Derivation

NAME = "derivation"
"""Name of the check, as of a derivation that is written in Python: a statement has one or the other."""


def from_text(statement: Statement) -> Derivation:
    """Build the chain of a statement's proof; raises a `ProofError` that names the line."""
    from dpverify.symbolic.elaborate.proofs import derivation_of

    return derivation_of(statement)


def from_lemma(name: str) -> Build:
    """Build the chain of a lemma of ``proofs.toml`` for a statement of its paper."""

    def build(statement: Statement) -> Derivation:
        from dpverify.symbolic.elaborate.proofs import lemma_of

        return lemma_of(statement, name)

    return build


def has_text(statement: Statement) -> bool:
    """Whether ``proofs.toml`` has a proof of a statement."""
    return statement.proofs is not None and statement.proofs.find(statement) is not None


@dataclass(frozen=True)
class TextProof(DerivationCheck):
    """Check the proof that a statement has as text."""

    build: Build = field(default=from_text, kw_only=True)

    def can_judge(self, statement: Statement) -> bool:
        """Whether there is a proof, and a formula on the right."""
        return has_text(statement) and super().can_judge(statement)
