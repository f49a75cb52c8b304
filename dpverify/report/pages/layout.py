"""How a paper is laid out over pages: one where that is short, else, as hosts render no long one, one per part too."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dpverify.ledger.results import Result, Run
from dpverify.report.collect import by_claim, claim_id, slug
from dpverify.report.pages.places import Places
from dpverify.report.pages.templates import claim_section

LIMIT = 130_000  # bytes of claims on a page, without its head; a single claim is never split, however long


@dataclass(frozen=True)
class PartPage:
    """A page of claims."""

    file: str  # path below the report's folder: ``tran2022/theorem-4.md``
    part: str  # the part of the paper: ``Theorem 4``
    number: int  # which of the part's pages it is, from 1, and how many the part has
    of: int
    groups: list[list[Result]]  # its claims, each with its readings

    @property
    def title(self) -> str:
        """Name of the page: ``Theorem 4``, or ``Theorem 4, page 2 of 2``."""
        return self.part if self.of == 1 else f"{self.part}, page {self.number} of {self.of}"


@dataclass(frozen=True)
class Layout:
    """Pages of a paper."""

    front: str  # the first page, which is the only one where ``parts`` is empty
    parts: list[PartPage]  # in the order of the paper

    def places(self, run: Run) -> Places:
        """Where each claim of the run is, seen from the first page."""
        pages = {result.claim: self.front for result in run.results}
        pages |= {group[0].claim: page.file for page in self.parts for group in page.groups}
        return Places(pages, self.front)

    def part_links(self) -> dict[str, str]:
        """Part to the file that its claims begin on; empty where there is one page."""
        return {page.part: page.file for page in reversed(self.parts)}


def lay_out(key: str, run: Run) -> Layout:
    """Decide which claim goes on which page. The same for the same run."""
    front = f"{key}.md"
    parts = by_part(result for result in run.results if result.status != "untested")
    sizes = {group[0].claim: _size(group) for groups in parts.values() for group in groups}
    if sum(sizes.values()) <= LIMIT:
        return Layout(front, [])
    return Layout(front, [page for part, groups in parts.items() for page in _pages(key, part, groups, sizes)])


def _pages(key: str, part: str, groups: list[list[Result]], sizes: dict[str, int]) -> Iterator[PartPage]:
    """The pages of a part, all of about the same length."""
    stem = f"{key}/{slug(part)}"
    chunks = _chunks(groups, [sizes[group[0].claim] for group in groups])
    for number, chunk in enumerate(chunks, start=1):
        yield PartPage(f"{stem}.md" if number == 1 else f"{stem}-{number}.md", part, number, len(chunks), chunk)


def _chunks(groups: list[list[Result]], sizes: Sequence[int]) -> list[list[list[Result]]]:
    """Cut a list where its running length passes a multiple of an even share; more cuts until all are short enough."""
    total = sum(sizes)
    for pieces in range(math.ceil(total / LIMIT), len(groups) + 1):
        ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
        which = [min(pieces - 1, int((end - size / 2) * pieces / total)) for end, size in zip(ends, sizes, strict=True)]
        lengths = [sum(s for s, w in zip(sizes, which, strict=True) if w == piece) for piece in range(pieces)]
        if max(lengths) <= LIMIT:
            chunks = [[g for g, w in zip(groups, which, strict=True) if w == piece] for piece in range(pieces)]
            return [chunk for chunk in chunks if chunk]
    return [[group] for group in groups]


def _size(group: Sequence[Result]) -> int:
    return len(claim_section(group).encode())


_NUMBERED = re.compile(r"([a-z]+)((?:-[a-z](?=-\d))?(?:-\d+)+)")
_PLACES = frozenset({"section", "appendix", "table", "figure"})  # what has a number and is no result


def is_result(claim: str) -> bool:
    """Whether a claim is a result of the paper itself: ``lemma-12`` or one of the abstract, not ``lemma-12-var``."""
    found = _NUMBERED.fullmatch(claim)
    return claim.startswith("abstract-") or (found is not None and found[1] not in _PLACES)


def part_of(claim: str) -> str:
    """The part of the paper that a claim belongs to: ``Lemma 12`` for ``lemma-12-var``, ``Section 4``, ``Abstract``."""
    found = _NUMBERED.match(claim)
    if found is None:
        return claim.partition("-")[0].capitalize()
    return f"{found[1].capitalize()} {found[2][1:].replace('-', '.').upper()}"


def is_box(group: Sequence[Result]) -> bool:
    """Whether a claim is a line of an algorithm box, which somebody may copy."""
    return group[0].where.startswith("Algorithm ") or group[0].kind == "algorithm"


def by_part(results: Iterable[Result]) -> dict[str, list[list[Result]]]:
    """Claims with their readings, by the part they belong to, in the order of the paper."""
    parts: dict[str, list[list[Result]]] = {}
    for group in by_claim(results):
        parts.setdefault(part_of(claim_id(group[0])), []).append(group)
    return parts
