"""Check a specs folder for its author: report all errors, and warnings if there are no errors.

One of the warnings is about the conditions of used claims. For each such condition, a new claim states that the
conditions of the using claim imply it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.errors import Place, Problems, SpecError
from dpverify.ledger.files import content, records_in
from dpverify.ledger.formula import Compare, free_names, to_text
from dpverify.ledger.load import (
    CLAIMS,
    FILES,
    QUESTIONS,
    VERDICTS,
    bundled_specs,
    outside_papers,
    read_specs,
    shown_path,
)
from dpverify.ledger.records import Claim, Let, Record, Relation
from dpverify.ledger.specs import PaperSpec, Specs
from dpverify.ledger.trivial import trivial_problems
from dpverify.ledger.units.scaling import UNITS, read_units

MAX_ERRORS = 100


@dataclass(frozen=True)
class Finding:
    """An error or a warning in one line. An error prevents the folder from loading; a warning does not."""

    level: Literal["error", "warning"]
    text: str

    def __str__(self) -> str:
        return f"{self.level}: {self.text}"


def check_specs(directory: Path | str | None = None) -> list[Finding]:
    """Check a specs folder; None checks dpverify's own and the outside papers.

    Return up to a hundred errors, in the order of the files. If there are no errors, return the warnings: symbols that
    no claim uses, claims without a quote or a verdict, verdicts without a reason, and files that dpverify does not
    read. If dpverify's own folder is missing, a `SpecError` is raised.
    """
    folder = bundled_specs() if directory is None else Path(directory)
    outside = outside_papers(Path.cwd()) if directory is None else {}
    problems = Problems(MAX_ERRORS)
    with contextlib.suppress(SpecError):
        specs = read_specs(folder, problems, outside)
        if not problems.errors:
            for key, paper in specs.papers.items():
                records = outside.get(key, folder / key)
                problems.extend(_trivial(paper, Place(shown_path(records / VERDICTS))))
                read_units(records, problems)
                read_conditions(records, problems)
    if problems.errors:
        remark = (
            f"; {MAX_ERRORS} are shown, there may be more"
            if len(problems) == MAX_ERRORS
            else ""
        )
        texts = [str(problem) for problem in problems.errors]
        return [Finding("error", text) for text in [*texts[:-1], texts[-1] + remark]]
    folders = {key: outside.get(key, folder / key) for key in specs.papers}
    warnings = [
        warning
        for key, records in folders.items()
        for warning in _warnings(specs.papers[key], records)
    ]
    return [Finding("warning", str(warning)) for warning in warnings]


def _trivial(paper: PaperSpec, place: Place) -> Iterator[SpecError]:
    """Yield the errors of verdicts on statements that are true by their form."""
    for claim in paper.claims.values():
        for statement in claim.statements():
            yield from trivial_problems(
                claim, statement, place.in_record(claim.record.id)
            )


def _warnings(paper: PaperSpec, folder: Path) -> Iterator[SpecError]:
    """Yield the warnings about a paper."""
    claims_place, verdicts_place = (
        Place(shown_path(folder / name)) for name in (CLAIMS, VERDICTS)
    )
    pinned = (folder / VERDICTS).exists()
    if not pinned:
        yield verdicts_place.error(
            "", "there is no such file: no claim of this paper has a verdict yet"
        )
    used = {name for claim in paper.claims.values() for name in _names(claim)}
    for name in paper.vocabulary.symbols:
        if name not in used:
            yield claims_place.at(f"symbols.{name}").error(
                "", "no claim uses this symbol"
            )
    for claim in paper.claims.values():
        claim_place = claims_place.in_record(claim.record.id)
        if not claim.record.quote.strip():
            yield claim_place.at("quote").error(
                "", "the claim has no quote to hold beside the paper"
            )
        if pinned and any(
            claim.verdict(reading) is None for reading in claim.readings()
        ):
            yield verdicts_place.in_record(claim.record.id).error(
                "", "a reading of this claim has no verdict"
            )
        for verdict in claim.verdicts:
            if verdict.status == "untested" and not verdict.reason.strip():
                yield (
                    verdicts_place.in_record(claim.record.id)
                    .at("reason")
                    .error("", "an untested claim says why")
                )
    for path in sorted(folder.iterdir()):
        if (
            path.name not in (*FILES, QUESTIONS, UNITS, CONDITIONS)
            and path.suffix != ".md"
        ):
            yield Place(shown_path(path)).error("", "nothing reads this file")


def _names(claim: ClaimSpec) -> set[str]:
    """Return the symbols in a claim's formulas (printed or amended), their domains, and the printed assumptions."""
    statements = [*claim.statements()]
    names = {name for statement in statements for name in statement.symbols}
    return names | {
        argument for tag in statements[0].assumes for argument in tag.arguments
    }


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
