"""The contents of two pages at the end of a paper: answers to questions of reviewers, and units.

The page of questions answers questions of reviewers from the verdicts of a run. The page of units has the terms that
scale differently, with explanations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

import msgspec

from dpverify.ledger.load import QUESTIONS, bundled_specs
from dpverify.ledger.records import Record
from dpverify.ledger.specs import Chapter, PaperSpec, Passage
from dpverify.ledger.units import UNITS, PaperUnits, UnitsResult, check_units
from dpverify.report import markdown as md
from dpverify.report.pages.layout import Places
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
