"""``dpverify list``: claims with their pinned verdicts, filtered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.claims import ClaimName, Kinds, PaperKey, Severities, Statuses, chosen, chosen_severities
from dpverify.cli.output import BAD_INPUT, OK, STDOUT, Target, check_json, complain, write_record
from dpverify.processes import collect_seldom

if TYPE_CHECKING:
    from dpverify.ledger import ClaimSpec
    from dpverify.ledger.listing import Listed


def list_claims(
    *claims: ClaimName,
    paper: PaperKey | None = None,
    status: Statuses | None = None,
    kind: Kinds | None = None,
    severity: Severities | None = None,
    specs: Path | None = None,
    json: Target | None = None,
    check: bool = False,
) -> int:
    """List claims with their kind, pinned verdict and place in the paper.

    Parameters
    ----------
    claims
        Ids such as lemma-12 or tran2022:lemma-12, or patterns such as 'lemma-*'. Default: all claims.
    paper
        Only claims of this paper.
    status
        Only claims with this pinned verdict, such as refuted. Can be repeated.
    kind
        Only claims of this kind, such as dp, rdp or utility-rate. Can be repeated.
    severity
        Only refuted claims of this severity: privacy, utility, constant, boundary, proof or misprint. Can be
        repeated.
    specs
        Folder with one folder of records per paper. Default: the records that come with dpverify.
    json
        Write the records and verdicts as JSON to this file, or to stdout for -.
    check
        Check the files of records instead, and print every error and every oddity. The exit code is 2 if there is
        an error.
    """
    from dpverify.ledger import load_specs
    from dpverify.ledger.listing import Listing, listed

    check_json(json)
    statuses, kinds = chosen(status, kind)
    fallen = chosen_severities(severity)
    collect_seldom()
    if check and not _checked(specs):
        return BAD_INPUT
    found = load_specs(specs).select(claims, paper)
    pins = listed(found, statements=json is not None)
    entries = [one for one in pins if one.status in statuses and one.record.kind in kinds]
    entries = [one for one in entries if fallen is None or (one.verdict and one.verdict.severity in fallen)]
    if json != STDOUT:
        _print(entries, found) if not check else print("\n".join(_counts(found)))
    write_record(Listing(claims=entries), json)
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
    for key, group in groupby(claims, key=lambda claim: claim.paper):
        found = list(group)
        printed = [claim for claim in found if claim.record.kind != "note"]
        notes = [claim for claim in found if claim.record.kind == "note"]
        told = [_counted(printed, "claim"), *([f"counted apart, {_counted(notes, 'note')} of ours"] if notes else [])]
        yield f"{key}: {'; '.join(told)}; no error"


def _counted(claims: list[ClaimSpec], noun: str) -> str:
    from dpverify.report.words import plural

    verdicts = [claim.verdict(reading) for claim in claims for reading in claim.readings()]
    judged = sum(verdict is not None and verdict.status != "untested" for verdict in verdicts)
    readings = f", {len(verdicts)} with their readings" if len(verdicts) > len(claims) else ""
    return f"{plural(len(claims), noun)}{readings} ({judged} judged)"


Row = tuple[str, str, str, str]

COLUMNS = ("claim", "kind", "verdict", "place in the paper")


def _print(entries: Iterable[Listed], claims: Iterable[ClaimSpec]) -> None:
    """Print a table in a terminal, and one line per claim and reading for a program; our notes come last."""
    from rich.console import Console
    from rich.text import Text

    from dpverify.report.terminal import STYLES
    from dpverify.report.text.tables import name_cell, table

    console = Console()
    ordered = sorted(entries, key=lambda entry: entry.record.kind == "note")
    if console.is_terminal:
        readings = {claim.key: len(list(claim.readings())) for claim in claims}
        cells = [
            (name_cell(name, console.width), kind, Text(verdict, STYLES[entry.status]), place)
            for entry, (name, kind, verdict, place) in _folded(ordered, readings)
        ]
        console.print(table(COLUMNS, cells, console))
        console.print(_distinct(ordered))
        return
    rows = [_row(entry) for entry in ordered]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]))


def _folded(entries: Iterable[Listed], readings: Mapping[str, int]) -> Iterator[tuple[Listed, Row]]:
    """Give the rows of a table: one for a claim whose readings all have the same verdict."""
    for _, group in groupby(entries, key=lambda entry: (entry.claim, _row(entry)[1:])):
        same = list(group)
        first = same[0]
        if 1 < len(same) == readings[first.claim]:
            yield first, (f"{first.claim}[all {len(same)} readings]", *_row(first)[1:])
        else:
            yield from ((entry, _row(entry)) for entry in same)


def _distinct(entries: Sequence[Listed]) -> str:
    """Count claims, whatever the number of their readings, and our notes."""
    from dpverify.report.words import claims_and_notes

    kinds = {entry.claim: entry.record.kind for entry in entries}
    return claims_and_notes(kinds.values())


def _row(entry: Listed) -> Row:
    from dpverify.report.words import claim_with_reading, status_words

    verdict = status_words(entry.status, entry.verdict.severity if entry.verdict else None)
    holds = f"; holds for {', '.join(entry.verdict.holds.requires)}" if entry.verdict and entry.verdict.holds else ""
    return claim_with_reading(entry.claim, entry.reading), entry.record.kind, verdict, entry.record.where + holds
