"""Select the statement of a claim, and check numbers for its letters.

The statement is the printed one, the amended one, or the printed one where it holds, in one of its readings. Numbers
are read exactly and compared with the statement's domains and conditions, which also determine the range of a letter.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import SupportsFloat, SupportsIndex, TypeAlias, get_args

from dpverify.harness.search.candidates import Interval
from dpverify.harness.search.constraints import Inequality, can_solve, links, solve
from dpverify.kernels.check import ArgumentError
from dpverify.ledger import ClaimSpec
from dpverify.ledger.claims import display
from dpverify.ledger.formula import (
    Compare,
    Formula,
    Name,
    free_names,
    substitute,
    to_text,
)
from dpverify.ledger.statements import Statement, Variant
from dpverify.report.numbers import show_side
from dpverify.symbolic.exact.evaluate import (
    definitions,
    evaluate,
    holds,
    to_number,
    values,
)
from dpverify.symbolic.exact.numbers import EvaluationError, Exact

# int, float, Fraction, Decimal, numbers of numpy, or text
NumberInput: TypeAlias = SupportsIndex | SupportsFloat | str

# largest denominator of the fraction that replaces
# a float, if it has the value of that float
SIMPLEST = 10**9
BITS = 1024  # precision of definitions


class ConditionError(ValueError):
    """Values outside the statement's scope: outside a symbol's domain, or violating a condition.

    Attributes
    ----------
    violations : list of str
        Each condition that is violated, with the values of its sides.

    Examples
    --------
    >>> import dpverify as dv
    >>> corrected = dv.formula("tran2022:theorem-4-dp", "amended")
    >>> try:
    ...     corrected(N=60_000, T=60_000, alpha=0.01, epsilon=2, delta=1e-5, sigma=1)
    ... except dv.ConditionError as error:
    ...     error.violations
    ['sigma >= 2*sqrt(log(1/delta))/epsilon: 1 >= ≈3.393 is false']
    """

    def __init__(self, statement: str, violations: list[str]) -> None:
        super().__init__(f"{statement} does not apply here: {'; '.join(violations)}.")
        self.statement = statement
        self.violations = violations


def exact_number(letter: str, value: NumberInput) -> Fraction:
    """Return an exact number. A float is replaced by the simplest fraction that rounds to it: 1/3, not 0.333...333."""
    rule = "must be a finite number, or a text such as '1/3'"
    if isinstance(value, bool):
        raise ArgumentError(letter, value, rule)
    try:
        if isinstance(value, (str, Fraction, Decimal)):
            return Fraction(value)
        if isinstance(value, SupportsIndex):
            return Fraction(operator.index(value))
        number = float(value)
        if not math.isfinite(number):
            raise ArgumentError(letter, value, rule)
        shortest = Fraction(repr(number))
        simplest = shortest.limit_denominator(SIMPLEST)
        return simplest if float(simplest) == number else shortest
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise ArgumentError(letter, value, rule) from None


def needed_part(statement: Statement, also: Iterable[str] = ()) -> Statement:
    """Return the statement without its left side, unused definitions and unused letters.

    The right side, the conditions and the letters in ``also`` are used, and everything that their definitions and
    domains mention.
    """
    formulas = [
        formula for condition in statement.requires for formula in condition.operands
    ]
    formulas += [statement.rhs] if statement.rhs is not None else []
    names = frozenset(also).union(*map(free_names, formulas))
    values = dict(statement.let)
    todo = list(names)
    while todo:
        name = todo.pop()
        further = statement.domains[name].names | (
            free_names(values[name]) if name in values else frozenset()
        )
        todo += further - names
        names |= further
    return replace(
        statement,
        lhs=None,
        let=tuple((name, value) for name, value in statement.let if name in names),
        domains={
            name: domain for name, domain in statement.domains.items() if name in names
        },
    )


def violations(statement: Statement, point: Mapping[str, Fraction]) -> list[str]:
    """Return the conditions and domains that fail at a point or cannot be decided, with the values of their sides."""
    try:
        env: Mapping[str, Exact] = definitions(statement, point, precision=BITS)
    except EvaluationError as error:
        return [f"a definition has no value: {error}"]
    return [*_kinds(statement, env), *failing(inequalities(statement), env)]


def inequalities(statement: Statement) -> list[Inequality]:
    """Return the conditions of the statement and of its letters' domains, without duplicates."""
    conditions = [
        *statement.requires,
        *(
            constraint
            for domain in statement.domains.values()
            for constraint in domain.constraints
        ),
    ]
    return [
        *dict.fromkeys(part for condition in conditions for part in links(condition))
    ]


