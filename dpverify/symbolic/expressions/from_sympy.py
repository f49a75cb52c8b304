"""Sympy expressions to formula trees, for one evaluator; functions that no printed formula has begin with ``#``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

import sympy

from dpverify.ledger.formula import Bin, Call, Formula, Inf, Name, Neg, Num, Sum
from dpverify.symbolic.exact.compile import compile_formula
from dpverify.symbolic.exact.evaluate import evaluate, run
from dpverify.symbolic.exact.numbers import Exact, Value
from dpverify.symbolic.exact.sums import Env
from dpverify.symbolic.expressions.functions import Inner, Moment, Norm, PopCount
from dpverify.symbolic.expressions.to_sympy import FUNCTIONS, RELATIONS

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
    """Convert a sympy expression of a derivation to a formula tree for the evaluator, in another shape than printed."""
    if expr.is_Rational:
        return Num(Fraction(int(expr.p), int(expr.q)))
    if expr.is_Symbol:
        return Name(index_name(expr))
    if expr.is_Add:
        return reduce(_add, [from_sympy(arg) for arg in expr.args])
    if expr.is_Mul:
        return reduce(lambda a, b: Bin("*", a, b), [from_sympy(arg) for arg in expr.args])
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
    """Name of a symbol in the tree; a Dummy's carries its number, so that two of one name stay apart."""
    return f"{symbol.name}#{symbol.dummy_index}" if isinstance(symbol, sympy.Dummy) else str(symbol.name)


def _piecewise(expr: Any) -> Formula:
    (value, condition), *branches = expr.args
    if condition is sympy.true or not branches:
        return from_sympy(value)
    relation = _RELATIONS.get(type(condition))
    if relation is None:
        raise TypeError(f"cannot evaluate the condition {condition!r} of a Piecewise.")
    otherwise = from_sympy(sympy.Piecewise(*branches))
    return Call(f"#if{relation}", (from_sympy(condition.lhs), from_sympy(condition.rhs), from_sympy(value), otherwise))


def gaussian_integral(expr: Any) -> Any:
    """Integral of ``c*exp(-a*x**2 + b*x + e)``: ``c*sqrt(pi/a)*exp(e + b**2/(4*a))``, defined where ``a > 0``."""
    if len(expr.limits) != 1 or expr.limits[0][1:] != (-sympy.oo, sympy.oo):
        raise TypeError(f"cannot evaluate {expr!r}: only integrals over the real line are known.")
    x = expr.limits[0][0]
    constant, exponential = sympy.powsimp(expr.function, combine="exp").as_independent(x, as_Add=False)
    if not isinstance(exponential, sympy.exp):
        raise TypeError(f"cannot evaluate {expr!r}: only exponentials of quadratics are known.")
    exponent = sympy.Poly(exponential.args[0], x) if exponential.args[0].is_polynomial(x) else None
    if exponent is None or exponent.degree() != 2:
        raise TypeError(f"cannot evaluate {expr!r}: the exponent is not quadratic in {x}.")
    a, b, e = (exponent.coeff_monomial(x**k) for k in (2, 1, 0))
    return constant * sympy.sqrt(sympy.pi / -a) * sympy.exp(e - b**2 / (4 * a))


def evaluate_expr(expr: Any, point: Mapping[str, Any], *, precision: int = 256) -> Exact:
    """Evaluate a sympy expression at a rational point, as ``evaluate``; 170 bits are 50 digits."""
    return evaluate(from_sympy(expr), point, precision=precision)


@lru_cache(maxsize=20_000)
def compile_expr(expr: Any) -> Callable[[Env, int], Value]:
    """Compile a sympy expression to a function of the values by name and a precision in bits."""
    closure = compile_formula(from_sympy(expr))
    return lambda env, bits: run(closure, env, bits)
