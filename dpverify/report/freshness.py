"""Evidence that is no longer today's: the record it judged, or the code that judged it, has changed since."""

from __future__ import annotations

from collections.abc import Mapping

from dpverify.ledger.results import Run
from dpverify.report.words import reading_words

ReadingKey = tuple[tuple[str, str], ...]  # a choice of readings that can be a key: pairs (name, choice), sorted

Hashes = Mapping[tuple[str, ReadingKey], tuple[str, str]]  # (claim, reading) to (record hash, evidence hash)


def reading_key(reading: Mapping[str, str]) -> ReadingKey:
    """A choice of readings as a key of :data:`Hashes`."""
    return tuple(sorted(reading.items()))


def stale(run: Run, hashes: Hashes) -> list[str]:
    """The results of a run that are not today's, each with what has changed."""
    held = {(r.claim, reading_key(r.reading)): (r.record_hash, r.evidence_hash) for r in run.results}
    changes = {key: _change(was, hashes.get(key)) for key, was in held.items()}
    changes |= dict.fromkeys(hashes.keys() - held.keys(), "the specs have it, the recorded run does not")
    return [_line(*key, changes[key]) for key in {**held, **hashes} if changes[key]]


def _line(claim: str, reading: ReadingKey, change: str) -> str:
    words = reading_words(dict(reading))
    return f"{claim}{f' ({words})' if words else ''}: {change}"


def _change(was: tuple[str, str], today: tuple[str, str] | None) -> str:
    if today is None:
        return "the specs have no such claim or reading any more"
    record, evidence = was[0] != today[0], was[1] != today[1]
    if record and evidence:
        return "the claim's record and the code that judges it have changed since it was judged"
    if evidence:
        return "the checks, bounds or kernels have changed since it was judged"
    return "the claim's record has changed since it was judged" if record else ""
