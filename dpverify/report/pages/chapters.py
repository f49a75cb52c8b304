"""A chapter of a report: our words, with everything that a run decides filled in from the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dpverify.ledger.chapters import PLACEHOLDER, Chapter, Passage, reference
from dpverify.ledger.results import Result
from dpverify.ledger.specs import PaperSpec
from dpverify.report import markdown as md
from dpverify.report.pages.fill import Filler, MissingError
from dpverify.report.pages.places import Places


def chapter_blocks(chapter: Chapter, results: Sequence[Result], paper: PaperSpec, places: Places) -> Iterator[str]:
    """Yield a chapter as blocks of markdown, its title first.

    Passages whose verdicts the run shows. Of one that the run does not bear out it is said why it is left out; one
    about claims that were not judged at all is left out silently. Nothing at all where no passage is shown.
    """
    filler = Filler(results, paper, places)
    blocks = [block for passage in chapter.passage for block in _passage(passage, filler)]
    if blocks:
        yield f"## {chapter.title}"
        yield from blocks


def _passage(passage: Passage, filler: Filler) -> Iterator[str]:
    """Fill in a passage, or say why it is left out."""
    named = [reference(match["reference"]) for match in PLACEHOLDER.finditer(passage.text)]
    named += [condition.about for condition in passage.conditions()]
    if not all(filler.judged(about) for about in named):
        return
    try:
        for condition in passage.conditions():
            filler.require(condition)
        text = "\n".join(_line(line, filler) for line in passage.text.strip().splitlines())
    except MissingError as missing:
        if not passage.optional:
            yield f"*A passage is left out here: {md.prose(str(missing))}.*"
    else:
        yield text


def _line(line: str, filler: Filler) -> str:
    """Fill in a line; in a table's row, what is filled in may not end the cell."""

    def filled(match: re.Match[str]) -> str:
        text = filler.fill(match["kind"], match["reference"], match["rest"])
        return md.cell(text) if line.startswith("|") else text

    return PLACEHOLDER.sub(filled, line)
