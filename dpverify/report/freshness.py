"""Evidence that is no longer today's: the record it judged, or the code that judged it, has changed since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dpverify.ledger.results import Result, Run
from dpverify.report.words import reading_words

ReadingKey = tuple[tuple[str, str], ...]
"""A choice of readings as something that can be a key: pairs (name, choice), sorted."""

Hashes = Mapping[tuple[str, ReadingKey], tuple[str, str]]
"""(claim, reading) to (record hash, evidence hash), as they are today."""

What = Literal["record", "evidence", "both", "unknown", "missing"]

_WORDS: Mapping[What, str] = {
    "record": "the claim's record has changed since it was judged",
    "evidence": "the checks, bounds or kernels have changed since it was judged",
    "both": "the claim's record and the code that judges it have changed since it was judged",
    "unknown": "the specs have no such claim or reading any more",
    "missing": "the specs have it, the recorded run does not",
}


@dataclass(frozen=True)
class Stale:
    """A result that must be made again."""

    claim: str  # the claim: ``tran2022:lemma-12``
    reading: ReadingKey
    # what differs: the hash of the ``record``, of the ``evidence``, or of ``both``; or the claim is ``unknown`` to
    # today's specs, or ``missing`` from the run
    what: What

    def __str__(self) -> str:
        words = reading_words(dict(self.reading))
        return f"{self.claim}{f' ({words})' if words else ''}: {_WORDS[self.what]}"


def reading_key(reading: Mapping[str, str]) -> ReadingKey:
    """A choice of readings as a key of :data:`Hashes`."""
    return tuple(sorted(reading.items()))


def stale(run: Run, hashes: Hashes) -> list[Stale]:
    """The results of a run that are not today's.

    In the order of the run, then those missing from it in the order of ``hashes``; empty when all is fresh.
    """
    held = [(result, (result.claim, reading_key(result.reading))) for result in run.results]
    found = [Stale(*key, what) for result, key in held if (what := _differs(result, hashes.get(key)))]
    present = {key for _, key in held}
    return found + [Stale(*key, "missing") for key in hashes if key not in present]


def _differs(result: Result, today: tuple[str, str] | None) -> What | None:
    if today is None:
        return "unknown"
    record, evidence = result.record_hash != today[0], result.evidence_hash != today[1]
    if record and evidence:
        return "both"
    return "record" if record else "evidence" if evidence else None
