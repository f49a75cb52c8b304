"""Which groups of cases there are: one module each, loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

from dpverify.bench.case import Case

GROUPS = {
    "noise": "cases.noise",
    "optimizers": "cases.optimizers",
    "reconstruction": "cases.reconstruction",
    "monte-carlo": "cases.monte_carlo",
    "accounting": "cases.accounting",
    "audit": "cases.audit",
    "start-up": "cases.start_up",
    "verification": "cases.verification",
}
"""Group to its module in this package: a docstring, whose first line says what the group is, and ``CASES``."""


class GroupError(ValueError):
    """A name that is no group."""

    def __init__(self, name: str) -> None:
        near = get_close_matches(name, GROUPS, n=3, cutoff=0.5)
        self.name, self.rule = name, f"is no group; {'near: ' if near else 'there are: '}{', '.join(near or GROUPS)}"
        super().__init__(f"{name!r} {self.rule}")


@dataclass(frozen=True)
class Group:
    """A group of cases."""

    name: str  # its name on the command line
    title: str  # first line of its module's docstring, without the full stop
    cases: tuple[Case, ...]  # in the order of the report


def load(name: str) -> Group:
    """Load one group."""
    if name not in GROUPS:
        raise GroupError(name)
    module = import_module(f"dpverify.bench.{GROUPS[name]}")
    cases = tuple(module.CASES)
    names = [case.name for case in cases]
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        raise ValueError(f"group {name}: two cases have the name {twice[0]!r}")
    title = (module.__doc__ or "").strip().splitlines()[0].rstrip(".")
    return Group(name, title, cases)


def select(names: Sequence[str], *, long: bool = False) -> list[Group]:
    """The groups that a run measures. In the order of :data:`GROUPS`, without groups that have no case to measure."""
    for name in names:
        if name not in GROUPS:
            load(name)  # complains
    chosen = []
    for name in GROUPS:
        if not names or name in names:
            group = load(name)
            cases = tuple(case for case in group.cases if long or name in names or not case.long)
            chosen.append(Group(name, group.title, cases))
    return [group for group in chosen if group.cases]
