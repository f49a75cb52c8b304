"""The first page, reports/README.md: every claim of every paper with its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpverify.ledger.records import Status
from dpverify.ledger.results import Run
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, of_papers, run_false_alarm
from dpverify.report.drawings.overview import caption
from dpverify.report.pages.layout import INDEX, lay_out, other_links
from dpverify.report.pages.paper import title
from dpverify.report.pages.summary import summary
from dpverify.report.pages.templates import render
from dpverify.report.words import STATUSES, counts, false_alarm_line

OVERVIEW = "overview.svg"  # the figure of all verdicts, in ``figures/``


def index_page(runs: Mapping[str, Run], others: Sequence[str] = ()) -> str:
    """The first page."""
    return render(
        "index",
        caption=caption(totals(runs)),
        overview=OVERVIEW,
        totals=_totals(runs),
        chance=false_alarm_line(min(1.0, sum(run_false_alarm(run) for run in runs.values())), "these runs"),
        others=other_links(others),
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
        "summary": summary(run.results, places, layout.claims),
    }


def totals(runs: Mapping[str, Run]) -> dict[str, dict[Status, int]]:
    """Paper key to the number of verdicts of each status; what our own tools promise does not count."""
    return {key: counts(result.status for result in run.results) for key, run in of_papers(runs).items()}


def _totals(runs: Mapping[str, Run]) -> str:
    rows = []
    for key, found in totals(runs).items():
        run = runs[key]
        claims = len(by_claim(run.results))
        rows.append([md.link(md.code(key), f"{key}.md"), str(claims), str(len(run.results)), *map(str, found.values())])
    if len(rows) > 1:
        sums = [str(sum(int(row[column]) for row in rows)) for column in range(1, len(rows[0]))]
        rows.append(["all", *sums])
    return md.table(["paper", "claims", "verdicts", *STATUSES], rows, right=range(1, 3 + len(STATUSES)))
