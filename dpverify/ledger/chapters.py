"""Chapters: what we tell of a paper, in words. Every number and every verdict in them is filled in from a run.

``chapters.toml`` lies beside ``verdicts.toml``. A placeholder is ``{kind:claim[name=choice]|argument}``; nothing is
filled in here, but it is checked that the paper has the claim and that the kind of placeholder is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from dpverify.ledger.claims import ClaimSpec, reading_problems
from dpverify.ledger.errors import Place, SpecError, shown, suggest
from dpverify.ledger.records import Record, Status

KINDS: Mapping[str, tuple[str, ...]] = {
    "claim": (),
    "status": (),
    "corrected-status": (),
    "reason": (),
    "why": (),
    "finding": ("words",),
    "printed": (),
    "corrected": (),
    "corrected-statement": (),
    "requires": (),
    "slack": (),
    "corrected-slack": (),
    "ratio": ("counterexample",),
    "counterexample": ("counterexample",),
    "at": ("counterexample", "symbol"),
    "term": ("statement", "path"),
    "factor": ("statement", "path"),
    "onset": ("figure",),
    "figure": ("figure",),
    "says": ("check",),
}
"""Kind of placeholder to the names of its arguments; ``dpverify.report.pages.fill`` says what each becomes."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "counterexample": ("smallest", "interior", "largest-ratio"),
    "statement": ("printed", "corrected"),
}
"""What some arguments must be one of."""

PLACEHOLDER = re.compile(r"\{(?P<kind>[a-z][a-z-]*):(?P<reference>[^{}|]*)(?P<rest>(?:\|[^{}|]*)*)\}")
_CURLY = re.compile(r"\{[^{}]*:[^{}]*\}")  # what a writer must have meant as a placeholder
_REFERENCE = re.compile(r"(?P<claim>[a-z0-9.-]+)(?:\[(?P<reading>[^\[\]]*)\])?")
_CONDITION = re.compile(r"(?P<corrected>corrected )?(?P<reference>\S+) (?P<statuses>.+)")


@dataclass(frozen=True)
class About:
    """A claim of the paper, under the readings that agree with some choices."""

    claim: str
    reading: Mapping[str, str]

    def __str__(self) -> str:
        inside = ",".join(f"{name}={choice}" for name, choice in self.reading.items())
        return f"{self.claim}[{inside}]" if inside else self.claim


@dataclass(frozen=True)
class Condition:
    """What a run must show for a passage to be true: the status of a claim, or that of its corrected statement."""

    about: About
    statuses: tuple[str, ...]
    corrected: bool


class Passage(Record, frozen=True, kw_only=True):
    """A few paragraphs that stand or fall together."""

    # ``lemma-17[ordering=once] proved``: what the run must show. ``proved or not refuted``: either will do. ``corrected
    # theorem-6 proved`` is about the corrected statement.
    rests_on: list[str] = []
    optional: bool = False  # whether nothing is said of it where the run does not have what it needs
    text: str  # markdown with placeholders

    def conditions(self) -> list[Condition]:
        """``rests_on``, read."""
        return [condition(text) for text in self.rests_on]


class Chapter(Record, frozen=True, kw_only=True):
    """A chapter, at the head of the page of a part (``Theorem 6``), or of the paper's first page (``""``)."""

    title: str
    part: str = ""
    passage: list[Passage]


class ChaptersFile(Record, frozen=True, kw_only=True):
    """All of ``chapters.toml``."""

    chapter: list[Chapter] = []


def reference(text: str) -> About:
    """Read a reference to a claim."""
    found = _REFERENCE.fullmatch(text)
    pairs = [part.partition("=") for part in (found["reading"] or "").split(",") if part] if found else []
    if found is None or not all(name and choice for name, _, choice in pairs):
        raise ValueError("a reference is a claim, or a claim with readings, such as lemma-17[ordering=once]")
    return About(found["claim"], {name: choice for name, _, choice in pairs})


def condition(text: str) -> Condition:
    """Read an entry of ``rests_on``; raises ValueError if it is none."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ValueError("a condition is a claim and a status, such as lemma-17[ordering=once] proved")
    return Condition(reference(found["reference"]), tuple(found["statuses"].split(" or ")), bool(found["corrected"]))


def chapter_problems(file: ChaptersFile, claims: Mapping[str, ClaimSpec], place: Place) -> Iterator[SpecError]:
    """Yield what is wrong with chapters.

    For each reference to a claim or reading that is not there, and each placeholder that is none.
    """
    for number, chapter in enumerate(file.chapter):
        for count, passage in enumerate(chapter.passage):
            here = place.at(f"chapter[{number}].passage[{count}]")
            for text in passage.rests_on:
                yield from _condition_problems(text, claims, here)
            for match in _CURLY.finditer(passage.text):
                yield from _placeholder_problems(match[0], claims, here)


def _condition_problems(text: str, claims: Mapping[str, ClaimSpec], here: Place) -> Iterator[SpecError]:
    try:
        found = condition(text)
    except ValueError as error:
        yield here.error(shown(text), str(error))
        return
    yield from _about_problems(found.about, claims, here)
    for status in found.statuses:
        if status not in get_args(Status):
            known = get_args(Status)
            yield here.error(shown(text), f"a status is one of {', '.join(known)}{suggest(status, known)}")


def _placeholder_problems(text: str, claims: Mapping[str, ClaimSpec], here: Place) -> Iterator[SpecError]:
    match = PLACEHOLDER.fullmatch(text)
    if match is None or match["kind"] not in KINDS:
        kind = text[1:].partition(":")[0]
        yield here.error(shown(text), f"a placeholder is one of {', '.join(KINDS)}{suggest(kind, KINDS)}")
        return
    kind, given = match["kind"], match["rest"].split("|")[1:]
    wanted = KINDS[kind]
    if len(given) != len(wanted) or not all(given):
        yield here.error(shown(match[0]), f"{kind} takes {' and '.join(wanted) or 'a claim'}, set apart by |")
        return
    for name, value in zip(wanted, given, strict=True):
        if value not in CHOICES.get(name, (value,)):
            yield here.error(shown(match[0]), f"{name} is one of {', '.join(CHOICES[name])}")
    try:
        about = reference(match["reference"])
    except ValueError as error:
        yield here.error(shown(match[0]), str(error))
        return
    yield from _about_problems(about, claims, here)


def _about_problems(about: About, claims: Mapping[str, ClaimSpec], here: Place) -> Iterator[SpecError]:
    if about.claim not in claims:
        yield here.error(shown(str(about)), f"the paper has no such claim{suggest(about.claim, claims)}")
    else:
        yield from reading_problems(claims[about.claim].record, about.reading, here)
