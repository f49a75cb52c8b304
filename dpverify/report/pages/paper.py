"""The pages of one paper: a first page for a working scientist, and every claim in the paper's order.

A short paper is one page. Of a long one each part has a page of its own, with the chapter on it at the head.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dpverify.ledger.results import Result, Run
from dpverify.ledger.specs import PaperSpec
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, claim_id
from dpverify.report.manifest import GENERATED, manifest, status_legend
from dpverify.report.pages.chapters import chapter_blocks
from dpverify.report.pages.claim import claim_section, figures_in
from dpverify.report.pages.layout import Layout, PartPage, lay_out
from dpverify.report.pages.parts import by_part
from dpverify.report.pages.places import INDEX, Places, other_links
from dpverify.report.pages.summary import summary
from dpverify.report.pages.verdict_table import verdict_table
from dpverify.report.words import kind_words, pin_words, reading_words


def paper_pages(key: str, run: Run, paper: PaperSpec | None = None, others: Sequence[str] = ()) -> dict[str, str]:
    """The pages of a paper.

    File below the report's folder to its text: ``<paper>.md``, and ``<paper>/<part>.md`` where that is too long.
    """
    layout = lay_out(key, run)
    places = layout.places(run)
    pages = {layout.front: _front(key, run, layout, paper, others)}
    for number, page in enumerate(layout.parts):
        around = [layout.parts[n] if 0 <= n < len(layout.parts) else None for n in (number - 1, number + 1)]
        pages[page.file] = _part(key, run, page, around, places.on(page.file), paper)
    return pages


def _front(key: str, run: Run, layout: Layout, paper: PaperSpec | None, others: Sequence[str]) -> str:
    """The first page; it has the claims themselves where it is the only one."""
    places = layout.places(run)
    judged = [result for result in run.results if result.status != "untested"]
    untested = [result for result in run.results if result.status == "untested"]
    groups = by_claim(judged)
    whole = not layout.parts
    told = list(_chapters(run, paper, "", places))
    parts = [block for part in by_part(judged) if whole for block in _chapters(run, paper, part, places)]
    shown = figures_in([*told, *parts])
    return md.document(
        [
            GENERATED,
            f"# {title(key, run)}",
            _imprint(key, run),
            *told,
            f"Beside the theory: {other_links(others)}." if told and others else "",
            "## In short",
            *summary(run.results, places, layout.part_links()),
            "## Verdicts" if judged and whole else "",
            verdict_table(judged, places) if whole else "",
            *parts,
            "## Claims" if groups and whole else "",
            *(block for group in groups if whole for block in claim_section(group, shown=shown)),
            *_untested(untested, (result.claim for result in judged)),
            "## How to read this",
            *status_legend(),
            "## The run",
            *manifest(key, run),
        ]
    )


def _part(
    key: str, run: Run, page: PartPage, around: Sequence[PartPage | None], places: Places, paper: PaperSpec | None
) -> str:
    """The page of a part: its chapter, its table of verdicts, its claims in full."""
    front = places.page(f"{key}.md")
    ways = [md.link(title(key, run), front)]
    for word, other in zip(("before", "next"), around, strict=True):
        ways += [f"{word}: {md.link(other.title, places.page(other.file))}"] if other else []
    ways.append(md.link("the status words", f"{front}#how-to-read-this"))
    told = list(_chapters(run, paper, page.part, places)) if page.number == 1 else []
    figures, shown = places.page("figures"), figures_in(told)
    return md.document(
        [
            GENERATED,
            f"# {page.title}",
            " · ".join(ways),
            *told,
            "## Verdicts",
            verdict_table([result for group in page.groups for result in group], places),
            "## Claims",
            *(block for group in page.groups for block in claim_section(group, figures, shown)),
        ]
    )


def _chapters(run: Run, paper: PaperSpec | None, part: str, places: Places) -> Iterator[str]:
    """What is told at the head of a page."""
    if paper is not None:
        for chapter in paper.chapters:
            if chapter.part == part:
                yield from chapter_blocks(chapter, run.results, paper, places)


def title(key: str, run: Run) -> str:
    """The paper's title, or its key where the run does not carry it."""
    return md.prose(run.papers[key].title) if key in run.papers else md.code(key)


def _imprint(key: str, run: Run) -> str:
    info = run.papers.get(key)
    if info is None:
        return md.link("All papers", INDEX)
    people = md.prose(", ".join(info.authors))
    return f"{people}. {md.prose(info.venue)}. Key: {md.code(key)}. {md.link('All papers', INDEX)}"


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
