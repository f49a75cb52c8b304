"""Generated pages of the repository outside ``reports/``: parts of README.md, and the page of quotations.

The generated parts of README.md are the papers with their counts, the findings, and an example. Each part is between
two markers. The page of quotations has the statements of recorded papers about each other, with our verdicts on both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Literal

import msgspec
from jinja2 import TemplateError

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.records import Quotation, RelationToDerived
from dpverify.ledger.results import Result, Run
from dpverify.ledger.specs import ComparedQuotation, PaperSpec, Passage, Specs
from dpverify.report import markdown as md
from dpverify.report.collect import ReportError, by_paper
from dpverify.report.pages.fill import Filler, MissingError
from dpverify.report.pages.layout import INDEX, Places, lay_out
from dpverify.report.pages.summary import opening
from dpverify.report.pages.templates import environment
from dpverify.report.pages.write import read_runs
from dpverify.report.words import (
    MARKS,
    plural,
    reading_words,
    severities_words,
    status_words,
)

# file in the folder of the specs with the texts of this page
FRONT_PAGE = "findings.toml"
EXAMPLE_LINES = 12  # lines of the example, including the command and the ellipsis
LEGEND = (
    "Each claim counts once. *Privacy*: less private than stated; *utility*: larger error or cost; "
    "*constant*: wrong factor; *boundary*: false only at unused parameters; *proof*: wrong step; "
    "*misprint*: the intended statement is clear."
)


class FrontPassage(Passage, frozen=True, kw_only=True):
    """A text about one paper. It may link to claims: ``{{ link('theorem-6', 'Theorem 6') }}``.

    ``corrected_words`` returns the status of a claim's corrected statement, and ``held_words`` the status of its
    printed statement under additional conditions. The other functions are those of chapters.
    """

    paper: str


class FrontPaper(FrontPassage, frozen=True, kw_only=True):
    """The text of the front page about a paper, with the paper's URL and year."""

    url: str
    year: int


class FrontPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of the front page in their order on the page."""

    paper: list[FrontPaper]
    finding: list[FrontPassage]


def read_front_page(specs: Path) -> FrontPage:
    """Read the texts of the front page from the folder of the specs."""
    try:
        return msgspec.toml.decode((specs / FRONT_PAGE).read_bytes(), type=FrontPage)
    except (OSError, msgspec.DecodeError) as error:
        raise ReportError(f"{FRONT_PAGE}: {' '.join(str(error).split())}") from error


def papers_block(
    page: FrontPage,
    runs: Mapping[str, Run],
    papers: Mapping[str, PaperSpec],
    folder: str = "reports",
) -> str:
    """Return a list of the papers, each with a summary and the number of its refuted claims by severity."""
    lines = []
    notes = 0
    for paper in page.paper:
        text = fill(paper, runs, papers, folder)
        info = papers[paper.paper].info
        results = runs[paper.paper].results
        venue = (
            info.venue
            if str(paper.year) in info.venue
            else f"{info.venue}, {paper.year}"
        )
        name = f"**{md.link(md.prose(info.title), paper.url)}** ({', '.join(info.authors)}; {venue})"
        lines.append(
            f"{name}. {text} {md.link(_counts(results), f'{folder}/{paper.paper}.md')}."
        )
        notes += len({result.claim for result in results if result.is_note})
    return (
        f"{md.bullets(lines)}\n\n{LEGEND} Our {plural(notes, 'note')} are not counted."
    )


def findings_block(
    page: FrontPage,
    runs: Mapping[str, Run],
    papers: Mapping[str, PaperSpec],
    folder: str = "reports",
) -> str:
    """Return the findings as a list."""
    return md.bullets(fill(finding, runs, papers, folder) for finding in page.finding)


def fill(
    passage: FrontPassage,
    runs: Mapping[str, Run],
    papers: Mapping[str, PaperSpec],
    folder: str,
) -> str:
    """Fill in the text of a passage; raise ReportError if the run does not satisfy the conditions of the passage."""
    key = passage.paper
    if key not in runs or key not in papers:
        raise ReportError(f"{FRONT_PAGE}: {key} must be a paper with a recorded run")
    places = replace(
        lay_out(key, runs[key]).places(runs[key]), here=INDEX, folder=f"{folder}/"
    )
    filler = Filler(runs[key].results, papers[key], places)
    functions = {
        **filler.functions,
        "link": partial(_link, filler, places),
        "corrected_words": partial(_status_words, filler, "amendment"),
        "held_words": partial(_status_words, filler, "holds"),
    }
    try:
        for condition in passage.conditions():
            if not filler.results_for(condition.about):
                raise MissingError(
                    f"`{condition.about}` must be a claim that the run has judged"
                )
            filler.require(condition)
        text = environment().from_string(passage.text).render(functions)
    except (MissingError, TemplateError, ValueError) as error:
        raise ReportError(f"{FRONT_PAGE}: {key}: {error}") from error
    return " ".join(text.split())


def example_block(command: str, output: str) -> str:
    """Return a console block with a command and the first paragraphs of its output; a long first paragraph is cut."""
    lines = [f"$ {command}", *(line.rstrip() for line in output.rstrip().splitlines())]
    if len(lines) > EXAMPLE_LINES:
        visible = lines[: EXAMPLE_LINES - 1]
        ends = [number for number, line in enumerate(visible) if not line]
        lines = [*visible[: ends[-1] if ends else None], "..."]
    return "\n".join(["```console", *lines, "```"])


def example_command(text: str) -> str:
    """Return the command of the example on a page, without the prompt."""
    match = re.search(
        r"^<!-- example:begin -->\n```console\n\$ (.+)$", text, re.MULTILINE
    )
    if match is None:
        raise ReportError(
            "the page must hold <!-- example:begin --> and then a console block with a command"
        )
    return match[1].strip()


def with_block(text: str, name: str, block: str) -> str:
    """Return a page with a block between the two markers of its name."""
    begin = f"<!-- {name}:begin -->"
    end = f"<!-- {name}:end -->"
    before, first, remaining = text.partition(begin)
    _, last, after = remaining.partition(end)
    if not first or not last or begin in remaining or end in before + after:
        raise ReportError(f"the page must have {begin} and then {end}, each once")
    return f"{before}{begin}\n{block}\n{end}{after}"


def recorded(folder: Path) -> dict[str, Run]:
    """Read the recorded runs of a report, by paper key."""
    return by_paper(list(read_runs(folder).values()))


def _counts(results: Sequence[Result]) -> str:
    """Return the number of refuted claims of a paper by severity in words, without our notes."""
    claims = [result for result in results if not result.is_note]
    refuted = {result.claim for result in claims if result.status == "refuted"}
    severities = f" ({severities_words(claims)})" if refuted else ""
    return f"Refuted: {len(refuted)} of {plural(len({result.claim for result in claims}), 'claim')}{severities}"


def _status_words(
    filler: Filler, field: Literal["amendment", "holds"], about: str
) -> str:
    """Return the status of the amendment or of the regime (by ``field``) of a claim in words."""
    statuses = {
        getattr(result, field).status
        for result in filler.results_for(about)
        if getattr(result, field) is not None
    }
    if len(statuses) != 1:
        raise MissingError(
            f"`{about}` must have one status of its {field}, got {sorted(statuses)}"
        )
    (status,) = statuses
    return "proved given premises" if status == "proved given" else str(status)


def _link(filler: Filler, places: Places, about: str, words: str) -> str:
    """Return a link to a claim with the given words."""
    results = filler.results_for(about)
    if not results:
        raise MissingError(f"`{about}` must be a claim that the run has judged")
    return md.link(md.prose(words), places.target(results[0].claim))


_COMPARED: Mapping[RelationToDerived, str] = {
    "equal": "The formulas agree",
    "weaker": "The statement has the larger formula",
    "stronger": "The statement has the smaller formula",
    "differs": "The formulas differ",
    "undecided": "The formulas could not be compared",
}
_HEAD = """\
# What papers say about each other

<!-- Generated from the records by .ci/generated.py. -->

