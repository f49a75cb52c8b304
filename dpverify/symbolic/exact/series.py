"""Infinite sums whose terms have no constant ratio: the first terms are added, and all later terms are enclosed.

From some index on, either the ratio of successive terms is below 1, or the terms are
powers of the index times a function that Taylor's theorem encloses.

The growth of the terms with their index ``i`` decides which case applies. With ``u = 1/i`` a term is
``i**power * shape(u) * exp(exponent(i)) * rest(i)``, where the ratio of successive values of ``rest`` is
``u**-degree * ratio(u)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from flint import arb, arb_series, fmpq

from dpverify.ledger.formula import Bin, Call, Formula, Name, Neg, Num, free_names, walk
from dpverify.symbolic.exact.numbers import (
    OO,
    EvaluationError,
    UndecidedError,
    UnsupportedError,
    Value,
    spend,
    to_ball,
)
from dpverify.symbolic.exact.sums import Closure, Env, term

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


FIRST = 16  # least number of terms that are added
MOST_TERMS = 2**17
MOST_OF_POWERS = 2**12  # more terms hardly narrow the bound
MOST_WITHOUT_BOUND = 2**14
ENOUGH_BITS = 64
ORDER = 8  # order of the Taylor expansion

Expansion: TypeAlias = Callable[[Env, arb_series], arb_series]


class Series:
    """An infinite sum as a function of the values of its symbols and of its first index."""

    def __init__(
        self,
        node: Formula,
        index: str,
        terms: TermGrowth,
        compiled: Callable[[Formula], Closure],
    ) -> None:
        self.index = index
        self.body = compiled(node)
        self.parts = sum(1 for _ in walk(node))
        self.degree = terms.degree
        self.is_power = terms.ratio == ONE and not terms.exponent and terms.degree == 0
        step = step_of(terms.exponent or {0: ZERO})
        self.order = max(step, default=0)  # degree in i of the exponent of a ratio
        self.power, self.shape, self.ratio, self.rate = map(
            compiled,
            (terms.power, terms.shape, terms.ratio, in_u(step) if step else ZERO),
        )
        self.expansion = expansion_of(terms.shape, compiled) if self.is_power else None

    def __call__(self, env: Env, first: int) -> Value:
        """Add terms until the enclosure of the tail is narrow enough, or until a limit of terms is reached."""
        total = arb(0)
        start = first
        end = max(FIRST, 2 ** max(first, 1).bit_length())
        reason = "the bound of its terms is not known"
        enclosure: Value | None = None
        most = max(MOST_OF_POWERS if self.is_power else MOST_TERMS, 4 * first)
        least = max(MOST_WITHOUT_BOUND, 4 * first)
        while end <= (least if enclosure is None else most):
            spend(self.parts * (end - start))
            for i in range(start, end):
                total += to_ball(term(env, self.body, self.index, i))
            start = end
            try:
                tail = self._tail(env, end)
            except EvaluationError as error:
                reason = str(error)
            else:
                if tail in (OO, -OO):
                    return tail
                if tail.is_finite():
                    enclosure = total + tail
                    if enclosure.rel_accuracy_bits() >= ENOUGH_BITS:
                        return enclosure
            end *= 2
        if enclosure is None:
            raise UnsupportedError(f"the sum over {self.index} to oo: {reason}.")
        return enclosure

    def _tail(self, env: Env, start: int) -> arb:
        """Enclose the sum of all terms from ``start`` on, which is a power of 2."""
        u = arb(fmpq(1, 2 * start), fmpq(1, 2 * start))  # contains all 1/i
        power = self.power(env)
        shape = to_ball(_at(env, self.shape, u))
        if self.expansion is not None:
            return self._tail_of_powers(env, power, shape, start, u)
        ratio = self._ratio_of_terms(env, u, start, power, shape)
        if not -1 < ratio < 1:
            raise UndecidedError(f"neighbouring terms have ratios in {ratio}")
        first = to_ball(term(env, self.body, self.index, start))
        if ratio >= 0:
            return first / (1 - ratio)
        bound = ratio.abs_upper()
        return first * (1 + arb(0, bound / (1 - bound)))

    def _tail_of_powers(
        self, env: Env, power: Value, shape: arb, start: int, u: arb
    ) -> arb:
        """Enclose a sum of ``i**power * shape(1/i)`` by Taylor's theorem: sums of powers of 1/i are zeta values."""
        if power >= -1 and (shape > 0 or shape < 0):
            return OO if shape > 0 else -OO
        if not power < -1:
            raise UndecidedError("its terms are close to 1/i")
        assert self.expansion is not None
        at_zero = coefficients(self.expansion(env, _variable(arb(0))))
        remainder = coefficients(self.expansion(env, _variable(u)))[-1]
        total = arb(0)
        for order, value in enumerate([*at_zero[:-1], remainder]):
            total += value * (order - to_ball(power)).zeta(arb(start))
        return total

    def _ratio_of_terms(
        self, env: Env, u: arb, start: int, power: Value, shape: arb
    ) -> arb:
        """Enclose the ratios of all successive terms from an index on."""
        if self.degree > 0:
            raise UndecidedError("its terms grow")
        following = to_ball(_at(env, self.shape, u / (1 + u)))
        ratio = (
            (1 + u) ** to_ball(power)
            * following
            / shape
            * to_ball(_at(env, self.ratio, u))
            * u**-self.degree
        )
        rate = to_ball(_at(env, self.rate, u))
        if self.order == 0:
            return ratio * rate.exp()
        if not rate < 0:
            raise UndecidedError("its terms grow")
        largest = (arb(start) ** self.order * rate.upper()).exp().upper()
        return ratio * arb(0).union(largest)


def _at(env: Env, formula: Closure, u: arb) -> Value:
    env[U] = u
    try:
        return formula(env)
    finally:
        del env[U]


def _variable(u: arb) -> arb_series:
    return arb_series([u, arb(1)], ORDER + 1)


def coefficients(series: arb_series) -> list[arb]:
    """Return all coefficients of an expansion, including the trailing zeros that flint does not store."""
    known = series.coeffs()
    return [*known, *[arb(0)] * (ORDER + 1 - len(known))]


def expansion_of(node: Formula, compiled: Callable[[Formula], Closure]) -> Expansion:
    """Return the Taylor expansion of a shape as a function of the values of its symbols and of the variable u."""
    if U not in free_names(node):
        value = compiled(node)
        return lambda env, u: arb_series([to_ball(value(env))], ORDER + 1)
    match node:
        case Name():
            return lambda env, u: u
        case Neg(arg):
            inner = expansion_of(arg, compiled)
            return lambda env, u: -inner(env, u)
        case Bin("+", left, right):
            first, second = expansion_of(left, compiled), expansion_of(right, compiled)
            return lambda env, u: first(env, u) + second(env, u)
        case Bin("*", left, right):
            first, second = expansion_of(left, compiled), expansion_of(right, compiled)
            return lambda env, u: first(env, u) * second(env, u)
        case Bin("**", base, exponent):
            return _power_of(expansion_of(base, compiled), compiled(exponent))
    raise UnsupportedError(f"no expansion is known of {node}.")


def _power_of(base: Expansion, exponent: Closure) -> Expansion:
    def power(env: Env, u: arb_series) -> arb_series:
        value = exponent(env)
        if isinstance(value, fmpq) and value.q == 1:
            return base(env, u) ** int(value.p)
        return base(env, u) ** arb_series([to_ball(value)], ORDER + 1)

    return power
