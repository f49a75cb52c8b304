"""The layout of a report: which page has which claim, the titles of papers, and links between pages.

A long paper has several pages.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dpverify.ledger.results import Result, Run
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, claim_id, slug
from dpverify.report.pages.templates import claim_section

INDEX = "README.md"  # the first page of the folder
# the page with a list of all claims, in the folder of a long paper
CLAIMS = "claims.md"

# Pages that are not made from verdicts, with their subjects.
OTHER_PAGES: Mapping[str, str] = {
    "comparison": "optimizers compared at equal privacy",
    "experiments": "experiments of papers, repeated",
    "benchmarks": "benchmarks",
    "selftest": "faults planted in our code",
    "search": "search for counterexamples",
    "rates": "measured error rates of statistical checks",
    "mutants": "mutations of modules, and what detects them",
    "peers": "tests of other libraries and of reported mistakes",
    "auditors": "other auditors, audited",
}


def other_links(names: Sequence[str]) -> str:
    """Return links to the given pages of :data:`OTHER_PAGES`, for a page in the same folder."""
    return ", ".join(
        md.link(words, f"{name}.md")
        for name, words in OTHER_PAGES.items()
        if name in names
    )


@dataclass(frozen=True)
class Places:
    """The places of the sections of claims, for links on one page."""

    # Full id of a claim to its page, as a path below the report's folder with forward
    # slashes. A claim that is not a key is on the linking page.
    pages: Mapping[str, str]
    here: str = INDEX  # path of the linking page
    # the report's folder with a trailing slash, if the linking page is outside of it
    folder: str = ""

    def on(self, page: str) -> Places:
        """Return the same places for links on another page."""
        return replace(self, here=page)

    def page(self, file: str) -> str:
        """Return the relative path from the linking page to a file of the report."""
        return self.folder + posixpath.relpath(
            file, posixpath.dirname(self.here) or "."
        )

    def target(self, claim: str) -> str:
        """Return the link target of a claim's section: ``lemma-12.md#lemma-12``, or the anchor on the same page."""
        file = self.pages.get(claim, self.here)
        anchor = f"#{claim.partition(':')[2]}"
        return (
            anchor
            if file == self.here and not self.folder
            else self.page(file) + anchor
        )

    def link(self, result: Result, text: str = "") -> str:
        """Return a link to a claim's section; the text is by default the claim's id."""
        return md.link(md.code(text or claim_id(result)), self.target(result.claim))


ONE_PAGE = 40_000  # a paper whose claims have at most this many bytes has one page
LIMIT = 130_000  # maximum bytes of claims on a page, unless a single claim is longer


@dataclass(frozen=True)
class PartPage:
    """A page of claims."""

    file: str  # path below the report's folder: ``tran2022/theorem-4.md``
    part: str  # the part of the paper: ``Theorem 4``
    number: int  # number of the page among the part's pages, from 1
    of: int  # the number of pages of the part
    groups: list[list[Result]]  # its claims: for each the results of its readings

    @property
    def title(self) -> str:
        """Name of the page: ``Theorem 4``, or ``Theorem 4, page 2 of 2``."""
        return (
            self.part
            if self.of == 1
            else f"{self.part}, page {self.number} of {self.of}"
        )


@dataclass(frozen=True)
class Layout:
    """The pages of a paper."""

    front: str  # the first page, which is the only page if ``parts`` is empty
    parts: list[PartPage]  # in the order of the paper

    def places(self, run: Run) -> Places:
        """Return the places of the run's claims for links on the first page."""
        pages = {result.claim: self.front for result in run.results}
        pages |= dict.fromkeys(pages, self.claims) if self.parts else {}
        pages |= {
            group[0].claim: page.file for page in self.parts for group in page.groups
        }
        return Places(pages, self.front)

    @property
    def claims(self) -> str:
        """The page that lists every claim; for a single page with the anchor of the list."""
        return (
            f"{self.front.removesuffix('.md')}/{CLAIMS}"
            if self.parts
            else f"{self.front}#every-claim"
        )

    def part_links(self) -> dict[str, str]:
        """Return the file of the first page of each part; empty for a paper with a single page."""
        return {page.part: page.file for page in self.parts if page.number == 1}


