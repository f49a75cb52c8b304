"""Sympy expressions in the formula language of the records, for messages to authors."""

from __future__ import annotations

from typing import Any

import sympy

_NAMES = {
    "Log2": "log2",
    "PopCount": "popcount",
    "Bit": "bit",
    "Mod": "mod",
    "ceiling": "ceil",
    "Binomial": "binomial",
    "Moment": "moment",
    "Norm": "norm",
    "Inner": "dot",
    "Max": "max",
    "Min": "min",
    "Abs": "abs",
}

_SIGNS = {sympy.Eq: "=", sympy.Ne: "!="}


def text_of(expr: Any) -> str:
    """Write an expression or a relation as a proof would; a function of an index by its term."""
    return str(_plain(sympy.sympify(expr)))


def _plain(expr: Any) -> Any:
    """The expression with functions and sums under their names in the language."""
    if isinstance(expr, sympy.Lambda):
        return _plain(expr.expr)
    if isinstance(expr, sympy.Eq | sympy.Ne):
        return sympy.Symbol(f" {_SIGNS[type(expr)]} ".join(str(_plain(side)) for side in expr.args))
    if isinstance(expr, sympy.Dummy):
        return sympy.Symbol(expr.name)
    if isinstance(expr, sympy.Sum):
        body = _plain(expr.function)
        for limit in expr.limits:
            body = sympy.Function("sum")(body, *map(_plain, limit))
        return body
    if not expr.args or isinstance(expr, sympy.Piecewise):
        return expr
    arguments = [_plain(argument) for argument in expr.args]
    if isinstance(expr, sympy.Function | sympy.Max | sympy.Min):
        name = expr.func.__name__
        return sympy.Function(_NAMES.get(name, name))(*arguments)
    return expr.func(*arguments)
