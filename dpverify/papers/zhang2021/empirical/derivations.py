"""Derivations of what is said of rates and of Theorem 3.2's conditions: algebra, signs and orders."""

from __future__ import annotations

from typing import Any

from sympy import log

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.steps import Link
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Range, Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

POSITIVE = real(0, 9, open_lo=True)
RANGES: dict[str, Range] = {
    "n": integer(1, 99),
    "d": integer(1, 99),
    "K": integer(1, 9),
    "T_0": integer(1, 99),
    "t_0": integer(0, 99),
    "delta": real(0, 1, open_lo=True, open_hi=True),
    "rho": real(0, 1, open_hi=True),
    "c_4": real(0, 2, open_lo=True, open_hi=True),
}


def ranges(statement: Statement) -> dict[str, Variable]:
    """Where the letters of a statement are sampled."""
    return {name: RANGES.get(name, POSITIVE) for name in statement.free}


def chain(statement: Statement, start: Any, *steps: Link) -> Derivation:
    """Make a derivation of a statement's own letters."""
    return Derivation("algebra", "ours", ranges(statement), sympy_conditions(statement), start, tuple(steps))


def by_algebra(statement: Statement) -> Derivation:
    """Derive a right side that the left one equals once the definitions are put in."""
    start, end = sympy_sides(statement)
    return chain(statement, start, Step(end, "="))


def by_sign(statement: Statement) -> Derivation:
    """Derive that the left side is at most the right one from the sign of their difference."""
    start, end = sympy_sides(statement)
    return chain(statement, start, Step.order(HOLE, start, end))


def at_the_schedule(statement: Statement) -> Derivation:
    """Derive Theorem 3.2's two strict lines on eta_0: of the schedule's parts c_4, theta and mu are left."""
    start, end = sympy_sides(statement)
    c_4, theta, mu = (sympy_symbols(statement)[name] for name in ("c_4", "theta", "mu"))
    return chain(statement, start, Step(1 / (c_4 * theta * mu) if end.has(theta) else c_4 / 4, "="))


def more_dimensions_than_digits(statement: Statement) -> Derivation:
    """Derive that a rate is above 1 where log(n) <= d: its second term is at least 1."""
    start, _ = sympy_sides(statement)
    n, d = (sympy_symbols(statement)[name] for name in ("n", "d"))
    remaining_terms = start - d / log(n)
    return chain(
        statement,
        start,
        Step(remaining_terms + 1, ">=", "order", {"a": 1, "b": d / log(n)}, context=remaining_terms + HOLE),
    )


def as_it_stands(statement: Statement) -> Derivation:
    """Take the left side of an order as it stands: its terms are compared with the right side's by exponents."""
    return chain(statement, sympy_sides(statement)[0])
