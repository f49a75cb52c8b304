"""Parse the text of a chain into lines. A line has a relation, a formula and a reason, and may split into cases.

node*decays(t)
<= node*log2(t + 1)     by prefix-decays(s = t)
<= node*log2(T + 1)     by log2-monotone
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dpverify.ledger.formula import (
    Compare,
    Formula,
    FormulaError,
    parse,
    parse_relation,
)
from dpverify.ledger.statements import Variant

MOST_LINES = 200
INDUCTION = "induction"  # the reason of a line that an induction proves
# the name under which the step of an induction cites the induction hypothesis
HYPOTHESIS = "hypothesis"
HERE = "here"  # the letter that marks the subexpression to which a rule is applied

CitedKind = Literal["", "claim", "definition", "fact", "given"]

_RELATION = re.compile(r"\s*(<=|>=|=)\s(.*)", re.DOTALL)
_CASE = re.compile(r"\s*case\s+(.*)", re.DOTALL)
_PARTS = ("base", "step", "end")  # lines that begin or end a part of the chain
_REASON = re.compile(
    r"(?:(?:(?P<variant>printed|amended|held)\s+)?(?P<kind>claim|definition|fact|given)\s+)?"
    r"(?P<name>[A-Za-z][\w.:-]*)\s*(?:\((?P<arguments>.*)\))?(?:\s*under\s+(?P<reading>\w+\s*=\s*[\w-]+))?",
    re.DOTALL,
)
_ARGUMENT = re.compile(
    r"\s*(?P<name>[A-Za-z]\w*)\s*(?:\(\s*(?P<index>[A-Za-z]\w*)\s*\))?\s*=(?!=)(?P<value>.*)",
    re.DOTALL,
)
_REASON_FORMAT = "a reason is a name, with what its letters become in brackets: by sum-at-most(f(i) = 2**i, c = 4)"


@dataclass(frozen=True)
class Argument:
    """The value of a letter of a rule; with an ``index``, the letter is a function of the index."""

    name: str
    value: Formula
    index: str = ""


@dataclass(frozen=True)
class Reason:
    """The reason of a line: a rule or lemma by its name, or a recorded claim, definition, fact or premise."""

    name: str
    kind: CitedKind = ""
    variant: Variant = "printed"
    arguments: tuple[Argument, ...] = ()
    # choices of the cited claim that differ from the citing statement's
    reading: tuple[tuple[str, str], ...] = ()
    # the expression before the line, with ``here`` where the rule is applied
    place: Formula | None = None


@dataclass(frozen=True)
class ChainLine:
    """One line of a chain."""

    number: int  # the expression at the start of the chain has number 1
    relation: Literal["<=", ">=", "="]
    formula: Formula
    text: str
    # None: algebra, or a comparison that follows from the conditions
    reason: Reason | None = None
    note: str = ""
    cases: tuple[tuple[Compare, tuple[ChainLine, ...]], ...] = ()
    # the base and the step
    induction: tuple[tuple[ChainLine, ...], tuple[ChainLine, ...]] | None = None


@dataclass(frozen=True)
class Chain:
    """An expression and the lines that transform it."""

    start: Formula
    lines: tuple[ChainLine, ...] = field(default=())


Text: TypeAlias = tuple[int, str, str]  # number, text and comment of one line


def formulas_of(lines: tuple[ChainLine, ...]) -> Iterator[Formula]:
    """Yield the formulas of lines, and of their cases and inductions."""
    for line in lines:
        yield line.formula
        for condition, inside in line.cases:
            yield from condition.operands
            yield from formulas_of(inside)
        for part in line.induction or ():
            yield from formulas_of(part)


def parse_chain(text: str) -> Chain:
    """Parse a chain; raises a `FormulaError` that names the line."""
    todo = list(_logical_lines(text))[::-1]
    if not todo:
        raise FormulaError(text, "a chain begins with an expression")
    if len(todo) > MOST_LINES:
        raise FormulaError(
            f"{len(todo)} lines", f"a chain has at most {MOST_LINES} lines"
        )
    _, first, _ = todo.pop()
    if _RELATION.fullmatch(first):
        raise FormulaError(
            first.strip(),
            "a chain begins with an expression, without a relation before it",
        )
    start = parse(first.strip())
    lines = tuple(_lines(todo, inside=False))
    return Chain(start, lines)


def _logical_lines(text: str) -> Iterator[Text]:
    """Yield lines without comments, joining continuation lines.

    A line that does not begin with a relation, ``case`` or the name of a part continues the line before it.
    """
    pending: Text | None = None
    number = 0
    for raw in text.splitlines():
        body, _, comment = raw.partition("#")
        if not body.strip():
            continue
        is_new = (
            pending is None
            or _RELATION.fullmatch(body)
            or _CASE.fullmatch(body)
            or body.strip() in _PARTS
        )
        if pending is not None and not is_new:
            pending = (
                pending[0],
                f"{pending[1]} {body.strip()}",
                f"{pending[2]} {comment.strip()}".strip(),
            )
            continue
        if pending is not None:
            yield pending
        number += 1
        pending = (number, body, comment.strip())
    if pending is not None:
        yield pending


def _lines(todo: list[Text], *, inside: bool) -> Iterator[ChainLine]:
    """Yield lines up to the end of the chain or, if ``inside``, of a case or a part of an induction."""
    while todo:
        number, body, note = todo[-1]
        match = _RELATION.fullmatch(body)
        if match is None:
            if inside:
                return
            raise FormulaError(
                body.strip(),
                "a part of a chain stands below a line whose reason is cases or induction",
            )
        todo.pop()
        yield _line(number, match, note, todo)


def _line(number: int, match: re.Match[str], note: str, todo: list[Text]) -> ChainLine:
    relation, body = match.groups()
    parts = re.split(r"\sby\s", body, maxsplit=1)
    text = match.group().strip()
    formula = parse(parts[0].strip())
    reason = parts[1].strip() if len(parts) > 1 else ""
    cases: tuple[tuple[Compare, tuple[ChainLine, ...]], ...] = ()
    if reason == "cases":
        cases = tuple(_cases(todo))
        if len(cases) < 2:
            raise FormulaError(
                text,
                "a split has two cases or more, each below a line such as: case t <= N",
            )
    cited = read_reason(reason) if reason and not cases else None
    induction = (
        _induction(text, todo)
        if cited is not None and cited.name == INDUCTION
        else None
    )
    # the type of a match group is str | None, but the pattern matches only relations
    return ChainLine(number, relation, formula, text, cited, note, cases, induction)  # type: ignore[arg-type]


def _induction(
    text: str, todo: list[Text]
) -> tuple[tuple[ChainLine, ...], tuple[ChainLine, ...]]:
    parts: dict[str, tuple[ChainLine, ...]] = {}
    for name in ("base", "step"):
        if todo and todo[-1][1].strip() == name:
            todo.pop()
            parts[name] = tuple(_lines(todo, inside=True))
    if todo and todo[-1][1].strip() == "end":
        todo.pop()
    if "step" not in parts:
        raise FormulaError(
            text,
            "an induction has a part step, and before it a part base where that needs lines",
        )
    return parts.get("base", ()), parts["step"]


def _cases(todo: list[Text]) -> Iterator[tuple[Compare, tuple[ChainLine, ...]]]:
    while todo:
        _, body, _ = todo[-1]
        if body.strip() == "end":
            todo.pop()
            return
        match = _CASE.fullmatch(body)
        if match is None:
            return
        todo.pop()
        condition = parse_relation(match[1].strip())
        yield condition, tuple(_lines(todo, inside=True))


def read_reason(text: str) -> Reason:
    """Parse the text after ``by``."""
    words, _, place = text.partition(" within ")
    match = _REASON.fullmatch(words.strip())
    if match is None:
        raise FormulaError(text, _REASON_FORMAT)
    arguments = tuple(map(_argument, _split(match["arguments"] or "")))
    names = [argument.name for argument in arguments]
    if twice := {name for name in names if names.count(name) > 1}:
        raise FormulaError(
            text, f"a letter becomes one thing, {min(twice)} is given twice"
        )
    where = parse(place.strip()) if place else None
    reading = tuple(re.findall(r"(\w+)\s*=\s*([\w-]+)", match["reading"] or ""))
    if reading and match["kind"] != "claim":
        raise FormulaError(text, "only a claim is cited under a reading")
    variant = match["variant"] or "printed"
    # the pattern matches only the literals that a reason may have
    return Reason(
        match["name"],
        match["kind"] or "",  # type: ignore[arg-type]
        variant,  # type: ignore[arg-type]
        arguments,
        reading,
        where,
    )


def _argument(text: str) -> Argument:
    match = _ARGUMENT.fullmatch(text)
    if match is None:
        raise FormulaError(text.strip(), _REASON_FORMAT)
    return Argument(match["name"], parse(match["value"].strip()), match["index"] or "")


def _split(text: str) -> Iterator[str]:
    """Yield the parts of a text between the commas outside brackets."""
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[start:position]
            start = position + 1
    if text[start:].strip():
        yield text[start:]
