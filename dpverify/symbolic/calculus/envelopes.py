"""Certified bounds of a formula, and of the logarithm of its size, for all large values of one variable y.

An error is raised unless the formula is proved to be defined for all y >= start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from flint import arb, fmpq

from dpverify.ledger.formula import Bin, Call, Formula, Name, Neg, Num, free_names
from dpverify.symbolic.calculus.bounds import (
    LOG,
    MOST_TERMS,
    VANISHING,
    Bound,
    constant,
    exactly,
    is_zero,
    larger,
    largest,
    multiplied,
    plus,
    shifted,
    smallest,
    times,
    top_power,
    vanishes,
)
from dpverify.symbolic.calculus.integrands import density_formula
from dpverify.symbolic.exact.numbers import (
    UndecidedError,
    UnsupportedError,
    Value,
    to_ball,
)
from dpverify.symbolic.exact.sums import Closure, Env

Y: Final = "#y"  # no symbol of a paper has this name
ORDER: Final = "#order"
_SMALL = fmpq(1, 16)  # a power that bounds a logarithm
_MOST_POWER = 8


@dataclass(frozen=True)
class Envelope:
    """Bounds of a formula for all y >= start. None means that no bound is known."""

    low: Bound | None = None
    high: Bound | None = None
    # bound of the logarithm of the absolute value, which is then not 0
    log_low: Bound | None = None
    log_high: Bound | None = None
    sign: int = 0  # 1: at least 0; -1: at most 0

    @property
    def is_exact(self) -> bool:
        """Whether the formula is known to be equal to its bounds."""
        return self.low is not None and self.low is self.high


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
            return self._constant(self.compiled(node)(self.env))
        match node:
            case Name():
                return self._value({fmpq(1): fmpq(1)})
            case Neg(arg):
                return _negative(self.of(arg))
            case Bin("+", left, right):
                return self._sum(self.of(left), self.of(right))
            case Bin("-", left, right):
                return self._sum(self.of(left), _negative(self.of(right)))
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
                    self._log(args[0]), self._constant(1 / arb.const_log2())
                )
            case "sqrt":
                return self._power(self.of(args[0]), fmpq(1, 2))
            case "abs":
                return self._abs(self.of(args[0]))
            case "min":
                return _negative(
                    self._largest_of([_negative(self.of(arg)) for arg in args])
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
        """Return a Renyi divergence at its smallest order, a lower bound, since it increases with the order."""
        order = self.of(args[-1]).low
        least = None if order is None else smallest(order, self.start)
        if least is None or not least > 1:
            return fmpq(0)
        smallest_divergence = self.compiled(Call(name, (*args[:-1], Name(ORDER))))(
            {**self.env, ORDER: exactly(least)}
        )
        return to_ball(smallest_divergence).lower()

    def _constant(self, value: Value) -> Envelope:
        ball = to_ball(value)
        if not ball.is_finite():
            raise UnsupportedError("a part of it is infinite")
        size = abs(ball)
        sign = 1 if value >= 0 else -1 if value <= 0 else 0
        log_low = constant(size.log()) if size > 0 else None
        if isinstance(value, fmpq) and value == fmpq(1):
            log_low = constant(fmpq(0))
        log_high = log_low or (
            constant(size.upper().log()) if size.upper() > 0 else VANISHING
        )
        value_bound = constant(value)
        return Envelope(value_bound, value_bound, log_low, log_high, sign)

    def _value(
        self,
        low: Bound | None,
        high: Bound | None = None,
        known: Envelope | None = None,
    ) -> Envelope:
        """Return the envelope of a value between two bounds, or equal to one bound, combined with a known envelope."""
        high = low if high is None and known is None else high
        known = known or Envelope()
        sign = known.sign
        log_low = known.log_low
        log_high = known.log_high
        for end, direction in ((low, 1), (high, -1)):
            if end is None:
                continue
            bound = end if direction > 0 else times(end, -1)
            least = smallest(bound, self.start)
            log_of_least = self._log_of_positive(bound)
            if log_of_least is not None or (least is not None and least >= 0):
                sign = direction
            log_low = log_low or log_of_least
        if log_high is None and low is not None and high is not None:
            log_high = (
                self._size(high)
                if low is high
                else self._join(self._size(low), self._size(high))
            )
        if log_low is None and low is not None and low is high:
            log_low = self._log_of_term(low)
        return self._with_values(Envelope(low, high, log_low, log_high, sign))

    def _log_of_term(self, bound: Bound) -> Bound | None:
        """Return the logarithm of the size of a single power of y."""
        terms = [(key, value) for key, value in bound.items() if not is_zero(value)]
        if len(terms) != 1 or terms[0][0] == LOG:
            return None
        (key, value), *_ = terms
        size = abs(to_ball(value))
        if not size > 0 or isinstance(key, str):
            return None
        return {LOG: key, fmpq(0): fmpq(0) if size == arb(1) else size.log()}

    def _log_of_positive(self, low: Bound) -> Bound | None:
        """Return a lower bound of the logarithm of a bound; None if it is not known to be positive."""
        top = top_power(low)
        logarithm = low.get(LOG, fmpq(0))
        if is_zero(logarithm) or (top > 0 and logarithm >= 0):
            share = smallest(
                {shifted(key, top): value for key, value in low.items() if key != LOG},
                self.start,
            )
            if share is not None and share > 0:
                return {LOG: top, fmpq(0): share.log()}
        least = smallest(low, self.start)
        return constant(least.log()) if least is not None and least > 0 else None

    def _size(self, bound: Bound) -> Bound:
        """Return an upper bound of the logarithm of the size of a bound: a power of y times a number."""
        top = top_power(bound)
        total = arb(0)
        logarithm = abs(to_ball(bound.get(LOG, fmpq(0))))
        if not is_zero(logarithm):
            top = max(top, fmpq(0)) + _SMALL
            total += logarithm * 16 / arb(1).exp()  # log(y) <= y**s/(e*s)
        for key, value in bound.items():
            if not isinstance(key, str):
                total += abs(to_ball(value)) * self.start ** to_ball(key - top)
        total = total.upper()
        return {LOG: top, fmpq(0): total.log()} if total > 0 else VANISHING

    def _with_values(self, known: Envelope) -> Envelope:
        """Add bounds of the value that follow from its size."""
        low, high = known.low, known.high
        size = (
            None if known.log_high is None else self._from_log(known.log_high, largest)
        )
        least = (
            None if known.log_low is None else self._from_log(known.log_low, smallest)
        )
        zero = constant(fmpq(0))
        if known.sign >= 0 and high is None:
            high = size
        if known.sign <= 0 and low is None and size is not None:
            low = times(size, -1)
        if known.sign == 1 and low is None:
            low = least if least is not None else zero
        if known.sign == -1 and high is None:
            high = times(least, -1) if least is not None else zero
        if known.sign == 0 and size is not None:
            low = times(size, -1) if low is None else low
            high = size if high is None else high
        return Envelope(low, high, known.log_low, known.log_high, known.sign)

    def _from_log(
        self, bound: Bound, end: Callable[[Bound, arb], arb | None]
    ) -> Bound | None:
        """Return a bound of exp(bound): a power of y if log(y) has an exact coefficient, otherwise a constant."""
        power = bound.get(LOG, fmpq(0))
        others = {key: value for key, value in bound.items() if key != LOG}
        whole = end(bound, self.start)
        if whole is not None and (power > 0 if end is largest else power < 0):
            return constant(whole.exp())  # the other terms outweigh the power of y
        if isinstance(power, fmpq):
            value = end(others, self.start)
            if value is not None:
                exact = others.keys() <= {fmpq(0)} and others.get(fmpq(0), fmpq(0)) == 0
                return {power: fmpq(1) if exact else value.exp()}
        return None if whole is None else constant(whole.exp())

    def _join(self, left: Bound | None, right: Bound | None) -> Bound | None:
        """Return an upper bound of ``log(exp(left) + exp(right))``."""
        if left is None or right is None:
            return None
        if vanishes(left) or vanishes(right):
            return right if vanishes(left) else left
        for small, large in ((left, right), (right, left)):
            gap = largest(plus(small, large, -1), self.start)
            if gap is not None:
                return plus(large, constant(gap.exp().log1p()))
        keys = left.keys() | right.keys()
        most = {
            key: larger(left.get(key, fmpq(0)), right.get(key, fmpq(0))) for key in keys
        }
        return plus(most, constant(arb.const_log2()))

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
        log_high = self._join(left.log_high, right.log_high)
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
        exact = self._value(low, low) if low is not None and low is high else None
        if exact is not None and (exact.log_low is not None or log_low is None):
            return exact  # the sum bounds its size better than its terms do
        return self._value(
            low, high, Envelope(log_low=log_low, log_high=log_high, sign=sign)
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
                return self._value(value, value, known)
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
                return self._value(low, low if others.is_exact else high, known)
        return self._with_values(known)

    def _power(self, base: Envelope, exponent: Value) -> Envelope:
        if exponent == 0:
            return self._constant(fmpq(1))
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
                return self._value(inverse, inverse, known)
        return self._with_values(known)

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
        return self._with_values(
            Envelope(low=low, log_low=arg.low, log_high=arg.high, sign=1)
        )

    def _log(self, node: Formula) -> Envelope:
        arg = self.of(node)
        if arg.sign != 1 or arg.log_low is None:
            raise UndecidedError("the argument of a logarithm may not be positive")
        near = self._near_one(node)
        return self._value(arg.log_low, arg.log_high, near or Envelope())

    def _near_one(self, node: Formula) -> Envelope | None:
        """Return a bound of the size of ``log(1 + r)`` for a small r, which is at most ``|r|/(1 - |r|)``."""
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
            return _negative(arg)
        return self._with_values(
            Envelope(log_low=arg.log_low, log_high=arg.log_high, sign=1)
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
            log_high = self._join(best.log_high, part.log_high)
            if (
                best.sign == part.sign == -1
                and best.log_high is not None
                and part.log_high is not None
            ):
                gap = largest(plus(best.log_high, part.log_high, -1), self.start)
                log_high = (
                    best.log_high if gap is not None and gap <= 0 else part.log_high
                )
            best = self._value(
                low, high if both_high else None, Envelope(log_high=log_high, sign=sign)
            )
        return best

    def _normal_cdf(self, arg: Envelope) -> Envelope:
        """Return the envelope of the normal distribution function: at -t, at most ``exp(-t**2/2)/2`` for t >= 0."""
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
        return self._with_values(
            Envelope(None, constant(fmpq(1)), log_low, log_high, 1)
        )


def _negative(known: Envelope) -> Envelope:
    low = None if known.high is None else times(known.high, -1)
    high = (
        low if known.is_exact else None if known.low is None else times(known.low, -1)
    )
    return Envelope(low, high, known.log_low, known.log_high, -known.sign)
