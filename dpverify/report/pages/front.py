"""The result on the first page of the repository: README.md holds it between two markers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dpverify.ledger.results import Result, Run
from dpverify.report import markdown as md
from dpverify.report.collect import ReportError, by_claim, by_paper, claim_id
from dpverify.report.pages.index import OVERVIEW
from dpverify.report.pages.layout import lay_out
from dpverify.report.pages.paper import title
from dpverify.report.pages.parts import is_result
from dpverify.report.pages.places import INDEX, Places
from dpverify.report.pages.read import read_runs
from dpverify.report.pages.summary import corrected
from dpverify.report.words import counts, counts_words, plural, reading_words, status_label

BEGIN = "<!-- verdicts:begin -->"
END = "<!-- verdicts:end -->"


def front_block(runs: Mapping[str, Run], folder: str = "reports") -> str:
    """What came out, in a picture and a table.

    Markdown: the figure of all verdicts, then per paper the totals and its results with their verdicts.
    """
    picture = f"![Verdicts of each paper, by status]({folder}/figures/{OVERVIEW})"
    blocks = [picture if runs else "No run is recorded yet."]
    for key, run in sorted(runs.items()):
        places = replace(lay_out(key, run).places(run), here=INDEX, folder=f"{folder}/")
        paper = md.link(title(key, run), places.page(f"{key}.md"))
        claims = plural(len(by_claim(run.results)), "claim")
        totals = counts_words(counts(result.status for result in run.results))
        blocks.append(f"{paper}: {claims}, {plural(len(run.results), 'verdict')}: {totals}.")
        blocks.append(md.table(["result", "verdict", "why", "corrected or sharpened"], _verdicts(run.results, places)))
    return "\n\n".join(filter(None, blocks))


def with_front_block(text: str, block: str) -> str:
    """Put the block between the markers of a page. The page with the new block; the same text for the same block."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in before + after:
        raise ReportError(f"the page must hold {BEGIN} and then {END}, each once")
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


def recorded(folder: Path) -> dict[str, Run]:
    """Read the runs that a report was made of. Paper key to its run."""
    return by_paper(list(read_runs(folder).values()))


def _verdicts(results: Sequence[Result], places: Places) -> Iterator[list[str]]:
    """One row per result of the paper that was judged, readings of the same verdict together."""
    for group in by_claim(results):
        if not is_result(claim_id(group[0])):
            continue
        for status in sorted({result.status for result in group} - {"untested"}):
            alike = [result for result in group if result.status == status]
            result = alike[0]
            readings = "" if len(alike) == len(group) else " and ".join(reading_words(r.reading) for r in alike)
            mended = f"{corrected(result, places)} ({result.amendment.status})" if result.amendment else ""
            yield [
                f"{places.link(result)}\n{md.prose(readings)}",
                status_label(result.status),
                md.prose(result.reason),
                mended,
            ]
