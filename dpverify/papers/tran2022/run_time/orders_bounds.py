"""Asymptotic claims, decided by exponents: run times, rates, sums of monomials, and the cone of a statement's domain.

Up to constants and logarithms, every operation count of a run is a monomial N^a d^b
epsilon^c. Along N = x^i, d = x^j, epsilon = x^k its exponent is linear in the direction
(i, j, k). A region such as T >= N is a cone of directions. A linear function is at most
0 on a cone if and only if it is at most 0 on the cone's edges, so finitely many
directions decide.

A formula must be a sum of monomials in N, d and epsilon; its exponents are computed. Along
(N, d, epsilon) = (n^a, n^b, n^c) a monomial is n to a power that is linear in (a, b, c), and the exponent of a sum is
the maximum over its terms. Logarithms, G, L, R and delta do not count. The conditions of a statement, with its
definitions inserted, are half spaces and form a cone of directions. The cone comes from the record, not from a check.
Sums are compared on the rays of the pieces on which their exponents are linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from dpverify.harness.search.constraints import links
from dpverify.ledger.formula import (
    Bin,
    Call,
    Compare,
    Formula,
    Name,
    Neg,
    Num,
    free_names,
    to_text,
)
from dpverify.ledger.statements import Statement

# Exponents of N, d and epsilon, or a direction in terms of x
Vector: TypeAlias = tuple[Fraction, Fraction, Fraction]
"""Exponents of N, d and epsilon in a monomial, or a direction of growth."""


class Order(NamedTuple):
    """A monomial in N, d and epsilon, times a power of a logarithm."""

    N: Fraction  # exponents
    d: Fraction
    epsilon: Fraction
    logs: int = 0  # power of the logarithm; 0 if logarithms are left out

    def times(self, other: Order) -> Order:
        """Return the product of two monomials."""
        return Order(
            self.N + other.N,
            self.d + other.d,
            self.epsilon + other.epsilon,
            self.logs + other.logs,
        )

    def power(self, exponent: int | Fraction) -> Order:
        """Return a power of a monomial without logarithms."""
        if self.logs:
            raise ValueError(
                f"order {self} must have no logarithm to be raised to a power."
            )
        return Order(exponent * self.N, exponent * self.d, exponent * self.epsilon)

    def along(self, direction: Vector) -> Fraction:
        """Return the exponent of x along a direction, without logarithms."""
        return (
            self.N * direction[0] + self.d * direction[1] + self.epsilon * direction[2]
        )


def order(n: int | str, d: int | str, epsilon: int | str, logs: int = 0) -> Order:
    """Return an :class:`Order` with exponents such as ``"7/3"``."""
    return Order(Fraction(n), Fraction(d), Fraction(epsilon), logs)


EXAMPLES = order(1, 0, 0)
DIMENSION = order(0, 1, 0)
LOGARITHM = order(0, 0, 0, 1)

STEPS_OF_THEOREM_9 = order("7/3", "-2/3", "4/3")  # T = N^(7/3) epsilon^(4/3) / d^(2/3)

# T = epsilon N^2 / sqrt(d), up to logarithms of T and 1/delta that divide it
STEPS_OF_THEOREM_6 = order(2, "-1/2", 1)


def literal_order(steps: Order) -> Order:
    """Return the order of Algorithm 4's operations on numbers as printed, T^2 d / N, for T >= 4N; no logarithms."""
    return steps.power(2).times(DIMENSION).times(EXAMPLES.power(-1))


def stream_order(steps: Order) -> Order:
    """Return the order of the stream's operations on numbers, T d."""
    return steps.times(DIMENSION)


def exceeds(
    left: Sequence[Order], right: Sequence[Order], direction: Vector, *, logs: bool
) -> bool:
    """Test whether ``left`` outgrows ``right`` along a direction; if ``logs``, logarithms break ties of powers of x."""

    def growth(terms: Sequence[Order]) -> tuple[Fraction, int]:
        return max((term.along(direction), term.logs if logs else 0) for term in terms)

    return growth(left) > growth(right)


def edges(faces: Sequence[Vector]) -> list[Vector]:
    """Return the sorted edges of the cone with ``face . v >= 0`` for every face; their largest absolute entry is 1."""
    rays = set[Vector]()
    for first, second in combinations(faces, 2):
        line = _cross(first, second)
        size = max(map(abs, line))
        for sign in (1, -1) if size else ():
            x, y, z = (sign * entry / size for entry in line)
            if all(dot(face, (x, y, z)) >= 0 for face in faces):
                rays.add((x, y, z))
    return sorted(rays, reverse=True)


