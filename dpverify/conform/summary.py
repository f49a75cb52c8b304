"""Summaries of conformance tests in markdown, for the page that a continuous-integration service shows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.conform.causes import faults, headline
from dpverify.report.markdown import escape, table

if TYPE_CHECKING:
    from dpverify.conform.peers.records import CatalogueEntry
    from dpverify.conform.results import Conformance

VARIABLE = "GITHUB_STEP_SUMMARY"  # names the file that GitHub, Gitea and Forgejo show on the page of a run


def summary(name: str, result: Conformance) -> str:
    """Return a section of markdown: the number of faults, then a table of the faults, causes first."""
    rows = [
        (
            escape(fault.test.name),
            escape(fault.test.found),
            escape(", ".join(test.name for test in fault.consequences)),
        )
        for fault in faults(result.tests)
    ]
    sign = "✗" if rows else "✓" if result else "?"
    title = f"### {sign} {escape(name)}"
    untested = [f"{test.name} ({test.found})" for test in result.tests if test.status == "not tested"]
    missing = escape(f"Not tested: {', '.join(untested)}.") if untested else ""
    counts = escape(headline(result.tests, result.alpha))
    parts = [title, counts, table(("fault in", "found", "also failed"), rows), missing]
    return "\n\n".join(part for part in parts if part) + "\n\n"


def append_summary(name: str, result: Conformance, file: Path | None = None) -> None:
    """Append a summary to a file, by default to the one that the service names; without either do nothing."""
    place = file or os.environ.get(VARIABLE)
    if place:
        _append(Path(place), summary(name, result))


def append_entry(entry: CatalogueEntry, seeds: int, file: Path) -> None:
    """Append in how many seeds a fault was found in one optimizer of a dict."""
    sign = "✗" if entry.found else "?" if entry.untested else "✓"
    missing = f"; not tested: {', '.join(entry.untested)}" if entry.untested else ""
    first = f", first in: {entry.by}" if entry.by else ""
    _append(file, f"- {sign} {escape(f'{entry.name}: a fault in {entry.found} of {seeds} seeds{first}{missing}')}\n")


def _append(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(text)
