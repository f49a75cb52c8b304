"""Loaded papers with their claims and chapters, and the selection of claims.

Chapters are our prose about a paper. Every number and every verdict in them is filled in from a run. A passage of
``chapters.toml`` is a jinja2 template of text and calls, ``{{ why('lemma-17[ordering=once]') }}``. This module only
checks the template; ``dpverify.report.pages.fill`` replaces the calls.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, get_args

from dpverify.ledger.claims import ClaimSpec, reading_problems
from dpverify.ledger.errors import Place, SpecError, UnknownClaim, shown, suggest
from dpverify.ledger.formula import Formula
from dpverify.ledger.records import (
    PaperInfo,
    Quotation,
    Record,
    RelationToDerived,
    Status,
)
from dpverify.ledger.vocabulary import Vocabulary

#: Functions that a template may call: name to the names of the arguments after the claim.
CHAPTER_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("claim", "status", "reason", "printed"), ()),
    **dict.fromkeys(("corrected", "corrected_status", "corrected_slack", "why"), ()),
    **dict.fromkeys(("counterexample", "ratio"), ("counterexample",)),
    **dict.fromkeys(("term", "factor"), ("statement", "path")),
    **dict.fromkeys(("onset", "figure", "recorded"), ("figure",)),
    "finding": ("words",),
    "says": ("check",),
}

#: Allowed values of some arguments.
CHOICES = {
    "counterexample": ("smallest", "practical", "interior", "largest-ratio"),
    "statement": ("printed", "corrected"),
}

_REFERENCE = re.compile(r"(?P<claim>[a-z0-9.-]+)(?:\[(?P<reading>[^\[\]]*)\])?")
_CONDITION = re.compile(
    r"(?P<corrected>corrected )?(?P<reference>\S+) (?P<statuses>.+)"
)


class PassageCondition(NamedTuple):
    """A condition of a passage on a run: allowed statuses of a claim, or of its corrected statement."""

    about: str
    statuses: list[str]
    corrected: bool


class Passage(Record, frozen=True, kw_only=True):
    """A few paragraphs that are true under the same conditions."""

    # Statuses that the run must show, such as ``lemma-17[ordering=once] proved``.
    # ``proved or not refuted`` allows both. ``corrected theorem-6 proved`` is about the
    # corrected statement.
    rests_on: list[str] = []
    # whether the passage is silently left out if the run lacks what it needs
    optional: bool = False
    text: str  # markdown, as a template

    def conditions(self) -> list[PassageCondition]:
        """Parse ``rests_on``; raises ValueError for an entry that is not a claim with statuses."""
        matches = [_CONDITION.fullmatch(text) for text in self.rests_on]
        if None in matches:
            text = self.rests_on[matches.index(None)]
            raise ValueError(
                f"{text!r}: it is a claim and a status, such as lemma-12 proved"
            )
        return [
            PassageCondition(
                m["reference"], m["statuses"].split(" or "), bool(m["corrected"])
            )
            for m in matches
            if m
        ]


class Chapter(Record, frozen=True, kw_only=True):
    """A chapter at the top of the page of a part (``Theorem 6``), or of the paper's first page (``""``)."""

    title: str
    part: str = ""
    passage: list[Passage]


class ChaptersFile(Record, frozen=True, kw_only=True):
    """The content of ``chapters.toml``."""

    chapter: list[Chapter] = []


def reference(text: str) -> tuple[str, dict[str, str]]:
    """Parse a reference to a claim, ``lemma-17[ordering=once]``, into its id and the choices of its readings."""
    match = _REFERENCE.fullmatch(text)
    pairs = (
        [part.partition("=") for part in (match["reading"] or "").split(",") if part]
        if match
        else []
    )
    if match is None or not all(name and choice for name, _, choice in pairs):
        raise ValueError(
            f"{text!r}: a claim may have readings, such as lemma-17[ordering=once]"
        )
    return match["claim"], {name: choice for name, _, choice in pairs}


def calls(template: str) -> list[tuple[str, list[str]]]:
    """Return the functions that a template calls, with their arguments; raises ValueError for other template code."""
    from jinja2 import Environment, TemplateSyntaxError, nodes

    try:
        tree = Environment(autoescape=False).parse(template)
    except TemplateSyntaxError as error:
        raise ValueError(f"line {error.lineno} of the text: {error.message}") from error
    calls_found = []
    for node in (
        node for output in tree.body for node in getattr(output, "nodes", [output])
    ):
        if (
            isinstance(node, nodes.Call)
            and isinstance(node.node, nodes.Name)
            and not node.kwargs
        ):
            calls_found.append(
                (
                    node.node.name,
                    [str(getattr(argument, "value", "")) for argument in node.args],
                )
            )
        elif not isinstance(node, nodes.TemplateData):
            raise ValueError(
                f"line {node.lineno} of the text: only calls such as status('lemma-1') stand in {{{{ }}}}"
            )
    return calls_found


def chapter_problems(
    file: ChaptersFile, claims: Mapping[str, ClaimSpec], place: Place
) -> Iterator[SpecError]:
    """Yield the errors of chapters: at least the first error of each passage."""
    for chapter in file.chapter:
        for number, passage in enumerate(chapter.passage):
            passage_place = place.in_record(chapter.title).at(f"passage[{number}]")
            try:
                for condition in passage.conditions():
                    for status in condition.statuses:
                        _one_of("a status", status, get_args(Status))
                    yield from _reference_problems(
                        condition.about, claims, passage_place
                    )
                for name, arguments in calls(passage.text):
                    _check_call(name, arguments)
                    yield from _reference_problems(arguments[0], claims, passage_place)
            except ValueError as error:
                yield passage_place.error("", str(error))


