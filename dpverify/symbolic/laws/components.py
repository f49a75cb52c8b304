"""Laws on the line whose log density is a quadratic between kinks.

A density is ``exp(a + b*x + c*x**2)`` on each piece between two kinks, or 0 there. The same holds for the mass of a law
on the integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from flint import arb

from dpverify.symbolic.exact.numbers import OO, ZERO, Value, to_ball


class LogDensity(NamedTuple):
    """A log density ``a + b*x + c*x**2``.

    Two log densities with the same scale and side have exactly the same c. If the side is not 0, they also have the
    same b.
    """

    a: arb
    b: Value
    c: Value
    scale: Value
    side: int = 0  # side of the kink for a straight line; 0 for a curve

    def at(self, x: arb) -> arb:
        """Return the value at a point."""
        return self.a + x * (self.b + x * self.c)

    def slope(self, x: arb) -> arb:
        """Return the derivative at a point or over an interval."""
        return self.b + 2 * self.c * x

    def minus(self, other: LogDensity) -> LogDensity:
        """Return the difference of two quadratics."""
        is_parallel = self.side == other.side and same(self.scale, other.scale)
        c = ZERO if is_parallel else self.c - other.c
        b = ZERO if is_parallel and self.side else self.b - other.b
        return LogDensity(self.a - other.a, b, c, self.scale)

    def tilted(self, other: LogDensity, z: arb) -> LogDensity:
        """Return ``z`` times the quadratic plus ``1 - z`` times ``other``."""
        change = self.minus(other)
        return LogDensity(
            other.a + z * change.a,
            other.b + z * change.b,
            other.c + z * change.c,
            self.scale,
        )


def same(left: Value, right: Value) -> bool:
    """Test whether two values are certainly the same number: the same object, or equal fractions."""
    return left is right or bool(left == right)


@dataclass(frozen=True)
class Component:
    """A law from a family that is closed under shifts and changes of scale."""

    is_discrete: ClassVar[bool] = False

    def kinks(self) -> tuple[Value, ...]:
        """Return the points at which the quadratic changes, including the ends of the support."""
        return ()

    def quadratic(self, x: arb) -> LogDensity | None:
        """Return the log density on the piece that contains a point, or None if the density is 0 there."""
        raise NotImplementedError

    def below(self, x: arb) -> arb:
        """Return the probability of at most x."""
        raise NotImplementedError

    def above(self, x: arb) -> arb:
        """Return the probability of at least x."""
        raise NotImplementedError

    def reach(self, bits: int) -> tuple[arb, arb]:
        """Return ends such that less than ``2**-bits`` of the probability is outside on each side."""
        raise NotImplementedError

    def moved(self, shift: Value) -> Component:
        """Return the law of the number plus a shift."""
        raise NotImplementedError

    def stretched(self, factor: Value) -> Component:
        """Return the law of the number times a factor above 0."""
        raise NotImplementedError

    def between(self, left: arb, right: arb) -> arb:
        """Return the probability of an interval, computed from the tail on its side."""
        if self.below(left) < 0.5:
            return self.below(right) - self.below(left)
        return self.above(left) - self.above(right)


@dataclass(frozen=True)
class Normal(Component):
    """Normal law."""

    mean: Value
    deviation: Value

    def quadratic(self, x: arb) -> LogDensity | None:
        """Return the log density, a single quadratic."""
        c = -1 / (2 * self.deviation**2)
        constant = to_ball(c * self.mean**2) + (-c / arb.pi()).log() / 2
        return LogDensity(constant, -2 * c * self.mean, c, self.deviation)

    def below(self, x: arb) -> arb:
        """Return the probability of at most x, by the error function."""
        return (
            (to_ball(self.mean) - x) / (to_ball(self.deviation) * arb(2).sqrt())
        ).erfc() / 2

    def above(self, x: arb) -> arb:
        """Return the probability of at least x, by the error function."""
        return (
            (x - to_ball(self.mean)) / (to_ball(self.deviation) * arb(2).sqrt())
        ).erfc() / 2

    def reach(self, bits: int) -> tuple[arb, arb]:
        """Return the ends, by the bound ``exp(-x**2/2)`` on the tail."""
        return around(
            self.mean, to_ball(self.deviation) * (2 * bits * arb.const_log2()).sqrt()
        )

    def moved(self, shift: Value) -> Component:
        """Return the law with the mean moved."""
        return Normal(self.mean + shift, self.deviation)

    def stretched(self, factor: Value) -> Component:
        """Return the law with mean and deviation scaled."""
        return Normal(self.mean * factor, self.deviation * factor)


@dataclass(frozen=True)
class Laplace(Component):
    """Laplace law of density ``exp(-|x - m|/b)/(2*b)``."""

    mean: Value
    scale: Value

    def kinks(self) -> tuple[Value, ...]:
        """Return the mean."""
        return (self.mean,)

    def quadratic(self, x: arb) -> LogDensity | None:
        """Return the log density, a straight line on each side of the mean."""
        side = 1 if x > self.mean else -1
        slope = -side / self.scale
        return LogDensity(
            -slope * self.mean - (2 * to_ball(self.scale)).log(),
            slope,
            ZERO,
            self.scale,
            side,
        )

    def below(self, x: arb) -> arb:
        """Return the probability of at most x, half an exponential below the mean."""
        return _laplace_tail((to_ball(self.mean) - x) / to_ball(self.scale))

    def above(self, x: arb) -> arb:
        """Return the probability of at least x, half an exponential above the mean."""
        return _laplace_tail((x - to_ball(self.mean)) / to_ball(self.scale))

    def reach(self, bits: int) -> tuple[arb, arb]:
        """Return the ends, by the tail ``exp(-x)/2``."""
        return around(self.mean, to_ball(self.scale) * bits * arb.const_log2())

    def moved(self, shift: Value) -> Component:
        """Return the law with the mean moved."""
        return Laplace(self.mean + shift, self.scale)

    def stretched(self, factor: Value) -> Component:
        """Return the law with mean and scale multiplied by a factor."""
        return Laplace(self.mean * factor, self.scale * factor)


@dataclass(frozen=True)
class Exponential(Component):
    """Exponential law from ``start`` on, of density ``exp(-(x - start)/b)/b``."""

    start: Value
    scale: Value

    def kinks(self) -> tuple[Value, ...]:
        """Return the start."""
        return (self.start,)

    def quadratic(self, x: arb) -> LogDensity | None:
        """Return the log density above the start, and None below it."""
        if not x > self.start:
            return None
        slope = -1 / self.scale
        return LogDensity(
            -slope * self.start - to_ball(self.scale).log(), slope, ZERO, self.scale, 1
        )

    def below(self, x: arb) -> arb:
        """Return the probability of at most x, 0 up to the start."""
        return -(-_positive((x - to_ball(self.start)) / to_ball(self.scale))).expm1()

    def above(self, x: arb) -> arb:
        """Return the probability of at least x, 1 up to the start."""
        return (-_positive((x - to_ball(self.start)) / to_ball(self.scale))).exp()

    def reach(self, bits: int) -> tuple[arb, arb]:
        """Return the start, and an end by the tail ``exp(-x)``."""
        start = to_ball(self.start)
        return start.lower(), (
            start + to_ball(self.scale) * bits * arb.const_log2()
        ).upper()

    def moved(self, shift: Value) -> Component:
        """Return the law with the start moved."""
        return Exponential(self.start + shift, self.scale)

    def stretched(self, factor: Value) -> Component:
        """Return the law with start and scale multiplied by a factor."""
        return Exponential(self.start * factor, self.scale * factor)


@dataclass(frozen=True)
class Uniform(Component):
    """Uniform law between two ends."""

    low: Value
    high: Value

    def kinks(self) -> tuple[Value, ...]:
        """Return the two ends of the interval."""
        return (self.low, self.high)

    def quadratic(self, x: arb) -> LogDensity | None:
        """Return the constant log density between the ends, and None outside."""
        low = to_ball(self.low)
        high = to_ball(self.high)
        return (
            LogDensity(-(high - low).log(), ZERO, ZERO, OO, 1)
            if low < x < high
            else None
        )

    def below(self, x: arb) -> arb:
        """Return the fraction of the interval below x."""
        width = to_ball(self.high) - to_ball(self.low)
        return _positive((x - to_ball(self.low)) / width).min(arb(1))

    def above(self, x: arb) -> arb:
        """Return the fraction of the interval above x."""
        width = to_ball(self.high) - to_ball(self.low)
        return _positive((to_ball(self.high) - x) / width).min(arb(1))

    def reach(self, bits: int) -> tuple[arb, arb]:
        """Return the two ends of the interval."""
        return to_ball(self.low).lower(), to_ball(self.high).upper()

    def moved(self, shift: Value) -> Component:
        """Return the law with both ends moved."""
        return Uniform(self.low + shift, self.high + shift)

    def stretched(self, factor: Value) -> Component:
        """Return the law with both ends multiplied by a factor."""
        return Uniform(self.low * factor, self.high * factor)


def _laplace_tail(x: arb) -> arb:
    """Return the probability that a standard Laplace number is at least x."""
    if x > 0:
        return (-x).exp() / 2
    if x < 0:
        return 1 - x.exp() / 2
    return (1 - x.exp() / 2).union((-x).exp() / 2)


def _positive(x: arb) -> arb:
    return x.max(arb(0))


def around(middle: Value, width: arb) -> tuple[arb, arb]:
    """Return the ends of the interval of a half-width around a point."""
    return (to_ball(middle) - width).lower(), (to_ball(middle) + width).upper()
