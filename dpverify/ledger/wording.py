"""The text of a statement before it is parsed: the claim's own, or as an amendment changes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dpverify.ledger.errors import Place, SpecError, shown
from dpverify.ledger.records import Amendment, Claim, Let, Relation


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
        stem = name.partition("[")[0]
        if not self.amended:
            return {"formula": "printed", "words": "statement"}.get(name, name)
        return f"amendment.{'statement' if name == 'words' else name}" if stem in self.own else name


def printed_wording(claim: Claim) -> Wording:
    """Return the text of a claim as printed."""
    left, right = (claim.quantity, claim.lhs, claim.relation), (claim.printed, claim.statement)
    return Wording(*left, *right, claim.requires, claim.let)


def amended_wording(claim: Claim, amendment: Amendment) -> Wording:
    """Return the text of a claim as amended: what the amendment leaves out is the claim's."""
    in_words = amendment.statement is not None
    return Wording(
        quantity=claim.quantity,
        lhs=None if in_words else claim.lhs,
        relation=amendment.relation or (None if in_words else claim.relation),
        formula=amendment.formula,
        words=amendment.statement,
        requires=claim.requires if amendment.requires is None else amendment.requires,
        let=claim.let if amendment.let is None else amendment.let,
        amended=True,
        own=frozenset(name for name in ("relation", "requires", "let") if getattr(amendment, name) is not None)
        | {"formula", "words"},
    )


def shape_problems(wording: Wording, place: Place) -> Iterator[SpecError]:
    """Yield missing and extra fields: a formula needs a relation and a left side, a statement in words has neither."""

    def wrong(field: str, value: str, rule: str) -> SpecError:
        return place.at(wording.field(field)).error(value, rule)

    if (wording.formula is None) == (wording.words is None):
        rule = f"exactly one of {wording.field('formula')} and {wording.field('words')} is given"
        yield wrong("formula", "neither" if wording.formula is None else "both", rule)
    elif wording.formula is not None:
        if wording.relation is None:
            yield wrong("relation", "", "a formula needs a relation: <= >= = < >")
        if (wording.lhs is None) == (wording.quantity is None):
            value = "neither" if wording.lhs is None else "both"
            yield wrong("lhs", value, "the left side is exactly one of lhs and quantity")
    else:
        if wording.relation is not None:
            yield wrong("relation", shown(wording.relation), "a statement in words has no relation")
        if wording.lhs is not None:
            yield wrong("lhs", shown(wording.lhs), "a statement in words has no lhs")
        if not (wording.words or "").strip():
            yield wrong("words", shown(wording.words), "a statement must not be empty")
