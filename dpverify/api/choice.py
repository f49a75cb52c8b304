"""The statement of a claim that a user selects (printed or amended, and its reading), and the range of a letter."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import get_args

from dpverify.api.conditions import ConditionError, exact_number, failing, inequalities, inequality_text
from dpverify.harness.search.constraints import Inequality, can_solve, solve
from dpverify.harness.search.rationals import Interval
from dpverify.ledger import ClaimSpec
from dpverify.ledger.display import display
from dpverify.ledger.formula import Formula, Name, substitute
from dpverify.ledger.statements import Statement, Variant
from dpverify.symbolic.exact.evaluate import values


def chosen_statement(spec: ClaimSpec, variant: Variant, reading: Mapping[str, str]) -> Statement:
    """Return the selected statement of a claim. A ValueError lists the choices.

    If all readings give the same statement, the first one is used. Otherwise the user must name a reading.
    """
    if variant not in get_args(Variant):
        raise ValueError(f"variant must be one of {', '.join(get_args(Variant))}, got variant={variant!r}.")
    spec.complete(reading)  # raises for an unknown reading
    fitting = [complete_reading for complete_reading in spec.readings() if reading.items() <= complete_reading.items()]
    statements = [
        spec.statement(complete_reading, variant)
        for complete_reading in fitting
        if variant in _variants(spec, complete_reading)
    ]
    if not statements:
        offered = ", ".join(
            f"{name}{_listed(complete_reading)}"
            for complete_reading in spec.readings()
            for name in _variants(spec, complete_reading)
        )
        raise ValueError(f"{spec.key}: no {variant} statement is recorded{_listed(reading)}; available: {offered}.")
    different = {(*_without_reading(statement), _judged(spec, statement)) for statement in statements}
    if len(different) > 1:
        names = [offered_reading for offered_reading in spec.record.reading if offered_reading.name not in reading]
        choices = "; ".join(
            f"{offered_reading.name} = {' or '.join(offered_reading.choices)} ({offered_reading.meaning})"
            for offered_reading in names
        )
        raise ValueError(f"{spec.key}: its readings differ, choose one by keyword: {choices}.")
    return statements[0]


def _variants(spec: ClaimSpec, reading: Mapping[str, str]) -> Iterator[Variant]:
    """Yield the variants that a claim has under a reading."""
    verdict = spec.verdict(reading)
    yield "printed"
    if verdict is not None and verdict.amendment is not None:
        yield "amended"
    if verdict is not None and verdict.holds is not None:
        yield "held"


def _without_reading(statement: Statement) -> Iterator[str]:
    return (str(line) for line in display(statement) if line.word != "reading")


def _judged(spec: ClaimSpec, statement: Statement) -> str:
    """Return the pinned status and severity of a statement."""
    verdict = spec.verdict(statement.reading)
    severity = verdict.severity if verdict is not None and statement.variant == "printed" else None
    return f"{spec.pinned(statement.reading, statement.variant)} {severity}"


def _listed(reading: Mapping[str, str]) -> str:
    inside = ", ".join(f"{name} = {choice}" for name, choice in reading.items())
    return f" ({inside})" if inside else ""


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
    """Return how an inequality bounds a letter, and by which number."""
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
