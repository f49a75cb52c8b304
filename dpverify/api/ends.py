"""The values of one letter that the conditions of a statement allow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from dpverify.api.conditions import ConditionError, exact_number, failing, inequalities, inequality_text
from dpverify.harness.search.constraints import Inequality, can_solve, solve
from dpverify.harness.search.rationals import Interval
from dpverify.ledger.formula import Formula, Name, substitute
from dpverify.ledger.statements import Statement
from dpverify.symbolic.exact.evaluate import values


def interval(statement: Statement, letter: str, point: Mapping[str, Fraction], name: str) -> tuple[float, float]:
    """Smallest and largest value of a letter, given others; a ValueError where a condition cannot be solved for it."""
    allowed = Interval(None, None, integer=statement.domains[letter].kind == "integer")
    parts = [_without_definitions(part, statement) for part in inequalities(statement)]
    decidable = [part for part in parts if part.names <= point.keys()]
    if violated := [*failing(decidable, point)]:
        raise ConditionError(name, violated)
    for part in parts:
        if letter in part.names:
            allowed = allowed.cut(*_end(part, letter, point))
    allowed = allowed.rounded() if allowed.integer else allowed
    low = _above(allowed.lo)
    high = _below(allowed.hi)
    if low > high:
        raise ConditionError(name, [f"no value of {letter} meets all conditions"])
    return low, high


def _without_definitions(part: Inequality, statement: Statement) -> Inequality:
    """An inequality with the letters that the statement defines replaced by their definitions."""

    def replaced(side: Formula) -> Formula:
        for name, value in reversed(statement.let):
            side = substitute(side, {Name(name): value})
        return side

    return Inequality(part.op, replaced(part.left), replaced(part.right))


def _end(part: Inequality, letter: str, point: Mapping[str, Fraction]) -> tuple[str, Fraction]:
    """How a letter compares with which number by an inequality."""
    text = inequality_text(part)
    if missing := sorted(part.names - point.keys() - {letter}):
        raise ValueError(f"{', '.join(missing)} must be given as well: {text}.")
    end = solve(part, letter, values(point)) if can_solve(part, letter) else None
    if end is None:
        raise ValueError(f"{text} cannot be solved for {letter}.")
    return end


def _above(end: Fraction | None) -> float:
    """The smallest float that stands for a number of at least ``end``."""
    if end is None:
        return -math.inf
    value = float(end)
    while exact_number("end", value) < end:
        value = math.nextafter(value, math.inf)
    return value


def _below(end: Fraction | None) -> float:
    return math.inf if end is None else -_above(-end)
