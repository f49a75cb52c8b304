"""Asymptotic claims about run times, decided by exponents.

Up to constants and logarithms every count of a run is a monomial N^a d^b epsilon^c. Along N = x^i, d = x^j, epsilon =
x^k its exponent is linear in the direction (i, j, k). A region such as T >= N is a cone of directions, and a linear
function is at most 0 on a cone if and only if it is so on the cone's edges: finitely many directions decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple, TypeAlias

Vector3: TypeAlias = tuple[Fraction, Fraction, Fraction]  # Exponents of N, d and epsilon, or a direction in terms of x


class Order(NamedTuple):
    """A monomial in N, d and epsilon, times a power of a logarithm."""

    N: Fraction  # exponents
    d: Fraction
    epsilon: Fraction
    logs: int = 0  # power of the logarithm; 0 where logarithms are left out

    def times(self, other: Order) -> Order:
        """The product of two monomials."""
        return Order(self.N + other.N, self.d + other.d, self.epsilon + other.epsilon, self.logs + other.logs)

    def power(self, exponent: int | Fraction) -> Order:
        """A power of a monomial without logarithms."""
        if self.logs:
            raise ValueError(f"order {self} must have no logarithm to be raised to a power.")
        return Order(exponent * self.N, exponent * self.d, exponent * self.epsilon)

    def along(self, direction: Vector3) -> Fraction:
        """The exponent of x along a direction, without logarithms."""
        return self.N * direction[0] + self.d * direction[1] + self.epsilon * direction[2]


def order(n: int | str, d: int | str, epsilon: int | str, logs: int = 0) -> Order:
    """Write an :class:`Order` with exponents such as ``"7/3"``."""
    return Order(Fraction(n), Fraction(d), Fraction(epsilon), logs)


EXAMPLES = order(1, 0, 0)
DIMENSION = order(0, 1, 0)
LOGARITHM = order(0, 0, 0, 1)

STEPS_OF_THEOREM_9 = order("7/3", "-2/3", "4/3")  # T = N^(7/3) epsilon^(4/3) / d^(2/3)

STEPS_OF_THEOREM_6 = order(2, "-1/2", 1)  # T = epsilon N^2 / sqrt(d), up to logarithms of T and 1/delta that divide it


def literal_order(steps: Order) -> Order:
    """Order of the operations on numbers of Algorithm 4 as printed, T^2 d / N, where T >= 4N; logarithms left out."""
    return steps.power(2).times(DIMENSION).times(EXAMPLES.power(-1))


def stream_order(steps: Order) -> Order:
    """Order of the operations on numbers of the stream, T d."""
    return steps.times(DIMENSION)


def exceeds(left: Sequence[Order], right: Sequence[Order], direction: Vector3, *, logs: bool) -> bool:
    """Whether a sum outgrows another along a direction; with ``logs`` a logarithm decides between equal powers of x."""

    def growth(terms: Sequence[Order]) -> tuple[Fraction, int]:
        return max((term.along(direction), term.logs if logs else 0) for term in terms)

    return growth(left) > growth(right)


def edges(faces: Sequence[Vector3]) -> list[Vector3]:
    """Edges, sorted, of the cone with ``face . v >= 0`` for every face; their largest absolute entry is 1."""
    rays = set[Vector3]()
    for first, second in combinations(faces, 2):
        line = _cross(first, second)
        size = max(map(abs, line))
        for sign in (1, -1) if size else ():
            x, y, z = (sign * entry / size for entry in line)
            if all(_dot(face, (x, y, z)) >= 0 for face in faces):
                rays.add((x, y, z))
    return sorted(rays, reverse=True)


def whole_epochs(steps: Order) -> Vector3:
    """Face of the region in which T >= N, up to a constant."""
    return steps.N - 1, steps.d, steps.epsilon


def within(faces: Sequence[Vector3], direction: Vector3, *, strictly: bool = False) -> bool:
    """Whether a direction lies in the cone of some faces, or inside it."""
    return all(_dot(face, direction) > 0 if strictly else _dot(face, direction) >= 0 for face in faces)


def directions(faces: Sequence[Vector3]) -> list[Vector3]:
    """Edges of a region, and the directions between them: sums of edges, of which the last is inside the cone."""
    rays = edges(faces)
    sums = [_sum(chosen) for size in range(2, len(rays) + 1) for chosen in combinations(rays, size)]
    return [*rays, *sums]


def _sum(vectors: Sequence[Vector3]) -> Vector3:
    x, y, z = (sum(entries, Fraction(0)) for entries in zip(*vectors, strict=True))
    return x, y, z


def _dot(a: Vector3, b: Vector3) -> Fraction:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vector3, b: Vector3) -> Vector3:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
