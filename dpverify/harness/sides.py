"""Both sides of a statement at a point: a certain comparison and the ratio of the sides; and changed statements.

Changed statements are planted faults, which exact checks must refute, and true neighbours, which they must not refute.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

from dpverify.harness.checks import Point
from dpverify.ledger.check_results import Number
from dpverify.ledger.formula import Bin, Name, Num, free_names, parse, substitute
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import (
    decide_statement,
    evaluate_statement,
    to_number,
)
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
# enough for a side known only from bounds, such as the divergence of a composition
COARSE_BITS = 6
MOST_OPEN = 1000  # largest number of points without a value that are stored

LeftSide = Callable[[Point, Statement], Exact]
"""Left side of a statement that the ledger cannot evaluate: a Fraction, an int or a ball."""


@dataclass(frozen=True)
class Probe:
    """A statement at a point."""

    point: dict[str, Fraction]  # the point
    holds: bool | None  # whether the statement holds; None if 2048 bits did not decide
    lhs: Number  # the left side
    rhs: Number
    # Share of the bound that is used: 1 if both sides are equal, above 1 if violated, 0
    # if nothing is used.
    ratio: float
    note: str = ""  # further text for a counterexample


class Prober:
    """Evaluates a statement at points, and caches the probes."""

    def __init__(
        self, statement: Statement, lhs: LeftSide | None, work_limit: int | None = None
    ) -> None:
        self.statement = statement
        self.lhs = lhs
        # work that one point may take, in the units of
        # `dpverify.symbolic.exact.numbers`
        self.most = work_limit
        self.undefined = 0
        self.too_long = 0
        # number of undefined points that may have a value that balls did not determine
        self.too_wide = 0
        # the first undefined points, with the reason
        self.open_points: list[tuple[Point, str]] = []
        self.probes: dict[tuple[tuple[str, tuple[int, int]], ...], Probe | None] = {}

    def probe(self, point: Point) -> Probe | None:
        """Probe a point of the domain; None if a side is undefined or too expensive. Such points are counted."""
        names = sorted(point)
        # the hash of a Fraction is slow
        key = tuple((name, point[name].as_integer_ratio()) for name in names)
        if key not in self.probes:
            values = {name: point[name] for name in names}
            try:
                self.probes[key] = (
                    self._probe(values)
                    if self.most is None
                    else self._probe_within(values, self.most)
                )
            except WorkLimitError:
                self.too_long += 1
                self.probes[key] = None
            except EvaluationError as error:
                self.undefined += 1
                self.probes[key] = None
                self.too_wide += isinstance(error, UndecidedError)
                if (
                    not isinstance(error, UndecidedError)
                    and len(self.open_points) < MOST_OPEN
                ):
                    self.open_points.append((values, str(error)))
        return self.probes[key]

    def _probe_within(self, point: dict[str, Fraction], work_limit: int) -> Probe:
        with Meter(work_limit).running():
            return self._probe(point)

    def _probe(self, point: dict[str, Fraction]) -> Probe:
        side = None if self.lhs is None else _measured(self.lhs, point, self.statement)
        left, right, is_true = self._sides(point, side)
        if is_true is None:  # the balls overlap; more bits may separate them
            is_true = decide_statement(self.statement, point, side)
        lhs = to_number(left)
        rhs = to_number(right)
        return Probe(
            point, is_true, lhs, rhs, used_up(lhs, self.statement.relation or "=", rhs)
        )

    def _sides(
        self, point: dict[str, Fraction], side: Callable[[int], Exact] | None
    ) -> tuple[Exact, Exact, bool | None]:
        """Return both sides, sharp enough to be compared as floats, and whether the relation holds.

        The midpoint of a wide ball means nothing.
        """
        if side is None and self.statement.lhs is None:
            raise ValueError(
                f"{self.statement.key}: the left side is measured by code; the check must give lhs."
            )
        wide: tuple[Exact, Exact, bool] | None = None
        for bits in PRECISIONS:
            with working_precision(bits):
                # evaluated first, so that an error in it is not hidden
                measured = None if side is None else side(bits)
                left, right = evaluate_statement(self.statement, point, precision=bits)
                left = left if measured is None else measured
                if left is None:
                    continue
                relation = self.statement.relation
                is_true = (
                    None
                    if relation is None
                    else compare(to_value(left), relation, to_value(right))
                )
                is_coarse = _is_sharp(left, COARSE_BITS) and _is_sharp(
                    right, COARSE_BITS
                )
                if is_coarse and (
                    is_true is not None or (_is_sharp(left) and _is_sharp(right))
                ):
                    return left, right, is_true
                if not is_coarse and is_true is not None:
                    wide = (left, right, is_true)
        # there is only this point, so no search depends on the width
        if wide is not None and not self.statement.free:
            return wide
        raise UndecidedError(
            f"{PRECISIONS[-1]} bits do not give both sides to {SHARP_BITS} bits at this point."
        )


def _measured(
    lhs: LeftSide, point: Point, statement: Statement
) -> Callable[[int], Exact]:
    """Return a left side as a function of the precision. A rational value does not depend on it and is cached."""
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
    """Return whether a value is known to a number of bits, or is exact or infinite."""
    if isinstance(value, int | Fraction) or not value.is_finite() or value.is_exact():
        return True
    return bool(value.rel_accuracy_bits() >= bits)


def used_up(lhs: Number, relation: str, rhs: Number) -> float:
    """Return the used share of a bound: lhs/rhs for positive sides of ``<=``; for ``=``, the larger of both ratios."""
    small = float(lhs.float)
    large = float(rhs.float)
    if relation in {">=", ">"}:
        small, large = large, small
    if relation == "=":
        return max(_ratio(small, large), _ratio(large, small))
    return _ratio(small, large)


def _ratio(small: float, large: float) -> float:
    """Return a ratio that is at most 1 exactly if ``small <= large``."""
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
    """Return the right side of a statement as the nearest float, which may be infinite."""
    _, rhs = evaluate_statement(statement, point)
    return float(to_number(rhs).float)


PRINTED = "printed"  # name of the printed right side in the changed right side


@dataclass(frozen=True)
class Outcome:
    """The outcome of a rule at a point, with both sides if it has them."""

    ok: bool | None  # whether the statement holds at the point; None if undecided
    lhs: Exact | None = None  # both sides, if the rule has them
    rhs: Exact | None = None
    note: str = ""  # description of what is wrong


Rule = Callable[[Point, Statement], bool | Outcome | None]


@dataclass(frozen=True)
class ChangedStatement:
    """A statement similar to the one that a check judges. It changes exactly one of right side, left side and rule."""

    name: str  # what is changed: "one interval fewer"
    # a right side that uses the name ``printed`` for the printed one: "printed - 1"
    rhs: str = ""
    lhs: LeftSide | None = None  # a left side
    is_satisfied: Rule | None = None  # a rule

    kind: ClassVar[str] = "changed statement"

    def __post_init__(self) -> None:
        changes = [bool(self.rhs), self.lhs is not None, self.is_satisfied is not None]
        if sum(changes) != 1:
            raise ValueError(
                f"{self.kind} {self.name!r} must give exactly one of rhs, lhs and is_satisfied."
            )
        if self.rhs and PRINTED not in free_names(parse(self.rhs)):
            raise ValueError(
                f"{self.kind} {self.name!r}: rhs must use the name printed, got rhs={self.rhs!r}."
            )

    def statement(self, statement: Statement) -> Statement:
        """Return the statement with the changed right side, or the statement itself if the change is elsewhere."""
        if not self.rhs or statement.rhs is None:
            return statement
        return replace(
            statement, rhs=substitute(parse(self.rhs), {Name(PRINTED): statement.rhs})
        )


@dataclass(frozen=True)
class Planted(ChangedStatement):
    """A fault that a check must refute."""

    # whether the fault is the smallest that the check claims to detect
    at_declared_size: bool = False

    kind: ClassVar[str] = "planted fault"


@dataclass(frozen=True)
class TrueNeighbour(ChangedStatement):
    """A true statement near a false one, at all points of the check. The check must not refute it."""

    kind: ClassVar[str] = "true neighbour"


def corrected(rule: Rule) -> Rule:
    """Return a rule for the corrected statement, from a rule that depends on the variant of its statement."""
    return lambda point, statement: rule(point, replace(statement, variant="amended"))


def moved_side(
    statement: Statement, op: Literal["*", "+"], number: Fraction
) -> Statement:
    """Return a copy of a statement with its right side multiplied by a number, or with a number added to it."""
    if statement.rhs is None:
        raise ValueError(
            f"{statement.key}: a statement in words has no right side to change."
        )
    sides = (Num(number), statement.rhs) if op == "*" else (statement.rhs, Num(number))
    return replace(statement, rhs=Bin(op, *sides))
