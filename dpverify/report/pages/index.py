"""The first page, reports/README.md: every claim of every paper with its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpverify.ledger.results import Run
from dpverify.report import markdown as md
from dpverify.report.collect import of_papers, run_false_alarm
from dpverify.report.drawings.overview import caption
from dpverify.report.pages.layout import INDEX, lay_out, other_links
from dpverify.report.pages.paper import title
from dpverify.report.pages.summary import summary
from dpverify.report.pages.templates import render
from dpverify.report.words import OUTCOMES, Outcome, false_alarm_line, outcomes

OVERVIEW = "overview.svg"  # the figure of all verdicts, in ``figures/``


def index_page(runs: Mapping[str, Run], other_pages: Sequence[str] = ()) -> str:
    """The first page."""
    return render(
        "index",
        caption=caption(totals(runs)),
        overview=OVERVIEW,
        totals=_totals(runs),
        chance=false_alarm_line(min(1.0, sum(run_false_alarm(run) for run in runs.values())), "these runs"),
        others=other_links(other_pages),
        tools=[md.link(title(key, run), f"{key}.md") for key, run in runs.items() if key not in of_papers(runs)],
        papers=[_paper(key, run) for key, run in runs.items()],
    )


def _paper(key: str, run: Run) -> dict[str, object]:
    layout = lay_out(key, run)
    places = layout.places(run).on(INDEX)
    return {
        "key": key,
        "title": title(key, run),
        "front": layout.front,
        "claims": layout.claims,
        "summary": summary(run.results, places, layout.claims, explain=False),
    }


def totals(runs: Mapping[str, Run]) -> dict[str, dict[Outcome, int]]:
    """Paper key to the number of distinct claims of each outcome, without our notes and our own tools."""
    papers = of_papers(runs).items()
    return {key: outcomes(result for result in run.results if not result.is_note) for key, run in papers}


def _totals(runs: Mapping[str, Run]) -> str:
    rows = []
    for key, counts in totals(runs).items():
        notes = {result.claim for result in runs[key].results if result.is_note}
        numbers = [sum(counts.values()), *(counts[outcome] for outcome in _columns(runs)), len(notes)]
        rows.append([md.link(md.code(key), f"{key}.md"), *map(str, numbers)])
    return _with_sums(["paper", "claims", *_columns(runs), "our notes"], rows)


def _columns(runs: Mapping[str, Run]) -> list[Outcome]:
    """The outcomes that occur, the worst last."""
    counts_of_papers = totals(runs).values()
    return [outcome for outcome in OUTCOMES if any(numbers[outcome] for numbers in counts_of_papers)]


def _with_sums(header: list[str], rows: list[list[str]]) -> str:
    """A table of numbers, with a last row for all papers where there are several."""
    sums = [str(sum(int(row[column]) for row in rows)) for column in range(1, len(header))]
    return md.table(header, [*rows, ["all", *sums]] if len(rows) > 1 else rows, right=range(1, len(header)))
