"""The generated parts of README.md: the papers with their counts, and findings. Each part is between two markers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from jinja2 import TemplateError

from dpverify.ledger.chapters import Passage
from dpverify.ledger.results import Result, Run
from dpverify.ledger.specs import PaperSpec
from dpverify.report import markdown as md
from dpverify.report.collect import ReportError, by_paper
from dpverify.report.pages.fill import Filler, MissingError
from dpverify.report.pages.layout import INDEX, Places, lay_out
from dpverify.report.pages.templates import environment
from dpverify.report.pages.write import read_runs
from dpverify.report.words import plural, severities_words

FRONT_PAGE = "findings.toml"  # file in the folder of the specs with the texts of this page
EXAMPLE_LINES = 12  # lines of the example, the command and the mark of what is left out included
LEGEND = (
    "Each claim counts once. *Privacy*: less private than stated; *utility*: larger error or cost; "
    "*constant*: wrong factor; *boundary*: false only at unused parameters; *proof*: wrong step; "
    "*misprint*: the intended statement is clear."
)


class FrontPassage(Passage, frozen=True, kw_only=True):
    """A text about one paper. It may link to claims: ``{{ link('theorem-6', 'Theorem 6') }}``.

    ``corrected_words`` gives the status of its corrected statement, ``held_words`` that of the printed statement under
    more conditions. The other functions are those of chapters.
    """

    paper: str


class FrontPaper(FrontPassage, frozen=True, kw_only=True):
    """What the front page says of a paper as a whole, and where and when the paper was published."""

    url: str
    year: int


class FrontPage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of the front page, in the order in which it shows them."""

    paper: list[FrontPaper]
    finding: list[FrontPassage]


def read_front_page(specs: Path) -> FrontPage:
    """Read the texts of the front page from the folder of the specs."""
    try:
        return msgspec.toml.decode((specs / FRONT_PAGE).read_bytes(), type=FrontPage)
    except (OSError, msgspec.DecodeError) as error:
        raise ReportError(f"{FRONT_PAGE}: {' '.join(str(error).split())}") from error


def papers_block(
    page: FrontPage, runs: Mapping[str, Run], papers: Mapping[str, PaperSpec], folder: str = "reports"
) -> str:
    """Write each paper with a summary and with its refuted claims by severity."""
    lines = []
    notes = 0
    for paper in page.paper:
        text = fill(paper, runs, papers, folder)
        info = papers[paper.paper].info
        results = runs[paper.paper].results
        venue = info.venue if str(paper.year) in info.venue else f"{info.venue}, {paper.year}"
        name = f"**{md.link(md.prose(info.title), paper.url)}** ({', '.join(info.authors)}; {venue})"
        lines.append(f"{name}. {text} {md.link(_counts(results), f'{folder}/{paper.paper}.md')}.")
        notes += len({result.claim for result in results if result.is_note})
    return f"{md.bullets(lines)}\n\n{LEGEND} Our {plural(notes, 'note')} are not counted."


def findings_block(
    page: FrontPage, runs: Mapping[str, Run], papers: Mapping[str, PaperSpec], folder: str = "reports"
) -> str:
    """Write the findings as a list."""
    return md.bullets(fill(finding, runs, papers, folder) for finding in page.finding)


def fill(passage: FrontPassage, runs: Mapping[str, Run], papers: Mapping[str, PaperSpec], folder: str) -> str:
    """Fill in the text of a passage; raise ReportError unless the run shows everything that the passage rests on."""
    key = passage.paper
    if key not in runs or key not in papers:
        raise ReportError(f"{FRONT_PAGE}: {key} must be a paper with a recorded run")
    places = replace(lay_out(key, runs[key]).places(runs[key]), here=INDEX, folder=f"{folder}/")
    filler = Filler(runs[key].results, papers[key], places)
    functions = {
        **filler.functions,
        "link": partial(_link, filler, places),
        "corrected_words": partial(_status_words, filler, "amendment"),
        "held_words": partial(_status_words, filler, "holds"),
    }
    try:
        for condition in passage.conditions():
            if not filler.about(condition.about):
                raise MissingError(f"`{condition.about}` must be a claim that the run has judged")
            filler.require(condition)
        text = environment().from_string(passage.text).render(functions)
    except (MissingError, TemplateError, ValueError) as error:
        raise ReportError(f"{FRONT_PAGE}: {key}: {error}") from error
    return " ".join(text.split())


def example_block(command: str, output: str) -> str:
    """Write a command and the first paragraphs of its output as a console block; a long first paragraph is cut."""
    lines = [f"$ {command}", *(line.rstrip() for line in output.rstrip().splitlines())]
    if len(lines) > EXAMPLE_LINES:
        visible = lines[: EXAMPLE_LINES - 1]
        ends = [number for number, line in enumerate(visible) if not line]
        lines = [*visible[: ends[-1] if ends else None], "..."]
    return "\n".join(["```console", *lines, "```"])


def example_command(text: str) -> str:
    """The command of the example on a page, without the prompt."""
    match = re.search(r"^<!-- example:begin -->\n```console\n\$ (.+)$", text, re.MULTILINE)
    if match is None:
        raise ReportError("the page must hold <!-- example:begin --> and then a console block with a command")
    return match[1].strip()


def with_block(text: str, name: str, block: str) -> str:
    """Put a block between the two markers of its name."""
    begin = f"<!-- {name}:begin -->"
    end = f"<!-- {name}:end -->"
    before, first, remaining = text.partition(begin)
    _, last, after = remaining.partition(end)
    if not first or not last or begin in remaining or end in before + after:
        raise ReportError(f"the page must have {begin} and then {end}, each once")
    return f"{before}{begin}\n{block}\n{end}{after}"


def recorded(folder: Path) -> dict[str, Run]:
    """Read the runs that a report was made of. Paper key to its run."""
    return by_paper(list(read_runs(folder).values()))


def _counts(results: Sequence[Result]) -> str:
    """How many claims of a paper are refuted, each claim once, and how severely; our notes are left out."""
    claims = [result for result in results if not result.is_note]
    refuted = {result.claim for result in claims if result.status == "refuted"}
    severities = f" ({severities_words(claims)})" if refuted else ""
    return f"Refuted: {len(refuted)} of {plural(len({result.claim for result in claims}), 'claim')}{severities}"


def _status_words(filler: Filler, field: Literal["amendment", "holds"], about: str) -> str:
    """The status of a corrected statement, or of the printed one under more conditions, in words."""
    statuses = {getattr(result, field).status for result in filler.about(about) if getattr(result, field) is not None}
    if len(statuses) != 1:
        raise MissingError(f"`{about}` must have one status of its {field}, got {sorted(statuses)}")
    (status,) = statuses
    return "proved given premises" if status == "proved given" else str(status)


def _link(filler: Filler, places: Places, about: str, words: str) -> str:
    """A link to a claim with words of our own."""
    results = filler.about(about)
    if not results:
        raise MissingError(f"`{about}` must be a claim that the run has judged")
    return md.link(md.prose(words), places.target(results[0].claim))
