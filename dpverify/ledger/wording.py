"""The text of a statement before it is parsed: the claim's own, or as an amendment changes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpverify.ledger.errors import Place, SpecError, shown
from dpverify.ledger.records import Amendment, Claim, Let, Relation

_PRINTED_FIELDS = {"formula": "printed", "words": "statement"}
_AMENDED_FIELDS = {"words": "statement"}


@dataclass(frozen=True)
class Wording:
    """The text of a statement. `own` names the fields that an amendment gives itself; the others are the claim's."""

    quantity: str | None
    lhs: str | None
    relation: Relation | None
    formula: str | None
    words: str | None
    requires: list[str]
    let: list[Let]
    amended: bool = False
    own: frozenset[str] = frozenset()

    def field(self, name: str) -> str:
        """Return a field's name as its author wrote it: ``printed``, ``amendment.requires[0]``."""
        stem, bracket, rest = name.partition("[")
        if not self.amended:
            return _PRINTED_FIELDS.get(stem, stem) + bracket + rest
        stem = _AMENDED_FIELDS.get(stem, stem)
        return f"amendment.{stem}{bracket}{rest}" if stem in self.own else name


def printed_wording(claim: Claim) -> Wording:
    """Return the text of a claim as printed."""
    return Wording(
        quantity=claim.quantity,
        lhs=claim.lhs,
        relation=claim.relation,
        formula=claim.printed,
        words=claim.statement,
        requires=claim.requires,
        let=claim.let,
    )


def amended_wording(claim: Claim, amendment: Amendment) -> Wording:
    """Return the text of a claim as amended: what the amendment leaves out is the claim's."""
    in_words = amendment.statement is not None
    fields = ("relation", "requires", "let")
    return Wording(
        quantity=claim.quantity,
        lhs=None if in_words else claim.lhs,
        relation=amendment.relation or (None if in_words else claim.relation),
        formula=amendment.formula,
        words=amendment.statement,
        requires=claim.requires if amendment.requires is None else amendment.requires,
        let=claim.let if amendment.let is None else amendment.let,
        amended=True,
        own=frozenset(name for name in fields if getattr(amendment, name) is not None) | {"formula", "statement"},
    )


def shape_problems(wording: Wording, place: Place) -> Iterator[SpecError]:
    """Yield what is wrong with which fields are there.

    A formula needs a relation and a left side, a statement in words has neither, and there is exactly one of them.
    """
    formula, words = wording.field("formula"), wording.field("words")
    if wording.formula is not None and wording.words is not None:
        yield place.at(formula).error("both", f"exactly one of {formula} and {words} is given")
    elif wording.formula is not None:
        if wording.relation is None:
            yield place.at(wording.field("relation")).error("", "a formula needs a relation: <= >= = < >")
        if wording.lhs is not None and wording.quantity is not None:
            yield place.at("lhs").error("both", "the left side is exactly one of lhs and quantity")
        if wording.lhs is None and wording.quantity is None:
            yield place.at("lhs").error("neither", "the left side is exactly one of lhs and quantity")
    elif wording.words is not None:
        if wording.relation is not None:
            rule = "a statement in words has no relation"
            yield place.at(wording.field("relation")).error(shown(wording.relation), rule)
        if wording.lhs is not None:
            yield place.at("lhs").error(shown(wording.lhs), "a statement in words has no lhs")
        if not wording.words.strip():
            yield place.at(words).error(shown(wording.words), "a statement must not be empty")
    else:
        yield place.at(formula).error("neither", f"exactly one of {formula} and {words} is given")
