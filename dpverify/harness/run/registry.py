"""The checks of a paper, found by claim and name, also from another process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TypeVar

from dpverify.harness.checks import Check

PAPERS = "dpverify.papers:load"
"""Where checks are found by default: a module, and its function from a paper's key to its checks or None."""

Key = TypeVar("Key")


@dataclass(frozen=True)
class Entry:
    """A check and the module that made it."""

    check: Check
    module: str  # name of the module; the evidence hash covers all it imports


@dataclass(frozen=True)
class _Later:
    """A file of checks that is imported when one of its claims is asked for."""

    module: str
    claims: frozenset[str]

    def load(self, key: str) -> PaperChecks:
        """Import the file, and hold its claims against those that it was announced with."""
        checks: PaperChecks = import_module(self.module).CHECKS
        if checks.key != key:
            raise ValueError(f"{self.module} must belong to {key}, got key={checks.key!r}.")
        if wrong := sorted(checks.claims() ^ self.claims):
            raise ValueError(f"{self.module} must judge the claims that it is announced with, got {', '.join(wrong)}.")
        return checks


class PaperChecks:
    """The checks of one paper.

    Parameters
    ----------
    key : str
        Key of the paper: "tran2022".
    module : str
        Name of the module that makes the checks: ``__name__``.
    """

    def __init__(self, key: str, module: str) -> None:
        self.key = key
        self.module = module
        self._entries: dict[tuple[str, str], Entry] = {}
        self._later: list[_Later] = []
        self._whole: dict[str, dict[str, Entry]] = {}  # the checks of a claim, by name, once it was asked for

    def add(self, *checks: Check) -> None:
        """Add checks.

        Parameters
        ----------
        *checks : Check
            Each with a name of its own among those of its claim.

        Raises
        ------
        ValueError
            If a claim has a check of this name already, or the name cannot stand in a pytest id.
        """
        for check in checks:
            self._insert(Entry(check, self.module))

    def later(self, module: str, claims: Iterable[str]) -> None:
        """Announce another file of the same paper: it is imported when one of its claims is asked for.

        Parameters
        ----------
        module : str
            Its name; it has its checks as ``CHECKS``.
        claims : iterable of str
            Ids, without the paper, of all claims that it judges, and of no others.
        """
        self._later.append(_Later(module, frozenset(claims)))
        self._whole.clear()

    def claims(self) -> set[str]:
        """Ids, without the paper, of the claims that have a check; nothing is imported for it."""
        return {claim for claim, _ in self._entries}.union(*(part.claims for part in self._later))

    def entries(self, claim: str | None = None) -> list[Entry]:
        """List checks in the order in which they were added, those of announced files last.

        Parameters
        ----------
        claim : str or None
            Id of a claim without the paper; None for all.

        Returns
        -------
        list of Entry
            The checks, each with its module.

        Raises
        ------
        ValueError
            If an announced file judges other claims than it was announced with, or a name is taken.
        """
        if claim is not None:
            return list(self._of(claim).values())
        found = dict(self._entries)
        for part in self._later:
            for entry in part.load(self.key).entries():
                _put(found, (entry.check.claim, entry.check.name), entry)
        return list(found.values())

    def of(self, claim: str) -> list[Check]:
        """List the checks of a claim.

        Parameters
        ----------
        claim : str
            Id of the claim without the paper.

        Returns
        -------
        list of Check
            In the order in which they were added.
        """
        return [entry.check for entry in self.entries(claim)]

    def find(self, claim: str, name: str) -> Check:
        """Find a check.

        Parameters
        ----------
        claim, name : str
            Id of the claim without the paper, and name of the check.

        Returns
        -------
        Check
            The check.

        Raises
        ------
        KeyError
            If there is none.
        """
        return self._of(claim)[name].check

    def _of(self, claim: str) -> dict[str, Entry]:
        if claim not in self._whole:
            found = {name: entry for (judged, name), entry in self._entries.items() if judged == claim}
            for part in self._later:
                if claim in part.claims:
                    for entry in part.load(self.key).entries(claim):
                        _put(found, entry.check.name, entry)
            self._whole[claim] = found
        return self._whole[claim]

    def _insert(self, entry: Entry) -> None:
        claim, name = entry.check.claim, entry.check.name
        if not name or set(name) & set("[]|:= "):
            raise ValueError(f"name of a check of {claim} must be a word without []|:= and spaces, got name={name!r}.")
        _put(self._entries, (claim, name), entry)
        self._whole.clear()


def _put(entries: dict[Key, Entry], key: Key, entry: Entry) -> None:
    if key in entries:
        raise ValueError(f"name of a check of {entry.check.claim} must be new, got name={entry.check.name!r} twice.")
    entries[key] = entry


def recorded_share(source: str, budget: str) -> float | None:
    """Core seconds that one divisible check may take, where the place with the checks says so.

    ``source``: "module:function"; the module may have the seconds of each budget as ``SEARCH_SECONDS``. The other
    checks then all fit. None where it is to be made out from what the checks declare.
    """
    recorded: Mapping[str, float] = getattr(import_module(_place(source)[0]), "SEARCH_SECONDS", {})
    return recorded.get(budget)


def load_checks(source: str, paper: str) -> PaperChecks | None:
    """Load the checks of a paper. None where no code is written for the paper."""
    module, function = _place(source)
    load: Callable[[str], PaperChecks | None] = getattr(import_module(module), function)
    return load(paper)


def _place(source: str) -> tuple[str, str]:
    module, colon, function = source.partition(":")
    if not colon:
        raise ValueError(f"source must be module:function, got source={source!r}.")
    return module, function
