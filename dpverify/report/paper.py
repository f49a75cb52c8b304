"""The page of one paper: a first page for a working scientist, then every claim in the paper's order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpverify.ledger.results import Result, Run
from dpverify.report import markdown as md
from dpverify.report.claim import claim_section
from dpverify.report.collect import by_claim, claim_id
from dpverify.report.manifest import GENERATED, manifest, status_legend
from dpverify.report.summary import summary
from dpverify.report.verdict_table import verdict_table
from dpverify.report.words import kind_words, pin_words, reading_words


def paper_page(key: str, run: Run) -> str:
    """The page of a paper.

    Parameters
    ----------
    key : str
        The paper's key: ``tran2022``.
    run : Run
        Its results, in the paper's order.

    Returns
    -------
    str
        ``<paper>.md``.
    """
    judged = [result for result in run.results if result.status != "untested"]
    untested = [result for result in run.results if result.status == "untested"]
    groups = by_claim(judged)
    return md.document(
        [
            GENERATED,
            f"# {title(key, run)}",
            _imprint(key, run),
            "## In short",
            *summary(run.results),
            "## Verdicts" if judged else "",
            verdict_table(judged),
            "## Claims" if groups else "",
            *(block for group in groups for block in claim_section(group)),
            *_untested(untested, (result.claim for result in judged)),
            "## How to read this",
            *status_legend(),
            "## The run",
            *manifest(key, run),
        ]
    )


def title(key: str, run: Run) -> str:
    """The paper's title, or its key where the run does not carry it."""
    return md.prose(run.papers[key].title) if key in run.papers else md.code(key)


def _imprint(key: str, run: Run) -> str:
    info = run.papers.get(key)
    if info is None:
        return md.link("All papers", "README.md")
    people = md.prose(", ".join(info.authors))
    return f"{people}. {md.prose(info.venue)}. Key: {md.code(key)}. {md.link('All papers', 'README.md')}"


def _untested(untested: Sequence[Result], judged: Iterable[str]) -> list[str]:
    """The table of what was not judged; a claim has its anchor here unless a section of its own has it."""
    if not untested:
        return []
    seen = set(judged)
    return [
        "## Not yet judged",
        md.table(
            ["claim", "where", "kind", "printed", "reason"],
            [
                [
                    _name(result, seen),
                    md.prose(result.where),
                    kind_words(result.kind),
                    md.inline_math(result.latex) or md.prose(result.printed),
                    "\n".join(filter(None, [md.prose(result.reason), pin_words(result)])),
                ]
                for result in untested
            ],
        ),
    ]


def _name(result: Result, seen: set[str]) -> str:
    place = "" if result.claim in seen else md.anchor(claim_id(result))
    seen.add(result.claim)
    return f"{place}{md.code(claim_id(result))}\n{md.prose(reading_words(result.reading))}"
