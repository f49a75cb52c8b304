"""Rates as exponents: which bound is at most which O~, exactly, along every way in which N, d and epsilon can grow.

Along (N, d, epsilon) = (n^a, n^b, n^c) a sum of monomials has the exponent max over its terms of a linear function of
(a, b, c); logarithms, G, L, R and delta do not count. Piecewise linear exponents are compared on the rays of the
pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final, TypeAlias

from dpverify.ledger.formula import Bin, Call, Compare, Formula, Name, Neg, Num, free_names, parse, to_text
from dpverify.ledger.statements import Statement

Vector: TypeAlias = tuple[Fraction, Fraction, Fraction]
"""Exponents of N, d and epsilon in a monomial, or a direction of growth."""


def vector(n: str | int, d: str | int, epsilon: str | int) -> Vector:
    """Read exponents."""
    return Fraction(n), Fraction(d), Fraction(epsilon)


FIRST: Final = vector("-1/2", "1/4", "-1/2")
"""d^(1/4)/sqrt(epsilon N), the rate of Theorem 6; sqrt(N/T) there, up to logarithms."""
SECOND: Final = vector("-2/3", "1/3", "-2/3")  # d^(1/3)/(epsilon N)^(2/3), the rate of Theorem 9; sqrt(N/T) there.
ROOT: Final = vector("-1/2", 0, 0)  # 1/sqrt(N).
NONE: Final = vector(0, 0, 0)  # A constant, such as the trivial bound G.
LAST: Final = vector(-1, "1/2", -1)  # sqrt(d)/(epsilon N).

THEOREM_6: Final = (FIRST, vector("-3/2", "1/4", "-1/2"), ROOT, LAST)
THEOREM_9: Final = (SECOND, ROOT, LAST)  # Terms as printed.
CORRECTED_6: Final = (FIRST, ROOT, LAST)
CORRECTED_9: Final = (SECOND, vector("-4/3", "2/3", "-4/3"), vector("-5/6", "1/6", "-1/3"), LAST)
"""Terms of the corrected theorems, fresh permutations: x = sqrt(N/T), x^2, sqrt(x/N) and x^(3/2) in the last."""

LETTERS: Final = ("N", "d", "epsilon")
HIDDEN: Final = ("G", "L", "R", "K", "delta")  # What O~ hides besides logarithms, as the transcriptions say.


def dot(u: Vector, v: Vector) -> Fraction:
    """Exponent of a monomial along a direction."""
    return sum((x * y for x, y in zip(u, v, strict=True)), Fraction(0))


def exponent(terms: Iterable[Vector], direction: Vector) -> Fraction:
    """Exponent of a sum of monomials along a direction."""
    return max(dot(term, direction) for term in terms)


def rays(terms: Sequence[Vector], cone: Sequence[Vector]) -> list[Vector]:
    """Give the directions that decide how sums of monomials compare on a cone, given by its normals, without a line."""
    # Two planes meet in each: those of the cone, and those on which two monomials are equal. Between them both sides
    # are linear.
    planes = [*cone, *(_minus(u, v) for u, v in combinations(dict.fromkeys(terms), 2))]
    found: dict[Vector, None] = {}
    for u, v in combinations(planes, 2):
        ray = _cross(u, v)
        size = sum(abs(x) for x in ray)
        if size == 0:
            continue
        for sign in (1, -1):
            unit = (sign * ray[0] / size, sign * ray[1] / size, sign * ray[2] / size)
            if all(dot(normal, unit) >= 0 for normal in cone):
                found[unit] = None
    return list(found)


def _minus(u: Vector, v: Vector) -> Vector:
    return u[0] - v[0], u[1] - v[1], u[2] - v[2]


def _cross(u: Vector, v: Vector) -> Vector:
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


def monomials(node: Formula, known: Mapping[str, Vector]) -> set[Vector]:
    """Give the exponents of the terms of a formula in which nothing cancels; numbers and logarithms have none."""
    match node:
        case Num() | Call("log" | "log2", _):
            return {NONE}
        case Name(name) if name in known:
            return {known[name]}
        case Call("sqrt", (arg,)):
            return {_times(u, Fraction(1, 2)) for u in monomials(arg, known)}
        case Bin("+", left, right):
            return monomials(left, known) | monomials(right, known)
        case Bin("*", left, right):
            return {_plus(u, v) for u in monomials(left, known) for v in monomials(right, known)}
        case Bin("/", left, right):
            divisor = monomial(right, known)
            return {_minus(u, divisor) for u in monomials(left, known)}
        case Bin("**", base, power) if not free_names(power):
            return {_times(monomial(base, known), _number(power))}
    raise ValueError(f"{to_text(node)} must be a sum of products of powers of {', '.join(known)}.")


def monomial(node: Formula, known: Mapping[str, Vector]) -> Vector:
    """Give the exponents of a single term."""
    found = monomials(node, known)
    if len(found) != 1:
        raise ValueError(f"{to_text(node)} must be one product of powers.")
    return found.pop()


def exponents_of(statement: Statement) -> dict[str, Vector]:
    """Give the exponents of every letter that a statement defines; where it defines epsilon by T, those of T."""
    unit = dict(zip(LETTERS, (vector(1, 0, 0), vector(0, 1, 0), vector(0, 0, 1)), strict=True))
    known = unit | dict.fromkeys(HIDDEN, NONE)
    for name, value in statement.let:
        if name not in LETTERS:
            known[name] = monomial(value, known)
            continue
        # epsilon = T^p rest, so T = (epsilon/rest)^(1/p); T does not depend on anything else.
        (power,) = {u[0] for u in monomials(value, dict.fromkeys(known, NONE) | {"T": vector(1, 0, 0)})}
        rest = monomial(value, known | {"T": NONE})
        known["T"] = _times(_minus(unit[name], rest), 1 / power)
    return known


def cone(statement: Statement) -> tuple[Vector, ...]:
    """Give the normals of the directions in which a statement's conditions and the domains of its letters hold."""
    known = exponents_of(statement)
    conditions = [c for name in ("N", "d", "T") if name in known for c in statement.domains[name].constraints]
    found = dict.fromkeys(n for c in (*conditions, *statement.requires) for n in _normals(c, known))
    return tuple(normal for normal in found if normal != NONE)


def _normals(condition: Compare, known: Mapping[str, Vector]) -> Iterable[Vector]:
    for op, left, right in zip(condition.ops, condition.operands, condition.operands[1:], strict=False):
        small, large = (left, right) if op in {"<", "<="} else (right, left)
        yield _minus(monomial(large, known), monomial(small, known))


def rate_of(statement: Statement) -> set[Vector]:
    """Read the terms inside the last O~(..) of a statement in words."""
    found = re.search(r"O~\((?P<rate>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)", statement.words or "")
    if found is None:
        raise ValueError(f"{statement.key} must say O~(rate), got {statement.words!r}.")
    text = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", found["rate"]).replace("^", "**")
    return monomials(parse(text), exponents_of(statement))


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