def lay_out(key: str, run: Run) -> Layout:
    """Assign the claims of a run to pages, deterministically."""
    front = f"{key}.md"
    parts = by_part(result for result in run.results if result.status != "untested")
    sizes = {
        group[0].claim: _size(group) for groups in parts.values() for group in groups
    }
    if sum(sizes.values()) <= min(ONE_PAGE, LIMIT):
        return Layout(front, [])
    return Layout(
        front,
        [
            page
            for part, groups in parts.items()
            for page in _pages(key, part, groups, sizes)
        ],
    )


def _pages(
    key: str, part: str, groups: list[list[Result]], sizes: dict[str, int]
) -> Iterator[PartPage]:
    """Yield the pages of a part, which have about the same length."""
    stem = f"{key}/{slug(part)}"
    chunks = _chunks(groups, [sizes[group[0].claim] for group in groups])
    for number, chunk in enumerate(chunks, start=1):
        yield PartPage(
            f"{stem}.md" if number == 1 else f"{stem}-{number}.md",
            part,
            number,
            len(chunks),
            chunk,
        )


def _chunks(
    groups: list[list[Result]], sizes: Sequence[int]
) -> list[list[list[Result]]]:
    """Cut a list into as few pieces of about the same size as possible, each below the limit."""
    total = sum(sizes)
    for pieces in range(math.ceil(total / LIMIT), len(groups) + 1):
        ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
        which = [
            min(pieces - 1, int((end - size / 2) * pieces / total))
            for end, size in zip(ends, sizes, strict=True)
        ]
        lengths = [
            sum(s for s, w in zip(sizes, which, strict=True) if w == piece)
            for piece in range(pieces)
        ]
        if max(lengths) <= LIMIT:
            chunks = [
                [g for g, w in zip(groups, which, strict=True) if w == piece]
                for piece in range(pieces)
            ]
            return [chunk for chunk in chunks if chunk]
    return [[group] for group in groups]


def _size(group: Sequence[Result]) -> int:
    return len(claim_section(group, budget="").encode())


_NUMBERED = re.compile(r"([a-z]+)((?:-[a-z](?=-\d))?(?:-\d+)+)")
# these have numbers but are not results
_PLACES = frozenset({"section", "appendix", "table", "figure"})


def is_result(claim: str) -> bool:
    """Test whether a claim is a result of the paper: ``lemma-12`` or ``abstract-...``, but not ``lemma-12-var``."""
    match = _NUMBERED.fullmatch(claim)
    return claim.startswith("abstract-") or (
        match is not None and match[1] not in _PLACES
    )


def part_of(claim: str) -> str:
    """Return the part of the paper with a claim: ``Lemma 12`` for ``lemma-12-var``, ``Section 4``, ``Abstract``."""
    match = _NUMBERED.match(claim)
    if match is None:
        return claim.partition("-")[0].capitalize()
    return f"{match[1].capitalize()} {match[2][1:].replace('-', '.').upper()}"


def is_box(group: Sequence[Result]) -> bool:
    """Test whether a claim is a line of an algorithm box, which users may copy."""
    return group[0].where.startswith("Algorithm ") or group[0].kind == "algorithm"


def by_part(results: Iterable[Result]) -> dict[str, list[list[Result]]]:
    """Group claims with their readings by the part of the paper, in the order of the paper."""
    parts: dict[str, list[list[Result]]] = {}
    for group in by_claim(results):
        parts.setdefault(part_of(claim_id(group[0])), []).append(group)
    return parts


def title(key: str, run: Run) -> str:
    """Return the paper's title, or its key if the run does not have the title."""
    return md.prose(run.papers[key].title) if key in run.papers else md.code(key)
