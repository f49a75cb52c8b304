"""Sums of monomials in N, d and epsilon: exponents of formulas, and the cone in which a statement's conditions hold.

Along (N, d, epsilon) = (n^a, n^b, n^c) a monomial is n to a power that is linear in (a, b, c); logarithms, G, L, R and
delta do not count. The conditions of a statement, its definitions put in, are then half spaces: a cone of directions,
which the record gives and no check chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final, TypeAlias

from dpverify.harness.search.constraints import links
from dpverify.ledger.formula import Bin, Call, Compare, Formula, Name, Neg, Num, free_names, to_text
from dpverify.ledger.statements import Statement

Vector: TypeAlias = tuple[Fraction, Fraction, Fraction]
"""Exponents of N, d and epsilon in a monomial, or a direction of growth."""

LETTERS: Final = ("N", "d", "epsilon")
HIDDEN: Final = ("G", "L", "R", "K", "delta")  # What O~ hides besides logarithms, as the transcriptions say.
NONE: Final[Vector] = (Fraction(0), Fraction(0), Fraction(0))  # A constant, such as the trivial bound G.


def monomials(node: Formula, exponents: Mapping[str, Vector]) -> set[Vector]:
    """Give the exponents of the terms of a formula in which nothing cancels; numbers and logarithms have none."""
    match node:
        case Num(value) if value > 0:
            return {NONE}
        case Call("log" | "log2", _):
            return {NONE}
        case Name(name) if name in exponents:
            return {exponents[name]}
        case Call("sqrt", (arg,)):
            return {_times(u, Fraction(1, 2)) for u in monomials(arg, exponents)}
        case Bin("+", left, right):
            return monomials(left, exponents) | monomials(right, exponents)
        case Bin("*", left, right):
            return {_plus(u, v) for u in monomials(left, exponents) for v in monomials(right, exponents)}
        case Bin("/", left, right):
            divisor = monomial(right, exponents)
            return {minus(u, divisor) for u in monomials(left, exponents)}
        case Bin("**", base, power) if not free_names(power):
            return {_times(monomial(base, exponents), _number(power))}
    raise ValueError(f"{to_text(node)} must be a sum of products of powers of {', '.join(exponents)}.")


def monomial(node: Formula, exponents: Mapping[str, Vector]) -> Vector:
    """Give the exponents of a single term."""
    terms = monomials(node, exponents)
    if len(terms) != 1:
        raise ValueError(f"{to_text(node)} must be one product of powers.")
    return terms.pop()


def exponents_of(statement: Statement) -> dict[str, Vector]:
    """Give the exponents of every letter that a statement defines; where it defines epsilon by T, those of T."""
    one = Fraction(1)
    zero = Fraction(0)
    unit: dict[str, Vector] = {"N": (one, zero, zero), "d": (zero, one, zero), "epsilon": (zero, zero, one)}
    exponents = unit | dict.fromkeys(HIDDEN, NONE)
    for name, value in statement.let:
        if name not in LETTERS:
            exponents[name] = monomial(value, exponents)
            continue
        # epsilon = T^p rest, so T = (epsilon/rest)^(1/p); T does not depend on anything else.
        (power,) = {u[0] for u in monomials(value, dict.fromkeys(exponents, NONE) | {"T": unit["N"]})}
        rest = monomial(value, exponents | {"T": NONE})
        exponents["T"] = _times(minus(unit[name], rest), 1 / power)
    return exponents


def cone(statement: Statement) -> tuple[Vector, ...]:
    """Give the normals of the directions in which a statement's conditions and the domains of its letters hold."""
    exponents = exponents_of(statement)
    letters = [name for name in ("N", "d", "T") if name in exponents and name in statement.domains]
    conditions = [c for name in letters for c in statement.domains[name].constraints]
    normals = dict.fromkeys(n for c in (*conditions, *statement.requires) for n in _normals(c, exponents))
    return tuple(normal for normal in normals if normal != NONE)


def _normals(condition: Compare, exponents: Mapping[str, Vector]) -> Iterable[Vector]:
    for link in links(condition):
        small, large = (link.left, link.right) if link.op in {"<", "<="} else (link.right, link.left)
        if small == Num(Fraction(0)):
            continue  # every power is above 0
        yield minus(monomial(large, exponents), monomial(small, exponents))


def _number(node: Formula) -> Fraction:
    match node:
        case Num(value):
            return value
        case Neg(arg):
            return -_number(arg)
        case Bin("/", left, right):
            return _number(left) / _number(right)
    raise ValueError(f"{to_text(node)} must be a number.")


def _plus(u: Vector, v: Vector) -> Vector:
    return u[0] + v[0], u[1] + v[1], u[2] + v[2]


def _times(u: Vector, by: Fraction) -> Vector:
    return u[0] * by, u[1] * by, u[2] * by


def minus(u: Vector, v: Vector) -> Vector:
    """The difference."""
    return u[0] - v[0], u[1] - v[1], u[2] - v[2]
