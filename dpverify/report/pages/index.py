"""The first page, reports/README.md: every claim of every paper with its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpverify.ledger.records import Status
from dpverify.ledger.results import Run
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, run_false_alarm
from dpverify.report.drawings.overview import caption
from dpverify.report.manifest import GENERATED, false_alarm_line, manifest, status_legend
from dpverify.report.pages.layout import lay_out
from dpverify.report.pages.paper import title
from dpverify.report.pages.places import INDEX, other_links
from dpverify.report.pages.summary import summary
from dpverify.report.pages.verdict_table import verdict_table
from dpverify.report.words import STATUSES, counts

OVERVIEW = "overview.svg"
"""The figure of all verdicts, in ``figures/``."""

INTRODUCTION = (
    "Every claim of every paper with its verdict. A paper's own pages have the formulas, derivations, counterexamples, "
    "corrected statements, and the plan of each check."
)


def index_page(runs: Mapping[str, Run], others: Sequence[str] = ()) -> str:
    """The first page."""
    chance = min(1.0, sum(run_false_alarm(run) for run in runs.values()))
    return md.document(
        [
            GENERATED,
            "# What was checked, and what came out",
            INTRODUCTION,
            f"![{caption(totals(runs))}](figures/{OVERVIEW})" if runs else "No run is recorded yet.",
            _totals(runs) if runs else "",
            false_alarm_line(chance, "these runs") if runs else "",
            f"Beside the claims: {other_links(others)}." if others else "",
            *(block for key, run in runs.items() for block in _short(key, run)),
            *(block for key, run in runs.items() for block in _table(key, run)),
            "## How to read this",
            *status_legend(),
            *(block for key, run in runs.items() for block in [f"## The run: {md.code(key)}", *manifest(key, run)]),
        ]
    )


def totals(runs: Mapping[str, Run]) -> dict[str, dict[Status, int]]:
    """Paper key to the number of verdicts of each status."""
    return {key: counts(result.status for result in run.results) for key, run in runs.items()}


def _short(key: str, run: Run) -> list[str]:
    layout = lay_out(key, run)
    where = md.link(f"The page of {md.code(key)}", layout.front)
    return [f"## {title(key, run)}", where, *summary(run.results, layout.places(run).on(INDEX), layout.part_links())]


def _table(key: str, run: Run) -> list[str]:
    return [f"## Every claim: {md.code(key)}", verdict_table(run.results, lay_out(key, run).places(run).on(INDEX))]


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
