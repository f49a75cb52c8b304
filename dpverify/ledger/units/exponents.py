"""Exponents of a unit, and linear equations between them, solved exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

PARTS = ("loss", "length")
ZERO = Fraction(0)


@dataclass(frozen=True)
class Scaling:
    """A unit: exponents of the loss and of lengths, times powers of letters whose unit is not known yet."""

    powers: tuple[Fraction, Fraction] = (ZERO, ZERO)  # of the loss, of lengths
    unknown: tuple[tuple[str, Fraction], ...] = ()  # in alphabetical order

    def __add__(self, factor: Scaling) -> Scaling:
        """Return the unit of a product."""
        merged = dict(self.unknown)
        for name, exponent in factor.unknown:
            merged[name] = merged.get(name, ZERO) + exponent
        loss = self.powers[0] + factor.powers[0]
        length = self.powers[1] + factor.powers[1]
        return Scaling((loss, length), tuple(sorted((name, value) for name, value in merged.items() if value)))

    def __sub__(self, divisor: Scaling) -> Scaling:
        """Return the unit of a quotient."""
        return self + divisor.power(Fraction(-1))

    def power(self, exponent: Fraction) -> Scaling:
        """Return the unit of a power."""
        if not exponent:
            return PLAIN
        loss, length = self.powers
        return Scaling((loss * exponent, length * exponent), tuple((name, x * exponent) for name, x in self.unknown))

    def __str__(self) -> str:
        parts = [f"{part} {power}" for part, power in zip(PARTS, self.powers, strict=True) if power]
        parts += [f"{name} {exponent}" for name, exponent in self.unknown]
        return f"({', '.join(parts)})" if parts else "no unit"


PLAIN = Scaling()
"""The unit of a plain number."""


def unknown_unit(name: str) -> Scaling:
    """Return the unit of a letter of which nothing is known yet."""
    return Scaling(unknown=((name, Fraction(1)),))


class Equations:
    """Equations between units. An equation with an unknown letter fixes that letter; any other equation is a test."""

    def __init__(self, normalised: Iterable[Scaling] = ()) -> None:
        self.normalised = [unit.powers for unit in normalised]
        self.solved: dict[str, Scaling] = {}
        self.tests = 0

    def reduced(self, unit: Scaling) -> Scaling:
        """Return a unit with every letter that has been fixed replaced."""
        result = Scaling(unit.powers)
        for name, exponent in unit.unknown:
            value = self.solved.get(name)
            result += unknown_unit(name).power(exponent) if value is None else value.power(exponent)
        return result

    def equate(self, left: Scaling, right: Scaling, normalised: Iterable[Scaling] = ()) -> bool:
        """Add an equation; return whether it agrees with the equations before it.

        ``normalised``: units that are 1 in this equation, besides those that are 1 in all equations.
        """
        difference = self.reduced(left - right)
        if difference.unknown:
            name, exponent = difference.unknown[0]
            rest = difference - unknown_unit(name).power(exponent)
            value = rest.power(-1 / exponent)
            self.solved = {letter: _replaced(unit, name, value) for letter, unit in self.solved.items()}
            self.solved[name] = value
            return True
        self.tests += 1
        ones = [*self.normalised, *(unit.powers for unit in normalised)]
        return in_span(difference.powers, ones)


def _replaced(unit: Scaling, name: str, value: Scaling) -> Scaling:
    exponent = dict(unit.unknown).get(name, ZERO)
    return unit - unknown_unit(name).power(exponent) + value.power(exponent)


def in_span(vector: tuple[Fraction, Fraction], basis: Iterable[tuple[Fraction, Fraction]]) -> bool:
    """Return whether a vector is a linear combination of others."""
    spanned = [other for other in basis if any(other)]
    if not any(vector):
        return True
    parallel = [other for other in spanned if not _determinant(vector, other)]
    independent = any(_determinant(spanned[0], other) for other in spanned[1:])
    return bool(parallel) or independent


def _determinant(left: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction]) -> Fraction:
    return left[0] * right[1] - left[1] * right[0]
