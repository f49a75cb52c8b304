"""Enclosures of the values and slopes of formulas over a ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, fmpq

from dpverify.ledger.formula import Bin, Call, Formula, Name, Neg, Sum, free_names
from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.bounds import exactly
from dpverify.symbolic.exact.envelopes import ORDER
from dpverify.symbolic.exact.integrands import density_formula
from dpverify.symbolic.exact.numbers import UnsupportedError, Value, to_ball
from dpverify.symbolic.exact.sums import Closure, Env

MOST_TERMS = 1000
SHARES = {
    "delta_of",
    "hockey_stick",
    "total_variation",
    "tail_of",
    "gaussian_delta",
    "laplace_delta",
}
"""Functions with values between 0 and 1."""
CURVES = {"erf", "tanh", "normal_cdf", "gamma", "floor", "ceil"}


@dataclass(frozen=True)
class SlopedValue:
    """Enclosures of a formula and of its derivative. The slope is None if the derivative may not exist."""

    value: arb
    slope: arb | None


class Sloping:
    """Computes slopes of formulas in one variable, at fixed values of the other variables."""

    def __init__(
        self, index: str, env: Env, compiled: Callable[[Formula], Closure]
    ) -> None:
        self.index = index
        self.env = env
        self.compiled = compiled

    def of(self, node: Formula, z: arb) -> SlopedValue:
        """Enclose a formula and its derivative for all values of the variable in a ball."""
        if self.index not in free_names(node):
            return SlopedValue(to_ball(self.compiled(node)(self.env)), arb(0))
        match node:
            case Name():
                return SlopedValue(z, arb(1))
            case Neg(arg):
                inner = self.of(arg, z)
                return SlopedValue(
                    -inner.value, None if inner.slope is None else -inner.slope
                )
            case Bin("**", base, exponent):
                return self._power(base, exponent, z)
            case Bin(op, left, right):
                return _combined(op, self.of(left, z), self.of(right, z))
            case Call(name, args):
                return self._call(name, args, z)
            case Sum(body, name, lo, hi) if type(
                node
            ) is Sum and self.index not in free_names(lo) | free_names(hi):
                return self._sum(body, name, lo, hi, z)
        raise UnsupportedError(
            f"{type(node).__name__.lower()}s that depend on {self.index} have no certain bounds"
        )

    def _sum(
        self, body: Formula, name: str, lo: Formula, hi: Formula, z: arb
    ) -> SlopedValue:
        first = elementary.as_int(
            f"the sum over {name}", "lo", self.compiled(lo)(self.env)
        )
        last = elementary.as_int(
            f"the sum over {name}", "hi", self.compiled(hi)(self.env)
        )
        if last - first >= MOST_TERMS:
            raise UnsupportedError(
                f"a sum over {name} in it has more than {MOST_TERMS} terms"
            )
        total = SlopedValue(arb(0), arb(0))
        for i in range(first, last + 1):
            term = Sloping(self.index, {**self.env, name: fmpq(i)}, self.compiled).of(
                body, z
            )
            total = _combined("+", total, term)
        return total

    def _power(self, base: Formula, exponent: Formula, z: arb) -> SlopedValue:
        below = self.of(base, z)
        if self.index in free_names(exponent):
            above = self.of(exponent, z)
            return _exp(_combined("*", above, _log(below)))
        power = self.compiled(exponent)(self.env)
        value = to_ball(elementary.power(below.value, power))
        if below.slope is None or power == 0:
            return SlopedValue(value, arb(0) if power == 0 else None)
        if not (
            below.value > 0 or (isinstance(power, fmpq) and power.q == 1 and power >= 1)
        ):
            return SlopedValue(value, None)
        return SlopedValue(
            value,
            to_ball(power)
            * to_ball(elementary.power(below.value, power - 1))
            * below.slope,
        )

    def _call(self, name: str, args: tuple[Formula, ...], z: arb) -> SlopedValue:
        match name:
            case "density":
                return self.of(density_formula(*args), z)
            case "renyi" | "renyi_of" if all(
                self.index not in free_names(arg) for arg in args[:-1]
            ):
                return SlopedValue(
                    self._renyi(name, args, self.of(args[-1], z).value), None
                )
            case _ if name in SHARES:
                return SlopedValue(arb(0.5, 0.5), None)
        parts = [self.of(arg, z) for arg in args]
        first = parts[0]
        match name:
            case "exp":
                return _exp(first)
            case "log":
                return _log(first)
            case "log2":
                return _combined(
                    "/", _log(first), SlopedValue(arb.const_log2(), arb(0))
                )
            case "sqrt":
                return _sqrt(first)
            case "abs" | "min" | "max":
                return _piecewise(name, parts)
            case _ if name in CURVES:
                return _curve(name, first, self.compiled(Call(name, (Name(ORDER),))))
        raise UnsupportedError(f"{name} of {self.index} has no certain bounds")

    def _renyi(self, name: str, args: tuple[Formula, ...], order: arb) -> arb:
        """Enclose a Renyi divergence over a range of orders. It increases with the order."""
        at = self.compiled(Call(name, (*args[:-1], Name(ORDER))))
        ends = [
            to_ball(at({**self.env, ORDER: exactly(end)}))
            for end in (order.lower(), order.upper())
        ]
        return ends[0].lower().union(ends[1].upper())


def _combined(op: str, left: SlopedValue, right: SlopedValue) -> SlopedValue:
    a, b = left.value, right.value
    known = left.slope is not None and right.slope is not None
    da = left.slope if left.slope is not None else arb(0)
    db = right.slope if right.slope is not None else arb(0)
    match op:
        case "+":
            return SlopedValue(a + b, da + db if known else None)
        case "-":
            return SlopedValue(a - b, da - db if known else None)
        case "*":
            return SlopedValue(a * b, da * b + a * db if known else None)
        case _:
            quotient = to_ball(elementary.divide(a, b))
            return SlopedValue(quotient, (da - quotient * db) / b if known else None)


def _exp(arg: SlopedValue) -> SlopedValue:
    value = arg.value.exp()
    return SlopedValue(value, None if arg.slope is None else value * arg.slope)


def _log(arg: SlopedValue) -> SlopedValue:
    value = to_ball(elementary.log(arg.value))
    return SlopedValue(value, None if arg.slope is None else arg.slope / arg.value)


def _sqrt(arg: SlopedValue) -> SlopedValue:
    value = to_ball(elementary.sqrt(arg.value))
    return SlopedValue(
        value, arg.slope / (2 * value) if arg.slope is not None and value > 0 else None
    )


def _piecewise(name: str, parts: list[SlopedValue]) -> SlopedValue:
    """Return an absolute value, minimum or maximum. It has a slope only if one piece certainly applies."""
    if name == "abs":
        (part,) = parts
        if part.value > 0:
            return part
        if part.value < 0:
            return _combined("*", part, SlopedValue(arb(-1), arb(0)))
        return SlopedValue(abs(part.value), None)
    best = parts[0]
    for part in parts[1:]:
        smaller, larger = (best, part) if best.value < part.value else (part, best)
        if best.value < part.value or part.value < best.value:
            best = smaller if name == "min" else larger
        else:
            function = elementary.minimum if name == "min" else elementary.maximum
            best = SlopedValue(to_ball(function(best.value, part.value)), None)
    return best


def _curve(name: str, arg: SlopedValue, at: Closure) -> SlopedValue:
    value: Value = at({ORDER: arg.value})
    derivative: arb | None = None
    if name == "erf":
        derivative = 2 / arb.pi().sqrt() * (-(arg.value**2)).exp()
    elif name == "normal_cdf":
        derivative = (-(arg.value**2) / 2).exp() / (2 * arb.pi()).sqrt()
    elif name == "tanh":
        derivative = 1 - to_ball(value) ** 2
    if derivative is None or arg.slope is None:
        return SlopedValue(to_ball(value), None)
    return SlopedValue(to_ball(value), derivative * arg.slope)
