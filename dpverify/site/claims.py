"""The page of each claim, and the table of all of them that a reader filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dpverify.harness.run.sources import PAPERS
from dpverify.ledger.results import AmendmentResult, Result, Run
from dpverify.ledger.specs import Specs
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, claim_id, papers_first
from dpverify.report.pages.layout import lay_out
from dpverify.report.pages.templates import claim_section
from dpverify.report.statements import readings_block
from dpverify.report.words import MARKS, instead_words, kind_words, reading_words
from dpverify.site.code import code_block, code_of, page_of, source_page

TABLE = "claims/README.md"
UP = "../../"  # from the page of a claim to the site's root


def claim_pages(runs: Mapping[str, Run], specs: Specs, checks: str = PAPERS) -> dict[str, str]:
    """The table, a page for each claim, and the source of all code behind them. Path on the site to text.

    ``checks``: where those of the papers are found.
    """
    used_by: dict[str, list[str]] = {}
    for claim, uses in specs.uses().items():
        for used in uses:
            used_by.setdefault(used, []).append(claim)
    judged = {result.claim for run in runs.values() for result in run.results}
    pages = {TABLE: _table([result for run in papers_first(runs).values() for result in run.results])}
    for key, run in runs.items():
        places = lay_out(key, run).places(run)
        for group in by_claim(run.results):
            claim = group[0].claim
            code = code_of(claim, checks)
            pages |= {page_of(module): source_page(module) for modules in code.values() for module in modules}
            around = {"Rests on": specs.uses().get(claim, ()), "Used by": used_by.get(claim, ())}
            links = [
                f"{word}: {', '.join(md.link(md.code(key), _page(key, '../')) for key in related if key in judged)}."
                for word, related in around.items()
                if judged.intersection(related)
            ]
            report = f"{UP}reports/{places.pages[claim]}#{claim_id(group[0])}"
            pages[_page(claim, "claims/")] = md.document(
                [
                    "---\norphan: true\n---",
                    f"# {md.code(claim)}",
                    f"[All claims](../README.md) · [In the report]({report})",
                    readings_block(group),
                    claim_section(group, run.run.budget, f"{UP}reports/figures", ()),
                    "## Code",
                    code_block(code, UP) or "No check is written for it.",
                    "## Related claims" if links else "",
                    "\n\n".join(links),
                ]
            )
    return pages


def _page(claim: str, folder: str) -> str:
    paper, _, name = claim.partition(":")
    return f"{folder}{paper}/{name}.md"


def _table(results: Sequence[Result]) -> str:
    header = ["claim", "paper", "where", "kind", "status", "severity", "corrected"]
    return md.document(
        [
            "# Claims",
            "Every claim with its verdict, one row for each reading of it. The filters work together.",
            '<form id="filters" aria-label="Filters"></form>',
            md.table(header, map(list, map(_row, results))),
        ]
    )


def _row(result: Result) -> Iterator[str]:
    paper, _, name = result.claim.partition(":")
    yield f"{md.link(md.code(name), _page(result.claim, ''))}\n{md.prose(reading_words(result.reading))}"
    yield paper
    yield md.prose(result.where)
    yield kind_words(result.kind)
    yield f"{MARKS[result.status]} {result.status}"
    yield result.severity or ""
    regime_words = f"{instead_words(result.holds)}\n" if result.holds else ""
    yield regime_words + (_correction(result.amendment) if result.amendment else "")


def _correction(amendment: AmendmentResult) -> str:
    """The status of a correction; of an amendment that only restates the claim, the condition."""
    if amendment.only_restates:
        return instead_words(amendment)
    return f"{MARKS[amendment.status]} {amendment.status}"
