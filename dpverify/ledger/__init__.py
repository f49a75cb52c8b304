"""The ledger: checked records of the claims of papers and of our verdicts. This package computes no bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
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

_HOMES = {
    "check": "Finding check_specs",
    "claims": "ClaimSpec",
    "errors": "FormulaError SpecError UnknownClaim",
    "load": "bundled_specs load_specs",
    "notation": "notation_markdown write_notation",
    "specs": "PaperSpec Specs",
    "statements": "Statement",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
