"""``dpverify list`` and ``dpverify units``, and options that name claims, with shell completion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from cyclopts import Parameter

from dpverify.cli.output import (
    BAD_INPUT,
    OK,
    STDOUT,
    BadInput,
    Target,
    check_json,
    complain,
    write_record,
)
from dpverify.processes import collect_garbage_rarely

if TYPE_CHECKING:
    from dpverify.ledger import ClaimSpec
    from dpverify.ledger.claims import ListedClaim


def _claims(_: object) -> Iterator[tuple[str, str]]:
    from dpverify.ledger import load_specs

    return ((claim.record.id, claim.record.where) for claim in load_specs().claims())


def _papers(_: object) -> Iterable[str]:
    from dpverify.ledger import load_specs

    return load_specs().papers


def _statuses(_: object) -> Iterable[str]:
    from dpverify.report.words import STATUSES

    return STATUSES


def _kinds(_: object) -> Iterable[str]:
    from typing import get_args

    from dpverify.ledger.records import Kind

    return get_args(Kind)


def _severities(_: object) -> Iterable[str]:
    from dpverify.ledger.records import SEVERITIES

    return SEVERITIES


UNEXPLAINED = 1  # exit code if an inconsistency of units is not explained

ClaimName: TypeAlias = Annotated[str, Parameter(completer=_claims)]
PaperKey: TypeAlias = Annotated[str, Parameter(completer=_papers)]
# not a Literal, which would load the ledger
Statuses: TypeAlias = Annotated[list[str], Parameter(completer=_statuses)]
Kinds: TypeAlias = Annotated[list[str], Parameter(completer=_kinds)]

Severities: TypeAlias = Annotated[list[str], Parameter(completer=_severities)]


def chosen_severities(severities: Severities | None) -> frozenset[str] | None:
    """Return the checked filter of severities, or None if there is none."""
    return (
        None
        if severities is None
        else _selection("--severity", severities, _severities(None))
    )


def chosen(
    statuses: Statuses | None, kinds: Kinds | None
) -> tuple[frozenset[str], frozenset[str]]:
    """Return checked filters of statuses and kinds."""
    return _selection("--status", statuses, _statuses(None)), _selection(
        "--kind", kinds, _kinds(None)
    )


def _selection(
    option: str, requested: list[str] | None, names: Iterable[str]
) -> frozenset[str]:
    words = [*names]
    for word in requested or ():
        if word not in words:
            raise BadInput(option, repr(word), f"must be one of {', '.join(words)}")
    return frozenset(requested or words)


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
        Ids such as lemma-12 or tran2022:lemma-12, or patterns such as 'lemma-*'.
        Default: all claims.
    paper
        Only claims of this paper.
    status
        Only claims with this pinned verdict, such as refuted. Can be repeated.
    kind
        Only claims of this kind, such as dp, rdp or utility-rate. Can be repeated.
    severity
        Only refuted claims of this severity: privacy, utility, constant, boundary,
        proof or misprint. Can be repeated.
    specs
        Folder with one folder of records per paper. Default: the records that come with
        dpverify.
    json
        Write the records and verdicts as JSON to this file, or to stdout for -.
    check
        Check the files of records instead, and print all errors and warnings. The exit
        code is 2 if there is an error.
    """
    from dpverify.ledger import load_specs
    from dpverify.ledger.claims import Listing, list_claims

    check_json(json)
    statuses, kinds = chosen(status, kind)
    fallen = chosen_severities(severity)
    collect_garbage_rarely()
    if check and not _checked(specs):
        return BAD_INPUT
    selected = load_specs(specs).select(claims, paper)
    pins = list_claims(selected, statements=json is not None)
    entries = [
        pin for pin in pins if pin.status in statuses and pin.record.kind in kinds
    ]
    entries = [
        pin
        for pin in entries
        if fallen is None or (pin.verdict and pin.verdict.severity in fallen)
    ]
    if json != STDOUT:
        _print(entries, selected) if not check else print("\n".join(_counts(selected)))
    write_record(Listing(claims=entries), json)
    return OK


