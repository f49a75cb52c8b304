"""Integrals of formulas over an interval, a half-line or the line, as balls that certainly contain the value.

Inside the interval, ``acb.integral`` encloses the integral of an analytic formula. At an infinite end, y is the
distance of the variable from a base point. At an end where the formula is not bounded, y is the inverse of the distance
from the end. The envelope of the formula bounds the integral over all large y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from flint import acb, arb, ctx, fmpq

from dpverify.ledger.formula import (
    BUILTINS,
    Bin,
    Call,
    Formula,
    Integral,
    Name,
    Neg,
    Num,
    free_names,
    substitute,
    to_text,
    walk,
)
from dpverify.symbolic.exact.bounds import (
    LOG,
    Bound,
    Envelope,
    exactly,
    largest,
    plus,
    smallest,
    vanishes,
)
from dpverify.symbolic.exact.envelopes import Enveloping, Y
from dpverify.symbolic.exact.integrands import UNKNOWN, Integrand, integrand
from dpverify.symbolic.exact.numbers import (
    OO,
    ZERO,
    DomainError,
    EvaluationError,
    UndecidedError,
    UnsupportedError,
    Value,
    charged,
    spend,
    to_ball,
    working_precision,
)
from dpverify.symbolic.exact.sums import Closure, Env

# working precision for values that are requested with up to 256 bits, and with more
BITS = (96, 192)
GOAL_BITS = (64, 128)  # bits of the value
WORK = 3  # cost of a part of a formula for a complex variable, relative to a real one
MOST_EVALUATIONS = 20_000  # limit of one call of acb.integral
START_EXPONENTS = (3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 24, 32, 48, 64, 96, 128, 256, 1024)
"""Binary logarithms of the distance, or of its inverse, beyond which the envelope bounds the remaining integral."""
BASE = "#base"  # the point from which distances are measured
TAIL_BITS = 80

_Direction = Literal[1, -1]


@dataclass(frozen=True)
class _End:
    """A part of the interval next to an end: from a base point to infinity, or from an end to a point inside."""

    base: arb
    direction: _Direction
    is_infinite: bool
    first: arb  # the logarithm of y at which the integral starts


class IntegralValue:
    """An integral as a function of the values of its free variables."""

    def __init__(self, node: Integral, compiled: Callable[[Formula], Closure]) -> None:
        self.node = node
        self.compiled = compiled
        self.parts = sum(1 for _ in walk(node.body))
        self.names = sorted(free_names(node))
        self.is_cached = all(
            part.name in BUILTINS for part in walk(node) if isinstance(part, Call)
        )
        self.lo = compiled(node.lo)
        self.hi = compiled(node.hi)
        self.description = f"the integral of {to_text(node.body)} over {node.index}"
        if not node.is_over_line:
            self.description += f" from {to_text(node.lo)} to {to_text(node.hi)}"

    def __call__(self, env: Env) -> Value:
        """Return the value at a point: exactly 0 over an empty interval, otherwise a ball."""
        level = 0 if int(ctx.prec) <= 256 else 1
        point = tuple((name, env[name]) for name in self.names if name in env)
        if self.is_cached and all(isinstance(value, fmpq) for _, value in point):
            return charged(self._value_at, point, level)
        return self._value(env, level)

    def _value_at(self, point: tuple[tuple[str, Value], ...], level: int) -> Value:
        return self._value(dict(point), level)

    def _value(self, env: Env, level: int) -> Value:
        with working_precision(BITS[level]):
            low = self.lo(env)
            high = self.hi(env)
            if low == high:
                return ZERO
            if not (low < high or low > high):
                raise UndecidedError(
                    f"{self.description}: which of its limits is larger."
                )
            try:
                if low > high:
                    return -self._integral_between(env, high, low, level)
                return self._integral_between(env, low, high, level)
            except (DomainError, UnsupportedError, UndecidedError) as error:
                # more bits do not help
                is_final = isinstance(error, UndecidedError) and level == len(BITS) - 1
                kind = UnsupportedError if is_final else type(error)
                raise kind(f"{self.description}: {str(error).rstrip('.')}.") from None

    def _integral_between(self, env: Env, low: Value, high: Value, level: int) -> arb:
        """Integrate from a smaller to a larger limit."""
        function = integrand(self.node.body, self.node.index, env, self.compiled)
        if low > -OO and high < OO:
            return self._finite(env, function, to_ball(low), to_ball(high), level)
        base = exactly(to_ball(low).upper().ceil()) + 1 if low > -OO else None
        if base is None:
            base = exactly(to_ball(high).lower().floor()) - 1 if high < OO else fmpq(0)
        middle = arb(base)
        total = arb(0)
        if low > -OO:
            total += self._finite(env, function, to_ball(low), middle, level)
        else:
            total += self._infinite(env, function, middle, -1, level)
        if high < OO:
            return total + self._finite(env, function, middle, to_ball(high), level)
        return total + self._infinite(env, function, middle, 1, level)

    def _infinite(
        self,
        env: Env,
        function: Integrand,
        base: arb,
        direction: _Direction,
        level: int,
    ) -> arb:
        """Integrate from a point to infinity."""
        near = base + direction
        first, last = (base, near) if direction > 0 else (near, base)
        return self._finite(env, function, first, last, level) + self._integral_to_end(
            env, function, _End(base, direction, is_infinite=True, first=arb(0)), level
        )

    def _finite(
        self, env: Env, function: Integrand, low: arb, high: arb, level: int
    ) -> arb:
        """Integrate between two points: directly if the enclosure is finite, otherwise from the middle outwards."""
        value = self._enclosure(function, low, high, level)
        if value.is_finite():
            return value
        middle = ((low + high) / 2).mid()
        if not low < middle < high:
            raise UndecidedError("its limits are too close to be told apart")
        self._check_inside(env, low, high)
        total = arb(0)
        left = self._enclosure(function, low, middle, level)
        right = self._enclosure(function, middle, high, level)
        for value, base, direction in ((left, low, 1), (right, high, -1)):
            if value.is_finite():
                total += value
            else:
                first = -abs(base - middle).log()
                end = _End(
                    base, 1 if direction > 0 else -1, is_infinite=False, first=first
                )
                total += self._integral_to_end(env, function, end, level)
        return total

    def _check_inside(self, env: Env, low: arb, high: arb) -> None:
        """Raise an UnsupportedError if the formula has no value at one of a few points between the limits."""
        body = self.compiled(self.node.body)
        for share in (
            fmpq(1, 2),
            fmpq(1, 4),
            fmpq(3, 4),
            fmpq(1, 2**20),
            1 - fmpq(1, 2**20),
        ):
            point = exactly((low + (high - low) * arb(share)).mid())
            try:
                _value_at(env, body, self.node.index, point)
            except DomainError as error:
                where = f"{self.node.index} = {float(Fraction(int(point.p), int(point.q))):.4g}"
                reason = (
                    f"its formula has no value at {where} ({str(error).rstrip('.')})"
                )
                raise UnsupportedError(
                    f"{reason}; such a point can only be a limit of the integral"
                ) from None

    def _enclosure(self, function: Integrand, low: arb, high: arb, level: int) -> arb:
        """Integrate between two points. The result is not finite if this fails.

        Limits that are inexact balls are replaced by their midpoints, and the difference is added.
        """
        # acb.integral does not propagate them reliably
        errors: list[BaseException] = []

        def counted_function(z: acb, analytic: bool) -> acb:
            if errors:
                return UNKNOWN
            try:
                spend(WORK * self.parts)
                return function(z, analytic)
            except BaseException as error:  # noqa: BLE001  it is raised below
                errors.append(error)
                return UNKNOWN

        start, end = low.mid(), high.mid()
        tolerance = arb(2) ** -TAIL_BITS
        total = arb.nan()
        for _ in range(2):
            total = acb.integral(
                counted_function,
                acb(start),
                acb(end),
                rel_tol=arb(2) ** -GOAL_BITS[level],
                abs_tol=tolerance,
                eval_limit=MOST_EVALUATIONS,
                depth_limit=MOST_EVALUATIONS,
                use_heap=True,
            ).real
            if errors:
                raise errors[0]
            if (
                not total.is_finite()
                or total.rel_accuracy_bits() >= GOAL_BITS[level] // 2
            ):
                break
            tolerance = abs(total).upper() * arb(2) ** -GOAL_BITS[level]
            if not tolerance > 0:
                break
        for limit, point, sign in ((low, start, 1), (high, end, -1)):
            if not limit.is_exact():
                total += sign * (point - limit) * function(acb(limit), False).real
        return total

    def _integral_to_end(
        self, env: Env, function: Integrand, end: _End, level: int
    ) -> arb:
        """Integrate from a point to an end: over the logarithm of y up to a start, with a bound of the tail."""
        start, tail = self._tail(env, end, arb(2) ** -TAIL_BITS)
        total = self._up_to(function, end, start, level)
        if tail > abs(total).upper() * arb(2) ** -GOAL_BITS[level]:
            sharper = abs(total).upper() * arb(2) ** -GOAL_BITS[level]
            if sharper > 0 and sharper < arb(2) ** -TAIL_BITS:
                start, tail = self._tail(env, end, sharper)
                total = self._up_to(function, end, start, level)
        return total + arb(0, tail)

    def _up_to(self, function: Integrand, end: _End, start: arb, level: int) -> arb:
        base = acb(end.base)
        sign = 1 if end.is_infinite else -1

        def by_logarithm(u: acb, analytic: bool) -> acb:
            distance = (sign * u).exp()
            return function(base + end.direction * distance, analytic) * distance

        # next to the end, digits cancel
        bits = 0 if end.is_infinite else int(start.man_exp()[1]) + 1
        with working_precision(int(ctx.prec) + bits):
            value = self._enclosure(by_logarithm, end.first, start.log(), level)
        if not value.is_finite():
            raise UnsupportedError(
                "its formula is not known to be defined and bounded inside of the interval"
            )
        return value

    def _tail(self, env: Env, end: _End, goal: arb) -> tuple[arb, arb]:
        """Return a start and a bound of the integral of the absolute value beyond it."""
        best: tuple[arb, arb] | None = None
        reason: EvaluationError = UnsupportedError(
            "how it falls towards an end is not known"
        )
        for exponent in START_EXPONENTS:
            start = arb(2) ** exponent
            if not start.log() > end.first:
                continue
            try:
                envelope = self.envelope(env, end, start)
            except UnsupportedError:
                raise
            except EvaluationError as error:
                reason = error
                continue
            tail = _tail_of(envelope, start)
            if tail is None:
                if _is_divergent(envelope, start):
                    raise DomainError("it diverges")
                reason = UnsupportedError(
                    "no finite bound of its tail is known; it may diverge"
                )
                continue
            if best is None or tail < best[1]:
                best = (start, tail)
            if tail <= goal:
                break
        if best is None:
            raise reason
        return best

    def envelope(self, env: Env, end: _End, start: arb) -> Envelope:
        """Return the envelope in y of the formula times the derivative of the variable with respect to y."""
        distance: Formula = (
            Name(Y) if end.is_infinite else Bin("/", Num(Fraction(1)), Name(Y))
        )
        letter: Formula = Bin("+" if end.direction > 0 else "-", Name(BASE), distance)
        base: Value = exactly(end.base) if end.base.is_exact() else end.base
        if base == 0:
            letter = distance if end.direction > 0 else Neg(distance)
        formula = substitute(self.node.body, {Name(self.node.index): letter})
        envelope = Enveloping(self.compiled, {**env, BASE: base}, start).of(formula)
        if end.is_infinite:
            return envelope
        step: Bound = {LOG: fmpq(-2)}
        return Envelope(
            log_low=None if envelope.log_low is None else plus(envelope.log_low, step),
            log_high=None
            if envelope.log_high is None
            else plus(envelope.log_high, step),
            sign=envelope.sign,
        )


def _value_at(env: Env, body: Closure, index: str, point: fmpq) -> Value:
    """Evaluate a formula at a value of its variable."""
    inner = {**env, index: point}
    return body(inner)


def _tail_of(envelope: Envelope, start: arb) -> arb | None:
    """Bound the integral of the absolute value from a start on by that of a power of y.

    Return None if no bound is known.
    """
    bound = envelope.log_high
    if bound is None:
        return None
    if vanishes(bound):
        return arb(0)
    tails = []
    power = -to_ball(bound.get(LOG, fmpq(0)))
    others = largest({key: value for key, value in bound.items() if key != LOG}, start)
    if power > 1 and others is not None:
        tails.append(others.exp() * start ** (1 - power) / (power - 1))
    squared = largest(plus(bound, {LOG: fmpq(2)}), start)
    if squared is not None:
        tails.append(squared.exp() / start)
    finite = [tail.upper() for tail in tails if tail.is_finite()]
    return min(finite, key=arb.mid, default=None)


def _is_divergent(envelope: Envelope, start: arb) -> bool:
    """Test whether the formula has one sign and its size is at least a multiple of 1/y."""
    if envelope.sign == 0 or envelope.log_low is None:
        return False
    return smallest(plus(envelope.log_low, {LOG: fmpq(1)}), start) is not None
