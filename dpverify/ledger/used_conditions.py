"""Conditions of used claims. For each, a new claim states that the conditions of the using claim imply it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.errors import Place, Problems
from dpverify.ledger.files import content, records_in
from dpverify.ledger.formula import Compare, free_names, to_text
from dpverify.ledger.records import Claim, Let, Record, Relation
from dpverify.ledger.specs import PaperSpec, Specs

OWN_KINDS = ("note", "tool")  # kinds of records that are not claims of a paper
CONDITIONS = "conditions.toml"
RELATIONS: dict[str, Relation] = {"<=": "<=", ">=": ">=", "<": "<", ">": ">", "==": "="}


class UnmetRecord(Record, frozen=True, kw_only=True):
    """A condition that is known not to follow, with a point where it fails and an explanation."""

    claim: str
    uses: str
    condition: str
    at: str  # such as "N=2, T=3, d=1, delta=1/2"
    reason: str


class ConditionsFile(Record, frozen=True, kw_only=True):
    """``specs/<paper>/conditions.toml``."""

    unmet: list[UnmetRecord] = []


@dataclass(frozen=True)
class UsedCondition:
    """A condition of a claim that another claim of the paper uses."""

    claim: ClaimSpec
    used: ClaimSpec
    condition: str
    # states that the claim's conditions imply it; None if the claim lacks some letters
    implied: ClaimSpec | None
    missing: tuple[str, ...] = ()  # the letters that the claim lacks


def conditions_of_used_claims(paper: PaperSpec) -> tuple[list[UsedCondition], int]:
    """Return the conditions of used claims that the using claims do not state, and how many they do state.

    A letter means the same in all claims of a paper. Letters that the used claim defines keep their definition, unless
    the claim that uses it defines them too. Our notes and tools are left out.
    """
    conditions: list[UsedCondition] = []
    stated = 0
    for claim in paper.claims.values():
        stated_links = {
            link
            for condition in claim.statement().requires
            for link in _comparisons(condition)
        }
        for used in _used_claims(claim, paper):
            links = [
                link
                for condition in used.statement().requires
                for link in _comparisons(condition)
            ]
            stated += sum(link in stated_links for link in links)
            for link in links:
                if link not in stated_links:
                    conditions.append(
                        _used_condition(claim, used, link, len(conditions))
                    )
    return conditions, stated


def implication_specs(specs: Specs, conditions: Sequence[UsedCondition]) -> Specs:
    """Return specs whose claims state that these conditions follow."""
    papers: dict[str, PaperSpec] = {}
    for condition in conditions:
        implied = condition.implied
        if implied is not None:
            paper = specs.papers[condition.claim.paper]
            empty = replace(
                paper,
                info=msgspec.structs.replace(paper.info, key=implied.paper),
                claims={},
                chapters=(),
            )
            papers.setdefault(implied.paper, empty).claims[implied.record.id] = implied
    return Specs(specs.directory, papers)


def read_conditions(
    folder: Path, problems: Problems | None = None
) -> list[UnmetRecord]:
    """Read the conditions of a paper that are known not to follow; a paper without the file has no such conditions.

    Errors in the file are added to ``problems``. If ``problems`` is None, the first error is raised as a `SpecError`.
    """
    path = folder / CONDITIONS
    if not path.exists():
        return []
    place = Place(str(path))
    reasons = Problems() if problems is None else problems
    file = records_in(content(path, place), ConditionsFile, place, reasons)
    return [] if file is None else file.unmet


def _used_claims(claim: ClaimSpec, paper: PaperSpec) -> Iterator[ClaimSpec]:
    """Yield the claims of the same paper that a claim uses, without our notes and tools."""
    if claim.record.kind in OWN_KINDS:
        return
    for name in claim.uses:
        used = paper.claims.get(name.removeprefix(f"{claim.paper}:"))
        if used is not None and used.record.kind not in OWN_KINDS:
            yield used


def _comparisons(condition: Compare) -> Iterator[Compare]:
    """Yield the single comparisons of a chain."""
    pairs = zip(condition.operands, condition.operands[1:], strict=False)
    return (
        Compare((comparison,), sides)
        for comparison, sides in zip(condition.ops, pairs, strict=True)
    )


def _used_condition(
    claim: ClaimSpec, used: ClaimSpec, link: Compare, number: int
) -> UsedCondition:
    """Make the claim that a condition follows, if all its letters are known in the using claim."""
    statement = claim.statement()
    definitions = dict(used.statement().let)
    letters = sorted(free_names(link) - statement.domains.keys())
    # the list grows during the loop by the letters of definitions
    for letter in letters:
        if letter in definitions:
            inner_letters = (
                free_names(definitions[letter]) - statement.domains.keys() - {*letters}
            )
            letters += sorted(inner_letters)
    missing = tuple(letter for letter in letters if letter not in definitions)
    if missing:
        return UsedCondition(claim, used, to_text(link), None, missing)
    let = [
        *claim.record.let,
        *(definition for definition in used.record.let if definition.symbol in letters),
    ]
    return UsedCondition(
        claim, used, to_text(link), _implied(claim, used, link, let, number)
    )


def _implied(
    claim: ClaimSpec, used: ClaimSpec, link: Compare, let: list[Let], number: int
) -> ClaimSpec:
    left, right = link.operands
    record = Claim(
        id=f"{claim.record.id}-uses-{used.record.id}-{number}",
        where=claim.record.where,
        source=claim.record.source,
        quote=claim.record.quote,
        kind="inequality",
        relation=RELATIONS[link.ops[0]],
        lhs=to_text(left),
        printed=to_text(right),
        requires=claim.record.requires,
        let=let,
        reading=claim.record.reading,
    )
    return ClaimSpec(
        record=record,
        paper=f"{claim.paper}-uses",
        vocabulary=claim.vocabulary,
        glossary=claim.glossary,
        edges=claim.edges,
    )
