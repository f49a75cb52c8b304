"""Claims with what is pinned of them, one entry per reading: what ``dpverify list`` shows, and its JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.records import Claim, Record, Status, Symbol, Verdict


class Listed(Record, frozen=True, kw_only=True):
    """A claim under one choice of its readings: its record with all that its formulas name, and our verdict."""

    claim: str
    reading: dict[str, str]
    status: Status  # "untested" where nothing is pinned
    record: Claim
    symbols: dict[str, Symbol]
    verdict: Verdict | None


class Listing(Record, frozen=True, kw_only=True):
    """The JSON of ``dpverify list``."""

    schema: int = 1
    claims: list[Listed]


def listed(claims: Iterable[ClaimSpec]) -> Iterator[Listed]:
    """Yield one entry per claim and choice of its readings."""
    for claim in claims:
        for reading in claim.readings():
            yield Listed(
                claim=claim.key,
                reading=reading,
                status=claim.pinned(reading),
                record=claim.record,
                symbols=dict(claim.statement(reading).symbols),
                verdict=claim.verdict(reading),
            )
