"""Which groups of cases there are: one module of ``cases`` each, loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

from dpverify.bench.case import BenchCase

GROUPS = (
    "noise",
    "optimizers",
    "reconstruction",
    "monte-carlo",
    "accounting",
    "audit",
    "start-up",
    "verification",
)


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
    cases: tuple[BenchCase, ...]  # in the order of the report


def load(name: str) -> Group:
    """Load one group."""
    module = import_module(f"dpverify.bench.cases.{name.replace('-', '_')}")
    return Group(name, (module.__doc__ or "").splitlines()[0].rstrip("."), tuple(module.CASES))


def select(names: Sequence[str], *, long: bool = False) -> list[Group]:
    """The groups that a run measures, all by default, without those that have no case to measure."""
    for name in names:
        if name not in GROUPS:
            raise GroupError(name)
    chosen = []
    for name in GROUPS:
        if not names or name in names:
            group = load(name)
            cases = tuple(case for case in group.cases if long or name in names or not case.long)
            chosen.append(Group(name, group.title, cases))
    return [group for group in chosen if group.cases]
