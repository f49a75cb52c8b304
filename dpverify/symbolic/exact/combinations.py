"""Formal sums with exact coefficients, and a point that decides identities between their coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from dpverify.symbolic.exact.numbers import ONE, ZERO, Datum, Exact, Value, to_exact

# name of a vector: a kind and numbers, as in ("iterate", 3, 1)
Name: TypeAlias = tuple[Any, ...]


class Combination(Datum):
    """A formal sum of named vectors."""

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[Name, Value]) -> None:
        self.terms = {name: value for name, value in terms.items() if not value == 0}  # noqa: SIM201 - a ball can be neither

    def __add__(self, other: Combination | Value | int) -> Combination:
        if not isinstance(other, Combination):
            if other == 0:  # an empty sum
                return self
            raise TypeError(f"other must be a combination or 0, got {other!r}.")
        total = dict(self.terms)
        add_to(total, other, ONE)
        return Combination(total)

    __radd__ = __add__

    def __neg__(self) -> Combination:
        return Combination({name: -value for name, value in self.terms.items()})

    def __sub__(self, other: Combination | Value | int) -> Combination:
        return self + -other

    def __rsub__(self, other: Value | int) -> Combination:
        return -self + other

    def __mul__(self, factor: Value | int) -> Combination:
        return Combination({name: value * factor for name, value in self.terms.items()})

    __rmul__ = __mul__

    def coefficient(self, name: Name) -> Exact:
        """Return the coefficient of a name, 0 if the name does not occur."""
        return to_exact(self.terms.get(name, ZERO))


def term(*name: Any) -> Combination:
    """Return one named vector with the coefficient 1."""
    return Combination({name: ONE})


def add_to(total: dict[Name, Value], combination: Combination, factor: Value) -> None:
    """Add a multiple of a combination to the coefficients ``total`` in place."""
    for name, value in combination.terms.items():
        total[name] = total.get(name, ZERO) + factor * value


def first_difference(left: Combination, right: Combination) -> Name | None:
    """Return the first name, in the order of names, whose coefficients differ, or None if both are equal."""
    return min((left - right).terms, default=None)


def kronecker_point(steps: int, epochs: int, height: int) -> tuple[Fraction, Fraction]:
    """Return a point (alpha, gamma) at which an identity of polynomials holds only if it holds everywhere.

    The difference of the two sides is a polynomial with integer coefficients in ``beta = 1 - alpha`` and ``1 - gamma``.
    With ``beta = 1/M`` and ``1 - gamma = M**-(steps + 1)``, different monomials of degree at most ``steps`` in beta are
    different powers of 1/M. Assume that all integer coefficients of the difference are smaller than M in absolute
    value. Then the difference is 0 at the point only if all coefficients are 0: otherwise M would divide the last
    nonzero coefficient, that of the highest power of 1/M.
    """
    if min(steps, epochs, height) < 1:
        raise ValueError(
            f"steps, epochs and height must be at least 1, got {steps}, {epochs}, {height}."
        )
    bits = height.bit_length()
    if bits * (steps + (steps + 1) * epochs) > 16_000:
        raise ValueError(
            f"steps={steps} and epochs={epochs} must give at most 16000 bits: take fewer."
        )
    return 1 - Fraction(1, 1 << bits), 1 - Fraction(1, 1 << (bits * (steps + 1)))
