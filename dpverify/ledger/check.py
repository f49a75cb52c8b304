"""Check a specs folder for its author: report all errors, and warnings if there are no errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.errors import Place, Problems, SpecError
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
from dpverify.ledger.specs import PaperSpec
from dpverify.ledger.trivial import trivial_problems
from dpverify.ledger.units.records import UNITS, read_units
from dpverify.ledger.used_conditions import CONDITIONS, read_conditions

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
