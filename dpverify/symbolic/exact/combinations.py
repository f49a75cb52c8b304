"""Formal sums with exact coefficients, and one point at which identities between their coefficients are decided."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from dpverify.symbolic.exact.numbers import ONE, ZERO, Datum, Exact, Value, to_exact

Name: TypeAlias = tuple[Any, ...]  # what a coefficient belongs to: a kind and numbers, as in ("iterate", 3, 1)


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
        """Coefficient of a name, 0 where it does not occur."""
        return to_exact(self.terms.get(name, ZERO))


def term(*name: Any) -> Combination:
    """One named vector with the coefficient 1."""
    return Combination({name: ONE})


def add_to(total: dict[Name, Value], combination: Combination, factor: Value) -> None:
    """Add a multiple of a combination to coefficients that are being collected."""
    for name, value in combination.terms.items():
        total[name] = total.get(name, ZERO) + factor * value


def first_difference(left: Combination, right: Combination) -> Name | None:
    """First name whose coefficients differ, in the order of the names; None where the two are equal."""
    return min((left - right).terms, default=None)


def kronecker_point(steps: int, epochs: int, height: int) -> tuple[Fraction, Fraction]:
    """A point (alpha, gamma) at which an identity of polynomials holds only if it holds everywhere.

    The difference of the two sides is a polynomial with integer coefficients in ``beta = 1 - alpha`` and ``1 - gamma``.
    With ``beta = 1/M`` and ``1 - gamma = M**-(steps + 1)`` different monomials of degree at most ``steps`` in beta are
    different powers of 1/M. If no integer coefficient of the difference reaches M in size, the difference is 0 there
    only if all of them are: that of the smallest power would have to be divisible by M.
    """
    if min(steps, epochs, height) < 1:
        raise ValueError(f"steps, epochs and height must be at least 1, got {steps}, {epochs}, {height}.")
    bits = height.bit_length()
    if bits * (steps + (steps + 1) * epochs) > 16_000:
        raise ValueError(f"steps={steps} and epochs={epochs} must give at most 16000 bits: take fewer.")
    return 1 - Fraction(1, 1 << bits), 1 - Fraction(1, 1 << (bits * (steps + 1)))
