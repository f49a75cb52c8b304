"""The checks of a paper, found by claim and name, also from another process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from dpverify.foreign import ForeignError, foreign_code, located
from dpverify.harness.evidence.places import CheckPlace, first_line
from dpverify.ledger.errors import SpecError

if TYPE_CHECKING:  # what a paper judges is listed without them
    from dpverify.harness.admissible import Property
    from dpverify.harness.checks import Check


class Entry(NamedTuple):
    """A check and the place where it is made; the evidence hash covers what that depends on."""

    check: Check
    place: CheckPlace


class PaperChecks:
    """The checks of one paper, by its key, or of one of its files; ``module``: the name of what makes them.

    ``meets``: properties that the problems of all these checks have; those of a check itself come first.
    """

    def __init__(self, key: str, module: str, meets: Mapping[str, Property] | None = None) -> None:
        self.key = key
        self.module = module
        self.meets = dict(meets or {})
        self._own: dict[tuple[str, str], Entry] = {}
        self._announced: list[tuple[str, frozenset[str]]] = []
        self._found: dict[str | None, dict[tuple[str, str], Entry]] = {}  # what was asked for, by claim

    def add(self, *checks: Check) -> None:
        """Add checks."""
        line = first_line(self.module)
        for index, check in enumerate(checks):
            if not check.name or set(check.name) & set("[]|:= "):
                rule = "must be a word without []|:= and spaces"
                raise ValueError(f"name of a check of {check.claim} {rule}, got name={check.name!r}.")
            declared = replace(check, meets={**self.meets, **check.meets}) if self.meets else check
            _put(self._own, Entry(declared, CheckPlace(self.module, line, index, len(checks))))
        self._found.clear()

    def announce(self, module: str, claims: Iterable[str]) -> None:
        """Announce another file of the paper with all claims that it judges; it is imported when one is asked for."""
        self._announced.append((module, frozenset(claims)))
        self._found.clear()

    def claims(self) -> set[str]:
        """Ids, without the paper, of the claims that have a check; nothing is imported for it."""
        return {claim for claim, _ in self._own}.union(*(claims for _, claims in self._announced))

    def entries(self, claim: str | None = None) -> list[Entry]:
        """List the checks of a claim, or all, in the order in which they were added; announced files come last."""
        return list(self._of(claim).values())

    def of(self, claim: str) -> list[Check]:
        """List the checks of a claim."""
        return [entry.check for entry in self.entries(claim)]

    def find(self, claim: str, name: str) -> Check:
        """Find a check by its claim, without the paper, and its name."""
        return self._of(claim)[claim, name].check

    def _of(self, claim: str | None) -> dict[tuple[str, str], Entry]:
        if claim not in self._found:
            entries: dict[tuple[str, str], Entry] = {}
            for file in self._files(claim):
                for entry in file._own.values():
                    if claim in {None, entry.check.claim}:
                        _put(entries, entry)
            self._found[claim] = entries
        return self._found[claim]

    def _files(self, claim: str | None) -> Iterator[PaperChecks]:
        """Import the announced files that judge a claim, and hold their claims against those announced."""
        yield self
        for module, claims in self._announced:
            if claim is None or claim in claims:
                checks = import_checks(module)
                if checks.key != self.key:
                    raise ValueError(f"{module} must belong to {self.key}, got key={checks.key!r}.")
                if wrong := sorted(checks.claims() ^ claims):
                    rule = "must judge the claims that it is announced with"
                    raise ValueError(f"{module} {rule}, got {', '.join(wrong)}.")
                yield checks


def import_checks(module: str) -> PaperChecks:
    """Import a file with checks; whatever is wrong with it becomes one line that names it."""
    try:
        with foreign_code(module):
            checks: PaperChecks = import_module(module).CHECKS
    except ForeignError as failure:
        error = failure.__cause__ or failure
        raise SpecError(module, "", "", "", f"its checks cannot be imported: {located(error)}") from error
    return checks


def _put(entries: dict[tuple[str, str], Entry], entry: Entry) -> None:
    claim = entry.check.claim
    name = entry.check.name
    if (claim, name) in entries:
        raise ValueError(f"name of a check of {claim} must be new, got name={name!r} twice.")
    entries[claim, name] = entry
