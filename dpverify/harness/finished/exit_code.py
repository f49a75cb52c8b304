"""The exit code that follows from the results of a run. No check is imported."""

from __future__ import annotations

from collections.abc import Collection

from dpverify.ledger.lost_proofs import lost_proofs
from dpverify.ledger.records import HOLDS, Status
from dpverify.ledger.results import Result, Run


def contradicts(pinned: Status, status: Status) -> bool:
    """Return whether evidence contradicts a pin: one is "refuted", the other holds."""
    return (pinned == "refuted" and status in HOLDS) or (status == "refuted" and pinned in HOLDS)


def unconfirmed(result: Result) -> bool:
    """Return whether the evidence of this run is weaker than the pin, and does not contradict it."""
    pairs = [(result.pinned, result.status)]
    pairs += [(statement.pinned, statement.status) for statement in result.beside]
    return any(
        pinned in {"refuted", *HOLDS}
        and status != pinned
        and not (pinned in HOLDS and status in HOLDS[: HOLDS.index(pinned)])
        and not contradicts(pinned, status)
        for pinned, status in pairs
    )


def exit_code(run: Run, *, strict: bool = False, strict_pins: Collection[str] = ()) -> int:
    """130 after Ctrl-C; 1 where a pin is contradicted, sources disagree, a check broke or missed its fault; else 0.

    1 also where the slack of a statement that is pinned as tight has moved, or a proof of one that is pinned as proved
    is lost.
    ``strict``: 1 also where a pinned verdict is not confirmed. ``strict_pins``: papers of which it is 1 also where a
    claim without a pin is refuted, inconclusive or untested.
    """
    if run.run.interrupted:
        return 130
    red = any(
        r.contradicts or r.sources_disagree or errors(r) or r.missed_faults or r.loosened or r.misjudged
        or lost_proofs(r) or (r.unpinned and r.claim.partition(":")[0] in strict_pins)
        for r in run.results
    )  # fmt: skip
    return int(red or (strict and any(map(unconfirmed, run.results))))


def errors(result: Result) -> list[str]:
    """Errors of ours, one line per check that broke."""
    return [f"{check.name}: {check.error}" for check in result.all_checks if check.error]
