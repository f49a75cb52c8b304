"""The pages of one paper: a first page with a summary, all claims in the paper's order, questions, proofs, and units.

The page of questions answers questions of reviewers from the verdicts of a run. The page of units has the terms that
scale differently, with explanations.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec
from jinja2 import TemplateError

from dpverify.ledger.chapters import Chapter, Passage, calls
from dpverify.ledger.load import QUESTIONS, bundled_specs
from dpverify.ledger.records import Record
from dpverify.ledger.results import Result, Run
from dpverify.ledger.specs import PaperSpec
from dpverify.ledger.units import UNITS, PaperUnits, UnitsResult, check_units
from dpverify.report import markdown as md
from dpverify.report.collect import ReportError, by_claim, claim_id
from dpverify.report.pages.figures import figures_in
from dpverify.report.pages.fill import Filler, MissingError
from dpverify.report.pages.layout import (
    INDEX,
    Layout,
    Places,
    by_part,
    lay_out,
    other_links,
)
from dpverify.report.pages.proofs import PAGE as PROOFS
from dpverify.report.pages.proofs import ProofPage, proof_book, proof_targets
from dpverify.report.pages.rules import PAGE as RULES
from dpverify.report.pages.rules import rules_page
from dpverify.report.pages.summary import summary
from dpverify.report.pages.templates import (
    ProofTarget,
    claim_section,
    environment,
    render,
)
from dpverify.report.statements import (
    PREMISES_START,
    letters_of_page,
    readings_block,
    shared_letters,
)
from dpverify.report.typesetting import typeset
from dpverify.report.words import plural

QUESTIONS_PAGE = "questions.md"  # in the folder of a paper's pages


class Question(Record, frozen=True, kw_only=True):
    """A question with its answer: a template, and the conditions on a run under which it is true."""

    title: str
    rests_on: list[str]
    text: str

    @property
    def chapter(self) -> Chapter:
        """The question as a chapter of one passage."""
        return Chapter(
            title=self.title, passage=[Passage(rests_on=self.rests_on, text=self.text)]
        )


class QuestionsFile(Record, frozen=True, kw_only=True):
    """The content of ``questions.toml``."""

    question: list[Question]


@cache
def questions(key: str) -> list[Question]:
    """Return the questions about a bundled paper, in the order of the file."""
    path = bundled_specs() / key / QUESTIONS
    return (
        msgspec.toml.decode(path.read_bytes(), type=QuestionsFile).question
        if path.is_file()
        else []
    )


def has_questions(key: str, claims: Collection[str]) -> bool:
    """Test whether a paper has a page of questions: it has some, and the run has all claims in their conditions."""
    conditions = [
        condition
        for question in questions(key)
        for condition in question.chapter.passage[0].conditions()
    ]
    return bool(conditions) and all(
        condition.about.partition("[")[0] in claims for condition in conditions
    )


UNITS_PAGE = "units.md"
"""The page of a long paper's units, in the paper's folder."""


def has_stated_units(paper: PaperSpec | None) -> bool:
    """Test whether the records of a paper have a file with units."""
    claims = () if paper is None else paper.claims.values()
    return any((Path(claim.file).parent / UNITS).is_file() for claim in claims)


class UnitsPage:
    """Writes the page of units of one paper."""

    def __init__(self, paper: PaperSpec, places: Places) -> None:
        self.paper = paper
        self.places = places
        self.units: PaperUnits = check_units(paper)

    def blocks(self) -> Iterator[str]:
        """Yield the page as blocks of markdown, without its head. For each explanation, one mismatch is shown."""
        units = self.units
        yield (
            f"Of {plural(len(units.results), 'record')} {units.count('consistent')} are consistent, "
            f"{units.count('not determined')} are not determined, {units.count('inconsistent')} are inconsistent, "
            f"and {units.count('in words')} have no formula."
        )
        inconsistent = [
            result for result in units.results if result.status == "inconsistent"
        ]
        if inconsistent:
            yield "## Terms that scale differently"
        for why in dict.fromkeys(result.expected for result in inconsistent):
            results = [result for result in inconsistent if result.expected == why]
            names = ", ".join(
                self._link(result.of, _claim_of(result)) for result in results
            )
            yield f"{md.explanation(why) if why else 'No explanation is recorded.'} {names}."
            yield f"- {_typeset(results[0].mismatches[0])}"
        normalised = [result for result in units.results if result.normalised]
        if normalised:
            yield "## Units that are set to 1"
        for why in dict.fromkeys(result.normalised for result in normalised):
            names = self._claims(
                result for result in normalised if result.normalised == why
            )
            yield f"{md.explanation(why)} {names}."

    def _claims(self, results: Iterable[UnitsResult]) -> str:
        """Return links to the claims of records, each once, and the full names of lemmas and definitions."""
        claims = self.paper.claims
        names = {result.of: _claim_of(result) for result in results}
        return ", ".join(
            dict.fromkeys(
                self._link(id_ if id_ in claims else of, id_)
                for of, id_ in names.items()
            )
        )

    def _link(self, text: str, claim: str) -> str:
        key = f"{self.paper.info.key}:{claim}"
        return (
            md.link(md.code(text), self.places.target(key))
            if key in self.places.pages
            else md.code(text)
        )


def _typeset(mismatch: str) -> str:
    """Return a line of `UnitsResult.mismatches` as markdown. Its formulas are between backticks."""
    parts = mismatch.split("`")
    return "".join(
        md.code(part) if place % 2 else md.prose(part)
        for place, part in enumerate(parts)
    )


def _claim_of(result: UnitsResult) -> str:
    """Return the id of a record's claim. For a lemma or a definition, the result is not the id of a claim."""
    return result.of.removeprefix("proof of ").partition(" ")[0]


