"""Which page of a report holds which claim, and how pages link; a paper has one page, or, where it is long, many."""

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
CLAIMS = "claims.md"  # the page of a long paper that lists every claim, in the paper's folder

# Pages that show other data than verdicts, with their subjects.
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
    """Return links to those names that are in :data:`OTHER_PAGES`, for a page in the same folder."""
    return ", ".join(md.link(words, f"{name}.md") for name, words in OTHER_PAGES.items() if name in names)


@dataclass(frozen=True)
class Places:
    """Where the sections of claims are, seen from one page."""

    # Full id of a claim to the page that holds it, as a path below the report's folder with forward slashes. A claim
    # that is not in it is on the page that links.
    pages: Mapping[str, str]
    here: str = INDEX  # the page that links stand on, as such a path
    folder: str = ""  # the report's folder with a slash behind it, for a page beside the folder; "" for a page inside

    def on(self, page: str) -> Places:
        """The same places, seen from another page."""
        return replace(self, here=page)

    def page(self, file: str) -> str:
        """A link's target for a file of the report. Relative path from the page at hand."""
        return self.folder + posixpath.relpath(file, posixpath.dirname(self.here) or ".")

    def target(self, claim: str) -> str:
        """A link's target for a claim's section, ``lemma-12.md#lemma-12``; without the page where it is this one."""
        file = self.pages.get(claim, self.here)
        anchor = f"#{claim.partition(':')[2]}"
        return anchor if file == self.here and not self.folder else self.page(file) + anchor

    def link(self, result: Result, text: str = "") -> str:
        """A link to a claim's section, with its id as text unless another is given."""
        return md.link(md.code(text or claim_id(result)), self.target(result.claim))


ONE_PAGE = 40_000  # bytes of all claims of a paper, up to which it has one page
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
        pages |= dict.fromkeys(pages, self.claims) if self.parts else {}
        pages |= {group[0].claim: page.file for page in self.parts for group in page.groups}
        return Places(pages, self.front)

    @property
    def claims(self) -> str:
        """The page that lists every claim, with the place on it where that is the only page."""
        return f"{self.front.removesuffix('.md')}/{CLAIMS}" if self.parts else f"{self.front}#every-claim"

    def part_links(self) -> dict[str, str]:
        """Part to the file that its claims begin on; empty where there is one page."""
        return {page.part: page.file for page in self.parts if page.number == 1}


def lay_out(key: str, run: Run) -> Layout:
    """Decide which claim goes on which page. The same for the same run."""
    front = f"{key}.md"
    parts = by_part(result for result in run.results if result.status != "untested")
    sizes = {group[0].claim: _size(group) for groups in parts.values() for group in groups}
    if sum(sizes.values()) <= min(ONE_PAGE, LIMIT):
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
    return len(claim_section(group, budget="").encode())


_NUMBERED = re.compile(r"([a-z]+)((?:-[a-z](?=-\d))?(?:-\d+)+)")
_PLACES = frozenset({"section", "appendix", "table", "figure"})  # what has a number and is no result


def is_result(claim: str) -> bool:
    """Whether a claim is a result of the paper itself: ``lemma-12`` or one of the abstract, not ``lemma-12-var``."""
    match = _NUMBERED.fullmatch(claim)
    return claim.startswith("abstract-") or (match is not None and match[1] not in _PLACES)


def part_of(claim: str) -> str:
    """The part of the paper that a claim belongs to: ``Lemma 12`` for ``lemma-12-var``, ``Section 4``, ``Abstract``."""
    match = _NUMBERED.match(claim)
    if match is None:
        return claim.partition("-")[0].capitalize()
    return f"{match[1].capitalize()} {match[2][1:].replace('-', '.').upper()}"


def is_box(group: Sequence[Result]) -> bool:
    """Whether a claim is a line of an algorithm box, which somebody may copy."""
    return group[0].where.startswith("Algorithm ") or group[0].kind == "algorithm"


def by_part(results: Iterable[Result]) -> dict[str, list[list[Result]]]:
    """Claims with their readings, by the part they belong to, in the order of the paper."""
    parts: dict[str, list[list[Result]]] = {}
    for group in by_claim(results):
        parts.setdefault(part_of(claim_id(group[0])), []).append(group)
    return parts