def _check_call(name: str, arguments: list[str]) -> None:
    _one_of("a function", name, CHAPTER_FUNCTIONS)
    if len(arguments) != 1 + len(CHAPTER_FUNCTIONS[name]) or not all(arguments):
        raise ValueError(
            f"{name}({', '.join(map(repr, arguments))}): it takes {', '.join(['a claim', *CHAPTER_FUNCTIONS[name]])}"
        )
    for argument, value in zip(CHAPTER_FUNCTIONS[name], arguments[1:], strict=True):
        _one_of(argument, value, CHOICES.get(argument, (value,)))


def _one_of(what: str, value: str, allowed: Collection[str]) -> None:
    if value not in allowed:
        raise ValueError(
            f"{shown(value)}: {what} is one of {', '.join(allowed)}{suggest(value, allowed)}"
        )


def _reference_problems(
    text: str, claims: Mapping[str, ClaimSpec], place: Place
) -> Iterator[SpecError]:
    claim, reading = reference(text)
    if claim in claims:
        yield from reading_problems(claims[claim].record, reading, place)
    else:
        yield place.error(
            shown(text), f"the paper has no such claim{suggest(claim, claims)}"
        )


OUTSIDE = " (for your own paper, work below the folder of its pyproject.toml, install it, or pass --specs)"


@dataclass(frozen=True, eq=False)
class PaperSpec:
    """A paper: its vocabulary, its claims by id (without the paper, in the order of the file), and our chapters."""

    info: PaperInfo
    vocabulary: Vocabulary
    claims: dict[str, ClaimSpec]
    chapters: tuple[Chapter, ...] = ()
    # whether a refuted, inconclusive or untested claim without a verdict fails a run
    strict_pins: bool = False


@dataclass(frozen=True, eq=False)
class Specs:
    """All papers of a specs folder, in alphabetical order of their keys."""

    directory: Path
    papers: dict[str, PaperSpec]

    def claims(self, paper: str | None = None) -> Iterator[ClaimSpec]:
        """Yield the claims of one paper or of all papers; raises `UnknownClaim` for an unknown paper."""
        if paper is not None and paper not in self.papers:
            rule = f"unknown paper{suggest(paper, self.papers)}; known papers are {', '.join(self.papers)}{OUTSIDE}"
            raise UnknownClaim(str(self.directory), "", "paper", shown(paper), rule)
        for key, spec in self.papers.items():
            if paper in (None, key):
                yield from spec.claims.values()

    def claim(self, key: str) -> ClaimSpec:
        """Return a claim by its full id (``"tran2022:lemma-12"``); raises `UnknownClaim`, with the nearest ids."""
        paper, _, name = key.partition(":")
        if paper not in self.papers or name not in self.papers[paper].claims:
            raise self._unknown(key, None)
        return self.papers[paper].claims[name]

    def select(
        self, patterns: Sequence[str] = (), paper: str | None = None
    ) -> list[ClaimSpec]:
        """Return the claims that match some patterns, in file order; all claims if there are no patterns.

        A pattern is a full id, an id without the paper that only one paper has, or a glob for either form.
        """
        candidates = list(self.claims(paper))
        if not patterns:
            return candidates
        picked: set[str] = set()
        for pattern in patterns:
            fitting = [c.key for c in candidates if pattern in (c.key, c.record.id)]
            if len(fitting) > 1:
                rule = (
                    f"several papers have this claim; say which: {', '.join(fitting)}"
                )
                raise UnknownClaim(
                    str(self.directory), "", "claim", shown(pattern), rule
                )
            fitting = fitting or [
                c.key
                for c in candidates
                if fnmatchcase(c.key, pattern) or fnmatchcase(c.record.id, pattern)
            ]
            if not fitting:
                raise self._unknown(pattern, paper)
            picked.update(fitting)
        return [c for c in candidates if c.key in picked]

    def uses(self) -> dict[str, tuple[str, ...]]:
        """Return the graph of uses: full id of a claim -> full ids of the claims that it uses."""
        return {claim.key: claim.uses for claim in self.claims()}

    def _unknown(self, pattern: str, paper: str | None) -> UnknownClaim:
        """Make the error for a claim that does not exist."""
        names = [
            name
            for claim in self.claims(paper)
            for name in (claim.key, claim.record.id)
        ]
        prefix = pattern.partition(":")[0]
        unread = (
            f"; no paper {prefix} is known here{OUTSIDE}"
            if ":" in pattern and prefix not in self.papers
            else ""
        )
        rule = f"unknown claim{suggest(pattern, names)}{unread}"
        return UnknownClaim(str(self.directory), "", "claim", shown(pattern), rule)


@dataclass(frozen=True)
class ComparedQuotation:
    """A statement about another paper, with both formulas in the letters of the quoting paper."""

    claim: ClaimSpec
    quoted: ClaimSpec
    quotation: Quotation
    # the formula that the other paper prints according to the claim
    attributed: Formula | None
    printed: Formula | None  # the formula that the other paper prints
    relation: RelationToDerived | None  # None if one of the two is in words


def several_claims(claims: Sequence[ClaimSpec], name_limit: int = 5) -> str:
    """Name several claims in a message: their number and the first ones."""
    names = ", ".join(claim.key for claim in claims[:name_limit])
    remainder = (
        f" and {len(claims) - name_limit} more" if len(claims) > name_limit else ""
    )
    return f"{len(claims)} claims: {names}{remainder}"
