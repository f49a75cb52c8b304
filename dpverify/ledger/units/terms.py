"""Compute the unit of a formula in one pass over its tree, and collect the terms whose units differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpverify.ledger.formula import (
    BUILTINS,
    Bin,
    Call,
    Compare,
    Formula,
    Inf,
    Infimum,
    Integral,
    Name,
    Neg,
    Num,
    Sum,
    Supremum,
    to_text,
)
from dpverify.ledger.units.scaling import UNITLESS, Equations, Scaling, unknown_unit

POWERS: dict[str, Fraction] = {
    **dict.fromkeys(("min", "max", "mod", "abs", "norm"), Fraction(1)),
    **dict.fromkeys(
        ("laplace_law", "normal_law", "exponential_law", "uniform_law", "point_law"),
        Fraction(1),
    ),
    **dict.fromkeys(
        ("neighbours", "repeated", "shifted", "mixture", "mean_of"), Fraction(1)
    ),
    **dict.fromkeys(
        ("hockey_stick", "total_variation", "renyi", "kl", "zcdp"), Fraction(0)
    ),
    **dict.fromkeys(("max_divergence", "tail_of"), Fraction(0)),
    "sqrt": Fraction(1, 2),
    "density": Fraction(-1),
    "variance_of": Fraction(2),
}
"""Functions of arguments with one unit, and the power of it that the value has. A law has the unit of its outputs."""

COUNTS: dict[str, tuple[int, ...]] = {
    "repeated": (1,),
    "mixture": (0,),
    "hockey_stick": (2,),
    "renyi": (2,),
}
"""Positions of arguments that are plain numbers, whatever the unit of the other arguments is."""


@dataclass(frozen=True)
class Mismatch:
    """Two terms that must have the same unit and do not, or a term with a unit that must be a plain number."""

    where: str
    left: str
    left_unit: Scaling
    # the second term, or the expression in which the term must be a plain number
    right: str
    right_unit: Scaling | None  # None where the term must be a plain number

    def __str__(self) -> str:
        if self.right_unit is None:
            return f"{self.where}: `{self.left}` {_words(self.left_unit)}, but must be a plain number in `{self.right}`"
        return f"{self.where}: `{self.left}` {_words(self.left_unit)}, but `{self.right}` {_words(self.right_unit)}"


def _words(unit: Scaling) -> str:
    return "has no unit" if unit == UNITLESS else f"scales with {unit}"


class Terms:
    """Reads the units of formulas, and collects the mismatches.

    ``lookup`` returns the unit of a letter, or of the value of a function, whose name is passed with ``()`` appended.
    """

    def __init__(self, lookup: Callable[[str], Scaling], equations: Equations) -> None:
        self.lookup = lookup
        self.equations = equations
        self.where = ""
        self.mismatches: list[Mismatch] = []
        # units of indices in scope, and of letters of abbreviations
        self.bound: dict[str, Scaling | None] = {}
        self.integrals = 0
        # arguments, and the value
        self.abbreviations: dict[str, tuple[tuple[str, ...], Formula]] = {}

    def at(self, where: str) -> Terms:
        """Name the field that is read next."""
        self.where = where
        return self

    def alike(self, parts: Iterable[Formula]) -> Scaling | None:
        """Return the common unit of terms; None if every one of them is 0 or infinite."""
        return self.match([(part, self.unit(part)) for part in parts])

    def match(
        self,
        measured: Iterable[tuple[Formula, Scaling | None]],
        normalised: Iterable[Scaling] = (),
    ) -> Scaling | None:
        """Compare the units of terms; ``normalised`` has the units that are 1 in this comparison only.

        Return the unit of the first term that is neither 0 nor infinite, or None.
        """
        first: tuple[Formula, Scaling] | None = None
        ones = tuple(normalised)
        for part, unit in measured:
            if unit is None:
                continue
            if first is None:
                first = part, unit
            elif not self.equations.equate(first[1], unit, ones):
                units = (self.equations.reduced(first[1]), self.equations.reduced(unit))
                self.mismatches.append(
                    Mismatch(
                        self.where, to_text(first[0]), units[0], to_text(part), units[1]
                    )
                )
        return None if first is None else first[1]

    def compare(self, condition: Compare) -> None:
        """Read a condition."""
        self.alike(condition.operands)

    def plain(self, nodes: Iterable[Formula], inside: Formula) -> Scaling:
        """Require that the formulas in an expression have no unit."""
        for node in nodes:
            unit = self.unit(node)
            if unit is not None and not self.equations.equate(unit, UNITLESS):
                reduced = self.equations.reduced(unit)
                self.mismatches.append(
                    Mismatch(self.where, to_text(node), reduced, to_text(inside), None)
                )
        return UNITLESS

    def unit(self, node: Formula) -> Scaling | None:
        """Return the unit of a formula; None for 0 and infinity, which have every unit."""
        match node:
            case Num(value):
                return UNITLESS if value else None
            case Inf():
                return None
            case Name(name):
                return self.bound[name] if name in self.bound else self.named(name, ())
            case Neg(arg):
                return self.unit(arg)
            case Bin("+" | "-"):
                return self.alike(_terms(node))
            case Bin("**", base, exponent):
                return self.power(node, base, exponent)
            case Bin(operator, left, right):
                first = self.unit(left)
                second = self.unit(right)
                if first is None or second is None:
                    return None
                return first + second if operator == "*" else first - second
            case Call(name, args):
                return self.call(node, name, args)
            case Sum():
                return self.total(node)

    def power(self, node: Formula, base: Formula, exponent: Formula) -> Scaling | None:
        """Return the unit of a power. A base with a unit requires a number as its exponent."""
        number = number_of(exponent)
        if number is None:
            return self.plain((base, exponent), node)
        unit = self.unit(base)
        return None if unit is None else unit.power(number)

    def total(self, node: Sum) -> Scaling | None:
        """Return the unit of a sum over integers, of an integral, or of an extremum."""
        is_real = isinstance(node, Integral | Infimum | Supremum)
        self.integrals += is_real
        index = (
            unknown_unit(f"{node.index} of integral {self.integrals}")
            if is_real
            else UNITLESS
        )
        if is_real:
            limits = [(limit, self.unit(limit)) for limit in (node.lo, node.hi)]
            self.match([(Name(node.index), index), *limits])
        else:
            self.plain((node.lo, node.hi), node)
        outside = self.bound
        self.bound = {**outside, node.index: index}
        body = self.unit(node.body)
        self.bound = outside
        return body + index if isinstance(node, Integral) and body is not None else body

    def call(
        self, node: Formula, name: str, args: tuple[Formula, ...]
    ) -> Scaling | None:
        """Return the unit of a function's value."""
        counts = COUNTS.get(name, ())
        measured = [arg for place, arg in enumerate(args) if place not in counts]
        if name in COUNTS:
            self.plain([args[place] for place in counts], node)
        if name in POWERS:
            unit = self.alike(measured)
            return None if unit is None else unit.power(POWERS[name])
        match name:
            case "dot" | "scaled":
                units = [self.unit(arg) for arg in args]
                return sum((unit for unit in units if unit is not None), UNITLESS)
            case "moment_of" | "absolute_moment_of" | "moment":
                return self.power(node, args[0], args[1])
            case "product" | "joined":  # the arguments may have different units
                for arg in args:
                    self.unit(arg)
                return None
            case "poisson_sampled" | "batch_sampled" | "self_composed":
                self.plain(args[1:], node)
                return self.unit(args[0])
            case (
                "delta_of"
                | "epsilon_of"
                | "renyi_of"
                | "zcdp_of"
                | "pure_epsilon_of"
                | "shuffled"
            ):
                self.unit(args[0])
                return self.plain(args[1:], node)
        if name in self.abbreviations:
            return self.named(name, args)
        self.plain(args, node)
        return UNITLESS if name in BUILTINS else self.lookup(f"{name}()")

    def named(self, name: str, args: tuple[Formula, ...]) -> Scaling | None:
        """Return the unit of a letter, or of the value of an abbreviation."""
        if name not in self.abbreviations:
            return self.lookup(name)
        letters, value = self.abbreviations[name]
        outside = self.bound
        units = {
            letter: self.unit(arg) for letter, arg in zip(letters, args, strict=False)
        }
        self.bound = {**outside, **units}
        unit = self.unit(value)
        self.bound = outside
        return unit


def _terms(node: Formula) -> list[Formula]:
    """Return the terms of a sum from left to right."""
    if isinstance(node, Bin) and node.op in ("+", "-"):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def number_of(node: Formula) -> Fraction | None:
    """Return the value of a formula made of numbers and the four operations; None for any other formula."""
    match node:
        case Num(value):
            return value
        case Neg(arg):
            number = number_of(arg)
            return None if number is None else -number
        case Bin("+" | "-" | "*" | "/" as operator, left, right):
            first = number_of(left)
            second = number_of(right)
            if first is None or second is None or (operator == "/" and not second):
                return None
            match operator:
                case "+":
                    return first + second
                case "-":
                    return first - second
                case "*":
                    return first * second
                case "/":
                    return first / second
    return None
