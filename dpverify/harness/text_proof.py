"""A proof that ``proofs.toml`` has as text, as a check: it judges a statement like any derivation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import msgspec

from dpverify.harness.checks import missed_controls
from dpverify.harness.context import Context
from dpverify.harness.derivation_check import Build, DerivationCheck, printed_moved
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement

if TYPE_CHECKING:
    from dpverify.symbolic.certify.certificates import Certificate
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
    needs_engine: ClassVar[bool] = False

    def can_judge(self, statement: Statement) -> bool:
        """Whether there is a proof, and a formula on the right."""
        return has_text(statement) and super().can_judge(statement)

    def certificate(self, statement: Statement) -> Certificate:
        """The certificate of the chain; lines without a reason may need a search."""
        from dpverify.symbolic.automatic.proofs import certified

        return certified(statement, self.build(statement))

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Check the chain; a line that the engine does not prove may be one that the certificate proves."""
        result = super().run_block(context, block)
        if result.status != "inconclusive" or result.error or result.relation_to_derived == "differs":
            return result
        return self._by_certificate(context.statement, result) or result

    def _by_certificate(self, statement: Statement, result: CheckResult) -> CheckResult | None:
        """What an accepted certificate proves, if a chain with another printed side has none."""
        from dpverify.symbolic.automatic.proofs import accepts
        from dpverify.symbolic.certify.checker import k
        from dpverify.symbolic.derive.cited import definitions_used, referred_to
        from dpverify.symbolic.derive.define import reworded

        full = reworded(statement)
        data = self.certificate(full).data
        if data is None or not accepts(data):
            return None
        derivation = self.build(full)
        control = printed_moved(full, data, derivation.start)
        if missed := missed_controls([control]):
            return msgspec.structs.replace(result, message=missed)
        premises = list(k.given_in(data))
        return msgspec.structs.replace(
            result,
            status="proved given" if premises else "proved",
            message="the stand-alone checker accepts the certificate",
            given=premises,
            definitions=definitions_used(derivation),
            references=referred_to(derivation),
            controls=[control],
        )
