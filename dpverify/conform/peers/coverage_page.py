"""Generate the page on audits of auditors: their error rates and mean bounds on laws of known epsilon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from dpverify.harness.run.manifest import commit
from dpverify.ledger.records import Record
from dpverify.privacy.audit.records import CLAIMED, AuditorCoverage, LawCoverage
from dpverify.report import markdown as md
from dpverify.report.folder import RecordedPage
from dpverify.report.words import GENERATED, plural

INTRODUCTION = """\
`dpverify audit --auditor` gives an auditor independent outputs on two neighbouring data sets, of laws whose epsilon is
known at every delta. A run is *wrong* if the bound is above the true epsilon, or if the auditor refutes a true claim.
The rate of such runs may be at most 1 minus the confidence. A law *accuses* an auditor if so many wrong runs have a
probability below 1% under the allowed rate, over all laws together. Besides, the auditor gets half of the true epsilon
as the claim, which is false: the share of runs that refute it is its power here."""


class AuditedAuditor(Record, frozen=True, kw_only=True):
    """An auditor, its coverage, and how the coverage was measured."""

    target: str
    says: str  # docstring of the auditor
    versions: dict[str, str]
    command: str
    commit: str
    coverage: AuditorCoverage


class AuditorsRun(Record, frozen=True, kw_only=True):
    """Record of all auditors of the page."""

    kind: Literal["dpverify auditors"] = "dpverify auditors"
    auditors: list[AuditedAuditor]
    schema: int = 1


def auditors_page(run: AuditorsRun) -> str:
    """Return the text of the page."""
    parts = [GENERATED, "# Auditors, audited", " ".join(INTRODUCTION.split())]
    for auditor in run.auditors:
        parts.extend(_section(auditor))
    return md.document(parts)


def write_auditor(report: Path, auditor: AuditedAuditor) -> list[str]:
    """Add an auditor to the page, or replace its earlier entry. Return the files that changed."""
    stored_run = AUDITORS_PAGE.read(report)
    other_auditors = (
        []
        if stored_run is None
        else [other for other in stored_run.auditors if other.target != auditor.target]
    )
    run = AuditorsRun(
        auditors=sorted([*other_auditors, auditor], key=lambda entry: entry.target)
    )
    return AUDITORS_PAGE.write(run, report)


def audited_auditor(
    target: str,
    says: str,
    versions: dict[str, str],
    command: str,
    coverage: AuditorCoverage,
) -> AuditedAuditor:
    """Return the record of an auditor, with the commit of this checkout."""
    return AuditedAuditor(
        target=target,
        says=says,
        versions=versions,
        command=command,
        commit=commit(),
        coverage=coverage,
    )


def _section(auditor: AuditedAuditor) -> Iterator[str]:
    coverage = auditor.coverage
    accusing = sum(law.is_accused for law in coverage.laws)
    versions = ", ".join(
        f"{name} {version}" for name, version in auditor.versions.items()
    )
    yield f"## {md.code(auditor.target)}"
    yield md.prose(auditor.says) + (f" ({versions})" if versions else "")
    verdict = (
        "No law accuses it."
        if accusing == 0
        else f"✗ {plural(accusing, 'law')} of {len(coverage.laws)} accuse it."
    )
    yield (
        f"**{verdict}** {plural(coverage.runs, 'run')} on each law, {coverage.n} outputs on each data set, delta "
        f"{coverage.delta:g}, confidence {coverage.confidence:g}. A rate of wrong runs from {coverage.seen_from:.3f} "
        "on would have been found with a probability of 90%."
    )
    yield md.table(
        [
            "law",
            "true epsilon",
            "mean bound",
            "wrong runs",
            "rate at most",
            f"refuted at {CLAIMED:g} epsilon",
        ],
        [_row(law, coverage.runs) for law in coverage.laws],
        right=range(1, 6),
    )
    yield f"Made by {md.code(auditor.command)}. Commit: {md.code(auditor.commit)}"


def _row(law: LawCoverage, runs: int) -> list[str]:
    mark = "✗ " * law.is_accused
    bound = "" if law.mean_bound is None else f"{float(law.mean_bound):.3f}"
    refuted = "" if law.refuted is None else f"{law.refuted} of {runs}"
    return [
        f"{mark}{law.law}",
        f"{float(law.epsilon):.3f}",
        bound,
        str(law.wrong),
        f"{law.wrong_at_most:.3f}",
        refuted,
    ]


AUDITORS_PAGE = RecordedPage("auditors", AuditorsRun, auditors_page)
