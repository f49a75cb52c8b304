"""Claims with what is pinned of them, one entry per reading: what ``dpverify list`` shows, and its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.display import Line, display
from dpverify.ledger.records import Claim, Record, Status, Verdict


class Listed(Record, frozen=True, kw_only=True):
    """A claim under one choice of its readings: its record, its statement, our verdict."""

    claim: str
    reading: dict[str, str]
    status: Status  # "untested" where nothing is pinned
    record: Claim
    statement: list[Line]  # what is printed, whole
    verdict: Verdict | None
    corrected: list[Line]  # the verdict's amendment, whole


class Listing(Record, frozen=True, kw_only=True):
    """The JSON of ``dpverify list``."""

    schema: int = 1
    claims: list[Listed]


def listed(claims: Iterable[ClaimSpec], *, statements: bool = True) -> Iterator[Listed]:
    """Yield one entry per claim and choice of its readings; without its ``statements``, no formula is parsed."""
    for claim in claims:
        for reading in claim.readings():
            verdict = claim.verdict(reading)
            corrected = statements and verdict is not None and verdict.amendment is not None
            yield Listed(
                claim=claim.key,
                reading=reading,
                status=claim.pinned(reading),
                record=claim.record,
                statement=display(claim.statement(reading)) if statements else [],
                verdict=verdict,
                corrected=display(claim.statement(reading, "amended")) if corrected else [],
            )
