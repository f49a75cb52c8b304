"""Group the results of a run by paper and claim, list each derivation and picture once, and find stale results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from dpverify.ledger.check_results import (
    AmendmentResult,
    Counterexample,
    DerivationResult,
)
from dpverify.ledger.claims import Line
from dpverify.ledger.results import Result, Run
from dpverify.report.words import reading_words

# parts of it become file names
_ID = re.compile(r"[a-z0-9_][a-z0-9_-]*:[a-z0-9][a-z0-9-]*")


class ReportError(ValueError):
    """A report cannot be made from the given data. The message is one line."""


@dataclass(frozen=True)
class Picture:
    """A figure of a result, not yet drawn."""

    file: str  # name of the SVG file, without a folder
    name: str  # name of the figure; its beginning selects the drawing function
    about: str  # full id of the claim
    columns: dict[str, list[float]]  # the data


def paper_of(result: Result) -> str:
    """Return the key of the paper: ``tran2022``."""
    return result.claim.partition(":")[0]


def claim_id(result: Result) -> str:
    """Return the claim without its paper: ``lemma-12``."""
    return result.claim.partition(":")[2]


def by_claim(results: Iterable[Result]) -> list[list[Result]]:
    """Group results (one per reading) by claim, in the given order."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.claim, []).append(result)
    return list(groups.values())


def said_alike(
    results: Iterable[Result], *, briefly: bool = False
) -> list[list[Result]]:
    """Group the readings of a claim that have the same verdict, reason and correction.

    With ``briefly``, reasons and the texts of corrections are not compared.
    """
    groups: dict[object, list[Result]] = {}
    for result in results:
        amendment = result.amendment
        correction: object = amendment and (
            amendment.status,
            amendment.formula,
            amendment.statement,
            amendment.why,
            *_without_reading(amendment.display),
        )
        if briefly:
            correction = amendment and (
                amendment.status,
                amendment.corrects,
                amendment.only_restates,
                *amendment.holds_for,
            )
        key = (
            result.claim,
            result.status,
            result.severity,
            "" if briefly else result.reason,
            result.contradicts,
            result.sources_disagree,
            correction,
            result.holds and (result.holds.status, *result.holds.holds_for),
        )
        groups.setdefault(key, []).append(result)
    return list(groups.values())


def _without_reading(lines: Iterable[Line]) -> Iterator[str]:
    return (str(line) for line in lines if line.word != "reading")


def by_paper(runs: Sequence[Run]) -> dict[str, Run]:
    """Split runs into one run per paper, and return them by paper key, sorted by key."""
    run_of: dict[str, Run] = {}
    for run in runs:
        parts: dict[str, list[Result]] = {}
        for result in run.results:
            if not _ID.fullmatch(result.claim):
                raise ReportError(
                    f"claim={result.claim!r}: must be PAPER:CLAIM, of lower-case letters, digits, - and, in PAPER, _"
                )
            parts.setdefault(paper_of(result), []).append(result)
        for key, results in parts.items():
            if key in run_of:
                raise ReportError(
                    f"paper={key!r}: a report takes one run per paper, got two"
                )
            alarm = run.run.false_alarm if len(parts) == 1 else false_alarm(results)
            run_of[key] = msgspec.structs.replace(
                run,
                run=msgspec.structs.replace(run.run, false_alarm=alarm),
                papers={key: run.papers[key]} if key in run.papers else {},
                results=results,
            )
    return dict(sorted(run_of.items()))


def paper_runs(runs: Mapping[str, Run]) -> dict[str, Run]:
    """Return the runs about papers, without runs whose claims are all of the kind "tool"."""
    return {
        key: run
        for key, run in runs.items()
        if any(result.kind != "tool" for result in run.results)
    }


def ordered_runs(runs: Mapping[str, Run]) -> dict[str, Run]:
    """Sort the runs by key, with runs about papers before runs about our tools."""
    papers = paper_runs(runs)
    return dict(sorted(runs.items(), key=lambda item: (item[0] not in papers, item[0])))


