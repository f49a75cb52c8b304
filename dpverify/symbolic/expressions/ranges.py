"""Declarations of a derivation's variables: numbers in a range, vectors, random variables, and set bits.

A declaration draws a value at a sample point, computed exactly from the numbers drawn before it. Rules test the
declaration: Jensen applies to any random variable, but the law of a Gaussian norm applies only to a variable that is
declared as a Gaussian norm. Declarations of functions are in ``evaluation``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, Literal, Protocol

from flint import arb, ctx, fmpq
from sympy import S

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import (
    Datum,
    DomainError,
    EvaluationError,
    Value,
    to_ball,
    to_exact,
    to_fraction,
)
from dpverify.symbolic.expressions.evaluation import compile_expr, numbers_of


class Declared(Protocol):
    """Interface of the declaration of a variable that is not a number."""

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Any:
        """Draw a value at a sample point whose earlier variables are set."""


class Vector(Datum):
    """A rational vector; as a random variable, it takes each entry with the same probability."""

    def __init__(self, entries: tuple[fmpq, ...]) -> None:
        self.entries = entries

    def __add__(self, other: Vector) -> Vector:
        return Vector(
            tuple(a + b for a, b in zip(self.entries, other.entries, strict=True))
        )

    def __sub__(self, other: Vector) -> Vector:
        return Vector(
            tuple(a - b for a, b in zip(self.entries, other.entries, strict=True))
        )

    def __mul__(self, factor: fmpq) -> Vector:
        return Vector(tuple(a * factor for a in self.entries))

    __rmul__ = __mul__

    def __neg__(self) -> Vector:
        return self * fmpq(-1)

    def inner(self, other: Vector) -> Value:
        """Inner product."""
        return sum(
            (a * b for a, b in zip(self.entries, other.entries, strict=True)), fmpq(0)
        )

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

    # number of entries of a sample vector; vectors
    # that are added must have the same length
    length: int = 3

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Vector:
        """Draw small rational entries, which include zeros and repetitions."""
        return Vector(
            tuple(
                fmpq(rng.randint(-6, 6), rng.choice((1, 1, 2, 7)))
                for _ in range(self.length)
            )
        )


@dataclass(frozen=True)
class BoundedVector(AnyVector):
    """Declares a symbol to be an arbitrary random variable whose absolute value is at most a bound."""

    bound: Any = S.One  # at least 0; may use numbers that are declared earlier

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Vector:
        """Draw a vector as ``AnyVector`` does, and scale it down to the bound."""
        drawn = super().draw(rng, point)
        value = compile_expr(self.bound)(dict(numbers_of(point)), 64)
        bound = (
            fmpq(int((value * 2**40).floor().unique_fmpz() or 0), 2**40)
            if isinstance(value, arb)
            else value
        )
        largest = max((abs(entry) for entry in drawn.entries), default=fmpq(0))
        return drawn if largest <= bound else drawn * (bound / largest)


class _GaussianNormValue(Datum):
    def __init__(
        self, dimension: Value, variance: Any, point: Mapping[str, Any]
    ) -> None:
        self.dimension = dimension
        self.variance = variance
        self.point = point

    def norm(self) -> Value:
        """Raise a DomainError, since the norm is random."""
        raise DomainError("a random norm has moments, no value.")

    def inner(self, other: Any) -> Value:
        """Raise a DomainError, since a random norm has no inner product."""
        raise DomainError("a random norm has no inner product.")

    def moment(self, order: Value) -> Value:
        """Return ``(2*v)**(p/2) * Gamma((d + p)/2) / Gamma(d/2)``, and exactly ``d*v`` for p = 2."""
        v: Value = self.variance(dict(self.point), int(ctx.prec))
        if order == 2:
            return v * self.dimension
        half = to_ball(order) / 2
        top = to_ball(self.dimension) / 2 + half
        bottom = to_ball(self.dimension) / 2
        return (
            elementary.power(2 * v, fmpq(1, 2) * order)
            * (top.lgamma() - bottom.lgamma()).exp()
        )


@dataclass(frozen=True)
class GaussianNorm:
    """Declares a symbol to be the norm of a centred Gaussian vector with independent coordinates of one variance."""

    dimension: Any  # number of coordinates, at least 1
    variance: Any  # variance of each coordinate, at least 0

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Datum:
        """Return the law for the parameters at the point. Its moments are not random."""
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
            raise DomainError(
                f"{self.of} has {len(self.positions)} set bits; there is no number {index}."
            )
        return fmpq(self.positions[index - 1])


@dataclass(frozen=True)
class SetBits:
    """Declares a function symbol to list the positions of an integer's set bits, in increasing order from k = 1."""

    of: Any  # the integer, at least 0

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Datum:
        """Return the positions of the set bits of the integer at the point."""
        value = elementary.as_int(
            "SetBits", "of", compile_expr(self.of)(dict(numbers_of(point)), 64)
        )
        return _Positions(
            tuple(i for i in range(value.bit_length()) if value >> i & 1), value
        )


