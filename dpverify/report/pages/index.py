"""The first page, reports/README.md: every claim of every paper with its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpverify.ledger.results import Run
from dpverify.report import markdown as md
from dpverify.report.collect import claim_id, of_papers, run_false_alarm
from dpverify.report.drawings.overview import caption
from dpverify.report.pages.layout import INDEX, lay_out, other_links
from dpverify.report.pages.paper import title
from dpverify.report.pages.questions import PAGE, has_questions
from dpverify.report.pages.summary import summary
from dpverify.report.pages.templates import render
from dpverify.report.words import OUTCOMES, Outcome, false_alarm_line, outcome_label, outcomes

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
    has_page = layout.parts and has_questions(key, {claim_id(result) for result in run.results})
    return {
        "key": key,
        "title": title(key, run),
        "front": layout.front,
        "claims": layout.claims,
        "questions": f"{key}/{PAGE}" if has_page else "",
        "summary": summary(run.results, places, layout.claims, explain=False),
    }


def totals(runs: Mapping[str, Run]) -> dict[str, dict[Outcome, int]]:
    """Paper key to the number of distinct claims of each outcome, without our notes and our own tools."""
    papers = of_papers(runs).items()
    return {key: outcomes(result for result in run.results if not result.is_note) for key, run in papers}


def _totals(runs: Mapping[str, Run]) -> str:
    """Return a table with a column for each paper, and one for the total. The worst outcome is last."""
    counts = totals(runs)
    numbers = {"claims": [sum(count.values()) for count in counts.values()]}
    numbers |= {outcome_label(outcome): [count[outcome] for count in counts.values()] for outcome in OUTCOMES}
    notes = [{result.claim for result in runs[key].results if result.is_note} for key in counts]
    rows_by_label = {label: row for label, row in numbers.items() if any(row)} | {"our notes": [*map(len, notes)]}
    has_sum = len(counts) > 1
    header = ["", *(md.link(md.code(key), f"{key}.md") for key in counts), *(["all"] if has_sum else [])]
    rows = [[label, *map(str, row), *([str(sum(row))] if has_sum else [])] for label, row in rows_by_label.items()]
    return md.table(header, rows, right=range(1, len(header)))
