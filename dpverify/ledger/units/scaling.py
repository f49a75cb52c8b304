"""How letters scale: the records of ``units.toml``, units as exponents, and equations between units.

The records state how the letters of a paper scale, and the inconsistencies that are explained. A unit is given by its
exponents. Linear equations between exponents are solved exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dpverify.ledger.errors import Place, Problems
from dpverify.ledger.files import content, records_in
from dpverify.ledger.records import Record

UNITS = "units.toml"


class UnitGroup(Record, frozen=True, kw_only=True):
    """Letters, functions and quantities that scale alike.

    If the loss is multiplied by c, they are multiplied by c**loss. If lengths are
    multiplied by c, they are multiplied by c**length.

    Parameters
    ----------
    names
        Names of ``claims.toml`` or of the letters of ``definitions.toml``.
    loss, length
        The two exponents.
    claims
        Ids of the claims in which the names have this unit; all claims if empty. A
        group with claims has precedence.
    """

    names: list[str]
    loss: int = 0
    length: int = 0
    claims: list[str] = []


class Normalisation(Record, frozen=True, kw_only=True):
    """Records that set a unit to 1 without saying so in a condition. Their units are compared up to its powers.

    Parameters
    ----------
    of
        The ids of claims (for all variants and their proofs), ``definition NAME`` and
        ``lemma NAME``.
    loss, length
        Exponents of the unit that is 1.
    why
        The parameter choice that sets the unit to 1, and its place in the paper.
    """

    of: list[str]
    loss: int = 0
    length: int = 0
    why: str


class ExpectedMismatch(Record, frozen=True, kw_only=True):
    """Inconsistencies with one explanation.

    Parameters
    ----------
    of
        The records as ``dpverify units`` names them, such as ``lemma-12`` or
        ``lemma-12 (amended)``.
    why
        Whether the paper is wrong or leaves out a parameter, and where.
    """

    of: list[str]
    why: str


class UnitsFile(Record, frozen=True, kw_only=True):
    """``specs/<paper>/units.toml``."""

    unit: list[UnitGroup] = []
    normalised: list[Normalisation] = []
    expected: list[ExpectedMismatch] = []


def read_units(folder: Path, problems: Problems | None = None) -> UnitsFile:
    """Read the units of a paper; a paper without the file states no units.

    Errors in the file are added to ``problems``. If ``problems`` is None, the first error is raised as a `SpecError`.
    """
    path = folder / UNITS
    if not path.exists():
        return UnitsFile()
    place = Place(str(path))
    reasons = Problems() if problems is None else problems
    return records_in(content(path, place), UnitsFile, place, reasons) or UnitsFile()


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
        return Scaling(
            (loss, length),
            tuple(sorted((name, value) for name, value in merged.items() if value)),
        )

    def __sub__(self, divisor: Scaling) -> Scaling:
        """Return the unit of a quotient."""
        return self + divisor.power(Fraction(-1))

    def power(self, exponent: Fraction) -> Scaling:
        """Return the unit of a power."""
        if not exponent:
            return UNITLESS
        loss, length = self.powers
        return Scaling(
            (loss * exponent, length * exponent),
            tuple((name, x * exponent) for name, x in self.unknown),
        )

    def __str__(self) -> str:
        parts = [
            f"{part} {power}"
            for part, power in zip(PARTS, self.powers, strict=True)
            if power
        ]
        parts += [f"{name} {exponent}" for name, exponent in self.unknown]
        return f"({', '.join(parts)})" if parts else "no unit"


UNITLESS = Scaling()
"""The unit of a plain number."""


def unknown_unit(name: str) -> Scaling:
    """Return the unit of a letter whose unit is not known yet."""
    return Scaling(unknown=((name, Fraction(1)),))


class Equations:
    """Equations between units. An equation with an unknown letter fixes that letter; any other equation is a test."""

    def __init__(self, normalised: Iterable[Scaling] = ()) -> None:
        self.normalised = [unit.powers for unit in normalised]
        self.solved: dict[str, Scaling] = {}
        self.tests = 0

    def reduced(self, unit: Scaling) -> Scaling:
        """Return a unit in which every letter with a known unit is replaced."""
        result = Scaling(unit.powers)
        for name, exponent in unit.unknown:
            value = self.solved.get(name)
            result += (
                unknown_unit(name).power(exponent)
                if value is None
                else value.power(exponent)
            )
        return result

    def equate(
        self, left: Scaling, right: Scaling, normalised: Iterable[Scaling] = ()
    ) -> bool:
        """Add an equation; return whether it agrees with the equations before it.

        ``normalised``: units that are 1 in this equation, besides those that are 1 in all equations.
        """
        difference = self.reduced(left - right)
        if difference.unknown:
            name, exponent = difference.unknown[0]
            rest = difference - unknown_unit(name).power(exponent)
            value = rest.power(-1 / exponent)
            self.solved = {
                letter: _replaced(unit, name, value)
                for letter, unit in self.solved.items()
            }
            self.solved[name] = value
            return True
        self.tests += 1
        ones = [*self.normalised, *(unit.powers for unit in normalised)]
        return in_span(difference.powers, ones)


def _replaced(unit: Scaling, name: str, value: Scaling) -> Scaling:
    exponent = dict(unit.unknown).get(name, ZERO)
    return unit - unknown_unit(name).power(exponent) + value.power(exponent)


def in_span(
    vector: tuple[Fraction, Fraction], basis: Iterable[tuple[Fraction, Fraction]]
) -> bool:
    """Return whether a vector is a linear combination of the basis vectors."""
    spanned = [other for other in basis if any(other)]
    if not any(vector):
        return True
    parallel = [other for other in spanned if not _determinant(vector, other)]
    independent = any(_determinant(spanned[0], other) for other in spanned[1:])
    return bool(parallel) or independent


def _determinant(
    left: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction]
) -> Fraction:
    return left[0] * right[1] - left[1] * right[0]