def units(
    *papers: PaperKey, specs: Path | None = None, undetermined: bool = False
) -> int:
    """Check whether the formulas of papers agree in their units.

    If the loss or all lengths are multiplied by a number, all terms of a sum and both
    sides of a comparison must scale alike. The file units.toml of a paper states how
    its symbols scale. Each inconsistency is printed with the terms that differ. An
    inconsistency does not refute a claim. The exit code is 1 if units.toml does not
    explain an inconsistency, or if it explains one that does not exist.

    Parameters
    ----------
    papers
        Keys of papers, such as tran2022. Default: all papers.
    specs
        Folder with one folder of records per paper. Default: the records that come with
        dpverify.
    undetermined
        Also list the records whose units are not determined.
    """
    from dpverify.ledger import load_specs
    from dpverify.ledger.units import check_units

    loaded = load_specs(specs)
    for paper in papers:
        next(loaded.claims(paper), None)  # raises for an unknown paper
    reports = [
        check_units(spec)
        for key, spec in loaded.papers.items()
        if not papers or key in papers
    ]
    print(
        "\n".join(
            line
            for report in reports
            for line in report.lines(undetermined=undetermined)
        )
    )
    return OK if all(report.is_as_expected for report in reports) else UNEXPLAINED


def _checked(specs: Path | None) -> bool:
    """Print all findings, errors on stderr; return whether there is no error."""
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
        claims_of_paper = list(group)
        printed = [claim for claim in claims_of_paper if claim.record.kind != "note"]
        notes = [claim for claim in claims_of_paper if claim.record.kind == "note"]
        numbers = [
            _counted(printed, "claim"),
            *([f"counted apart, {_counted(notes, 'note')} of ours"] if notes else []),
        ]
        yield f"{key}: {'; '.join(numbers)}; no error"


def _counted(claims: list[ClaimSpec], noun: str) -> str:
    from dpverify.report.words import plural

    verdicts = [
        claim.verdict(reading) for claim in claims for reading in claim.readings()
    ]
    judged = sum(
        verdict is not None and verdict.status != "untested" for verdict in verdicts
    )
    readings = (
        f", {len(verdicts)} with their readings" if len(verdicts) > len(claims) else ""
    )
    return f"{plural(len(claims), noun)}{readings} ({judged} judged)"


Row = tuple[str, str, str, str]

COLUMNS = ("claim", "kind", "verdict", "place in the paper")


def _print(entries: Iterable[ListedClaim], claims: Iterable[ClaimSpec]) -> None:
    """Print a table in a terminal, otherwise one line per claim and reading; our notes come last."""
    from rich.console import Console
    from rich.text import Text

    from dpverify.report.text.console import STYLES, name_cell, table

    console = Console()
    ordered = sorted(entries, key=lambda entry: entry.record.kind == "note")
    if console.is_terminal:
        readings = {claim.key: len(list(claim.readings())) for claim in claims}
        cells = [
            (
                name_cell(name, console.width),
                kind,
                Text(verdict, STYLES[entry.status]),
                place,
            )
            for entry, (name, kind, verdict, place) in _merge_readings(
                ordered, readings
            )
        ]
        console.print(table(COLUMNS, cells, console))
        console.print(_count_words(ordered))
        return
    rows = [_row(entry) for entry in ordered]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        print(
            "  ".join(
                [
                    *(
                        cell.ljust(width)
                        for cell, width in zip(row, widths, strict=False)
                    ),
                    row[3],
                ]
            )
        )


def _merge_readings(
    entries: Iterable[ListedClaim], readings: Mapping[str, int]
) -> Iterator[tuple[ListedClaim, Row]]:
    """Yield the rows of a table. A claim whose readings all have the same verdict has one row."""
    for _, group in groupby(entries, key=lambda entry: (entry.claim, _row(entry)[1:])):
        same = list(group)
        first = same[0]
        if 1 < len(same) == readings[first.claim]:
            yield first, (f"{first.claim}[all {len(same)} readings]", *_row(first)[1:])
        else:
            yield from ((entry, _row(entry)) for entry in same)


def _count_words(entries: Sequence[ListedClaim]) -> str:
    """Return a text with the numbers of claims and notes; readings are not counted."""
    from dpverify.report.words import claims_and_notes

    kinds = {entry.claim: entry.record.kind for entry in entries}
    return claims_and_notes(kinds.values())


def _row(entry: ListedClaim) -> Row:
    from dpverify.report.words import claim_with_reading, status_words

    verdict = status_words(
        entry.status, entry.verdict.severity if entry.verdict else None
    )
    condition = (
        f"; holds for {', '.join(entry.verdict.holds.requires)}"
        if entry.verdict and entry.verdict.holds
        else ""
    )
    return (
        claim_with_reading(entry.claim, entry.reading),
        entry.record.kind,
        verdict,
        entry.record.where + condition,
    )
