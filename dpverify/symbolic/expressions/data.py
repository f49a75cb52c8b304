"""Variables that are not numbers: vectors, random variables, Gaussian norms, positions of the set bits of an integer.

Each has a value at a sample point, computed exactly from the numbers drawn before it; rules ask for the declaration:
Jensen may be used for any random variable, the law of a Gaussian norm only for one that is declared to be that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, Protocol

from flint import arb, ctx, fmpq

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import Datum, DomainError, Value, to_ball, to_exact, to_value
from dpverify.symbolic.expressions.from_sympy import compile_expr


class Declared(Protocol):
    """What a variable that is not a number must offer."""

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Any:
        """Value at a sample point whose earlier variables are set."""


class Vector(Datum):
    """A rational vector; as a random variable, it takes each entry with the same probability."""

    def __init__(self, entries: tuple[fmpq, ...]) -> None:
        self.entries = entries

    def __add__(self, other: Vector) -> Vector:
        return Vector(tuple(a + b for a, b in zip(self.entries, other.entries, strict=True)))

    def __sub__(self, other: Vector) -> Vector:
        return Vector(tuple(a - b for a, b in zip(self.entries, other.entries, strict=True)))

    def __mul__(self, factor: fmpq) -> Vector:
        return Vector(tuple(a * factor for a in self.entries))

    __rmul__ = __mul__

    def __neg__(self) -> Vector:
        return self * fmpq(-1)

    def inner(self, other: Vector) -> Value:
        """Inner product."""
        return sum((a * b for a, b in zip(self.entries, other.entries, strict=True)), fmpq(0))

    def norm(self) -> Value:
        """Euclidean norm."""
        return elementary.sqrt(self.inner(self))

    def moment(self, order: Value) -> Value:
        """Mean of |entry|**order."""
        total: Value = fmpq(0)
        for entry in self.entries:
            total += elementary.power(abs(entry), order)
        return total / len(self.entries)


@dataclass(frozen=True)
class AnyVector:
    """Declares a symbol to be an arbitrary vector, or an arbitrary random variable with finite moments."""

    length: int = 3  # entries of the sample vectors. All vectors of a derivation that are added must have the same.

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Vector:
        """Draw small rational entries, zeros and repetitions among them."""
        return Vector(tuple(fmpq(rng.randint(-6, 6), rng.choice((1, 1, 2, 7))) for _ in range(self.length)))


class _GaussianNormValue(Datum):
    def __init__(self, dimension: Value, variance: Any, point: Mapping[str, Any]) -> None:
        self.dimension = dimension
        self.variance = variance
        self.point = point

    def norm(self) -> Value:
        """Not a number: the norm is random."""
        raise DomainError("a random norm has moments, no value.")

    def inner(self, other: Any) -> Value:
        """Not a number either."""
        raise DomainError("a random norm has no inner product.")

    def moment(self, order: Value) -> Value:
        """``(2*v)**(p/2) * Gamma((d + p)/2) / Gamma(d/2)``, and ``d*v`` exactly for p = 2."""
        v: Value = self.variance(dict(self.point), int(ctx.prec))
        if order == 2:
            return v * self.dimension
        half = to_ball(order) / 2
        top = to_ball(self.dimension) / 2 + half
        bottom = to_ball(self.dimension) / 2
        return elementary.power(2 * v, fmpq(1, 2) * order) * (top.lgamma() - bottom.lgamma()).exp()


@dataclass(frozen=True)
class GaussianNorm:
    """Declares a symbol to be the norm of a centred Gaussian vector with independent coordinates of one variance."""

    dimension: Any  # number of coordinates, at least 1
    variance: Any  # variance of each coordinate, at least 0

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Datum:
        """Take the law at the point; nothing is random about its moments."""
        env = numbers_of(point)
        dimension = compile_expr(self.dimension)(dict(env), 64)
        return _GaussianNormValue(dimension, compile_expr(self.variance), env)


class _Positions(Datum):
    def __init__(self, positions: tuple[int, ...], of: int) -> None:
        self.positions = positions
        self.of = of

    def __call__(self, k: Value) -> Value:
        index = elementary.as_int("a position of a set bit", "k", k)
        if not 1 <= index <= len(self.positions):
            raise DomainError(f"{self.of} has {len(self.positions)} set bits; there is no number {index}.")
        return fmpq(self.positions[index - 1])


@dataclass(frozen=True)
class SetBits:
    """Declares a function symbol to list the positions of an integer's set bits, in increasing order from k = 1."""

    of: Any  # the integer, at least 0

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Datum:
        """Read the positions off the integer at the point."""
        value = elementary.as_int("SetBits", "of", compile_expr(self.of)(dict(numbers_of(point)), 64))
        return _Positions(tuple(i for i in range(value.bit_length()) if value >> i & 1), value)


def numbers_of(point: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a point with its numbers as flint rationals or balls."""
    return {
        name: to_value(value) if isinstance(value, (Fraction, int, arb)) else value for name, value in point.items()
    }


def shown(value: Any) -> str:
    """Write the value of a variable for a message."""
    if isinstance(value, (fmpq, arb)):
        return str(to_exact(value))
    if isinstance(value, Vector):
        return f"({', '.join(str(a) for a in value.entries)})"
    return str(value) if isinstance(value, (int, Fraction)) else type(value).__name__.strip("_")
