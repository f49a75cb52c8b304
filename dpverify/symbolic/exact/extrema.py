"""Infimum and supremum of a formula over an open interval of a real variable, as balls that contain them.

The upper end of the ball of an infimum is a value of the formula at a point of the interval. So a statement "there is a
z such that" holds if it holds for the upper end. The lower end bounds the formula on the whole interval, which is cut
into many cells. On a cell, the values and slopes of the formula over all points of the cell give the bound. Next to an
end or to infinity, the envelope of the formula gives it. Values at single points alone never determine the lower end.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from flint import arb, fmpq

from dpverify.ledger.formula import (
    BINDERS,
    BUILTINS,
    Bin,
    Call,
    Formula,
    Infimum,
    Name,
    Neg,
    Num,
    Supremum,
    free_names,
    substitute,
    to_text,
    walk,
)
from dpverify.symbolic.exact.bounds import exactly, smallest
from dpverify.symbolic.exact.envelopes import Enveloping, Y
from dpverify.symbolic.exact.numbers import (
    OO,
    DomainError,
    EvaluationError,
    UndecidedError,
    UnsupportedError,
    Value,
    WorkLimitError,
    charged,
    spend,
    to_ball,
    working_precision,
)
from dpverify.symbolic.exact.slopes import Sloping
from dpverify.symbolic.exact.sums import Closure, Env

BITS = 128
GAP_BITS = 44  # target for the relative gap between the ends of an infimum
MOST_CELLS = 400
WORK = 40  # cost of a part of the formula on a cell, relative to its cost at a point
# binary logarithms of the first distances of cells next to an end and to infinity
NEAR_BITS, FAR_BITS = 4, 4
FARTHEST = 1024
ANCHOR = "#anchor"
_ONE = Num(Fraction(1))

_Place = Literal["near", "inside", "far"]


@dataclass(frozen=True)
class _Half:
    """The numbers on one side of an anchor, which is an end of the interval or 0.

    A cell is a range of distances from the anchor.
    """

    anchor: Value
    sign: Literal[1, -1]


@dataclass(frozen=True)
class _Cell:
    """Distances from left to right.

    If the cell is next to the anchor, left is 0. If it extends to infinity, right is 0.
    """

    half: _Half
    place: _Place
    left: fmpq
    right: fmpq


class ExtremumValue:
    """An infimum or a supremum as a function of the values of its free variables."""

    def __init__(
        self, node: Infimum | Supremum, compiled: Callable[[Formula], Closure]
    ) -> None:
        self.is_infimum = isinstance(node, Infimum)
        self.body = node.body if self.is_infimum else Neg(node.body)
        self.index = node.index
        self.compiled = compiled
        self.at = compiled(self.body)
        self.lo = compiled(node.lo)
        self.hi = compiled(node.hi)
        self.parts = sum(1 for _ in walk(node.body))
        self.names = sorted(free_names(node))
        self.is_cached = all(
            part.name in BUILTINS for part in walk(node) if isinstance(part, Call)
        )
        place = f"{to_text(node.lo)} < {node.index} < {to_text(node.hi)}"
        self.description = (
            f"the {BINDERS[type(node)]} of {to_text(node.body)} over {place}"
        )

    def __call__(self, env: Env) -> Value:
        """Return a ball that contains the extremum."""
        point = tuple((name, env[name]) for name in self.names if name in env)
        if self.is_cached and all(isinstance(value, fmpq) for _, value in point):
            return charged(self._value_at, point)
        return self._value(env)

    def _value_at(self, point: tuple[tuple[str, Value], ...]) -> Value:
        return self._value(dict(point))

    def _value(self, env: Env) -> Value:
        with working_precision(BITS):
            try:
                lower, upper = self._infimum(env)
            except (DomainError, UnsupportedError, UndecidedError) as error:
                # the precision is fixed here
                is_final = isinstance(error, UndecidedError)
                kind = UnsupportedError if is_final else type(error)
                raise kind(f"{self.description}: {str(error).rstrip('.')}.") from None
            value = lower.union(upper)
            return value if self.is_infimum else -value

    def _infimum(self, env: Env) -> tuple[arb, arb]:
        """Return a lower bound of the formula on the whole interval, and its least value at the tried points."""
        cells = self._first_cells(env)
        count = itertools.count()
        # bounds are compared exactly: floats would confuse the smallest
        heap: list[tuple[arb, int, _Cell]] = []
        upper = OO
        for cell in cells:
            heapq.heappush(heap, self._entry(env, cell, next(count)))
        for _ in range(MOST_CELLS):
            lower, _, cell = heap[0]
            point = self._inside(cell)
            value = self._at_number(env, cell.half, point)
            if value is not None and value.upper() < upper:
                upper = value.upper()
            if upper < OO and lower >= upper - abs(upper) * arb(2) ** -GAP_BITS:
                break
            parts = self._split(cell, point)
            if not parts:
                break
            heapq.heappop(heap)
            for part in parts:
                heapq.heappush(heap, self._entry(env, part, next(count)))
        lower = heap[0][0]
        if not upper < OO:
            raise UnsupportedError(
                "its formula has no known value at the numbers that were tried"
            )
        if not lower > -OO:
            raise UnsupportedError(
                f"no bound of its formula is known for all {self.index}; it may have none"
            )
        return lower.min(upper), upper

    def _first_cells(self, env: Env) -> list[_Cell]:
        low = self.lo(env)
        high = self.hi(env)
        if low >= high:
            raise DomainError(f"no number lies between {low} and {high}")
        if not low < high:
            raise UndecidedError("which of its ends is larger")
        zero = fmpq(0)
        start = fmpq(2) ** FAR_BITS
        if low > -OO and high < OO:
            width = exactly((to_ball(high) - to_ball(low)).upper())
            middle = exactly(((to_ball(low) + to_ball(high)) / 2).mid())
            if not low < middle < high:
                raise UndecidedError("its ends are too close to be told apart")
            halves = (
                (_Half(low, 1), exactly((middle - to_ball(low)).upper())),
                (_Half(high, -1), exactly((to_ball(high) - middle).upper())),
            )
            near = width / 2**NEAR_BITS
            return [
                cell
                for half, end in halves
                for cell in _near_and_inside(half, min(near, end / 2), end)
            ]
        if low > -OO or high < OO:
            half = _Half(low, 1) if low > -OO else _Half(high, -1)
            return [
                *_near_and_inside(half, 1 / fmpq(2) ** NEAR_BITS, start),
                _Cell(half, "far", start, zero),
            ]
        cells = []
        for half in (_Half(zero, 1), _Half(zero, -1)):
            cells += [
                _Cell(half, "inside", zero, start),
                _Cell(half, "far", start, zero),
            ]
        return cells

    def _inside(self, cell: _Cell) -> fmpq:
        """Return the distance at which a cell is split."""
        match cell.place:
            case "near":
                return cell.right**2 if cell.right < fmpq(1, 4) else cell.right / 4
            case "far":
                return cell.left**2
            case _ if cell.left > 0 and cell.right > 4 * cell.left:
                return cell.left * fmpq(2) ** (
                    int((cell.right / cell.left).floor()).bit_length() // 2
                )
            case _:
                return (cell.left + cell.right) / 2

    def _split(self, cell: _Cell, point: fmpq) -> list[_Cell]:
        """Return the parts of a cell; none if it is too narrow, or too close to its end."""
        half = cell.half
        if cell.place == "near":
            if point < fmpq(1, 2**FARTHEST):
                return []
            return [
                _Cell(half, "near", fmpq(0), point),
                _Cell(half, "inside", point, cell.right),
            ]
        if cell.place == "far":
            if point > fmpq(2) ** FARTHEST:
                return []
            return [
                _Cell(half, "inside", cell.left, point),
                _Cell(half, "far", point, fmpq(0)),
            ]
        if (cell.right - cell.left) * fmpq(2) ** (BITS // 2) < cell.right:
            return []
        return [
            _Cell(half, "inside", cell.left, point),
            _Cell(half, "inside", point, cell.right),
        ]

    def _entry(self, env: Env, cell: _Cell, number: int) -> tuple[arb, int, _Cell]:
        return (self._lower(env, cell), number, cell)

    def _lower(self, env: Env, cell: _Cell) -> arb:
        """Return a lower bound of the formula on a cell, -oo if none is known."""
        spend(WORK * self.parts)
        bounds: list[arb | None] = []
        ways = {
            "inside": (self._lower_inside,),
            "near": (self._lower_at_end, self._lower_inside),
        }
        for way in ways.get(cell.place, (self._lower_at_end,)):
            try:
                bounds.append(way(env, cell))
            except UnsupportedError:
                if cell.place != "near" or way == self._lower_inside:
                    raise
            except EvaluationError:
                bounds.append(None)
        return max(
            (bound for bound in bounds if bound is not None and bound.is_finite()),
            default=-OO,
        )

    def _lower_inside(self, env: Env, cell: _Cell) -> arb:
        """Bound the formula on a cell by an enclosure of its values, and by its slopes if they are known."""
        half = cell.half
        ends = [
            to_ball(half.anchor) + half.sign * arb(end)
            for end in (cell.left, cell.right)
        ]
        sloping = Sloping(self.index, env, self.compiled)
        whole = sloping.of(self.body, ends[0].union(ends[1]))
        lower = whole.value.lower()
        if whole.slope is None or not whole.slope.is_finite():
            return lower
        middle = (cell.left + cell.right) / 2
        for point in (cell.left, middle, cell.right):
            center = to_ball(half.anchor) + half.sign * arb(point)
            try:
                value = sloping.of(self.body, center).value
            except EvaluationError:
                continue
            distances = [
                half.sign * (arb(end) - arb(point)) for end in (cell.left, cell.right)
            ]
            bound = (value + whole.slope * distances[0].union(distances[1])).lower()
            if bound.is_finite() and (not lower.is_finite() or bound > lower):
                lower = bound
        return lower

    def _lower_at_end(self, env: Env, cell: _Cell) -> arb | None:
        """Bound the formula next to an end, or to infinity, by its envelope."""
        is_far = cell.place == "far"
        distance: Formula = Name(Y) if is_far else Bin("/", _ONE, Name(Y))
        letter: Formula = Bin(
            "+" if cell.half.sign > 0 else "-", Name(ANCHOR), distance
        )
        if cell.half.anchor == 0:
            letter = distance if cell.half.sign > 0 else Neg(distance)
        start = arb(cell.left) if is_far else arb((1 / cell.right).floor())
        formula = substitute(self.body, {Name(self.index): letter})
        low = (
            Enveloping(self.compiled, {**env, ANCHOR: cell.half.anchor}, start)
            .of(formula)
            .low
        )
        return None if low is None else smallest(low, start)

    def _at_number(self, env: Env, half: _Half, distance: fmpq) -> arb | None:
        """Return the value of the formula at a point of the interval, or None if it is not known."""
        spend(self.parts)
        number = half.anchor + half.sign * distance
        try:
            value = to_ball(self.at({**env, self.index: number}))
        except DomainError as error:
            where = f"{self.index} = {to_ball(number).str(6, radius=False)}"
            raise DomainError(
                f"its formula has no value at {where} ({str(error).rstrip('.')})"
            ) from None
        except WorkLimitError:
            raise
        except EvaluationError:
            return None
        return value if value.is_finite() else None


def _near_and_inside(half: _Half, near: fmpq, end: fmpq) -> list[_Cell]:
    return [_Cell(half, "near", fmpq(0), near), _Cell(half, "inside", near, end)]
