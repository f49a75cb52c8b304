"""The page of a paper's units: the terms that scale differently, with the reasons, and what could not be tested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from dpverify.ledger.specs import PaperSpec
from dpverify.ledger.units import UNITS, PaperUnits, UnitsResult, check_units
from dpverify.report import markdown as md
from dpverify.report.pages.layout import Places
from dpverify.report.words import plural

PAGE = "units.md"
"""The page of a long paper's units, in the paper's folder."""


def has_stated_units(paper: PaperSpec | None) -> bool:
    """Return whether the records of a paper have a file with units."""
    claims = () if paper is None else paper.claims.values()
    return any((Path(claim.file).parent / UNITS).is_file() for claim in claims)


class UnitsPage:
    """Writes the page of one paper."""

    def __init__(self, paper: PaperSpec, places: Places) -> None:
        self.paper = paper
        self.places = places
        self.units: PaperUnits = check_units(paper)

    def blocks(self) -> Iterator[str]:
        """Yield the page as blocks of markdown, without its head; of each explanation the first terms that differ."""
        units = self.units
        yield (
            f"Of {plural(len(units.results), 'record')} {units.count('consistent')} are consistent, "
            f"{units.count('not determined')} are not determined, {units.count('inconsistent')} are inconsistent, "
            f"and {units.count('in words')} have no formula."
        )
        inconsistent = [result for result in units.results if result.status == "inconsistent"]
        if inconsistent:
            yield "## Terms that scale differently"
        for why in dict.fromkeys(result.expected for result in inconsistent):
            results = [result for result in inconsistent if result.expected == why]
            names = ", ".join(self._link(result.of, _claim_of(result)) for result in results)
            yield f"{md.explanation(why) if why else 'No explanation is recorded.'} {names}."
            yield f"- {_typeset(results[0].mismatches[0])}"
        normalised = [result for result in units.results if result.normalised]
        if normalised:
            yield "## Units that are set to 1"
        for why in dict.fromkeys(result.normalised for result in normalised):
            names = self._claims(result for result in normalised if result.normalised == why)
            yield f"{md.explanation(why)} {names}."

    def _claims(self, results: Iterable[UnitsResult]) -> str:
        """Name the claims of records, each once; of lemmas and definitions their full names."""
        claims = self.paper.claims
        names = {result.of: _claim_of(result) for result in results}
        return ", ".join(dict.fromkeys(self._link(id_ if id_ in claims else of, id_) for of, id_ in names.items()))

    def _link(self, text: str, claim: str) -> str:
        key = f"{self.paper.info.key}:{claim}"
        return md.link(md.code(text), self.places.target(key)) if key in self.places.pages else md.code(text)


def _typeset(mismatch: str) -> str:
    """Typeset a line of `UnitsResult.mismatches`, whose formulas are between backticks."""
    parts = mismatch.split("`")
    return "".join(md.code(part) if place % 2 else md.prose(part) for place, part in enumerate(parts))


def _claim_of(result: UnitsResult) -> str:
    """Return the id of the claim that a record belongs to; another word for a lemma or a definition."""
    return result.of.removeprefix("proof of ").partition(" ")[0]
