"""Certified bounds of a formula, and of the logarithm of its absolute value, for all large values of a variable y.

An error is raised unless the formula is proved to be defined for all y >= start.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from flint import arb, fmpq

from dpverify.ledger.formula import Bin, Call, Formula, Name, Neg, Num, free_names
from dpverify.symbolic.exact.bounds import (
    MOST_TERMS,
    Bound,
    Envelope,
    constant,
    constant_envelope,
    envelope_between,
    exactly,
    is_zero,
    largest,
    log_of_sum,
    multiplied,
    negative,
    plus,
    smallest,
    times,
    with_values,
)
from dpverify.symbolic.exact.integrands import density_formula
from dpverify.symbolic.exact.numbers import (
    UndecidedError,
    UnsupportedError,
    Value,
    to_ball,
)
from dpverify.symbolic.exact.sums import Closure, Env

Y: Final = "#y"  # no symbol of a paper has this name
ORDER: Final = "#order"  # the order of a Renyi divergence
_MOST_POWER = 8  # largest exponent of a power that is computed as a product


_FunctionOf = Callable[[Formula], Closure]


class Enveloping:
    """Computes envelopes of formulas in y for all y >= start, at fixed values of the other variables."""

    def __init__(self, compiled: _FunctionOf, env: Env, start: arb) -> None:
        self.compiled = compiled
        self.env = env
        self.start = start

    def of(self, node: Formula) -> Envelope:
        """Return the envelope of a formula."""
        if Y not in free_names(node):
            return constant_envelope(self.compiled(node)(self.env))
        match node:
            case Name():
                return envelope_between(self.start, {fmpq(1): fmpq(1)})
            case Neg(arg):
                return negative(self.of(arg))
            case Bin("+", left, right):
                return self._sum(self.of(left), self.of(right))
            case Bin("-", left, right):
                return self._sum(self.of(left), negative(self.of(right)))
            case Bin("*", left, right):
                return self._product(self.of(left), self.of(right))
            case Bin("/", left, right):
                return self._product(
                    self.of(left), self._power(self.of(right), fmpq(-1))
                )
            case Bin("**", base, exponent) if Y not in free_names(exponent):
                return self._power(self.of(base), self.compiled(exponent)(self.env))
            case Bin("**", base, exponent):
                return self._exp(self._product(self.of(exponent), self._log(base)))
            case Call(name, args):
                return self._call(name, args)
        raise UnsupportedError(
            f"how {type(node).__name__.lower()}s grow with their letter is not known"
        )

    def _call(self, name: str, args: tuple[Formula, ...]) -> Envelope:
        match name:
            case "exp":
                return self._exp(self.of(args[0]))
            case "log":
                return self._log(args[0])
            case "log2":
                return self._product(
                    self._log(args[0]), constant_envelope(1 / arb.const_log2())
                )
            case "sqrt":
                return self._power(self.of(args[0]), fmpq(1, 2))
            case "abs":
                return self._abs(self.of(args[0]))
            case "min":
                return negative(
                    self._largest_of([negative(self.of(arg)) for arg in args])
                )
            case "max":
                return self._largest_of([self.of(arg) for arg in args])
            case "tanh" | "erf":
                sign = self.of(args[0]).sign
                one = constant(fmpq(1))
                zero = constant(fmpq(0))
                low = zero if sign == 1 else times(one, -1)
                return Envelope(low, zero if sign == -1 else one, None, zero, sign)
            case "normal_cdf":
                return self._normal_cdf(self.of(args[0]))
            case "density":
                return self.of(density_formula(*args))
            case "renyi" | "renyi_of" if all(
                Y not in free_names(arg) for arg in args[:-1]
            ):
                return Envelope(low=constant(self._renyi_at_least(name, args)), sign=1)
        raise UnsupportedError(f"how {name} grows is not known")

    def _renyi_at_least(self, name: str, args: tuple[Formula, ...]) -> Value:
        """Return a lower bound of a Renyi divergence, its value at the smallest order. It increases with the order.

        The bound is 0 if the smallest order is not known to be above 1.
        """
        order = self.of(args[-1]).low
        least = None if order is None else smallest(order, self.start)
        if least is None or not least > 1:
            return fmpq(0)
        smallest_divergence = self.compiled(Call(name, (*args[:-1], Name(ORDER))))(
            {**self.env, ORDER: exactly(least)}
        )
        return to_ball(smallest_divergence).lower()

    def _sum(self, left: Envelope, right: Envelope) -> Envelope:
        low = (
            None if left.low is None or right.low is None else plus(left.low, right.low)
        )
        high = (
            None
            if left.high is None or right.high is None
            else plus(left.high, right.high)
        )
        if left.is_exact and right.is_exact:
            high = low
        log_high = log_of_sum(self.start, left.log_high, right.log_high)
        log_low = None
        sign = 0
        if left.sign == right.sign and left.sign != 0:
            sign = left.sign
            log_low = left.log_low or right.log_low
            if left.log_low is not None and right.log_low is not None:
                gap = largest(plus(left.log_low, right.log_low, -1), self.start)
                log_low = right.log_low if gap is not None and gap < 0 else left.log_low
        else:
            for large, small in ((left, right), (right, left)):
                if (
                    large.log_low is None
                    or small.log_high is None
                    or log_low is not None
                ):
                    continue
                gap = largest(plus(small.log_high, large.log_low, -1), self.start)
                if gap is not None and gap < 0:
                    log_low = plus(large.log_low, constant((1 - gap.exp()).log()))
                    sign = large.sign
        if low is not None and len(low) > MOST_TERMS:
            low = high = None
        exact = (
            envelope_between(self.start, low, low)
            if low is not None and low is high
            else None
        )
        if exact is not None and (exact.log_low is not None or log_low is None):
            return exact  # bounds from the sum are better than bounds from its terms
        return envelope_between(
            self.start,
            low,
            high,
            Envelope(log_low=log_low, log_high=log_high, sign=sign),
        )

    def _product(self, left: Envelope, right: Envelope) -> Envelope:
        log_low = (
            None
            if left.log_low is None or right.log_low is None
            else plus(left.log_low, right.log_low)
        )
        log_high = (
            None
            if left.log_high is None or right.log_high is None
            else plus(left.log_high, right.log_high)
        )
        sign = left.sign * right.sign
        known = Envelope(log_low=log_low, log_high=log_high, sign=sign)
        if (
            left.low is not None
            and right.low is not None
            and left.is_exact
            and right.is_exact
        ):
            value = multiplied(left.low, right.low)
            if value is not None:
                return envelope_between(self.start, value, value, known)
        for factor, others in ((left, right), (right, left)):
            if (
                factor.low is not None
                and factor.is_exact
                and factor.low.keys() <= {fmpq(0)}
                and factor.sign != 0
            ):
                number = factor.low.get(fmpq(0), fmpq(0))
                ends = (
                    (others.low, others.high)
                    if factor.sign > 0
                    else (others.high, others.low)
                )
                low, high = (
                    None if end is None else times(end, number) for end in ends
                )
                return envelope_between(
                    self.start, low, low if others.is_exact else high, known
                )
        return with_values(self.start, known)

    def _power(self, base: Envelope, exponent: Value) -> Envelope:
        if exponent == 0:
            return constant_envelope(fmpq(1))
        whole = (
            int(exponent.p) if isinstance(exponent, fmpq) and exponent.q == 1 else None
        )
        if not (exponent > 0 or exponent < 0):
            raise UndecidedError("an exponent may be 0")
        if whole is None and base.sign != 1:
            raise UndecidedError("the base of a power may be negative")
        if exponent < 0 and base.log_low is None:
            raise UndecidedError("a divisor may be 0")
        sign = base.sign if whole is None or whole % 2 else 1
        if whole is not None and base.is_exact and 0 < whole <= _MOST_POWER:
            result = base
            for _ in range(whole - 1):
                result = self._product(result, base)
            return Envelope(
                result.low,
                result.high,
                result.log_low,
                result.log_high,
                sign or result.sign,
            )
        ends = (
            (base.log_low, base.log_high)
            if exponent > 0
            else (base.log_high, base.log_low)
        )
        log_low, log_high = (
            None if end is None else times(end, exponent) for end in ends
        )
        known = Envelope(log_low=log_low, log_high=log_high, sign=sign)
        if exponent == -1 and base.low is not None and base.is_exact:
            terms = [
                (key, value) for key, value in base.low.items() if not is_zero(value)
            ]
            if (
                len(terms) == 1
                and not isinstance(terms[0][0], str)
                and base.log_low is not None
            ):
                (key, value), *_ = terms
                assert isinstance(key, fmpq)
                inverse: Bound = {-key: 1 / value}
                return envelope_between(self.start, inverse, inverse, known)
        return with_values(self.start, known)

    def _exp(self, arg: Envelope) -> Envelope:
        low = None
        if (
            arg.low is not None
            and (least := smallest(arg.low, self.start)) is not None
            and least >= 0
        ):
            square = multiplied(arg.low, arg.low)  # exp(a) >= 1 + a + a**2/2 for a >= 0
            low = (
                None
                if square is None
                else plus(plus(constant(fmpq(1)), arg.low), square, fmpq(1, 2))
            )
        return with_values(
            self.start, Envelope(low=low, log_low=arg.low, log_high=arg.high, sign=1)
        )

    def _log(self, node: Formula) -> Envelope:
        arg = self.of(node)
        if arg.sign != 1 or arg.log_low is None:
            raise UndecidedError("the argument of a logarithm may not be positive")
        near = self._near_one(node)
        return envelope_between(
            self.start, arg.log_low, arg.log_high, near or Envelope()
        )

    def _near_one(self, node: Formula) -> Envelope | None:
        """Return a bound of the absolute value of ``log(1 + r)`` for ``|r| < 1``: it is at most ``|r|/(1 - |r|)``."""
        match node:
            case Bin("+" | "-" as op, left, right):
                for one, other in ((left, right), (right, left)):
                    if one == Num(Fraction(1)) and (op == "+" or one is left):
                        size = self.of(other).log_high
                        most = None if size is None else largest(size, self.start)
                        if size is not None and most is not None and most < 0:
                            return Envelope(
                                log_high=plus(size, constant(-((-most.exp()).log1p())))
                            )
        return None

    def _abs(self, arg: Envelope) -> Envelope:
        if arg.sign == 1:
            return arg
        if arg.sign == -1:
            return negative(arg)
        return with_values(
            self.start, Envelope(log_low=arg.log_low, log_high=arg.log_high, sign=1)
        )

    def _largest_of(self, parts: list[Envelope]) -> Envelope:
        best = parts[0]
        for part in parts[1:]:
            both_high = best.high is not None and part.high is not None
            high = None
            if best.high is not None and part.high is not None:
                gap = largest(plus(best.high, part.high, -1), self.start)
                other_gap = largest(plus(part.high, best.high, -1), self.start)
                if gap is not None and gap <= 0:
                    high = part.high
                elif other_gap is not None and other_gap <= 0:
                    high = best.high
            sign = (
                1
                if 1 in {best.sign, part.sign}
                else -1
                if best.sign == part.sign == -1
                else 0
            )
            low = best.low if part.low is None else part.low
            if best.low is not None and part.low is not None:
                gap = largest(plus(part.low, best.low, -1), self.start)
                low = best.low if gap is not None and gap <= 0 else part.low
            log_high = log_of_sum(self.start, best.log_high, part.log_high)
            if (
                best.sign == part.sign == -1
                and best.log_high is not None
                and part.log_high is not None
            ):
                gap = largest(plus(best.log_high, part.log_high, -1), self.start)
                log_high = (
                    best.log_high if gap is not None and gap <= 0 else part.log_high
                )
            best = envelope_between(
                self.start,
                low,
                high if both_high else None,
                Envelope(log_high=log_high, sign=sign),
            )
        return best

    def _normal_cdf(self, arg: Envelope) -> Envelope:
        """Return the envelope of the normal distribution function. At -t, it is at most ``exp(-t**2/2)`` for t >= 0."""
        log_high = constant(fmpq(0))
        most = None if arg.high is None else largest(arg.high, self.start)
        if arg.high is not None and most is not None and most <= 0:
            square = multiplied(arg.high, arg.high)
            if square is not None:
                log_high = times(square, fmpq(-1, 2))
        least = None if arg.low is None else smallest(arg.low, self.start)
        log_low = (
            None
            if least is None
            else constant(((-least / arb(2).sqrt()).erfc() / 2).lower().log())
        )
        return with_values(
            self.start, Envelope(None, constant(fmpq(1)), log_low, log_high, 1)
        )
