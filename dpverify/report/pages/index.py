"""The first page, reports/README.md: every claim of every paper with its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpverify.ledger.records import SEVERITIES, Status
from dpverify.ledger.results import Run
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, of_papers, run_false_alarm
from dpverify.report.drawings.overview import caption
from dpverify.report.pages.layout import INDEX, lay_out, other_links
from dpverify.report.pages.paper import title
from dpverify.report.pages.summary import summary
from dpverify.report.pages.templates import render
from dpverify.report.words import STATUSES, by_severity, counts, false_alarm_line

OVERVIEW = "overview.svg"  # the figure of all verdicts, in ``figures/``


def index_page(runs: Mapping[str, Run], others: Sequence[str] = ()) -> str:
    """The first page."""
    return render(
        "index",
        caption=caption(totals(runs)),
        overview=OVERVIEW,
        totals=_totals(runs),
        severities=_severities(runs),
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
    """Paper key to the number of verdicts of each status; our notes and what our own tools promise do not count."""
    papers = of_papers(runs).items()
    return {key: counts(result.status for result in run.results if not result.is_note) for key, run in papers}


def _totals(runs: Mapping[str, Run]) -> str:
    rows = []
    for key, found in totals(runs).items():
        claims = [result for result in runs[key].results if not result.is_note]
        notes = len(runs[key].results) - len(claims)
        numbers = [len(by_claim(claims)), len(claims), *found.values(), notes]
        rows.append([md.link(md.code(key), f"{key}.md"), *map(str, numbers)])
    return _with_sums(["paper", "claims", "verdicts", *STATUSES, "our notes"], rows)


def _severities(runs: Mapping[str, Run]) -> str:
    """Refuted claims of each paper by severity, each claim once; our notes and our tools do not count."""
    papers = of_papers(runs).items()
    found = {key: by_severity(result for result in run.results if not result.is_note) for key, run in papers}
    rows = [
        [md.link(md.code(key), f"{key}.md"), *(str(len(claims.get(severity, ()))) for severity in SEVERITIES)]
        for key, claims in found.items()
    ]
    return _with_sums(["paper", *SEVERITIES], rows) if any(found.values()) else ""


def _with_sums(header: list[str], rows: list[list[str]]) -> str:
    """A table of numbers, with a last row for all papers where there are several."""
    sums = [str(sum(int(row[column]) for row in rows)) for column in range(1, len(header))]
    return md.table(header, [*rows, ["all", *sums]] if len(rows) > 1 else rows, right=range(1, len(header)))
