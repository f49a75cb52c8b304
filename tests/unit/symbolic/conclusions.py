"""The relation of a printed side to a derivation's last expression, and why a derivation has no certificate."""

from __future__ import annotations

from dpverify.ledger.records import RelationToDerived
from dpverify.ledger.statements import Statement
from dpverify.symbolic import Derivation
from dpverify.symbolic.automatic.argument import checked
from dpverify.symbolic.certify.certificates import certify
from dpverify.symbolic.certify.checker import k
from dpverify.symbolic.certify.conclusion import relation_to_derived


def conclude(derivation: Derivation, statement: Statement) -> RelationToDerived:
    """Return the relation to the derived side, with a certificate if there is one."""
    data = certify(statement, derivation).data
    return relation_to_derived(
        statement, derivation, None if data is None else checked(data)
    )


def refusal(derivation: Derivation, statement: Statement) -> str:
    """Return why a derivation of a statement has no certificate; empty if it has one."""
    return certify(statement, derivation).reason


def unproved_premises(derivation: Derivation, statement: Statement) -> list[str]:
    """Return what the certificate of a derivation takes without proof."""
    data = certify(statement, derivation).data
    assert data is not None
    return list(k.given_in(data))
