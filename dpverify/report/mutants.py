"""The part of a report on changes that a machine made, one in each module: who noticed them, and where nobody did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from dpverify.ledger.records import Record
from dpverify.report import markdown as md
from dpverify.report.recorded import RecordedPage
from dpverify.report.selftest import FaultOutcome
from dpverify.report.words import GENERATED, plural

NOTHING_RUNS = "after each of its changes, nobody who is asked runs"  # as the records have it


class MutantsRun(Record, frozen=True, kw_only=True):
    """A run, ``data/mutants.json``: the last change that was tried in each module, wordless where there is none.

    Modules without one have not been looked at yet: what is recorded is kept, and a later run goes on from there.
    """

    schema: Literal[1] = 1
    kind: Literal["dpverify mutants"] = "dpverify mutants"
    commit: str
    modules: list[str]  # that hold code and no fault of the catalogue
    changes: list[FaultOutcome]

    @property
    def noticed(self) -> list[FaultOutcome]:
        """Changes that something noticed."""
        return [each for each in self.changes if each.noticed]

    @property
    def unseen(self) -> list[FaultOutcome]:
        """Changes of modules none of whose changes was noticed."""
        known = [*self.noticed, *self.broken]
        return [each for each in self.changes if each.what and each not in known]

    @property
    def broken(self) -> list[FaultOutcome]:
        """Changes after which nothing runs that uses the module."""
        return [each for each in self.changes if each.error == NOTHING_RUNS]

    @property
    def untried(self) -> list[str]:
        """Modules that have nothing to change."""
        return sorted(each.module for each in self.changes if not each.what)

    @property
    def waiting(self) -> list[str]:
        """Modules that nobody has looked at yet."""
        return sorted(set(self.modules) - {each.module for each in self.changes})


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
            md.table(["module", "the last change", "asked"], [_row(each) for each in run.unseen]),
            "## Nothing runs" if run.broken else "",
            BROKEN if run.broken else "",
            md.bullets(f"{md.code(each.module)}: {md.code(each.what)}" for each in run.broken),
            "## Nothing to change" if run.untried else "",
            md.bullets(map(md.code, run.untried)),
            "## Noticed",
            md.bullets(f"{md.code(each.module)}: {md.prose(', '.join(_by(each)))}" for each in run.noticed),
            "## Not looked at yet" if run.waiting else "",
            md.bullets(map(md.code, run.waiting)),
            f"Commit: {md.code(run.commit)}",
        ]
    )


def summary(run: MutantsRun) -> Iterator[str]:
    """What was found, in one line."""
    others = {
        "none was": len(run.unseen),
        "nothing runs after any": len(run.broken),
        "there is nothing to change": len(run.untried),
        "nobody has looked yet": len(run.waiting),
    }
    told = [f"in {len(run.noticed)} a change was noticed", *(f"in {n} {what}" for what, n in others.items() if n)]
    yield f"{plural(len(run.modules), 'module')} without a fault in the catalogue: {', '.join(told)}."


def _row(each: FaultOutcome) -> list[str]:
    asked = "\n".join(f"{md.code(sighting.check)}: {sighting.saw}" for sighting in each.sightings)
    return [md.code(each.module), md.code(each.what), asked or md.prose(each.error)]


def _by(each: FaultOutcome) -> Iterator[str]:
    return (f"{sighting.check} ({sighting.saw})" for sighting in each.sightings if sighting.noticed)


MUTANTS_PAGE = RecordedPage("mutants", MutantsRun, mutants_page)
