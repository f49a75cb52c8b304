"""Evaluation of sympy expressions, as formula trees, and functions that are declared to be arbitrary or a formula.

Printed formulas and sympy expressions share one evaluator. Functions that no printed formula contains get names that
begin with ``#``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from random import Random
from typing import Any

import sympy
from flint import arb, ctx, fmpq

from dpverify.ledger.formula import Bin, Call, Formula, Inf, Name, Neg, Num, Sum
from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.compile import compile_formula
from dpverify.symbolic.exact.evaluate import evaluate, run
from dpverify.symbolic.exact.numbers import Datum, Exact, Value, to_value
from dpverify.symbolic.exact.sums import Env
from dpverify.symbolic.expressions.functions import Inner, Moment, Norm, PopCount
from dpverify.symbolic.expressions.translation import FUNCTIONS, RELATIONS

_CALLS: dict[Any, str] = {function: name for name, function in FUNCTIONS.items()} | {
    sympy.gamma: "#gamma",
    sympy.loggamma: "#loggamma",
    sympy.erf: "#erf",
    sympy.erfc: "#erfc",
    PopCount: "#popcount",
    Moment: "#moment",
    Norm: "#norm",
    Inner: "#inner",
}

_RELATIONS = {relation: op for op, relation in RELATIONS.items()}


@lru_cache(maxsize=4096)
def from_sympy(expr: Any) -> Formula:
    """Convert a sympy expression of a derivation to a formula tree for the evaluator.

    Its shape may differ from the printed one.
    """
    if expr.is_Rational:
        return Num(Fraction(int(expr.p), int(expr.q)))
    if expr.is_Symbol:
        return Name(index_name(expr))
    if expr.is_Add:
        return reduce(_add, [from_sympy(arg) for arg in expr.args])
    if expr.is_Mul:
        return reduce(
            lambda a, b: Bin("*", a, b), [from_sympy(arg) for arg in expr.args]
        )
    if expr.is_Pow:
        return Bin("**", from_sympy(expr.base), from_sympy(expr.exp))
    constant = _CONSTANTS.get(expr)
    if constant is not None:
        return constant
    return _structure(expr)


_CONSTANTS: dict[Any, Formula] = {
    sympy.E: Call("exp", (Num(Fraction(1)),)),
    sympy.pi: Call("#pi", ()),
    sympy.oo: Inf(),
    -sympy.oo: Neg(Inf()),
}


def _add(left: Formula, right: Formula) -> Formula:
    match right:
        case Bin("*", Num(value), rest) if value == -1:
            return Bin("-", left, rest)
        case _:
            return Bin("+", left, right)


def _structure(expr: Any) -> Formula:
    if isinstance(expr, sympy.Sum):
        body = expr.function
        for index, lo, hi in expr.limits:
            body = Sum(
                from_sympy(body) if not isinstance(body, Sum) else body,
                index_name(index),
                from_sympy(lo),
                from_sympy(hi),
            )
        return body  # type: ignore[no-any-return]  # a Sum has at least one limit
    if isinstance(expr, sympy.Piecewise):
        return _piecewise(expr)
    if isinstance(expr, sympy.Integral):
        return from_sympy(gaussian_integral(expr))
    if isinstance(expr, sympy.core.function.AppliedUndef):
        return Call(str(expr.func), tuple(from_sympy(arg) for arg in expr.args))
    name = _CALLS.get(expr.func)
    if name is not None:
        return Call(name, tuple(from_sympy(arg) for arg in expr.args))
    raise TypeError(f"cannot evaluate {expr!r} of type {type(expr).__name__} exactly.")


def index_name(symbol: Any) -> str:
    """Return the name of a symbol in the tree.

    A Dummy's name contains its number, so that Dummies of equal names differ.
    """
    return (
        f"{symbol.name}#{symbol.dummy_index}"
        if isinstance(symbol, sympy.Dummy)
        else str(symbol.name)
    )


def _piecewise(expr: Any) -> Formula:
    (value, condition), *branches = expr.args
    if condition is sympy.true or not branches:
        return from_sympy(value)
    relation = _RELATIONS.get(type(condition))
    if relation is None:
        raise TypeError(f"cannot evaluate the condition {condition!r} of a Piecewise.")
    otherwise = from_sympy(sympy.Piecewise(*branches))
    return Call(
        f"#if{relation}",
        (
            from_sympy(condition.lhs),
            from_sympy(condition.rhs),
            from_sympy(value),
            otherwise,
        ),
    )


def gaussian_integral(expr: Any) -> Any:
    """Return the integral of ``c*exp(-a*x**2 + b*x + e)``.

    It is ``c*sqrt(pi/a)*exp(e + b**2/(4*a))``, and defined if ``a > 0``.
    """
    if len(expr.limits) != 1 or expr.limits[0][1:] != (-sympy.oo, sympy.oo):
        raise TypeError(
            f"cannot evaluate {expr!r}: only integrals over the real line are known."
        )
    x = expr.limits[0][0]
    constant, exponential = sympy.powsimp(expr.function, combine="exp").as_independent(
        x, as_Add=False
    )
    if not isinstance(exponential, sympy.exp):
        raise TypeError(
            f"cannot evaluate {expr!r}: only exponentials of quadratics are known."
        )
    exponent = (
        sympy.Poly(exponential.args[0], x)
        if exponential.args[0].is_polynomial(x)
        else None
    )
    if exponent is None or exponent.degree() != 2:
        raise TypeError(
            f"cannot evaluate {expr!r}: the exponent is not quadratic in {x}."
        )
    a, b, e = (exponent.coeff_monomial(x**k) for k in (2, 1, 0))
    return constant * sympy.sqrt(sympy.pi / -a) * sympy.exp(e - b**2 / (4 * a))


def evaluate_expr(
    expr: Any, point: Mapping[str, Any], *, precision: int = 256
) -> Exact:
    """Evaluate a sympy expression at a rational point, like ``evaluate``. A precision of 170 bits gives 50 digits."""
    return evaluate(from_sympy(expr), point, precision=precision)


@lru_cache(maxsize=20_000)
def compile_expr(expr: Any) -> Callable[[Env, int], Value]:
    """Compile a sympy expression to a function of named values and a precision in bits."""
    closure = compile_formula(from_sympy(expr))
    return lambda env, bits: run(closure, env, bits)


def numbers_of(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a point with its numbers converted to flint rationals or balls."""
    return {
        name: to_value(value) if isinstance(value, (Fraction, int, arb)) else value
        for name, value in point.items()
    }


