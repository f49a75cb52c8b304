"""Rates as exponents: which bound is at most which O~, exactly, along every way in which N, d and epsilon can grow.

Along (N, d, epsilon) = (n^a, n^b, n^c) a sum of monomials has the exponent max over its terms of a linear function of
(a, b, c); logarithms, G, L, R and delta do not count. Piecewise linear exponents are compared on the rays of the
pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final

from dpverify.ledger.formula import parse
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.run_time.growth_bounds import Vector, exponents_of, minus, monomials


def vector(n: str | int, d: str | int, epsilon: str | int) -> Vector:
    """Read exponents."""
    return Fraction(n), Fraction(d), Fraction(epsilon)


FIRST: Final = vector("-1/2", "1/4", "-1/2")
"""d^(1/4)/sqrt(epsilon N), the rate of Theorem 6; sqrt(N/T) there, up to logarithms."""
SECOND: Final = vector("-2/3", "1/3", "-2/3")  # d^(1/3)/(epsilon N)^(2/3), the rate of Theorem 9; sqrt(N/T) there.
ROOT: Final = vector("-1/2", 0, 0)  # 1/sqrt(N).
LAST: Final = vector(-1, "1/2", -1)  # sqrt(d)/(epsilon N).

THEOREM_6: Final = (FIRST, vector("-3/2", "1/4", "-1/2"), ROOT, LAST)
THEOREM_9: Final = (SECOND, ROOT, LAST)  # Terms as printed.
CORRECTED_6: Final = (FIRST, ROOT, LAST)
CORRECTED_9: Final = (SECOND, vector("-4/3", "2/3", "-4/3"), vector("-5/6", "1/6", "-1/3"), LAST)
"""Terms of the corrected theorems, fresh permutations: x = sqrt(N/T), x^2, sqrt(x/N) and x^(3/2) in the last."""


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
    planes = [*cone, *(minus(u, v) for u, v in combinations(dict.fromkeys(terms), 2))]
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


def _cross(u: Vector, v: Vector) -> Vector:
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


def rate_of(statement: Statement) -> set[Vector]:
    """Read the terms inside the last O~(..) of a statement in words."""
    found = re.search(r"O~\((?P<rate>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)", statement.words or "")
    if found is None:
        raise ValueError(f"{statement.key} must say O~(rate), got {statement.words!r}.")
    text = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", found["rate"]).replace("^", "**")
    return monomials(parse(text), exponents_of(statement))
