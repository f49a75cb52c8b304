"""Both sides of a statement at a point: which is larger, with certainty, and by how much; and changed statements.

Exact checks must refute the changed statements that are planted faults, and must not refute true neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

from dpverify.harness.checks import Point
from dpverify.ledger.formula import Bin, Name, Num, free_names, parse, substitute
from dpverify.ledger.results import Number
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import decide_statement, evaluate_statement, to_number
from dpverify.symbolic.exact.numbers import (
    EvaluationError,
    Exact,
    Meter,
    UndecidedError,
    WorkLimitError,
    compare,
    to_value,
    working_precision,
)

PRECISIONS = (256, 1024, 2048)
SHARP_BITS = 40
COARSE_BITS = 6  # of a side that is known from both sides only, such as the divergence of a composition
MOST_OPEN = 1000  # points without a value that are remembered

LeftSide = Callable[[Point, Statement], Exact]
"""Left side of a statement that the ledger cannot evaluate: a Fraction, an int or a ball."""


@dataclass(frozen=True)
class Probe:
    """A statement at a point."""

    point: dict[str, Fraction]  # where
    holds: bool | None  # whether it holds; None where 2048 bits did not decide
    lhs: Number  # both sides
    rhs: Number
    # how far the statement is used up: 1 where both sides are equal, above 1 beyond it, 0 where there is all room
    ratio: float
    note: str = ""  # what a counterexample says besides


class Prober:
    """Probes a statement, and remembers what it probed."""

    def __init__(self, statement: Statement, lhs: LeftSide | None, work_limit: int | None = None) -> None:
        self.statement = statement
        self.lhs = lhs
        self.most = work_limit  # work that one point may take, as `dpverify.symbolic.exact.numbers` counts it
        self.undefined = 0
        self.too_long = 0
        self.too_wide = 0  # of those without a value, how many have one, perhaps, that balls do not tell
        self.open_points: list[tuple[Point, str]] = []  # the first that are undefined, with the reason
        self.probes: dict[tuple[tuple[str, tuple[int, int]], ...], Probe | None] = {}

    def probe(self, point: Point) -> Probe | None:
        """Probe a point of the domain. None where a side is not defined; such points are counted."""
        names = sorted(point)
        key = tuple((name, point[name].as_integer_ratio()) for name in names)  # the hash of a Fraction is slow
        if key not in self.probes:
            values = {name: point[name] for name in names}
            try:
                self.probes[key] = self._probe(values) if self.most is None else self._probe_within(values, self.most)
            except WorkLimitError:
                self.too_long += 1
                self.probes[key] = None
            except EvaluationError as error:
                self.undefined += 1
                self.probes[key] = None
                self.too_wide += isinstance(error, UndecidedError)
                if not isinstance(error, UndecidedError) and len(self.open_points) < MOST_OPEN:
                    self.open_points.append((values, str(error)))
        return self.probes[key]

    def _probe_within(self, point: dict[str, Fraction], work_limit: int) -> Probe:
        with Meter(work_limit).running():
            return self._probe(point)

    def _probe(self, point: dict[str, Fraction]) -> Probe:
        side = None if self.lhs is None else _measured(self.lhs, point, self.statement)
        left, right, is_true = self._sides(point, side)
        if is_true is None:  # the balls overlap at that precision: with more bits, perhaps they do not
            is_true = decide_statement(self.statement, point, side)
        lhs = to_number(left)
        rhs = to_number(right)
        return Probe(point, is_true, lhs, rhs, used_up(lhs, self.statement.relation or "=", rhs))

    def _sides(
        self, point: dict[str, Fraction], side: Callable[[int], Exact] | None
    ) -> tuple[Exact, Exact, bool | None]:
        """Both sides, sharp enough to be compared as floats (a wide ball has a middle that means nothing), compared."""
        if side is None and self.statement.lhs is None:
            raise ValueError(f"{self.statement.key}: the left side is measured by code; the check must give lhs.")
        wide: tuple[Exact, Exact, bool] | None = None
        for bits in PRECISIONS:
            with working_precision(bits):
                measured = None if side is None else side(bits)  # first: what is wrong with it must not stay unseen
                left, right = evaluate_statement(self.statement, point, precision=bits)
                left = left if measured is None else measured
                if left is None:
                    continue
                relation = self.statement.relation
                is_true = None if relation is None else compare(to_value(left), relation, to_value(right))
                is_coarse = _is_sharp(left, COARSE_BITS) and _is_sharp(right, COARSE_BITS)
                if is_coarse and (is_true is not None or (_is_sharp(left) and _is_sharp(right))):
                    return left, right, is_true
                if not is_coarse and is_true is not None:
                    wide = (left, right, is_true)
        if wide is not None and not self.statement.free:  # the only point there is: no search depends on how wide it is
            return wide
        raise UndecidedError(f"{PRECISIONS[-1]} bits do not give both sides to {SHARP_BITS} bits at this point.")


def _measured(lhs: LeftSide, point: Point, statement: Statement) -> Callable[[int], Exact]:
    """A left side as a function of the precision; a rational number depends on none, and is computed once."""
    exact_value = list[Exact]()

    def side(_bits: int) -> Exact:
        if exact_value:
            return exact_value[0]
        value = lhs(point, statement)
        if isinstance(value, int | Fraction):
            exact_value.append(value)
        return value

    return side


def _is_sharp(value: Exact, bits: int = SHARP_BITS) -> bool:
    """Whether a value is known to so many bits, or is exact, infinite or as good as 0."""
    if isinstance(value, int | Fraction) or not value.is_finite() or value.is_exact():
        return True
    return bool(value.rel_accuracy_bits() >= bits)


def used_up(lhs: Number, relation: str, rhs: Number) -> float:
    """How far an inequality is used up: lhs/rhs for positive sides of ``<=``; for ``==`` the larger of both ratios."""
    small = float(lhs.float)
    large = float(rhs.float)
    if relation in {">=", ">"}:
        small, large = large, small
    if relation == "=":
        return max(_ratio(small, large), _ratio(large, small))
    return _ratio(small, large)


def _ratio(small: float, large: float) -> float:
    """Ratio that is at most 1 exactly where ``small <= large``."""
    if math.isnan(small) or math.isnan(large):
        return 0.0
    if small == large:
        return 1.0
    if small <= 0.0 <= large or large == math.inf or small == -math.inf:
        return 0.0
    if small >= 0.0 >= large or small == math.inf or large == -math.inf:
        return math.inf
    return small / large if small > 0.0 else large / small


def printed_side(statement: Statement, point: Point) -> float:
    """Evaluate the right side of a statement. The nearest float; may be infinite."""
    _, rhs = evaluate_statement(statement, point)
    return float(to_number(rhs).float)


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
