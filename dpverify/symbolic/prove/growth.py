"""Sums of products of powers: the exponents of an expression, with constants, and with logarithms as letters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import sympy
from flint import fmpq

from dpverify.symbolic.expressions.functions import Log2
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.prove.signs import is_nonnegative, is_positive

Monomial: TypeAlias = Mapping[Any, fmpq]
"""Exponents other than 0, by letter or logarithm."""

NONE: Monomial = {}
LOGARITHMS = (sympy.log, Log2)


class NoMonomialsError(ValueError):
    """An expression is not, up to a constant, a sum of products of powers in which nothing cancels."""


def monomials(expr: Any, facts: Facts, fixed: frozenset[str] = frozenset()) -> list[Monomial]:
    """Products of powers whose sum is the expression up to constant factors, from both sides.

    ``fixed`` letters count as constants, which may be 0: then the sum is an upper bound only. Every other letter is
    proven positive, and every logarithm nonnegative. A sum of no products is 0.
    """
    if expr.is_Rational and expr >= 0:
        return [NONE] if expr > 0 else []
    if expr.is_Symbol and expr.name in fixed and is_nonnegative(expr, facts):
        return [NONE]
    if expr.is_Symbol and is_positive(expr, facts):
        return [{expr: fmpq(1)}]
    if isinstance(expr, LOGARITHMS) and monomials(expr.args[0], facts, fixed) and is_nonnegative(expr, facts):
        return [{expr: fmpq(1)}]
    if expr.is_Add:
        return _distinct([monomial for arg in expr.args for monomial in monomials(arg, facts, fixed)])
    if expr.is_Mul:
        products = [NONE]
        for arg in expr.args:
            products = [times(monomial, factor) for monomial in products for factor in monomials(arg, facts, fixed)]
        return _distinct(products)
    if expr.is_Pow and expr.exp.is_Rational:
        power = fmpq(int(expr.exp.p), int(expr.exp.q))
        base = monomials(expr.base, facts, fixed)
        if power > 0 or len(base) == 1:
            return [times(NONE, monomial, power) for monomial in base]
    raise NoMonomialsError(f"{expr} is not proven to be a sum of products of powers in which nothing cancels.")


def times(left: Monomial, right: Monomial, power: fmpq | int = 1) -> Monomial:
    """A product of powers times a power of another."""
    product = dict(left)
    for letter, exponent in right.items():
        product[letter] = product.get(letter, fmpq(0)) + power * exponent
    return {letter: exponent for letter, exponent in product.items() if exponent != 0}


def _distinct(terms: list[Monomial]) -> list[Monomial]:
    return list({frozenset(monomial.items()): monomial for monomial in terms}.values())
