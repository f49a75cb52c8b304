"""How the terms of an infinite sum grow with their index ``i``.

With ``u = 1/i`` a term is ``i**power * shape(u) * exp(exponent(i)) * rest(i)``, where the ratio of successive values of
``rest`` is ``u**-degree * ratio(u)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from dpverify.ledger.formula import Bin, Call, Formula, Name, Neg, Num, free_names

Polynomial: TypeAlias = Mapping[int, Formula]  # coefficients by degree, in the index

U = "#u"  # no symbol of a paper has this name
MOST_DEGREE = 8
ZERO, ONE = Num(Fraction(0)), Num(Fraction(1))


@dataclass(frozen=True)
class TermGrowth:
    """How terms grow with their index."""

    power: Formula = ZERO
    shape: Formula = ONE  # in u
    exponent: Polynomial | None = None  # None means 0
    degree: int = 0
    ratio: Formula = ONE  # in u


def growth(node: Formula, index: str) -> TermGrowth | None:
    """Return how a formula grows with an index, or None if this is not known."""
    if index not in free_names(node):
        return TermGrowth(shape=node)
    coefficients = polynomial(node, index)
    if coefficients is not None:
        return TermGrowth(power=_number(max(coefficients)), shape=in_u(coefficients))
    match node:
        case Neg(arg):
            inner = growth(arg, index)
            return None if inner is None else replace(inner, shape=Neg(inner.shape))
        case Bin("*", left, right):
            return _product(growth(left, index), growth(right, index))
        case Bin("/", left, right):
            divisor = growth(right, index)
            return (
                None
                if divisor is None
                else _product(growth(left, index), _power(divisor, _number(-1)))
            )
        case Bin("**", base, exponent) if index not in free_names(exponent):
            inner = growth(base, index)
            return None if inner is None else _power(inner, exponent)
        case Bin("**", base, exponent) if index not in free_names(base):
            return _exponential(base, polynomial(exponent, index))
        case Call("exp", (arg,)):
            exponents = polynomial(arg, index)
            return None if exponents is None else TermGrowth(exponent=exponents)
        case Call("sqrt", (arg,)):
            inner = growth(arg, index)
            return None if inner is None else _power(inner, Num(Fraction(1, 2)))
        case Call("gamma", (arg,)):
            return _gamma(polynomial(arg, index))
    return None


def polynomial(node: Formula, index: str) -> Polynomial | None:
    """Return the coefficients of a formula that is syntactically a polynomial in the index, otherwise None."""
    if index not in free_names(node):
        return {0: node}
    match node:
        case Name():
            return {1: ONE}
        case Neg(arg):
            inner = polynomial(arg, index)
            return (
                None
                if inner is None
                else {degree: Neg(value) for degree, value in inner.items()}
            )
        case Bin("+" | "-", left, right):
            first = polynomial(left, index)
            second = polynomial(right if node.op == "+" else Neg(right), index)
            return None if first is None or second is None else _sum(first, second)
        case Bin("*", left, right):
            first = polynomial(left, index)
            second = polynomial(right, index)
            return (
                None if first is None or second is None else _multiplied(first, second)
            )
        case Bin("/", left, right) if index not in free_names(right):
            inner = polynomial(left, index)
            divisor = Bin("/", ONE, right)
            return (
                None
                if inner is None
                else {degree: _times(value, divisor) for degree, value in inner.items()}
            )
        case Bin("**", base, Num(value)) if (
            value.denominator == 1 and 1 <= value <= MOST_DEGREE
        ):
            inner = polynomial(base, index)
            result = inner
            for _ in range(int(value) - 1):
                result = (
                    None
                    if inner is None or result is None
                    else _multiplied(result, inner)
                )
            return result
    return None


def _sum(first: Polynomial, second: Polynomial) -> Polynomial:
    result = dict(first)
    for degree, value in second.items():
        result[degree] = Bin("+", result[degree], value) if degree in result else value
    return result


def _multiplied(first: Polynomial, second: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for degree, value in first.items():
        result = _sum(
            result,
            {degree + other: _times(value, factor) for other, factor in second.items()},
        )
    return result


def _times(left: Formula, right: Formula) -> Formula:
    """Return a product. A factor 1 is dropped, and two numbers are multiplied."""
    match left, right:
        case Num(value), Num(other):
            return Num(value * other)
        case (Num(value), factor) | (factor, Num(value)) if value == 1:
            return factor
    return Bin("*", left, right)


def step_of(coefficients: Polynomial) -> Polynomial:
    """Return P(i + 1) - P(i)."""
    result: Polynomial = {}
    for degree, value in coefficients.items():
        parts = {
            lower: _times(_number(math.comb(degree, lower)), value)
            for lower in range(degree)
        }
        result = _sum(result, parts)
    return result


def in_u(coefficients: Polynomial) -> Formula:
    """Return P(i)/i**m as a formula in u, where m is the degree of P."""
    top = max(coefficients)
    result: Formula = ZERO
    for degree, value in coefficients.items():
        result = Bin(
            "+", result, Bin("*", value, Bin("**", Name(U), _number(top - degree)))
        )
    return result


def _number(value: int) -> Num:
    return Num(Fraction(value))


def _product(left: TermGrowth | None, right: TermGrowth | None) -> TermGrowth | None:
    if left is None or right is None:
        return None
    return TermGrowth(
        power=Bin("+", left.power, right.power),
        shape=_times(left.shape, right.shape),
        exponent=_sum(left.exponent or {}, right.exponent or {}),
        degree=left.degree + right.degree,
        ratio=_times(left.ratio, right.ratio),
    )


def _power(inner: TermGrowth, exponent: Formula) -> TermGrowth | None:
    """Return the growth of a power whose exponent does not contain the index.

    A ratio that is not 1 may be negative, so it needs an integer exponent.
    """
    whole = isinstance(exponent, Num) and exponent.value.denominator == 1
    if inner.ratio != ONE and not whole:
        return None
    return TermGrowth(
        power=Bin("*", inner.power, exponent),
        shape=Bin("**", inner.shape, exponent),
        exponent={
            degree: _times(exponent, value)
            for degree, value in (inner.exponent or {}).items()
        },
        degree=inner.degree * int(exponent.value)
        if whole and isinstance(exponent, Num)
        else 0,
        ratio=ONE if inner.ratio == ONE else Bin("**", inner.ratio, exponent),
    )


def _exponential(base: Formula, exponents: Polynomial | None) -> TermGrowth | None:
    """Return the growth of a power whose base does not contain the index.

    The base may be negative if the exponent is affine.
    """
    if exponents is None:
        return None
    if max(exponents) > 1:
        return TermGrowth(
            exponent={
                degree: _times(Call("log", (base,)), value)
                for degree, value in exponents.items()
            }
        )
    return TermGrowth(ratio=Bin("**", base, exponents[1]))


def _gamma(argument: Polynomial | None) -> TermGrowth | None:
    """Return the growth of the Gamma function of ``a*i + b`` with an integer a; its ratio is a product."""
    if argument is None or max(argument) > 1 or not isinstance(argument[1], Num):
        return None
    slope = argument[1].value
    if slope.denominator != 1 or not 1 <= slope <= MOST_DEGREE:
        return None
    ratio: Formula = ONE
    for step in range(int(slope)):
        ratio = _times(ratio, Bin("+", in_u(argument), _times(_number(step), Name(U))))
    return TermGrowth(degree=int(slope), ratio=ratio)
