"""Discrete laws: laws on the integers whose log mass is a quadratic between kinks, and finite laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flint import arb, ctx, fmpq

from dpverify.symbolic.exact.numbers import (
    ZERO,
    DomainError,
    UndecidedError,
    Value,
    charged,
    spend,
    to_ball,
)
from dpverify.symbolic.laws.components import Component, LogDensity, around

_PARTS_OF_A_TERM = 4  # units of work charged for a term of a sum


@dataclass(frozen=True)
class OnIntegers(Component):
    """A law on the integers. Its mass at i is the exponential of its quadratic at i."""

    mean: fmpq  # an integer
    scale: Value

    is_discrete: ClassVar[bool] = True

    def kinks(self) -> tuple[Value, ...]:
        """Return the mean."""
        return (self.mean,)

    def mass(self, point: fmpq) -> Value:
        """Return the probability of a point."""
        if (point - self.mean).q != 1:
            return ZERO
        quadratic = self.quadratic(arb(point))
        return ZERO if quadratic is None else quadratic.at(arb(point)).exp()

    def moved(self, shift: Value) -> Component:
        """Return the law with the mean moved by an integer."""
        return type(self)(_exact(self.mean + shift), self.scale)


@dataclass(frozen=True)
class DiscreteNormal(OnIntegers):
    """Mass proportional to ``exp(-(i - m)**2/(2*s**2))``."""

    def quadratic(self, x: arb) -> LogDensity | None:
        """Return the log mass, a single quadratic."""
        c = -1 / (2 * self.scale**2)
        return LogDensity(
            c * self.mean**2 - _theta(self.scale).log(),
            -2 * c * self.mean,
            c,
            self.scale,
        )

    def reach(self, bits: int) -> tuple[arb, arb]:
        """Return the ends. The tail from i on is at most the tail of a normal law from i - 1 on."""
        return around(
            self.mean, to_ball(self.scale) * (2 * bits * arb.const_log2()).sqrt() + 2
        )


@dataclass(frozen=True)
class DiscreteLaplace(OnIntegers):
    """Mass proportional to ``exp(-|i - m|/b)``."""

    def quadratic(self, x: arb) -> LogDensity | None:
        """Return the log mass, a straight line on each side of the mean."""
        side = 1 if x > self.mean else -1
        slope = -side / self.scale
        weight = (1 / (2 * to_ball(self.scale))).tanh().log()
        return LogDensity(weight - slope * self.mean, slope, ZERO, self.scale, side)

    def reach(self, bits: int) -> tuple[arb, arb]:
        """Return the ends. The tail from i on is below ``exp(-i/b)``."""
        return around(self.mean, to_ball(self.scale) * bits * arb.const_log2() + 2)


@dataclass(frozen=True)
class Finite(Component):
    """Finitely many points with their masses."""

    points: tuple[fmpq, ...]
    masses: tuple[Value, ...]

    is_discrete: ClassVar[bool] = True

    def kinks(self) -> tuple[Value, ...]:
        """Return the smallest and the largest point, which are the ends of the support."""
        return (min(self.points), max(self.points))

    def quadratic(self, x: arb) -> LogDensity | None:
        """Return None: a finite law has no mass outside of its points."""
        return None

    def mass(self, point: fmpq) -> Value:
        """Return the probability of a point."""
        return sum(
            (m for p, m in zip(self.points, self.masses, strict=True) if p == point),
            start=ZERO,
        )

    def reach(self, bits: int) -> tuple[arb, arb]:
        """Return the smallest and the largest point."""
        return arb(min(self.points)).lower(), arb(max(self.points)).upper()

    def moved(self, shift: Value) -> Component:
        """Return the law with all points moved."""
        return Finite(
            tuple(_exact(point + shift) for point in self.points), self.masses
        )

    def stretched(self, factor: Value) -> Component:
        """Return the law with all points multiplied by a factor."""
        return Finite(
            tuple(_exact(point * factor) for point in self.points), self.masses
        )


def _theta(scale: Value) -> arb:
    """Return the sum of ``exp(-i**2/(2*s**2))`` over all integers."""
    bits = int(ctx.prec)
    return charged(_theta_sum, scale, bits)


def _theta_sum(scale: Value, bits: int) -> arb:
    variance = to_ball(scale) ** 2
    end = (
        whole(
            (to_ball(scale) * (2 * (bits + 8) * arb.const_log2()).sqrt()).upper().ceil()
        )
        + 1
    )
    spend(_PARTS_OF_A_TERM * end)
    ratio = (-1 / (2 * variance)).exp()
    square = ratio**2
    term = arb(1)
    step = ratio
    total = arb(0)
    for _ in range(end):
        term *= step
        step *= square
        total += term
    tail = term * step / (1 - step)  # the ratio of successive terms decreases
    return 1 + 2 * (total + tail * arb(0.5, 0.5))


def _exact(place: Value) -> fmpq:
    if isinstance(place, fmpq):
        return place
    raise DomainError(f"a point of a discrete law must be a fraction, got {place}.")


def whole(x: arb) -> int:
    """Return the only integer in a ball; raise UndecidedError unless there is exactly one."""
    value = x.unique_fmpz()
    if value is None:
        raise UndecidedError(f"the integer {x}.")
    return int(value)
