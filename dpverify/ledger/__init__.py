"""The ledger: what papers print, as checked records, and what we say of it. Nothing here computes a bound."""

from dpverify.ledger.assumptions import ASSUMPTIONS, Assumption, Tag, problems_for
from dpverify.ledger.bundled import bundled_specs
from dpverify.ledger.check import Finding, check_specs
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.domains import Domain, parse_domain
from dpverify.ledger.errors import FormulaError, SpecError, UnknownClaim
from dpverify.ledger.graph import find_cycle, rests_on, topological_order
from dpverify.ledger.load import load_specs
from dpverify.ledger.notation import notation_markdown, write_notation
from dpverify.ledger.specs import PaperSpec, Specs
from dpverify.ledger.statements import Statement, Variant
from dpverify.ledger.vocabulary import Vocabulary

__all__ = [
    "ASSUMPTIONS",
    "Assumption",
    "ClaimSpec",
    "Domain",
    "Finding",
    "FormulaError",
    "PaperSpec",
    "SpecError",
    "Specs",
    "Statement",
    "Tag",
    "UnknownClaim",
    "Variant",
    "Vocabulary",
    "bundled_specs",
    "check_specs",
    "find_cycle",
    "load_specs",
    "notation_markdown",
    "parse_domain",
    "problems_for",
    "rests_on",
    "topological_order",
    "write_notation",
]
