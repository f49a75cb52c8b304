"""The error of the formula language, and how errors repeat a value on one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_CHARACTERS = 80  # characters of a value that an error repeats


def printable(text: str, limit: int = MOST_CHARACTERS) -> str:
    """Text on one line, cut after `limit` characters: control characters, line ends and invisible marks are escaped."""
    beginning = text[:limit]
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in beginning)
    return escaped + ("..." if len(text) > limit else "")


def shown(value: object) -> str:
    """Return a TOML value as an error repeats it: scalars written out, tables and arrays named."""
    if isinstance(value, str):
        return f"'{printable(value)}'"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**MOST_CHARACTERS:
        return "a huge integer"  # int -> str has a limit of its own
    return printable(str(value))


def suggest(word: str, allowed: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known words nearest to `word`, or nothing."""
    words = sorted(allowed)
    longer = sorted((name for name in words if name.startswith(f"{word}-")), key=len)
    near = [*dict.fromkeys([*longer, *difflib.get_close_matches(word[:64], words, n=3, cutoff=0.6)])][:3]
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


class FormulaError(ValueError):
    """A text that the formula language refuses; the rule comes with the piece that breaks it."""

    def __init__(self, value: str, rule: str) -> None:
        super().__init__(value, rule)
        self.value = value
        self.rule = rule

    def __str__(self) -> str:
        return f"{shown(self.value)}: {printable(self.rule, 400)}"
