"""``dpverify list``: every claim and its pinned verdict; with ``--check``, what an author wants to know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.exits import OK

if TYPE_CHECKING:
    from dpverify.ledger.load import ClaimSpec, Specs


def list_claims(*, specs: Path | None = None, paper: str | None = None, check: bool = False) -> int:
    """List every claim with its kind, its pinned verdict and its place in the paper.

    Parameters
    ----------
    specs
        Folder of specs; the bundled ones by default.
    paper
        Only this paper.
    check
        Read everything, complain of the first fault in one line, and print counts only: for authors.

    Returns
    -------
    int
        Exit code; a fault in the specs is 2.
    """
    from dpverify.ledger.load import load_specs

    loaded = load_specs(specs)
    claims = loaded.select((), paper)
    for line in _counts(loaded, claims) if check else _lines(claims):
        print(line)
    return OK


def pinned(claim: ClaimSpec, reading: Mapping[str, str]) -> str:
    """Word the pinned verdict of a claim under one choice of its readings.

    Parameters
    ----------
    claim : ClaimSpec
        The claim.
    reading : Mapping[str, str]
        Name of the reading to choice.

    Returns
    -------
    str
        The status word; ``not pinned`` where there is no verdict.
    """
    verdict = claim.verdict(dict(reading))
    return verdict.status if verdict else "not pinned"


def reading_suffix(reading: Mapping[str, str]) -> str:
    """Write a choice of readings as test ids have it: ``[ordering=fresh]``, or nothing."""
    return f"[{','.join(f'{name}={choice}' for name, choice in sorted(reading.items()))}]" if reading else ""


def _lines(claims: list[ClaimSpec]) -> Iterator[str]:
    rows = [
        (claim.key + reading_suffix(reading), claim.record.kind, pinned(claim, reading), claim.record.where)
        for claim in claims
        for reading in claim.readings()
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])


def _counts(loaded: Specs, claims: list[ClaimSpec]) -> Iterator[str]:
    for key in loaded.papers:
        of_paper = [claim for claim in claims if claim.paper == key]
        if of_paper:
            missing = sum(claim.verdict(reading) is None for claim in of_paper for reading in claim.readings())
            yield f"{key}: {len(of_paper)} claims, no fault found" + (
                f"; {missing} verdicts not pinned" if missing else ""
            )
