"""Infinite sums whose terms have no constant ratio: the first terms are added, and all later terms are enclosed.

From some index on, either the ratio of successive terms is below 1, or the terms are powers of the index times a
function that Taylor's theorem encloses. The growth of the terms with their index decides which case applies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from flint import arb, arb_series, fmpq

from dpverify.ledger.formula import Bin, Formula, Name, Neg, free_names, walk
from dpverify.symbolic.exact.growth import ONE, ZERO, U, in_u, step_of
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

if TYPE_CHECKING:
    from dpverify.symbolic.exact.growth import TermGrowth


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