def is_vacuous(result: Result) -> bool:
    """Test whether the printed bound is no stronger than the trivial bound."""
    return result.vacuous is not None and result.vacuous.value


def false_alarm(results: Iterable[Result]) -> float:
    """Bound the probability that any statistical refutation in these results is false, by the sum of their alphas."""
    return min(
        1.0, sum(check.alpha for result in results for check in result.all_checks)
    )


def run_false_alarm(run: Run) -> float:
    """Return the recorded false-alarm bound of a run, or that of :func:`false_alarm` if none is recorded."""
    return run.run.false_alarm or false_alarm(run.results)


def derivations(source: Result | AmendmentResult) -> list[DerivationResult]:
    """Return every derivation once: first the derivations of the result, then those of its checks."""
    results = [*source.derivation] if isinstance(source, Result) else []
    for check in source.checks:
        if check.derivation is not None and check.derivation not in results:
            results.append(check.derivation)
    return results


def counterexamples(source: Result | AmendmentResult) -> list[Counterexample]:
    """Return the counterexamples of the verdict, or of its checks if it has none."""
    if isinstance(source, Result) and source.counterexamples:
        return source.counterexamples
    return [example for check in source.checks for example in check.counterexamples]


def pictures(result: Result) -> Iterator[Picture]:
    """Yield every figure of a result once, with its file name."""
    columns_of: dict[str, dict[str, list[float]]] = {}
    amended = result.amendment.checks if result.amendment else []
    sources = [
        ("", "", result.figures),
        *(("", check.name, check.figures) for check in result.checks),
        *(("amended", check.name, check.figures) for check in amended),
    ]
    for variant, check_name, figures in sources:
        for name, columns in figures.items():
            label = slug(variant, name)
            if label in columns_of:
                if columns_of[label] == columns:
                    continue
                label = slug(variant, name, check_name)
            columns_of[label] = columns
            reading = slug(
                *(f"{key}-{choice}" for key, choice in sorted(result.reading.items()))
            )
            yield Picture(
                file=f"{slug(paper_of(result), claim_id(result), reading, label)}.svg",
                name=name,
                about=result.claim,
                columns=columns,
            )


def slug(*parts: str) -> str:
    """Return a file name of lower-case letters, digits and hyphens."""
    return "-".join(
        cleaned
        for part in parts
        if (cleaned := re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-"))
    )


# a choice of readings as a hashable key: sorted pairs (name, choice)
ReadingKey = tuple[tuple[str, str], ...]

# (claim, reading) to (record hash, evidence hash)
Hashes = Mapping[tuple[str, ReadingKey], tuple[str, str]]


def reading_key(reading: Mapping[str, str]) -> ReadingKey:
    """Return a choice of readings as a key of :data:`Hashes`."""
    return tuple(sorted(reading.items()))


def stale(run: Run, hashes: Hashes) -> list[str]:
    """Return the stale results of a run, each with the reason."""
    recorded = {
        (r.claim, reading_key(r.reading)): (r.record_hash, r.evidence_hash)
        for r in run.results
    }
    changes = {
        key: _change(recorded_hashes, hashes.get(key))
        for key, recorded_hashes in recorded.items()
    }
    changes |= dict.fromkeys(
        hashes.keys() - recorded.keys(), "the specs have it, the recorded run does not"
    )
    return [_line(*key, changes[key]) for key in {**recorded, **hashes} if changes[key]]


def _line(claim: str, reading: ReadingKey, change: str) -> str:
    words = reading_words(dict(reading))
    return f"{claim}{f' ({words})' if words else ''}: {change}"


def _change(recorded: tuple[str, str], current: tuple[str, str] | None) -> str:
    if current is None:
        return "the specs have no such claim or reading any more"
    record, evidence = recorded[0] != current[0], recorded[1] != current[1]
    if record and evidence:
        return "the claim's record and the code that judges it have changed since it was judged"
    if evidence:
        return "the checks, bounds or kernels, or a record that it rests on, have changed since it was judged"
    return "the claim's record has changed since it was judged" if record else ""
