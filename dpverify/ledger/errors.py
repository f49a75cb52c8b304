"""Errors of the ledger and of its formula language. Each is one line that names the place, the value and the rule."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace

MOST_CHARACTERS = 80  # characters of a value that an error repeats


def printable(text: str, limit: int = MOST_CHARACTERS) -> str:
    """Return text on one line, cut after `limit` characters, with unprintable characters escaped."""
    beginning = text[:limit]
    escaped = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
        for c in beginning
    )
    return escaped + ("..." if len(text) > limit else "")


def shown(value: object) -> str:
    """Return a TOML value as error messages show it: scalars in full, tables and arrays by their type."""
    if isinstance(value, str):
        return f"'{printable(value)}'"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**MOST_CHARACTERS:
        return "a huge integer"  # Python limits the conversion of int to str
    return printable(str(value))


def suggest(word: str, allowed: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known words nearest to `word`, or nothing."""
    words = sorted(allowed)
    longer = sorted((name for name in words if name.startswith(f"{word}-")), key=len)
    near = [
        *dict.fromkeys(
            [*longer, *difflib.get_close_matches(word[:64], words, n=3, cutoff=0.6)]
        )
    ][:3]
    return f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""


class FormulaError(ValueError):
    """A text that the formula language refuses, with the rule that it breaks."""

    def __init__(self, value: str, rule: str) -> None:
        super().__init__(value, rule)
        self.value = value
        self.rule = rule

    def __str__(self) -> str:
        return f"{shown(self.value)}: {printable(self.rule, 400)}"


class SpecError(Exception):
    """A rule that a specs folder breaks: the file, the claim, the field such as ``requires[0]``, the value, the rule.

    Examples
    --------
    >>> import dpverify as dv
    >>> try:
    ...     dv.load_specs("no-such-folder")
    ... except dv.SpecError as error:
    ...     print(error.file)
    no-such-folder
    """

    def __init__(
        self, file: str, claim: str, field: str, value: str, rule: str
    ) -> None:
        super().__init__(file, claim, field, value, rule)
        self.file = file
        self.claim = claim
        self.field = field
        self.value = value
        self.rule = rule

    def __str__(self) -> str:
        parts = (self.file, self.claim, self.field, self.value, self.rule)
        return ": ".join(printable(part, 400) for part in parts if part)


class UnknownClaim(SpecError):  # noqa: N818  a name that reads well in an except clause; it is a SpecError
    """A claim or a pattern that matches no claim of the loaded papers, or an unknown paper.

    Examples
    --------
    >>> import dpverify as dv
    >>> try:
    ...     dv.explain("tran2022:lemma-21")
    ... except dv.UnknownClaim as error:
    ...     error.value
    "'tran2022:lemma-21'"
    """


class Problems:
    """Collects errors, and raises the last of them when there are ``limit``, because a big file could take minutes."""

    def __init__(self, limit: int = 1) -> None:
        self.limit = limit
        self.errors: list[SpecError] = []

    def __len__(self) -> int:
        return len(self.errors)

    def append(self, error: SpecError) -> None:
        """Add an error, and raise it if the limit is reached."""
        self.errors.append(error)
        if len(self.errors) >= self.limit:
            raise error

    def extend(self, errors: Iterable[SpecError]) -> None:
        """Add errors one by one, and generate none beyond the limit."""
        for error in errors:
            self.append(error)


@dataclass(frozen=True)
class Place:
    """A place in the specs, which makes errors that name it."""

    file: str
    claim: str = ""
    field: str = ""

    def at(self, field: str) -> Place:
        """Return the same place, at `field`."""
        return replace(self, field=field)

    def in_record(self, claim: str) -> Place:
        """Return the same file, in `claim`."""
        return replace(self, claim=claim, field="")

    def error(self, value: str, rule: str) -> SpecError:
        """Make an error at this place; `value` is already the text to print."""
        return SpecError(self.file, self.claim, self.field, value, rule)

    def formula_error(self, error: FormulaError) -> SpecError:
        """Turn a formula's error into an error that names the place of the formula."""
        return self.error(shown(error.value), error.rule)
