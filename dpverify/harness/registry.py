"""The checks of a paper, found by claim and name, also from another process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from dpverify.harness.checks import Check

PAPERS = "dpverify.papers:load"
"""Where checks are found by default: a module, and its function from a paper's key to its checks or None."""


@dataclass(frozen=True)
class Entry:
    """A check and the module that made it.

    Attributes
    ----------
    check : Check
        The check.
    module : str
        Name of the module; the evidence hash covers all it imports.
    """

    check: Check
    module: str


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

    def include(self, other: PaperChecks) -> None:
        """Add the checks of another file of the same paper; they keep their module.

        Parameters
        ----------
        other : PaperChecks
            Of the same paper.

        Raises
        ------
        ValueError
            If it belongs to another paper, or a name is taken.
        """
        if other.key != self.key:
            raise ValueError(f"other must belong to {self.key}, got other.key={other.key!r}.")
        for entry in other.entries():
            self._insert(entry)

    def entries(self, claim: str | None = None) -> list[Entry]:
        """List checks in the order in which they were added.

        Parameters
        ----------
        claim : str or None
            Id of a claim without the paper; None for all.

        Returns
        -------
        list of Entry
            The checks, each with its module.
        """
        return [entry for entry in self._entries.values() if claim in (None, entry.check.claim)]

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
        return self._entries[claim, name].check

    def _insert(self, entry: Entry) -> None:
        claim, name = entry.check.claim, entry.check.name
        if not name or set(name) & set("[]|:= "):
            raise ValueError(f"name of a check of {claim} must be a word without []|:= and spaces, got name={name!r}.")
        if (claim, name) in self._entries:
            raise ValueError(f"name of a check of {claim} must be new, got name={name!r} twice.")
        self._entries[claim, name] = entry


def load_checks(source: str, paper: str) -> PaperChecks | None:
    """Load the checks of a paper.

    Parameters
    ----------
    source : str
        "module:function"; the function takes the paper's key.
    paper : str
        Key of the paper.

    Returns
    -------
    PaperChecks or None
        None where no code is written for the paper.

    Raises
    ------
    ValueError
        If the source is not of that form.
    """
    module, colon, function = source.partition(":")
    if not colon:
        raise ValueError(f"source must be module:function, got source={source!r}.")
    load: Callable[[str], PaperChecks | None] = getattr(import_module(module), function)
    return load(paper)
