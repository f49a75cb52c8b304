"""A chapter of a report: our words, with everything that a run decides filled in from the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jinja2 import TemplateError

from dpverify.ledger.chapters import Chapter, Passage, calls
from dpverify.ledger.results import Result
from dpverify.ledger.specs import PaperSpec
from dpverify.report import markdown as md
from dpverify.report.collect import ReportError
from dpverify.report.pages.fill import Filler, MissingError
from dpverify.report.pages.places import Places
from dpverify.report.pages.templates import environment

_ROW = re.compile(r"^\|.*", re.MULTILINE)


def chapter_blocks(chapter: Chapter, results: Sequence[Result], paper: PaperSpec, places: Places) -> Iterator[str]:
    """Yield a chapter as blocks of markdown, its title first, of the passages that the run bears out."""
    filler = Filler(results, paper, places)
    try:
        blocks = [block for passage in chapter.passage for block in _passage(passage, filler)]
    except (TemplateError, ValueError) as error:
        raise ReportError(f"chapters.toml: {chapter.title}: {error}") from error
    if blocks:
        yield f"## {chapter.title}"
        yield from blocks


def _passage(passage: Passage, filler: Filler) -> Iterator[str]:
    """Fill in a passage, or say why it is left out."""
    conditions = passage.conditions()
    named = [given[0] for _, given in calls(passage.text)] + [condition.about for condition in conditions]
    if not all(map(filler.judged, named)):
        return
    try:
        for condition in conditions:
            filler.require(condition)
        yield environment().from_string(_rows_kept(passage.text.strip())).render(filler.functions)
    except MissingError as missing:
        if not passage.optional:
            yield f"*A passage is left out here: {md.prose(str(missing))}.*"


def _rows_kept(template: str) -> str:
    """The template, with nothing filled into a row of a table that could end the cell."""
    return _ROW.sub(lambda row: row[0].replace("}}", "| cell }}"), template)
