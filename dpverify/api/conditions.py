"""Numbers for the letters of a statement: read exactly, and compared with its domains and conditions."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import SupportsFloat, SupportsIndex, TypeAlias

from dpverify.harness.search.constraints import Inequality, links
from dpverify.kernels.check import ArgumentError
from dpverify.ledger.formula import Compare, free_names, to_text
from dpverify.ledger.statements import Statement
from dpverify.report.numbers import show_side
from dpverify.symbolic.exact.evaluate import evaluate, holds, to_number
from dpverify.symbolic.exact.numbers import EvaluationError, Exact
from dpverify.symbolic.exact.statements import definitions

NumberInput: TypeAlias = SupportsIndex | SupportsFloat | str  # int, float, Fraction, Decimal, numbers of numpy, or text

SIMPLEST = 10**9  # largest denominator of a fraction for which a float stands, if it has the value of that float
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
    """Return a number exactly. A float stands for the simplest fraction that rounds to it: 1/3, not 0.333...333."""
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
    """The statement without its left side, and without definitions and letters that nothing else uses.

    What is used is the right side and the conditions, the letters in ``also``, and what their definitions and domains
    mention.
    """
    formulas = [formula for condition in statement.requires for formula in condition.operands]
    formulas += [statement.rhs] if statement.rhs is not None else []
    names = frozenset(also).union(*map(free_names, formulas))
    values = dict(statement.let)
    todo = list(names)
    while todo:
        name = todo.pop()
        further = statement.domains[name].names | (free_names(values[name]) if name in values else frozenset())
        todo += further - names
        names |= further
    return replace(
        statement,
        lhs=None,
        let=tuple((name, value) for name, value in statement.let if name in names),
        domains={name: domain for name, domain in statement.domains.items() if name in names},
    )


def violations(statement: Statement, point: Mapping[str, Fraction]) -> list[str]:
    """Return the conditions and domains that fail at a point or cannot be decided, with the values of their sides."""
    try:
        env: Mapping[str, Exact] = definitions(statement, point, precision=BITS)
    except EvaluationError as error:
        return [f"a definition has no value: {error}"]
    return [*_kinds(statement, env), *failing(inequalities(statement), env)]


def inequalities(statement: Statement) -> list[Inequality]:
    """The conditions of the statement and those of its letters' domains, each once."""
    conditions = [
        *statement.requires,
        *(constraint for domain in statement.domains.values() for constraint in domain.constraints),
    ]
    return [*dict.fromkeys(part for condition in conditions for part in links(condition))]


def _kinds(statement: Statement, env: Mapping[str, Exact]) -> Iterator[str]:
    for name, domain in statement.domains.items():
        value = env[name]
        if domain.kind == "integer" and not (isinstance(value, Fraction) and value.denominator == 1):
            yield f"{name} is an integer, got {name}={_shown(value)}"


def failing(parts: Iterable[Inequality], env: Mapping[str, Exact]) -> Iterator[str]:
    """The inequalities that do not certainly hold, with the values of their sides."""
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
    """An inequality in the formula language."""
    return f"{to_text(part.left)} {part.op} {to_text(part.right)}"


def _shown(value: Exact) -> str:
    return show_side(to_number(value))
