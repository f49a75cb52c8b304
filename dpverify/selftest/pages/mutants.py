"""The part of a report on changes that a machine made, one in each module: who noticed them, and where nobody did."""

from __future__ import annotations

from collections.abc import Iterator

from dpverify.report import markdown as md
from dpverify.report.recorded import RecordedPage
from dpverify.report.words import GENERATED, plural
from dpverify.selftest.records import FaultOutcome, MutantsRun

INTRODUCTION = """\
The catalogue has no fault for the modules below. In each module a program changed one operator or number and ran the
tests of that module, or the claims that the module judges. If none of them failed, it tried up to seven other changes.
If none failed for these either, it ran all tests of the folder.
Some changes have no effect that matters, such as a change of a margin or of the order of equal elements. A change that
no test detects is therefore a question, not yet a fault of the tests."""


BROKEN = "After each change that was tried, no test can be imported, so every user notices it."


def mutants_page(run: MutantsRun) -> str:
    """The page."""
    return md.document(
        [
            GENERATED,
            "# A change in each module",
            *(f"**{line}**" for line in summary(run)),
            " ".join(INTRODUCTION.split()),
            "## Not noticed" if run.unseen else "",
            md.table(["module", "the last change", "asked"], [_row(change) for change in run.unseen]),
            "## Nothing runs" if run.broken else "",
            BROKEN if run.broken else "",
            md.bullets(f"{md.code(change.module)}: {md.code(change.what)}" for change in run.broken),
            "## Nothing to change" if run.untried else "",
            md.bullets(map(md.code, run.untried)),
            "## Noticed",
            md.bullets(f"{md.code(change.module)}: {md.prose(', '.join(_by(change)))}" for change in run.noticed),
            "## Not looked at yet" if run.waiting else "",
            md.bullets(map(md.code, run.waiting)),
            f"Commit: {md.code(run.commit)}",
        ]
    )


def summary(run: MutantsRun) -> Iterator[str]:
    """What was found, in one line."""
    further_counts = {
        "none was": len(run.unseen),
        "nothing runs after any": len(run.broken),
        "there is nothing to change": len(run.untried),
        "nobody has looked yet": len(run.waiting),
    }
    parts = [
        f"in {len(run.noticed)} a change was noticed",
        *(f"in {n} {what}" for what, n in further_counts.items() if n),
    ]
    yield f"{plural(len(run.modules), 'module')} without a fault in the catalogue: {', '.join(parts)}."


def _row(change: FaultOutcome) -> list[str]:
    sightings = "\n".join(f"{md.code(sighting.check)}: {sighting.saw}" for sighting in change.sightings)
    return [md.code(change.module), md.code(change.what), sightings or md.prose(change.error)]


def _by(change: FaultOutcome) -> Iterator[str]:
    return (f"{sighting.check} ({sighting.saw})" for sighting in change.sightings if sighting.noticed)


MUTANTS_PAGE = RecordedPage("mutants", MutantsRun, mutants_page)
