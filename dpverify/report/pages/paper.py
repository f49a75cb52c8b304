"""The pages of one paper: a first page with a summary, the claims in the paper's order, questions, proofs and units."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from dpverify.ledger.results import Result, Run
from dpverify.ledger.specs import PaperSpec
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, claim_id
from dpverify.report.pages.appendices import (
    QUESTIONS_PAGE,
    UNITS_PAGE,
    UnitsPage,
    has_questions,
    has_stated_units,
    questions,
)
from dpverify.report.pages.figures import figures_in
from dpverify.report.pages.fill import chapter_blocks
from dpverify.report.pages.layout import (
    INDEX,
    Layout,
    Places,
    by_part,
    lay_out,
    other_links,
    title,
)
from dpverify.report.pages.proofs import PAGE as PROOFS
from dpverify.report.pages.proofs import ProofPage, proof_book, proof_targets
from dpverify.report.pages.rules import PAGE as RULES
from dpverify.report.pages.rules import rules_page
from dpverify.report.pages.summary import summary
from dpverify.report.pages.templates import (
    PREMISES_START,
    ProofTarget,
    claim_section,
    render,
)
from dpverify.report.statements import letters_of_page, readings_block, shared_letters

# Premises, or the reason of a correction, with more characters than this are shown once
# per page.
LONG_PREMISES = 120


def paper_pages(
    key: str,
    run: Run,
    paper: PaperSpec | None = None,
    other_pages: Sequence[str] = (),
    figure_files: Collection[str] = (),
) -> dict[str, str]:
    """Return the text of each page of a paper, by its path relative to the report's folder.

    ``figure_files`` has the existing figure files that are not made from verdicts. Chapters may show them.
    """
    layout = lay_out(key, run)
    places = layout.places(run)
    pages = (
        _questions(key, run, layout, paper)
        | _proofs(key, run, layout, paper)
        | _units(key, run, layout, paper)
    )
    pages[layout.front] = _front(
        key, run, layout, paper, other_pages, figure_files, pages.keys()
    )
    proofs = f"{key}/{PROOFS}"
    for page in layout.parts:
        places_of_page = places.on(page.file)
        chapters = (
            _chapters(run, paper, page.part, places_of_page, figure_files)
            if page.number == 1
            else ""
        )
        targets = (
            proof_targets(paper, places_of_page.page(proofs))
            if proofs in pages
            else None
        )
        claims = _claims(
            page.groups, run, places_of_page.page("figures"), chapters, targets
        )
        pages[page.file] = render(
            "part",
            readings=readings_block(run.results, chapters + claims),
            title=md.code(key),
            front=places_of_page.page(layout.front),
            claims_page=layout.claims,
            proofs=places_of_page.page(proofs) if proofs in pages else "",
            page=page,
            places=places_of_page,
            chapters=chapters,
            claims=claims,
        )
    if layout.parts:
        places_of_page = places.on(layout.claims)
        values = {
            "title": title(key, run),
            "front": layout.front,
            "key": key,
            "run": run,
            "places": places_of_page,
            "readings": readings_block(run.results),
        }
        pages[layout.claims] = render("claims", **values)
    return pages


def _heading(key: str, run: Run, layout: Layout, places: Places) -> dict[str, str]:
    return {
        "title": title(key, run),
        "front": places.page(layout.front),
        "claims": places.page(layout.claims),
    }


def _questions(
    key: str, run: Run, layout: Layout, paper: PaperSpec | None
) -> dict[str, str]:
    """Return the page of reviewers' questions by path; empty for a paper without questions or with a single page."""
    if (
        paper is None
        or not layout.parts
        or not has_questions(key, {claim_id(result) for result in run.results})
    ):
        return {}
    file = f"{key}/{QUESTIONS_PAGE}"
    places_of_page = layout.places(run).on(file)
    blocks = (
        chapter_blocks(question.chapter, run.results, paper, places_of_page)
        for question in questions(key)
    )
    return {
        file: render(
            "questions",
            **_heading(key, run, layout, places_of_page),
            answers="\n\n".join(
                block for answer_blocks in blocks for block in answer_blocks
            ),
        )
    }


def _proofs(
    key: str, run: Run, layout: Layout, paper: PaperSpec | None
) -> dict[str, str]:
    """Return the pages of proofs and of rules by path; empty for a paper without proofs or with a single page."""
    if paper is None or not layout.parts or not proof_book(paper).proofs:
        return {}
    file = f"{key}/{PROOFS}"
    places_of_page = layout.places(run).on(file)
    rules = places_of_page.page(RULES)
    proofs = "\n\n".join(ProofPage.of(paper, places_of_page, rules).blocks())
    page = render(
        "proofs",
        readings=readings_block(run.results, proofs),
        rules=rules,
        **_heading(key, run, layout, places_of_page),
        proofs=proofs,
    )
    return {file: page, RULES: rules_page()}


