"""The checks that judge a claim today, and the changes since a recorded run.

The answer is cached, because computing it loads the code of the checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dpverify.cache_files import digest_of, read_cached, write_cached
from dpverify.harness.evidence.source_code import keep_new_code
from dpverify.harness.finished import Inputs
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.records import Record, encode
from dpverify.ledger.results import Run
from dpverify.ledger.specs import Specs

if TYPE_CHECKING:
    from dpverify.harness.checks import Check

KIND = "judged"


class CurrentChecks(Record, frozen=True):
    """The names of the checks of a claim, and what has changed since a recorded run."""

    checks: list[str]
    changes: list[str]


def judged_today(
    run: Run | None,
    specs: Specs,
    claim: ClaimSpec,
    source: str | None = None,
    inputs: Inputs | None = None,
) -> CurrentChecks:
    """Return the checks that judge a claim, and compare its recorded run with the present record and code.

    With the ``inputs`` of the command, the answer is cached and reused until one of them changes. ``source`` names the
    checks; None stands for those of ``dpverify.papers``, and only their answers are cached.
    """
    key = "" if source is not None or inputs is None else _key(run, claim, inputs)
    cached = _cached(key) if key else None
    if cached is not None:
        return cached
    today = CurrentChecks(
        checks=_names(claim, source),
        changes=_changes(run, specs, claim, source) if run else [],
    )
    keep_new_code()
    if key and inputs is not None and inputs.are_unchanged:
        write_cached(KIND, key, encode(today))
    return today


def _key(run: Run | None, claim: ClaimSpec, inputs: Inputs) -> str:
    return (
        digest_of((claim.key, encode(run) if run else b"", inputs.digest))
        if inputs.digest
        else ""
    )


def _cached(key: str) -> CurrentChecks | None:
    payload = read_cached(KIND, key)
    try:
        return (
            None
            if payload is None
            else msgspec.json.decode(payload, type=CurrentChecks)
        )
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def checks_of(claim: ClaimSpec, source: str | None) -> list[Check]:
    """Return the registered and default checks that can judge a claim under at least one reading."""
    from dpverify.harness.run.sources import PAPERS, entries_of, load_checks

    entries = entries_of(load_checks(source or PAPERS, claim.paper), claim.record.id)
    statements = list(claim.statements())
    return [
        entry.check for entry in entries if any(map(entry.check.applies, statements))
    ]


def _names(claim: ClaimSpec, source: str | None) -> list[str]:
    checks = checks_of(claim, source)
    return [
        f"{check.name} ({check.runs_from})" if check.runs_from else check.name
        for check in checks
    ]


def _changes(run: Run, specs: Specs, claim: ClaimSpec, source: str | None) -> list[str]:
    """Return what has changed since the recorded run: the record, or the code that judges it."""
    from dpverify.harness.run.sources import PAPERS
    from dpverify.harness.run.suite import Suite
    from dpverify.report.collect import reading_key, stale

    cases = Suite(specs, run.run.budget, run.run.seed, source or PAPERS).cases(claim)
    today = {
        (claim.key, reading_key(case.reading)): (claim.record_hash, case.evidence_hash)
        for case in cases
    }
    return stale(run, today)