def _kinds(statement: Statement, env: Mapping[str, Exact]) -> Iterator[str]:
    for name, domain in statement.domains.items():
        value = env[name]
        if domain.kind == "integer" and not (
            isinstance(value, Fraction) and value.denominator == 1
        ):
            yield f"{name} is an integer, got {name}={_shown(value)}"


def failing(parts: Iterable[Inequality], env: Mapping[str, Exact]) -> Iterator[str]:
    """Yield the inequalities that do not certainly hold, with the values of their sides."""
    for part in parts:
        answer = holds(Compare((part.op,), (part.left, part.right)), env)  # type: ignore[arg-type]  # the op of a link
        if answer is not True:
            yield _violation(part, env, undecided=answer is None)


def _violation(part: Inequality, env: Mapping[str, Exact], *, undecided: bool) -> str:
    text = inequality_text(part)
    try:
        sides = [_shown(evaluate(side, env)) for side in (part.left, part.right)]
    except EvaluationError as error:
        return f"{text}: a side has no value ({error})"
    values = f"{sides[0]} {part.op} {sides[1]}"
    return f"{text}: {values} {'cannot be decided' if undecided else 'is false'}"


def inequality_text(part: Inequality) -> str:
    """Return an inequality in the formula language."""
    return f"{to_text(part.left)} {part.op} {to_text(part.right)}"


def _shown(value: Exact) -> str:
    return show_side(to_number(value))


def chosen_statement(
    spec: ClaimSpec, variant: Variant, reading: Mapping[str, str]
) -> Statement:
    """Return the selected statement of a claim. A ValueError lists the choices.

    If all readings give the same statement, the first one is used. Otherwise the user must name a reading.
    """
    if variant not in get_args(Variant):
        raise ValueError(
            f"variant must be one of {', '.join(get_args(Variant))}, got variant={variant!r}."
        )
    spec.complete(reading)  # raises an error for an unknown reading
    fitting = [
        complete_reading
        for complete_reading in spec.readings()
        if reading.items() <= complete_reading.items()
    ]
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
        raise ValueError(
            f"{spec.key}: no {variant} statement is recorded{_listed(reading)}; available: {offered}."
        )
    different = {
        (*_without_reading(statement), _judged(spec, statement))
        for statement in statements
    }
    if len(different) > 1:
        names = [
            offered_reading
            for offered_reading in spec.record.reading
            if offered_reading.name not in reading
        ]
        choices = "; ".join(
            f"{offered_reading.name} = {' or '.join(offered_reading.choices)} ({offered_reading.meaning})"
            for offered_reading in names
        )
        raise ValueError(
            f"{spec.key}: its readings differ, choose one by keyword: {choices}."
        )
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
    severity = (
        verdict.severity
        if verdict is not None and statement.variant == "printed"
        else None
    )
    return f"{spec.pinned(statement.reading, statement.variant)} {severity}"


def _listed(reading: Mapping[str, str]) -> str:
    inside = ", ".join(f"{name} = {choice}" for name, choice in reading.items())
    return f" ({inside})" if inside else ""


def interval(
    statement: Statement, letter: str, point: Mapping[str, Fraction], name: str
) -> tuple[float, float]:
    """Return the smallest and largest value of a letter, given other letters.

    Raises a ValueError if a condition cannot be solved for the letter.
    """
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
    """Return an inequality in which the letters that the statement defines are replaced by their definitions."""

    def replaced(side: Formula) -> Formula:
        for name, value in reversed(statement.let):
            side = substitute(side, {Name(name): value})
        return side

    return Inequality(part.op, replaced(part.left), replaced(part.right))


def _end(
    part: Inequality, letter: str, point: Mapping[str, Fraction]
) -> tuple[str, Fraction]:
    """Return the operator and the number by which an inequality bounds a letter."""
    text = inequality_text(part)
    if missing := sorted(part.names - point.keys() - {letter}):
        raise ValueError(f"{', '.join(missing)} must be given as well: {text}.")
    end = solve(part, letter, values(point)) if can_solve(part, letter) else None
    if end is None:
        raise ValueError(f"{text} cannot be solved for {letter}.")
    return end


def _above(end: Fraction | None) -> float:
    """Return the smallest float that `exact_number` reads as at least ``end``."""
    if end is None:
        return -math.inf
    value = float(end)
    while exact_number("end", value) < end:
        value = math.nextafter(value, math.inf)
    return value


def _below(end: Fraction | None) -> float:
    return math.inf if end is None else -_above(-end)
