"""``dpverify list``: every claim and its pinned verdict; with ``--check``, all that an author wants to hear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.exits import BAD_INPUT, OK, complain

if TYPE_CHECKING:
    from dpverify.ledger import ClaimSpec


def list_claims(*, paper: str | None = None, specs: Path | None = None, check: bool = False) -> int:
    """List every claim: kind, pinned verdict, place in the paper.

    ``check``: instead of the claims, print everything that is wrong with the files, and what only looks odd: for
    authors. 0, or 2 when the specs break a rule.
    """
    from dpverify.ledger import load_specs

    if check and not _checked(specs):
        return BAD_INPUT
    claims = list(load_specs(specs).claims(paper))
    for line in _counts(claims) if check else _lines(claims):
        print(line)
    return OK


def _checked(specs: Path | None) -> bool:
    """Print all findings, errors on stderr; tell whether there was no error."""
    from dpverify.ledger import check_specs

    findings = check_specs(specs)
    for finding in findings:
        if finding.level == "error":
            complain(finding.text)
        else:
            print(finding)
    return all(finding.level != "error" for finding in findings)


def _counts(claims: Iterable[ClaimSpec]) -> Iterator[str]:
    by_paper: dict[str, list[ClaimSpec]] = {}
    for claim in claims:
        by_paper.setdefault(claim.paper, []).append(claim)
    for key, found in by_paper.items():
        verdicts = [claim.verdict(reading) for claim in found for reading in claim.readings()]
        judged = sum(verdict is not None and verdict.status != "untested" for verdict in verdicts)
        yield f"{key}: {len(found)} claims, {len(verdicts)} with their readings, {judged} of these judged; no error"


def _lines(claims: Iterable[ClaimSpec]) -> Iterator[str]:
    """One line per claim and reading, in columns."""
    from dpverify.report.words import claim_with_reading

    rows = []
    for claim in claims:
        for reading in claim.readings():
            verdict = claim.verdict(reading)
            name = claim_with_reading(claim.key, reading)
            rows.append((name, claim.record.kind, verdict.status if verdict else "not pinned", claim.record.where))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])