def shown(value: Any) -> str:
    """Format the value of a variable for a message."""
    if isinstance(value, (fmpq, arb)):
        return str(to_exact(value))
    if isinstance(value, Vector):
        return f"({', '.join(str(a) for a in value.entries)})"
    return (
        str(value)
        if isinstance(value, (int, Fraction))
        else type(value).__name__.strip("_")
    )


_TRIES_PER_POINT = 60


@dataclass(frozen=True)
class Range:
    """An interval of reals or integers from which points are drawn.

    Proofs use the assumptions of symbols, never the range.
    """

    kind: Literal["real", "integer"]  # ``real`` or ``integer``
    lo: Any  # ends; an expression may use variables that are declared earlier
    hi: Any
    open_lo: bool = False  # whether the end is excluded (reals only)
    open_hi: bool = False

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Fraction:
        """Draw a rational: often an end or close to it, otherwise uniform or spread over the orders of magnitude."""
        lo: Fraction = _end(self.lo, point, upwards=True)
        hi: Fraction = _end(self.hi, point, upwards=False)
        if self.kind == "integer":
            return Fraction(_integer(rng, -(-lo // 1), hi // 1))
        return self._real(rng, lo, hi)

    def _real(self, rng: Random, lo: Fraction, hi: Fraction) -> Fraction:
        style = rng.random()
        width = hi - lo
        if style < 0.05 and not self.open_lo:
            return lo
        if style < 0.1 and not self.open_hi:
            return hi
        share = Fraction(rng.randint(1, 9998), 9999)
        if style < 0.3:
            return lo + width * share * Fraction(1, 10 ** rng.randint(1, 6))
        if style < 0.4:
            return hi - width * share * Fraction(1, 10 ** rng.randint(1, 6))
        if style < 0.7:
            small = rng.randint(2, 12)
            return lo + width * Fraction(rng.randint(1, small - 1), small)
        return lo + width * share


@dataclass(frozen=True)
class FromPremises(Range):
    """A number that only the premises constrain. It is drawn up to the least bound that the premises give for it."""

    kind: Literal["real", "integer"] = "real"
    lo: Any = 0
    hi: Any = 0  # used if no bound is known
    # a bound, and a test of whether it applies at a point
    bounds: tuple[tuple[Any, Any], ...] = ()

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Fraction:
        """Draw from the range up to the least bound that applies at the point."""
        env = numbers_of(point)
        ends = [
            _end(bound, point, upwards=False)
            for bound, applies in self.bounds
            if _holds(applies, env)
        ]
        least = _end(self.lo, point, upwards=True)
        most = min(ends, default=Fraction(0))
        return (
            Range("real", least, most, open_lo=self.open_lo).draw(rng, point)
            if least <= most
            else most
        )


def _integer(rng: Random, lo: int, hi: int) -> int:
    style = rng.random()
    if hi - lo < 4 or style < 0.25:
        return rng.randint(lo, hi)
    if style < 0.45:
        return min(hi, lo + rng.randint(0, 3))
    if style < 0.5:
        return hi
    step = 1 << rng.randint(0, (hi - lo).bit_length() - 1)
    return min(hi, max(lo, lo + step + rng.choice((-1, 0, 0, 1, rng.randint(0, step)))))


def _end(end: Any, point: Mapping[str, Any], *, upwards: bool) -> Fraction:
    """Return the value of an end. An irrational value is rounded into the range, with a relative error below 1e-9."""
    if isinstance(end, int | Fraction):
        return Fraction(end)
    value = compile_expr(end)(numbers_of(point), 64)
    if isinstance(value, fmpq):
        return to_fraction(value)
    mantissa, exponent = (value.upper() if upwards else value.lower()).man_exp()
    size = max(0, int(mantissa).bit_length() - 40)
    rounded = -(-int(mantissa) >> size) if upwards else int(mantissa) >> size
    return Fraction(rounded) * Fraction(2) ** (size + int(exponent))


def real(lo: Any, hi: Any, *, open_lo: bool = False, open_hi: bool = False) -> Range:
    """Return a range of reals, closed by default; see :class:`Range`."""
    return Range("real", lo, hi, open_lo, open_hi)


def integer(lo: Any, hi: Any) -> Range:
    """Return a range of integers that includes both ends; see :class:`Range`."""
    return Range("integer", lo, hi)


Variable = Range | Declared


class Points:
    """Rational points of a domain that satisfy all conditions. The seed determines the points."""

    def __init__(
        self,
        variables: Mapping[str, Variable],
        conditions: Iterable[Any],
        count: int,
        seed: int | str,
    ) -> None:
        self.count = count
        self.samples: list[dict[str, Any]] = []
        rng = Random(f"points {seed}")
        tests = tuple(conditions)
        for _ in range(count * _TRIES_PER_POINT):
            if len(self.samples) == count:
                break
            point: dict[str, Any] = {}
            for name, variable in variables.items():
                point[name] = variable.draw(rng, point)
            env = numbers_of(point)
            if all(_holds(test, env) for test in tests):
                self.samples.append(env)

    @property
    def is_complete(self) -> bool:
        """Whether the requested number of points was found."""
        return len(self.samples) >= self.count


def _holds(test: Any, env: Mapping[str, Value]) -> bool:
    try:
        return test(dict(env)) is True
    except EvaluationError:
        return False