def _units(
    key: str, run: Run, layout: Layout, paper: PaperSpec | None
) -> dict[str, str]:
    """Return the page of units by path; empty for a paper without stated units or with a single page."""
    if paper is None or not layout.parts or not has_stated_units(paper):
        return {}
    file = f"{key}/{UNITS_PAGE}"
    places_of_page = layout.places(run).on(file)
    return {
        file: render(
            "units",
            **_heading(key, run, layout, places_of_page),
            blocks="\n\n".join(UnitsPage(paper, places_of_page).blocks()),
        )
    }


def _front(
    key: str,
    run: Run,
    layout: Layout,
    paper: PaperSpec | None,
    other_pages: Sequence[str],
    figure_files: Collection[str],
    pages: Collection[str],
) -> str:
    """Return the first page. It includes the claims if it is the only page.

    ``pages`` has the other pages of the paper; the first page links to the pages of proofs, questions and units.
    """
    places = layout.places(run)
    proofs = f"{key}/{PROOFS}"
    questions = f"{key}/{QUESTIONS_PAGE}"
    units = f"{key}/{UNITS_PAGE}"
    judged = [result for result in run.results if result.status != "untested"]
    has_one_page = not layout.parts
    chapters = _chapters(run, paper, "", places, figure_files)
    parts = (
        "\n\n".join(
            _chapters(run, paper, part, places, figure_files)
            for part in by_part(judged)
        )
        if has_one_page
        else ""
    )
    claims = (
        _claims(by_claim(judged), run, "figures", chapters + parts)
        if has_one_page
        else ""
    )
    return render(
        "paper",
        readings=readings_block(run.results, chapters + parts + claims)
        if has_one_page
        else "",
        title=title(key, run),
        run=run,
        key=key,
        index=INDEX,
        chapters=chapters,
        others=other_links(other_pages),
        summary=summary(run.results, places, layout.claims),
        has_one_page=has_one_page,
        places=places,
        claims_page=places.page(layout.claims),
        proofs=places.page(proofs) if proofs in pages else "",
        questions=places.page(questions) if questions in pages else "",
        units=places.page(units) if units in pages else "",
        parts_links=", ".join(
            md.link(part, places.page(file))
            for part, file in layout.part_links().items()
        ),
        parts=parts,
        claims=claims,
    )


def _claims(
    groups: Iterable[Sequence[Result]],
    run: Run,
    figures: str,
    chapters: str,
    proofs: ProofTarget | None = None,
) -> str:
    """Return the sections of claims, without figures that the chapters of the page already show."""
    drawn_figures = figures_in(chapters)
    quoted: dict[str, str] = {}  # quotation to the first claim of the page that has it
    # long premises to the first claim of the page that has them
    premises: dict[str, str] = {}
    claim_groups = [*groups]
    letters = shared_letters(claim_groups)
    letters_text = letters_of_page(claim_groups, letters)
    sections = [f"{letters_text}\n"] if letters_text else []
    for group in claim_groups:
        first = quoted.setdefault(group[0].quote, claim_id(group[0]))
        earlier_claim = "" if first == claim_id(group[0]) else first
        section = claim_section(
            group,
            run.run.budget,
            figures,
            drawn_figures,
            earlier_claim,
            letters,
            proofs,
        )
        sections.append(
            _premises_once(
                _without_repeated(section, group, chapters),
                claim_id(group[0]),
                premises,
            )
        )
    return "\n".join(sections)


def _without_repeated(section: str, group: Sequence[Result], chapters: str) -> str:
    """Replace the explanation of a corrected statement by a reference if the chapters of the page contain it."""
    amendments = [amendment for result in group for amendment in result.beside]
    reasons = {md.explanation(amendment.why) for amendment in amendments}
    # the longest first, because a reason may contain another
    for why in sorted(reasons, key=len, reverse=True):
        if len(why) > LONG_PREMISES and why in chapters:
            section = section.replace(why, "The top of this page says why.")
    return section


def _premises_once(section: str, claim: str, premises: dict[str, str]) -> str:
    """Replace long premises by a link if an earlier claim of the page has the same premises."""
    lines = section.split("\n")
    for place, line in enumerate(lines):
        if line.startswith(PREMISES_START) and len(line) > LONG_PREMISES:
            first = premises.setdefault(line, claim)
            lines[place] = (
                line
                if first == claim
                else f"{PREMISES_START}as for {md.link(md.code(first), f'#{first}')}."
            )
    return "\n".join(lines)


def _chapters(
    run: Run,
    paper: PaperSpec | None,
    part: str,
    places: Places,
    figure_files: Collection[str],
) -> str:
    """Return the chapters at the top of a page."""
    if paper is None:
        return ""
    chapters = [chapter for chapter in paper.chapters if chapter.part == part]
    blocks = (
        chapter_blocks(chapter, run.results, paper, places, figure_files)
        for chapter in chapters
    )
    return "\n\n".join(block for chapter_parts in blocks for block in chapter_parts)