@dataclass(frozen=True)
class AnyFunction:
    """Declares a function symbol to be an arbitrary function of integers, defined everywhere."""

    arity: int = 1

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Datum:
        """Return a function with small rational values that are equal for equal arguments."""
        return _Drawn(rng.random())


class _Drawn(Datum):
    def __init__(self, seed: float) -> None:
        self.seed = seed

    def __call__(self, *args: Value) -> Value:
        rng = Random(f"{self.seed} {_integers(args)}")
        return fmpq(rng.randint(-9, 9), rng.choice((1, 2, 3)))


@dataclass(frozen=True)
class FunctionOf:
    """Declares a function symbol to have the values of a formula, which may apply the function recursively."""

    name: str
    parameters: tuple[Any, ...]  # symbols for the integer arguments
    value: Any

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return len(self.parameters)

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Datum:
        """Return the function. It uses the numbers and functions of the point that are drawn before it."""
        return _Computed(self, numbers_of(point))


class _Computed(Datum):
    def __init__(self, function: FunctionOf, env: dict[str, Any]) -> None:
        self.names = [parameter.name for parameter in function.parameters]
        self.value = compile_expr(function.value)
        self.env = env | {function.name: self}
        self.cache: dict[tuple[int, ...], Value] = {}

    def __call__(self, *args: Value) -> Value:
        key = (int(ctx.prec), *_integers(args))
        if key not in self.cache:
            self.cache[key] = self.value(
                self.env | dict(zip(self.names, args, strict=True)), int(ctx.prec)
            )
        return self.cache[key]


def _integers(args: tuple[Value, ...]) -> tuple[int, ...]:
    return tuple(
        elementary.as_int("a function of whole numbers", f"argument {k}", a)
        for k, a in enumerate(args, 1)
    )
