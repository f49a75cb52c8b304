"""The ledger: what papers print, as checked records, and what we say of it. Nothing here computes a bound."""

from dpverify.ledger.check import Finding, check_specs
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.errors import FormulaError, SpecError, UnknownClaim
from dpverify.ledger.load import bundled_specs, load_specs
from dpverify.ledger.notation import notation_markdown, write_notation
from dpverify.ledger.specs import PaperSpec, Specs
from dpverify.ledger.statements import Statement

__all__ = [
    "ClaimSpec",
    "Finding",
    "FormulaError",
    "PaperSpec",
    "SpecError",
    "Specs",
    "Statement",
    "UnknownClaim",
    "bundled_specs",
    "check_specs",
    "load_specs",
    "notation_markdown",
    "write_notation",
]
