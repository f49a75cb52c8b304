"""Rates as exponents: directions of growth in N, d and epsilon along which one sum outgrows another.

Along (N, d, epsilon) = (n^a, n^b, n^c) the exponent of a sum of monomials is the maximum over its terms of a linear
function of (a, b, c). Logarithms, G, L, R and delta do not count. Piecewise linear exponents are compared on the rays
of the pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

from dpverify.ledger.formula import Formula
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.run_time.orders_bounds import (
    Vector,
    exponents_of,
    minus,
    monomials,
)


def dot(u: Vector, v: Vector) -> Fraction:
    """Return the exponent of a monomial along a direction."""
    return sum((x * y for x, y in zip(u, v, strict=True)), Fraction(0))


def exponent(terms: Iterable[Vector], direction: Vector) -> Fraction:
    """Return the exponent of a sum of monomials along a direction."""
    return max(dot(term, direction) for term in terms)


def rays(terms: Sequence[Vector], cone: Sequence[Vector]) -> list[Vector]:
    """Return the directions that decide how sums of monomials compare on a pointed cone, given by its normals."""
    # Each direction is the intersection of two planes: faces of the cone, and planes on
    # which two monomials are equal. Both sides are linear between these directions.
    planes = [*cone, *(minus(u, v) for u, v in combinations(dict.fromkeys(terms), 2))]
    directions: dict[Vector, None] = {}
    for u, v in combinations(planes, 2):
        ray = _cross(u, v)
        size = sum(abs(x) for x in ray)
        if size == 0:
            continue
        for sign in (1, -1):
            unit = (sign * ray[0] / size, sign * ray[1] / size, sign * ray[2] / size)
            if all(dot(normal, unit) >= 0 for normal in cone):
                directions[unit] = None
    return list(directions)


def _cross(u: Vector, v: Vector) -> Vector:
    return (
        u[1] * v[2] - u[2] * v[1],
        u[2] * v[0] - u[0] * v[2],
        u[0] * v[1] - u[1] * v[0],
    )


def left_terms(statement: Statement) -> set[Vector]:
    """Return the exponents of the terms on the left side of an order."""
    return monomials(_formula(statement.lhs), exponents_of(statement))


def right_terms(statement: Statement) -> set[Vector]:
    """Return the exponents of the terms inside O or O~."""
    return monomials(_formula(statement.rhs), exponents_of(statement))


def _formula(side: Formula | None) -> Formula:
    if side is None:
        raise ValueError("an order must have formulas on both sides.")
    return side
