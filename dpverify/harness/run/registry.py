"""The checks of a paper, found by claim and name, also from another process; and the files that register them.

A file below a paper's folder registers its checks with a line ``CHECKS = PaperChecks(key, __name__)``. An index lists
the claims of each file with a digest of the file, so that judging one claim imports few files. A file whose digest
differs is imported to find its claims, so that a stale index costs only time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dpverify.foreign import ForeignError, foreign_code, text_with_line
from dpverify.harness.evidence.source_code import CheckPlace, first_line
from dpverify.ledger.errors import SpecError

if TYPE_CHECKING:
    from dpverify.harness.admissible import Property
    from dpverify.harness.checks import Check


class Entry(NamedTuple):
    """A check and the place where it is created. The evidence hash covers the code that this place depends on."""

    check: Check
    place: CheckPlace


class PaperChecks:
    """The checks of one paper, by its key, or of one of its files. ``module``: name of the module that creates them.

    ``meets``: properties of the problems of all these checks; a property that a check declares itself has priority.
    """

    def __init__(
        self, key: str, module: str, meets: Mapping[str, Property] | None = None
    ) -> None:
        self.key = key
        self.module = module
        self.meets = dict(meets or {})
        self._own: dict[tuple[str, str], Entry] = {}
        self._announced: list[tuple[str, frozenset[str]]] = []
        # requested checks, by claim
        self._entries_of_claim: dict[str | None, dict[tuple[str, str], Entry]] = {}

    def add(self, *checks: Check) -> None:
        """Add checks."""
        line = first_line(self.module)
        for index, check in enumerate(checks):
            if not check.name or set(check.name) & set("[]|:= "):
                rule = "must be a word without []|:= and spaces"
                raise ValueError(
                    f"name of a check of {check.claim} {rule}, got name={check.name!r}."
                )
            declared = (
                replace(check, meets={**self.meets, **check.meets})
                if self.meets
                else check
            )
            _add_entry(
                self._own,
                Entry(declared, CheckPlace(self.module, line, index, len(checks))),
            )
        self._entries_of_claim.clear()

    def announce(self, module: str, claims: Iterable[str]) -> None:
        """Announce another file of the paper with all claims that it judges.

        It is imported when a claim is requested.
        """
        self._announced.append((module, frozenset(claims)))
        self._entries_of_claim.clear()

    def claims(self) -> set[str]:
        """Return the ids, without the paper, of the claims that have a check, without importing files."""
        return {claim for claim, _ in self._own}.union(
            *(claims for _, claims in self._announced)
        )

    def entries(self, claim: str | None = None) -> list[Entry]:
        """List the checks of a claim, or all, in the order in which they were added. Announced files come last."""
        return list(self._entries_of(claim).values())

    def of(self, claim: str) -> list[Check]:
        """List the checks of a claim."""
        return [entry.check for entry in self.entries(claim)]

    def find(self, claim: str, name: str) -> Check:
        """Find a check by its claim, without the paper, and its name."""
        return self._entries_of(claim)[claim, name].check

    def _entries_of(self, claim: str | None) -> dict[tuple[str, str], Entry]:
        if claim not in self._entries_of_claim:
            entries: dict[tuple[str, str], Entry] = {}
            for file in self._files(claim):
                for entry in file._own.values():
                    if claim in {None, entry.check.claim}:
                        _add_entry(entries, entry)
            self._entries_of_claim[claim] = entries
        return self._entries_of_claim[claim]

    def _files(self, claim: str | None) -> Iterator[PaperChecks]:
        """Yield this file and the announced files that judge a claim.

        Imports the announced files, and compares their claims with those that were announced.
        """
        yield self
        for module, claims in self._announced:
            if claim is None or claim in claims:
                checks = import_checks(module)
                if checks.key != self.key:
                    raise ValueError(
                        f"{module} must belong to {self.key}, got key={checks.key!r}."
                    )
                if wrong := sorted(checks.claims() ^ claims):
                    rule = "must judge the claims that it is announced with"
                    raise ValueError(f"{module} {rule}, got {', '.join(wrong)}.")
                yield checks


def import_checks(module: str) -> PaperChecks:
    """Import a file with checks. Any failure becomes a one-line error that names the file."""
    try:
        with foreign_code(module):
            checks: PaperChecks = import_module(module).CHECKS
    except ForeignError as failure:
        error = failure.__cause__ or failure
        raise SpecError(
            module,
            "",
            "",
            "",
            f"its checks cannot be imported: {text_with_line(error)}",
        ) from error
    return checks


def _add_entry(entries: dict[tuple[str, str], Entry], entry: Entry) -> None:
    claim = entry.check.claim
    name = entry.check.name
    if (claim, name) in entries:
        raise ValueError(
            f"name of a check of {claim} must be new, got name={name!r} twice."
        )
    entries[claim, name] = entry


MARK = "\nCHECKS = PaperChecks("
DIGITS = 12


class IndexedFile(msgspec.Struct, frozen=True):
    """The data that the index stores about a file: a digest of its source, and the claims that it judges."""

    source: str
    claims: list[str]


class Index(msgspec.Struct, frozen=True):
    """All files of all papers by module name, and the core seconds of one search in each budget."""

    search_seconds: dict[str, float]
    files: dict[str, IndexedFile]


def load_paper(
    key: str, package: str, index_of_files: Mapping[str, IndexedFile]
) -> PaperChecks | None:
    """Load the checks of a paper whose code is in a package; None if there is no such package."""
    if not key.isidentifier() or find_spec(package) is None:
        return None
    checks = PaperChecks(key, package)
    for module, source in check_files(package, key):
        file = index_of_files.get(module)
        checks.announce(
            module, file.claims if file and file.source == source else claims_in(module)
        )
    return checks


def check_files(package: str, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the modules below a package that register checks, in the order of their paths, each with its digest.

    ``key``: only the modules of this paper.
    """
    mark = f'{MARK}"{key}"' if key else MARK
    spec = find_spec(package)
    for folder in [] if spec is None else spec.submodule_search_locations or []:
        for path in sorted(Path(folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if mark in text:
                module = ".".join(
                    [package, *path.relative_to(folder).with_suffix("").parts]
                )
                yield module, hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def claims_in(module: str) -> list[str]:
    """Import a file and list the claims that it judges."""
    return sorted(import_checks(module).claims())


def made_index(packages: Sequence[str], search_seconds: Mapping[str, float]) -> Index:
    """Import every file of some papers, and return an index of the claims that they judge."""
    files = {
        module: IndexedFile(source, claims_in(module))
        for package in packages
        for module, source in check_files(package)
    }
    return Index(dict(search_seconds), files)


def read_index(path: Path) -> Index:
    """Read the index; an empty one if there is no file."""
    return (
        msgspec.json.decode(path.read_bytes(), type=Index)
        if path.is_file()
        else Index({}, {})
    )


def index_text(index: Index) -> str:
    """Return the text of an index file."""
    return msgspec.json.format(msgspec.json.encode(index), indent=1).decode() + "\n"