def whole_epochs(steps: Order) -> Vector:
    """Return the face of the region T >= N, up to a constant."""
    return steps.N - 1, steps.d, steps.epsilon


def within(
    faces: Sequence[Vector], direction: Vector, *, strictly: bool = False
) -> bool:
    """Test whether a direction lies in the cone of some faces, or, if ``strictly``, in its interior."""
    return all(
        dot(face, direction) > 0 if strictly else dot(face, direction) >= 0
        for face in faces
    )


def directions(faces: Sequence[Vector]) -> list[Vector]:
    """Return the edges of a region and directions between them: sums of edges, the last one inside the cone."""
    rays = edges(faces)
    sums = [
        _sum(chosen)
        for size in range(2, len(rays) + 1)
        for chosen in combinations(rays, size)
    ]
    return [*rays, *sums]


def _sum(vectors: Sequence[Vector]) -> Vector:
    x, y, z = (sum(entries, Fraction(0)) for entries in zip(*vectors, strict=True))
    return x, y, z


def _cross(a: Vector, b: Vector) -> Vector:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


LETTERS: Final = ("N", "d", "epsilon")
# What O~ hides besides logarithms, as the transcriptions say.
HIDDEN: Final = ("G", "L", "R", "K", "delta")
# A constant, such as the trivial bound G.
NONE: Final[Vector] = (Fraction(0), Fraction(0), Fraction(0))


def monomials(node: Formula, exponents: Mapping[str, Vector]) -> set[Vector]:
    """Return the exponents of a formula's terms, none of which cancel; numbers and logarithms have exponent 0."""
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
            return {
                _plus(u, v)
                for u in monomials(left, exponents)
                for v in monomials(right, exponents)
            }
        case Bin("/", left, right):
            divisor = monomial(right, exponents)
            return {minus(u, divisor) for u in monomials(left, exponents)}
        case Bin("**", base, power) if not free_names(power):
            return {_times(monomial(base, exponents), _number(power))}
    raise ValueError(
        f"{to_text(node)} must be a sum of products of powers of {', '.join(exponents)}."
    )


def monomial(node: Formula, exponents: Mapping[str, Vector]) -> Vector:
    """Return the exponents of a formula that is a single term."""
    terms = monomials(node, exponents)
    if len(terms) != 1:
        raise ValueError(f"{to_text(node)} must be one product of powers.")
    return terms.pop()


def exponents_of(statement: Statement) -> dict[str, Vector]:
    """Return the exponents of every symbol that a statement defines; if it defines epsilon by T, also those of T."""
    one = Fraction(1)
    zero = Fraction(0)
    unit: dict[str, Vector] = {
        "N": (one, zero, zero),
        "d": (zero, one, zero),
        "epsilon": (zero, zero, one),
    }
    exponents = unit | dict.fromkeys(HIDDEN, NONE)
    for name, value in statement.let:
        if name not in LETTERS:
            exponents[name] = monomial(value, exponents)
            continue
        # epsilon = T^p rest, so T = (epsilon/rest)^(1/p).
        # T does not depend on other symbols.
        (power,) = {
            u[0]
            for u in monomials(value, dict.fromkeys(exponents, NONE) | {"T": unit["N"]})
        }
        rest = monomial(value, exponents | {"T": NONE})
        exponents["T"] = _times(minus(unit[name], rest), 1 / power)
    return exponents


def cone(statement: Statement) -> tuple[Vector, ...]:
    """Return the normals of the cone of directions in which a statement's conditions and its symbols' domains hold."""
    exponents = exponents_of(statement)
    letters = [
        name
        for name in ("N", "d", "T")
        if name in exponents and name in statement.domains
    ]
    conditions = [c for name in letters for c in statement.domains[name].constraints]
    normals = dict.fromkeys(
        n for c in (*conditions, *statement.requires) for n in _normals(c, exponents)
    )
    return tuple(normal for normal in normals if normal != NONE)


def _normals(condition: Compare, exponents: Mapping[str, Vector]) -> Iterable[Vector]:
    for link in links(condition):
        small, large = (
            (link.left, link.right)
            if link.op in {"<", "<="}
            else (link.right, link.left)
        )
        if small == Num(Fraction(0)):
            continue  # every power is positive
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
    """Return the difference of two vectors."""
    return u[0] - v[0], u[1] - v[1], u[2] - v[2]


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
