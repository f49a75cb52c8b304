"""Errors of the ledger: one line each, naming where, which value and which rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dpverify.ledger.formula.errors import FormulaError, printable, shown, suggest

__all__ = ["FormulaError", "Place", "Problems", "SpecError", "UnknownClaim", "printable", "shown", "suggest"]


class SpecError(Exception):
    """A rule that a specs folder breaks: the file as typed, claim, field such as ``requires[0]``, value and rule.

    Examples
    --------
    >>> import dpverify as dv
    >>> try:
    ...     dv.load_specs("no-such-folder")
    ... except dv.SpecError as error:
    ...     print(error.file)
    no-such-folder
    """

    def __init__(self, file: str, claim: str, field: str, value: str, rule: str) -> None:
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
    """A claim, or a pattern of claims, that no loaded paper has.

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
    """Collects what breaks a rule, and raises the last when there are ``limit``; a big file could take minutes."""

    def __init__(self, limit: int = 1) -> None:
        self.limit = limit
        self.found: list[SpecError] = []

    def __len__(self) -> int:
        return len(self.found)

    def append(self, error: SpecError) -> None:
        """Add one; raises it if it is the last that fits."""
        self.found.append(error)
        if len(self.found) >= self.limit:
            raise error

    def extend(self, errors: Iterable[SpecError]) -> None:
        """Add them one by one, making no more of them than fit."""
        for error in errors:
            self.append(error)


@dataclass(frozen=True)
class Place:
    """Where in the specs something stands; makes errors that say so."""

    file: str
    claim: str = ""
    field: str = ""

    def at(self, field: str) -> Place:
        """Return the same place, at `field`."""
        return replace(self, field=field)

    def of(self, claim: str) -> Place:
        """Return the same file, in `claim`."""
        return replace(self, claim=claim, field="")

    def error(self, value: str, rule: str) -> SpecError:
        """Make an error at this place; `value` is already in its shown form."""
        return SpecError(self.file, self.claim, self.field, value, rule)

    def formula_error(self, error: FormulaError) -> SpecError:
        """Turn a formula's error into one that says where the formula stands."""
        return self.error(shown(error.value), error.rule)
