"""A statement as plain text: its formula, its definitions and conditions, and where its letters live."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from dpverify.ledger.display import Line
from dpverify.report.text.formulas import formula_text, letter_text, prose_text

_BOUND = re.compile(r"(?P<letter>\w+)(?P<bound> (?:>=|>|<=|<) -?\d+)")


def statement_text(lines: Sequence[Line]) -> Iterator[str]:
    """Return a whole statement: the formula first, the letters last; not the reading."""
    yield from formula_lines(lines)
    if assumptions := [prose_text(line.text) for line in lines if line.word == "assuming"]:
        yield f"assuming {', '.join(assumptions)}"
    if letters := [letter_text(line.text) for line in lines if line.word == "constant may depend on"]:
        yield f"the constant may depend on {', '.join(letters)}"
    if domains := domains_text(line.text for line in lines if line.word == "where"):
        yield f"for {domains}"
    yield from (
        f"where {line.text} is the {prose_text(line.about).removeprefix('the ')}"
        for line in lines
        if line.word == "measured:" and line.about
    )


def formula_lines(lines: Iterable[Line]) -> Iterator[str]:
    """Return the formula or the words of a statement, then its definitions, then its conditions in one line."""
    all_lines = list(lines)
    for line in all_lines:
        if line.word == "in words:":
            yield prose_text(line.text)
        elif line.word in ("", "with"):
            yield f"{line.word} {formula_text(line.text)}".strip()
    if conditions := [formula_text(line.text) for line in all_lines if line.word == "if"]:
        yield f"if {' and '.join(conditions)}"


def domains_text(domains: Iterable[str]) -> str:
    """Return where letters live, those of one kind and one bound together: ``integer N, T ≥ 1; real σ > 0``."""
    kinds: dict[str, dict[str, list[str]]] = {}
    for domain in domains:
        head, *bounds = domain.split(", ")
        name, _, kind = head.partition(" ")
        match = _BOUND.fullmatch(bounds[0]) if len(bounds) == 1 else None
        bounds_text = " and ".join(map(formula_text, bounds)) or letter_text(name)
        letters = kinds.setdefault(kind, {}).setdefault(match["bound"] if match else "", [])
        letters.append(letter_text(name) if match else bounds_text)
    return "; ".join(f"{kind} {_together(bounded)}" for kind, bounded in kinds.items())


def _together(bounded: dict[str, list[str]]) -> str:
    return ", ".join(
        ", ".join(letters) + (formula_text(f"x{bound}").removeprefix("x") if bound else "")
        for bound, letters in bounded.items()
    )
