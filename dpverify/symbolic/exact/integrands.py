"""Formulas as functions of one complex variable, for rigorous integrals, and the normal density as a formula.

The value of a function is not finite where the formula may not be analytic.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from flint import acb, arb, fmpq

from dpverify.ledger.formula import Bin, Call, Formula, Name, Neg, Num, Sum, free_names
from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import UnsupportedError, to_ball
from dpverify.symbolic.exact.sums import Closure, Env


def density_formula(x: Formula, s: Formula) -> Formula:
    """Return the density of a normal law with mean 0 as a formula."""
    two = Num(Fraction(2))
    exponent = Neg(Bin("/", Bin("**", x, two), Bin("*", two, Bin("**", s, two))))
    return Bin(
        "/",
        Call("exp", (exponent,)),
        Bin("*", s, Call("sqrt", (Bin("*", two, Call("pi", ())),))),
    )


Integrand: TypeAlias = Callable[[acb, bool], acb]
"""The value on a ball. If the flag is set, the function is analytic on the ball or the value is not finite.

Without the flag the ball holds real numbers, and the value is finite only if the formula is defined on all of them.
"""

MOST_TERMS = 1000  # largest number of terms of a sum in an integrand
UNKNOWN = acb(arb.nan(), arb.nan())


def integrand(
    node: Formula, index: str, env: Env, compiled: Callable[[Formula], Closure]
) -> Integrand:
    """Return a formula as a function of one variable, at fixed values of all other variables."""

    def integrand_of(part: Formula) -> Integrand:
        return integrand(part, index, env, compiled)

    if index not in free_names(node):
        value = acb(to_ball(compiled(node)(env)))
        return lambda z, analytic: value
    match node:
        case Name():
            return lambda z, analytic: z
        case Neg(arg):
            inner = integrand_of(arg)
            return lambda z, analytic: -inner(z, analytic)
        case Bin("*" | "/" | "**") if (
            log := logarithm(node, index, env, compiled)
        ) is not None:
            return _exp(log)
        case Bin("**", base, exponent):
            return _power(integrand_of(base), exponent, index, env, compiled)
        case Bin("/", left, right) if (
            log := logarithm(right, index, env, compiled)
        ) is not None:
            return _operation(
                "*",
                integrand_of(left),
                _exp(_operation("-", lambda z, analytic: acb(0), log)),
            )
        case Bin(op, left, right):
            return _operation(op, integrand_of(left), integrand_of(right))
        case Call("log", (arg,)) if (
            log := logarithm(arg, index, env, compiled)
        ) is not None:
            return log
        case Call(name, args):
            return _call(name, args, integrand_of)
        case Sum(body, name, lo, hi) if type(node) is Sum and index not in free_names(
            lo
        ) | free_names(hi):
            first = elementary.as_int(f"the sum over {name}", "lo", compiled(lo)(env))
            last = elementary.as_int(f"the sum over {name}", "hi", compiled(hi)(env))
            if last - first >= MOST_TERMS:
                raise UnsupportedError(
                    f"a sum over {name} in it has more than {MOST_TERMS} terms"
                )
            terms = [
                integrand(body, index, {**env, name: fmpq(i)}, compiled)
                for i in range(first, last + 1)
            ]
            return lambda z, analytic: sum(
                (term(z, analytic) for term in terms), start=acb(0)
            )
    raise UnsupportedError(
        f"it has {type(node).__name__.lower()}s that depend on {index}"
    )


def logarithm(
    node: Formula, index: str, env: Env, compiled: Callable[[Formula], Closure]
) -> Integrand | None:
    """Return the logarithm of a formula that is syntactically positive for all real variables, otherwise None.

    It is computed from the logarithms of the parts, since the parts themselves may be extremely small or large.
    """

    def log_of(part: Formula) -> Integrand | None:
        return logarithm(part, index, env, compiled)

    if index not in free_names(node):
        value = to_ball(compiled(node)(env))
        constant = acb(value.log())
        return (lambda z, analytic: constant) if value > 0 else None
    match node:
        case Call("exp", (arg,)):
            return integrand(arg, index, env, compiled)
        case Call("sqrt", (arg,)):
            half = log_of(arg)
            return None if half is None else lambda z, analytic: half(z, analytic) / 2
        case Call("density", (x, s)) if (
            index not in free_names(s) and to_ball(compiled(s)(env)) > 0
        ):
            return log_of(density_formula(x, s))
        case Bin("**", base, exponent):
            inner = log_of(base)
            if inner is None:
                return None
            power = integrand(exponent, index, env, compiled)
            return lambda z, analytic: power(z, analytic) * inner(z, analytic)
        case Bin("+" | "*" | "/" as op, left, right):
            first = log_of(left)
            second = None if first is None else log_of(right)
            if first is None or second is None:
                return None
            return (
                _log_of_sum(first, second)
                if op == "+"
                else _operation("+" if op == "*" else "-", first, second)
            )
    return None


def _exp(log: Integrand) -> Integrand:
    return lambda z, analytic: log(z, analytic).exp()


def _log_of_sum(first: Integrand, second: Integrand) -> Integrand:
    def value(z: acb, analytic: bool) -> acb:
        large = first(z, analytic)
        small = second(z, analytic)
        if (small - large).real.mid() > 0:
            large, small = small, large
        return large + _log(1 + (small - large).exp(), analytic)

    return value


def _operation(op: str, left: Integrand, right: Integrand) -> Integrand:
    match op:
        case "+":
            return lambda z, analytic: left(z, analytic) + right(z, analytic)
        case "-":
            return lambda z, analytic: left(z, analytic) - right(z, analytic)
        case "*":
            return lambda z, analytic: left(z, analytic) * right(z, analytic)
        case _:
            return lambda z, analytic: left(z, analytic) / right(z, analytic)


def _power(
    base: Integrand,
    exponent: Formula,
    index: str,
    env: Env,
    compiled: Callable[[Formula], Closure],
) -> Integrand:
    if index in free_names(exponent):
        power = integrand(exponent, index, env, compiled)
        return lambda z, analytic: (
            power(z, analytic) * _log(base(z, analytic), analytic)
        ).exp()
    value = compiled(exponent)(env)
    if isinstance(value, fmpq) and value.q == 1:
        whole = int(value.p)
        return lambda z, analytic: base(z, analytic) ** whole
    number = acb(to_ball(value))
    return lambda z, analytic: (number * _log(base(z, analytic), analytic)).exp()


def _log(z: acb, analytic: bool) -> acb:
    """Return the logarithm of a value that is positive for real variables."""
    if analytic:
        return z.log(analytic=True)
    return acb(z.real.log()) if z.real > 0 else UNKNOWN


def _normal_cdf(z: acb) -> acb:
    return (-z / arb(2).sqrt()).erfc() / 2


def _gamma(z: acb) -> acb:
    return z.gamma() if z.real > 0 else UNKNOWN


_ANALYTIC: dict[str, Callable[[acb], acb]] = {  # analytic where they are finite
    "exp": acb.exp,
    "tanh": acb.tanh,
    "erf": acb.erf,
    "normal_cdf": _normal_cdf,
    "gamma": _gamma,
}


def _call(
    name: str, args: tuple[Formula, ...], integrand_of: Callable[[Formula], Integrand]
) -> Integrand:
    if name == "density":
        return integrand_of(density_formula(*args))
    parts = [integrand_of(arg) for arg in args]
    first = parts[0]
    if name in _ANALYTIC:
        function = _ANALYTIC[name]
        return lambda z, analytic: function(first(z, analytic))
    match name:
        case "log":
            return lambda z, analytic: _log(first(z, analytic), analytic)
        case "log2":
            return lambda z, analytic: (
                _log(first(z, analytic), analytic) / arb.const_log2()
            )
        case "sqrt":
            return lambda z, analytic: (_log(first(z, analytic), analytic) / 2).exp()
        case "abs":
            return lambda z, analytic: first(z, analytic).real_abs(analytic=analytic)
        case "floor":
            return lambda z, analytic: first(z, analytic).real_floor(analytic=analytic)
        case "ceil":
            return lambda z, analytic: first(z, analytic).real_ceil(analytic=analytic)
        case "min" | "max":
            return _extreme(parts, is_min=name == "min")
    raise UnsupportedError(f"{name} of the letter of an integral is not known")


def _extreme(parts: list[Integrand], *, is_min: bool) -> Integrand:
    def value(z: acb, analytic: bool) -> acb:
        result, *others = (part(z, analytic) for part in parts)
        for other in others:
            choose = result.real_min if is_min else result.real_max
            result = choose(other, analytic=analytic)
        return result

    return value
