"""Changed statements of exact checks: faults that must be refuted, and true neighbours that must not be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

from dpverify.harness.context import Point
from dpverify.harness.sides import LeftSide
from dpverify.ledger.formula import Bin, Name, Num, free_names, parse, substitute
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.numbers import Exact

PRINTED = "printed"  # the name that stands for the printed right side in a planted one


@dataclass(frozen=True)
class Outcome:
    """The outcome of a rule at a point, with both sides if it has them."""

    ok: bool | None  # whether the statement holds there; None where it is not decided
    lhs: Exact | None = None  # both sides
    rhs: Exact | None = None
    note: str = ""  # what is wrong, in words


Rule = Callable[[Point, Statement], bool | Outcome | None]


@dataclass(frozen=True)
class ChangedStatement:
    """A statement near the one that a check judges: exactly one of the right side, the left side and the rule."""

    name: str  # what is changed: "one interval fewer"
    rhs: str = ""  # a right side in which ``printed`` stands for the printed one: "printed - 1"
    lhs: LeftSide | None = None  # a left side
    holds: Rule | None = None  # a rule

    kind: ClassVar[str] = "changed statement"

    def __post_init__(self) -> None:
        changes = [bool(self.rhs), self.lhs is not None, self.holds is not None]
        if sum(changes) != 1:
            raise ValueError(f"{self.kind} {self.name!r} must give exactly one of rhs, lhs and holds.")
        if self.rhs and PRINTED not in free_names(parse(self.rhs)):
            raise ValueError(f"{self.kind} {self.name!r}: rhs must use the name printed, got rhs={self.rhs!r}.")

    def statement(self, statement: Statement) -> Statement:
        """Statement with the changed right side; the statement itself where something else is changed."""
        if not self.rhs or statement.rhs is None:
            return statement
        return replace(statement, rhs=substitute(parse(self.rhs), {Name(PRINTED): statement.rhs}))


@dataclass(frozen=True)
class Planted(ChangedStatement):
    """A fault that a check must refute."""

    at_declared_size: bool = False  # whether the fault is the smallest that the check says it sees

    kind: ClassVar[str] = "planted fault"


@dataclass(frozen=True)
class TrueNeighbour(ChangedStatement):
    """A true statement near a false one, at all points of the check: the check must not refute it."""

    kind: ClassVar[str] = "true neighbour"


def corrected(rule: Rule) -> Rule:
    """Make the rule for the corrected statement from one that looks at the variant of its statement."""
    return lambda point, statement: rule(point, replace(statement, variant="amended"))


def moved_side(statement: Statement, op: Literal["*", "+"], number: Fraction) -> Statement:
    """Copy a statement with its right side times a number, or with a number added to it."""
    if statement.rhs is None:
        raise ValueError(f"{statement.key}: a statement in words has no right side to change.")
    sides = (Num(number), statement.rhs) if op == "*" else (statement.rhs, Num(number))
    return replace(statement, rhs=Bin(op, *sides))
