"""The result on the first page of the repository: README.md holds it between two markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from dpverify.ledger.results import Run
from dpverify.report import markdown as md
from dpverify.report.collect import ReportError, by_paper, of_papers
from dpverify.report.pages.index import OVERVIEW
from dpverify.report.pages.layout import INDEX, lay_out
from dpverify.report.pages.summary import first_sentence, stands_instead
from dpverify.report.pages.write import read_runs
from dpverify.report.words import plural, reading_words, status_label, totals_words

BEGIN = "<!-- findings:begin -->"
END = "<!-- findings:end -->"
FINDINGS = "findings.toml"  # file in the folder of the specs that says which findings are shown


class FrontPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Full ids of the claims that are shown, the most important first."""

    findings: list[str]


def front_block(runs: Mapping[str, Run], findings: Sequence[str], folder: str = "reports") -> str:
    """What came out: a table of some findings, a line each, the totals, and the figure of all verdicts."""
    if not runs:
        return "No run is recorded yet."
    table = md.table(["claim", "verdict", "why", "instead"], [_row(runs, claim, folder) for claim in findings])
    papers = of_papers(runs)
    results = [result for run in papers.values() for result in run.results]
    pages = md.link("reports/", f"{folder}/{INDEX}")
    totals = f"{plural(len(papers), 'paper')}: {totals_words(results)} All of them are in {pages}."
    figure = f"![Verdicts of each paper, by status]({folder}/figures/{OVERVIEW})"
    return "\n\n".join([table, totals, figure])


def read_findings(specs: Path) -> list[str]:
    """Read which findings are shown, from the folder of the specs."""
    try:
        return msgspec.toml.decode((specs / FINDINGS).read_bytes(), type=FrontPage).findings
    except (OSError, msgspec.DecodeError) as error:
        raise ReportError(f"{FINDINGS}: {' '.join(str(error).split())}") from error


def with_front_block(text: str, block: str) -> str:
    """Put the block between the markers of a page."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in before + after:
        raise ReportError(f"the page must hold {BEGIN} and then {END}, each once")
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


def recorded(folder: Path) -> dict[str, Run]:
    """Read the runs that a report was made of. Paper key to its run."""
    return by_paper(list(read_runs(folder).values()))


def _row(runs: Mapping[str, Run], claim: str, folder: str) -> list[str]:
    """The claim, its verdict, why, and what to rely on instead; of its readings those that are refuted, if any is."""
    key = claim.partition(":")[0]
    group = [result for result in runs[key].results if result.claim == claim] if key in runs else []
    if not group:
        raise ReportError(f"{FINDINGS}: {claim} must be a claim that a recorded run has judged")
    shown = [result for result in group if result.status == "refuted"] or group
    first = shown[0]
    places = replace(lay_out(key, runs[key]).places(runs[key]), here=INDEX, folder=f"{folder}/")
    readings = "" if len(shown) == len(group) else " and ".join(reading_words(result.reading) for result in shown)
    name = f"{places.link(first)}\n{md.link(key, places.page(f'{key}.md'))}\n{md.prose(readings)}"
    why, instead = md.prose(first_sentence(first.reason)), stands_instead(first, group, places)
    return [name, status_label(first.status), why, instead]
