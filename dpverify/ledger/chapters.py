"""Chapters: our prose about a paper. Every number and every verdict in it is filled in from a run.

A passage of ``chapters.toml`` is a jinja2 template of text and calls, ``{{ why('lemma-17[ordering=once]') }}``. This
module only checks the template; ``dpverify.report.pages.fill`` replaces the calls.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, get_args

from dpverify.ledger.claims import ClaimSpec, reading_problems
from dpverify.ledger.errors import Place, SpecError, shown, suggest
from dpverify.ledger.records import Record, Status

#: Functions that a template may call: name to the names of the arguments after the claim.
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
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
    _one_of("a function", name, FUNCTIONS)
    if len(arguments) != 1 + len(FUNCTIONS[name]) or not all(arguments):
        raise ValueError(
            f"{name}({', '.join(map(repr, arguments))}): it takes {', '.join(['a claim', *FUNCTIONS[name]])}"
        )
    for argument, value in zip(FUNCTIONS[name], arguments[1:], strict=True):
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