# premises, or a reason of a correction, with more characters are shown once per page
LONG_PREMISES = 120

_ROW = re.compile(r"^\|.*", re.MULTILINE)


def paper_pages(
    key: str,
    run: Run,
    paper: PaperSpec | None = None,
    other_pages: Sequence[str] = (),
    drawn: Collection[str] = (),
) -> dict[str, str]:
    """Return the pages of a paper, as relative paths in the report's folder to texts.

    ``drawn`` has the figure files that are not made from verdicts and that chapters may show.
    """
    layout = lay_out(key, run)
    places = layout.places(run)
    pages = (
        _questions(key, run, layout, paper)
        | _proofs(key, run, layout, paper)
        | _units(key, run, layout, paper)
    )
    pages[layout.front] = _front(
        key, run, layout, paper, other_pages, drawn, pages.keys()
    )
    proofs = f"{key}/{PROOFS}"
    for page in layout.parts:
        places_of_page = places.on(page.file)
        chapters = (
            _chapters(run, paper, page.part, places_of_page, drawn)
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
            told=chapters,
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
        }
        values |= {"readings": readings_block(run.results)}
        pages[layout.claims] = render("claims", **values)
    return pages


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
    heading = {
        "title": title(key, run),
        "front": places_of_page.page(layout.front),
        "claims": places_of_page.page(layout.claims),
    }
    return {
        file: render(
            "questions",
            **heading,
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
    heading = {
        "title": title(key, run),
        "front": places_of_page.page(layout.front),
        "claims": places_of_page.page(layout.claims),
    }
    rules = places_of_page.page(RULES)
    proofs = "\n\n".join(ProofPage.of(paper, places_of_page, rules).blocks())
    page = render(
        "proofs",
        readings=readings_block(run.results, proofs),
        rules=rules,
        **heading,
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
    heading = {
        "title": title(key, run),
        "front": places_of_page.page(layout.front),
        "claims": places_of_page.page(layout.claims),
    }
    return {
        file: render(
            "units",
            **heading,
            blocks="\n\n".join(UnitsPage(paper, places_of_page).blocks()),
        )
    }


def _front(
    key: str,
    run: Run,
    layout: Layout,
    paper: PaperSpec | None,
    other_pages: Sequence[str],
    drawn: Collection[str],
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
    chapters = _chapters(run, paper, "", places, drawn)
    parts = (
        "\n\n".join(
            _chapters(run, paper, part, places, drawn) for part in by_part(judged)
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
        told=chapters,
        others=other_links(other_pages),
        summary=summary(run.results, places, layout.claims),
        whole=has_one_page,
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
    several = [*groups]
    letters = shared_letters(several)
    head = letters_of_page(several, letters)
    sections = [f"{head}\n"] if head else []
    for group in several:
        first = quoted.setdefault(group[0].quote, claim_id(group[0]))
        above = "" if first == claim_id(group[0]) else first
        section = claim_section(
            group, run.run.budget, figures, drawn_figures, above, letters, proofs
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
    """Leave out the explanation of a corrected statement if the chapters of the page contain it."""
    amendments = [amendment for result in group for amendment in result.beside]
    for why in {md.explanation(amendment.why) for amendment in amendments}:
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
    run: Run, paper: PaperSpec | None, part: str, places: Places, drawn: Collection[str]
) -> str:
    """Return the chapters at the top of a page."""
    if paper is None:
        return ""
    chapters = [chapter for chapter in paper.chapters if chapter.part == part]
    blocks = (
        chapter_blocks(chapter, run.results, paper, places, drawn)
        for chapter in chapters
    )
    return "\n\n".join(block for of_one in blocks for block in of_one)


def title(key: str, run: Run) -> str:
    """Return the paper's title, or its key if the run does not have the title."""
    return md.prose(run.papers[key].title) if key in run.papers else md.code(key)


def chapter_blocks(
    chapter: Chapter,
    results: Sequence[Result],
    paper: PaperSpec,
    places: Places,
    drawn: Collection[str] = (),
) -> Iterator[str]:
    """Yield a chapter as blocks of markdown: its title, and the passages whose conditions the run satisfies."""
    filler = Filler(results, paper, places, drawn)
    try:
        blocks = [
            block for passage in chapter.passage for block in _passage(passage, filler)
        ]
    except (TemplateError, ValueError) as error:
        raise ReportError(f"chapters.toml: {chapter.title}: {error}") from error
    if blocks:
        yield f"## {chapter.title}"
        yield from blocks


def _passage(passage: Passage, filler: Filler) -> Iterator[str]:
    """Yield a filled-in passage, or a sentence on why it is left out."""
    conditions = passage.conditions()
    named = [arguments[0] for _, arguments in calls(passage.text)] + [
        condition.about for condition in conditions
    ]
    if not all(map(filler.judged, named)):
        return
    try:
        for condition in conditions:
            filler.require(condition)
        text = typeset(passage.text.strip(), md.inline_math)
        yield (
            environment().from_string(_with_cell_filters(text)).render(filler.functions)
        )
    except MissingError as missing:
        if not passage.optional:
            yield f"*A passage is left out here: {md.prose(str(missing))}.*"


def _with_cell_filters(template: str) -> str:
    """Return a template in which calls in rows of tables have the filter ``cell``, so that they cannot end the cell."""
    return _ROW.sub(lambda row: row[0].replace("}}", "| cell }}"), template)
