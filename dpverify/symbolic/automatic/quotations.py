"""Statements about another recorded paper, compared with the record of that paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.formula import Formula, Name, substitute, to_text
from dpverify.ledger.records import (
    ORDERS,
    Claim,
    Quotation,
    Relation,
    RelationToDerived,
)
from dpverify.ledger.specs import ComparedQuotation, Specs
from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic.proofs import certified, from_left_side
from dpverify.symbolic.certify.conclusion import relation_to_derived
from dpverify.symbolic.expressions.translation import sympy_conditions, sympy_sides
from dpverify.symbolic.prove.comparisons import NoMonomialsError, monomials, prove_order
from dpverify.symbolic.prove.facts import Facts

_BOUNDS: dict[Relation | None, tuple[Relation, Relation]] = {
    "<": ("<=", ">="),
    "<=": ("<=", ">="),
    ">": (">=", "<="),
    ">=": (">=", "<="),
}
"""Relations of a weaker and of a stronger bound to a quoted one, by the relation of the quoted claim."""
_OF_ORDERS: dict[tuple[bool, bool], RelationToDerived] = {
    (True, True): "equal",
    (True, False): "stronger",
    (False, True): "weaker",
    (False, False): "differs",
}
"""Relation by whether the attributed order is at most, and at least, the printed order."""


def compared_quotations(specs: Specs) -> Iterator[ComparedQuotation]:
    """Yield the comparisons of all statements about another recorded paper. Papers that are not loaded are left out."""
    for claim in specs.claims():
        for quotation in claim.record.quotes:
            paper, _, name = quotation.claim.partition(":")
            if paper in specs.papers:
                yield compared(claim, specs.papers[paper].claims[name], quotation)


def compared(
    claim: ClaimSpec, quoted: ClaimSpec, quotation: Quotation
) -> ComparedQuotation:
    """Compare what a claim attributes to another claim with the record of that claim.

    Orders are compared up to constants, and with ``O~`` also up to logarithms. Only conditions of the quotation are
    assumed.
    """
    names: dict[Formula, Formula] = {
        Name(theirs): Name(ours) for ours, theirs in quotation.letters.items()
    }
    own = (
        claim.record.printed if quotation.formula is None else quotation.formula or None
    )
    other = quoted.record.lhs if quotation.side == "lhs" else quoted.record.printed
    attributed = None if own is None else claim.vocabulary.formula(own)
    printed = (
        None if other is None else substitute(quoted.vocabulary.formula(other), names)
    )
    relation = None
    if attributed is not None and printed is not None:
        statement = _statement(claim, quotation, printed, attributed)
        relations = {claim.record.relation, quoted.record.relation}
        is_order = not relations.isdisjoint(ORDERS)
        relation = (
            _of_orders(statement, "O~" in relations)
            if is_order
            else _of_bounds(statement, quoted.record)
        )
    return ComparedQuotation(claim, quoted, quotation, attributed, printed, relation)


def _statement(
    claim: ClaimSpec, quotation: Quotation, printed: Formula, attributed: Formula
) -> Statement:
    """Return the statement that both formulas are equal, on the domains of the claim's letters."""
    record = Claim(
        id=f"{claim.record.id}-quotes",
        where=claim.record.where,
        source=claim.record.source,
        quote=claim.record.quote,
        kind="identity",
        lhs=to_text(printed),
        relation="=",
        printed=to_text(attributed),
        requires=quotation.requires,
    )
    return ClaimSpec(
        record=record, paper=claim.paper, vocabulary=claim.vocabulary
    ).statement()


def _of_bounds(statement: Statement, quoted: Claim) -> RelationToDerived:
    if _is_certified(statement):
        return "equal"
    if quoted.relation in _BOUNDS:
        weaker, stronger = _BOUNDS[quoted.relation]
        if _is_certified(replace(statement, relation=weaker)):
            return "weaker"
        if _is_certified(replace(statement, relation=stronger)):
            return "stronger"
    return (
        "differs"
        if relation_to_derived(statement, from_left_side(statement), None) == "differs"
        else "undecided"
    )


def _is_certified(statement: Statement) -> bool:
    return certified(statement, from_left_side(statement)).data is not None


def _of_orders(statement: Statement, tilde: bool) -> RelationToDerived:
    printed, attributed = sympy_sides(statement)
    relations = sympy_conditions(statement)
    facts = Facts().assume(relations)
    try:
        monomials(printed, facts)
        monomials(attributed, facts)
    except NoMonomialsError:
        return "undecided"
    at_most = _is_bounded(attributed, printed, relations, tilde)
    at_least = _is_bounded(printed, attributed, relations, tilde)
    return _OF_ORDERS[at_most, at_least]


def _is_bounded(left: Any, right: Any, relations: tuple[Any, ...], tilde: bool) -> bool:
    try:
        prove_order(left, right, relations, tilde)
    except NoMonomialsError:
        return False
    return True