These are statements of recorded papers about claims of other ones, with our verdicts on both. A verdict is about the
text that we have. A paper may cite another version. Formulas are compared up to constants where the record is an
order, and up to logarithms for an `O~`.
"""


def quotations_page(
    quotations: Iterable[ComparedQuotation], specs: Specs, targets: Mapping[str, str]
) -> str:
    """Return the page; ``targets`` has the links from this page to claims, by full id, and to papers, by key."""
    page = _QuotationsPage(specs, targets)
    blocks = [_HEAD, md.bullets(page.papers())]
    for (author, about), group in groupby(
        quotations, key=lambda item: (item.claim.paper, item.quoted.paper)
    ):
        blocks.append(f"## {author} on {about}")
        blocks += [page.compared(item) for item in group]
    blocks += page.unrecorded()
    if reports := [*page.reports()]:
        blocks += ["## Other errors that were reported before us", md.bullets(reports)]
    return md.document(blocks)


class _QuotationsPage:
    """Writes the sections. The verdict on a record is written once."""

    def __init__(self, specs: Specs, targets: Mapping[str, str]) -> None:
        self.specs = specs
        self.targets = targets
        self.shown = set[str]()

    def papers(self) -> Iterator[str]:
        """Yield a line for each paper that quotes or is quoted."""
        quotations = [
            (claim.paper, item.claim)
            for claim in self.specs.claims()
            for item in claim.record.quotes
        ]
        keys = {name.partition(":")[0] for pair in quotations for name in pair}
        for key in sorted(keys & self.specs.papers.keys()):
            info = self.specs.papers[key].info
            authors = ", ".join(map(md.prose, info.authors))
            yield f"{self.linked(md.code(key), key)}: {authors}, {md.prose(info.title)}, {md.prose(info.venue)}"

    def compared(self, item: ComparedQuotation) -> str:
        """Return the section of a statement about a recorded claim, with the comparison and our verdicts."""
        lines = [_claim_verdicts(item.claim, item.quotation)]
        if (
            item.relation is not None
            and item.attributed is not None
            and item.printed is not None
        ):
            attributed, printed = (
                md.inline_math(item.claim.vocabulary.latex(side))
                for side in (item.attributed, item.printed)
            )
            against = "" if item.relation == "equal" else f"; the record has {printed}"
            lines.append(f"{_COMPARED[item.relation]}: {attributed}{against}.")
        lines += self.on_statement(item.claim, item.quotation)
        name = self.linked(md.code(item.quoted.record.id), item.quoted.key)
        if item.quoted.key in self.shown:
            lines.append(f"Verdict on the record {name}: as above.")
        else:
            self.shown.add(item.quoted.key)
            where = md.explanation(item.quoted.record.where)
            lines.append(
                f"Verdict on the record {name} ({where}): {_verdicts(item.quoted)}"
            )
            lines += [
                f"Reported before: {md.explanation(text)}"
                for text in _reported(item.quoted)
            ]
        return _section(lines)

    def on_statement(self, claim: ClaimSpec, quotation: Quotation) -> Iterator[str]:
        """Yield our remark on a statement, and our verdict if the quoting claim is about this statement only."""
        if quotation.remark:
            yield md.explanation(quotation.remark)
        name = self.linked(md.code(claim.record.id), claim.key)
        if quotation.formula:
            yield f"Recorded with {name}, which is about more than this."
        else:
            title = (
                "Our note on it"
                if claim.record.kind == "note"
                else "Verdict on the statement"
            )
            yield f"{title}, {name}: {_verdicts(claim, with_reasons=not quotation.remark)}"

    def unrecorded(self) -> Iterator[str]:
        """Yield the statements about works that are not recorded, below a heading for each work."""
        for paper in self.specs.papers:
            works: dict[str, list[str]] = {}
            for claim in self.specs.claims(paper):
                for item in claim.record.quotes:
                    if ":" not in item.claim:
                        section = _section(
                            [
                                _claim_verdicts(claim, item),
                                *self.on_statement(claim, item),
                            ]
                        )
                        works.setdefault(item.claim, []).append(section)
            for work, sections in works.items():
                yield f"## {paper} on {md.prose(work)}"
                yield "This work is not recorded. What is judged follows from the statement itself."
                yield from sections

    def reports(self) -> Iterator[str]:
        """Yield the reported errors of claims that the page has not shown."""
        for claim in self.specs.claims():
            for text in _reported(claim) if claim.key not in self.shown else ():
                name = self.linked(md.code(claim.key), claim.key)
                yield f"{name}, {_verdicts(claim, with_reasons=False)} {md.explanation(text)}"

    def linked(self, text: str, key: str) -> str:
        """Return a text with a link to a claim or a paper, or without a link if there is no page for it."""
        return md.link(text, self.targets[key]) if key in self.targets else text


def _claim_verdicts(claim: ClaimSpec, quotation: Quotation) -> str:
    return f"**{md.explanation(claim.record.where)}.** {md.explanation(quotation.says)}"


def _section(lines: Sequence[str]) -> str:
    first, *others = lines
    return f"{first}\n\n{md.bullets(others)}"


def _verdicts(claim: ClaimSpec, *, with_reasons: bool = True) -> str:
    """Return the recorded status of a claim with the beginning of its reason, for each reading if they differ."""
    texts: dict[str, list[str]] = {}
    for reading in claim.readings():
        verdict = claim.verdict(reading)
        status = claim.pinned(reading)
        words = f"{MARKS[status]} {status_words(status, None if verdict is None else verdict.severity)}."
        reason = opening(verdict.reason) if verdict is not None and with_reasons else ""
        texts.setdefault(f"{words} {md.explanation(reason)}".strip(), []).append(
            reading_words(reading)
        )
    if len(texts) == 1:
        return next(iter(texts))
    return " ".join(
        f"With {md.prose(' or '.join(readings))}: {text}"
        for text, readings in texts.items()
    )


def _reported(claim: ClaimSpec) -> list[str]:
    return [
        *dict.fromkeys(
            verdict.reported for verdict in claim.verdicts if verdict.reported
        )
    ]
