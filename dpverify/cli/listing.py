"""``dpverify list`` and ``dpverify explain``: every claim with its pinned verdict, and all about one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.output import BAD_INPUT, OK, BadInput, complain

if TYPE_CHECKING:
    from dpverify.ledger import ClaimSpec
    from dpverify.ledger.results import Result


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
    from dpverify.report.words import claim_with_reading, status_words

    rows = []
    for claim in claims:
        for reading in claim.readings():
            verdict = claim.verdict(reading)
            name = claim_with_reading(claim.key, reading)
            said = status_words(verdict.status, verdict.severity) if verdict else "not pinned"
            rows.append((name, claim.record.kind, said, claim.record.where))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])


REPORTS = Path("reports")


def explain(claim: str, /, *, specs: Path | None = None, report: Path = REPORTS) -> int:
    """Explain one claim: the paper's words, the formula, its conditions, the verdict, the checks.

    ``report``: folder that holds a report, for the evidence of its run; nothing is shown of it where it is not there.
    """
    from rich.console import Console

    from dpverify.ledger import load_specs
    from dpverify.report.explain import Explained, print_explained

    loaded = load_specs(specs)
    found = loaded.select((claim,))
    if len(found) != 1:
        keys = ", ".join(spec.key for spec in found)
        raise BadInput("CLAIM", repr(claim), f"names {len(found)} claims, explain takes one of {keys}")
    spec = found[0]
    paper = loaded.papers[spec.paper]
    known = Explained(
        paper=paper.info,
        claim=spec.record,
        symbols=spec.statement().symbols,
        quantity=paper.vocabulary.quantities.get(spec.record.quantity or ""),
        verdicts=spec.verdicts,
        results=_stored(spec, report),
    )
    console = Console()
    print_explained(known, console)
    console.print(f"\n[bold]Checks[/]\n  {', '.join(_checks(spec)) or 'none is written for it yet'}", highlight=False)
    return OK


def _checks(spec: ClaimSpec) -> list[str]:
    from dpverify.papers import load

    checks = load(spec.paper)
    found = [] if checks is None else checks.of(spec.record.id)
    return [f"{check.name} ({check.runs_from})" if check.runs_from else check.name for check in found]


def _stored(spec: ClaimSpec, report: Path) -> list[Result]:
    """Results of a recorded run for this claim, where they judged the record as it is today."""
    import msgspec

    from dpverify.ledger.results import decode

    file = report / "data" / f"{spec.paper}.json"
    if not file.is_file():
        return []
    try:
        run = decode(file.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput("--report", file, f"cannot be read ({' '.join(str(error).split())})") from error
    return [result for result in run.results if result.claim == spec.key and result.record_hash == spec.record_hash]
