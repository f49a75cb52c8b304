"""The density of a normal law as a formula."""

from __future__ import annotations

from fractions import Fraction

from dpverify.ledger.formula import Bin, Call, Formula, Neg, Num


def density_formula(x: Formula, s: Formula) -> Formula:
    """Return the density of a normal law with mean 0 as a formula."""
    two = Num(Fraction(2))
    exponent = Neg(Bin("/", Bin("**", x, two), Bin("*", two, Bin("**", s, two))))
    return Bin("/", Call("exp", (exponent,)), Bin("*", s, Call("sqrt", (Bin("*", two, Call("pi", ())),))))
