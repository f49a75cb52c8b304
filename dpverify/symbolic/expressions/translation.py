"""Conversion of formula trees and statements to sympy expressions.

The assumptions of symbols come from their domains. Sums that may be empty and remainders by 0 have
conversions of their own, because sympy treats them differently. log2, bits, norms and some other functions are classes
of ``functions``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import sympy

from dpverify.ledger.formula import (
    BINDERS,
    BUILTINS,
    Bin,
    Call,
    Compare,
    Formula,
    Inf,
    Infimum,
    Integral,
    Name,
    Neg,
    Num,
    Sum,
    Supremum,
    free_names,
    to_text,
    walk,
)
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import compare, to_value
from dpverify.symbolic.expressions.functions import (
    Binomial,
    Bit,
    Inner,
    Log2,
    Norm,
    PopCount,
)


def _normal_cdf(x: Any) -> Any:
    return sympy.erfc(-x / sympy.sqrt(2)) / 2


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "log": sympy.log,
    "log2": Log2,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "mod": sympy.Mod,
    "bit": Bit,
    "popcount": PopCount,
    "binomial": Binomial,
    "sqrt": sympy.sqrt,
    "exp": sympy.exp,
    "min": sympy.Min,
    "max": sympy.Max,
    "abs": sympy.Abs,
    "pi": lambda: sympy.pi,
    "erf": sympy.erf,
    "tanh": sympy.tanh,
    "gamma": sympy.gamma,
    "normal_cdf": _normal_cdf,
    "gaussian_delta": lambda e, mu: (
        _normal_cdf(mu / 2 - e / mu) - sympy.exp(e) * _normal_cdf(-mu / 2 - e / mu)
    ),
    "norm": Norm,
    "dot": Inner,
    "density": lambda x, s: (
        sympy.exp(-(x**2) / (2 * s**2)) / (s * sympy.sqrt(2 * sympy.pi))
    ),
}


RELATIONS: dict[str, Callable[..., Any]] = {
    "<": sympy.StrictLessThan,
    "<=": sympy.LessThan,
    ">": sympy.StrictGreaterThan,
    ">=": sympy.GreaterThan,
    "==": sympy.Eq,
}


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}


def to_sympy(node: Formula, symbols: Mapping[str, Any], *, guards: bool = True) -> Any:
    """Build a formula's sympy expression. ``symbols`` maps its free names. Functions not in FUNCTIONS stay undefined.

    With ``guards``, a sum that may be empty becomes a Piecewise that is 0 if the sum is empty. Derivations treat empty
    sums as 0 with or without guards.
    """

    def built(part: Formula, env: Mapping[str, Any] = symbols) -> Any:
        return to_sympy(part, env, guards=guards)

    match node:
        case Num(value):
            return sympy.Rational(value.numerator, value.denominator)
        case Inf():
            return sympy.oo
        case Name(name):
            if name not in symbols:
                raise KeyError(
                    f"the symbol {name} has no sympy counterpart; known: {', '.join(sorted(symbols))}."
                )
            return symbols[name]
        case Neg(arg):
            return -built(arg)
        case Bin(op, left, right):
            return _OPERATORS[op](built(left), built(right))
        case Call(name, args):
            function = FUNCTIONS.get(name) or sympy.Function(name, real=True)
            values = [built(arg) for arg in args]
            if function is sympy.Mod and values[1] == 0:
                return sympy.zoo  # undefined like the quotient; sympy.Mod would raise
            return function(*values)
        case Infimum() | Supremum():
            raise ValueError(
                f"{to_text(node)}: proofs do not know {BINDERS[type(node)]}."
            )
        case Integral() if not node.is_over_line:
            raise ValueError(
                f"{to_text(node)}: proofs know integrals over all real numbers only."
            )
        case Integral(body, index):
            x = sympy.Symbol(index, real=True)
            return sympy.Integral(
                built(body, {**symbols, index: x}), (x, -sympy.oo, sympy.oo)
            )
        case Sum(body, index, lo, hi):
            low = built(lo)
            high = built(hi)
            i = sympy.Symbol(index, integer=True)
            inside = built(body, {**symbols, index: i})
            return (
                guarded_sum(inside, i, low, high)
                if guards
                else sympy.Sum(inside, (i, low, high))
            )


def guarded_sum(body: Any, index: Any, lo: Any, hi: Any) -> Any:
    """Return a sum that is 0 if ``hi < lo``.

    It is a Piecewise unless ``hi >= lo - 1`` is known; then sympy's sum suffices.
    """
    if hi == sympy.oo:
        return sympy.Sum(body, (index, lo, hi))
    length = hi - lo + 1
    if length.is_nonpositive:
        return sympy.Integer(0)
    total = sympy.Sum(body, (index, lo, hi))
    return (
        total
        if length.is_nonnegative
        else sympy.Piecewise((total, sympy.Ge(hi, lo)), (0, True))
    )


def to_relations(node: Compare, symbols: Mapping[str, Any]) -> tuple[Any, ...]:
    """Build sympy relations from a chain of comparisons, without those that the symbols' assumptions imply."""
    sides = [to_sympy(side, symbols) for side in node.operands]
    if any(side.has(sympy.zoo, sympy.nan) for side in sides):
        raise ValueError(
            f"the condition {to_text(node)} is undefined for all values of its symbols."
        )
    links = [
        RELATIONS[op](a, b)
        for a, op, b in zip(sides, node.ops, sides[1:], strict=False)
    ]
    if sympy.false in links:
        raise ValueError(
            f"the condition {to_text(node)} contradicts the domains of its symbols."
        )
    return tuple(link for link in links if link is not sympy.true)


def symbol_for(name: str, kind: str, constraints: tuple[Compare, ...]) -> Any:
    """Build a symbol whose assumptions follow from its domain: its kind, and its sign if a constant bound gives it."""
    if kind == "vector":
        return sympy.Symbol(name)
    assumptions = {"integer" if kind == "integer" else "real": True}
    for constraint in constraints:
        pairs = zip(
            constraint.operands, constraint.ops, constraint.operands[1:], strict=False
        )
        for left, op, right in pairs:
            if left == Name(name) and not free_names(right):
                assumptions |= _sign(op, right)
            elif right == Name(name) and not free_names(left):
                assumptions |= _sign(op.translate(str.maketrans("<>", "><")), left)
    return sympy.Symbol(name, **assumptions)


def _sign(op: str, bound: Formula) -> dict[str, bool]:
    value = to_value(evaluate(bound, {}))
    for sign, strict, loose in (
        (">", "positive", "nonnegative"),
        ("<", "negative", "nonpositive"),
    ):
        if op.startswith(sign):
            if compare(value, sign, to_value(0)) or (op == sign and value == 0):
                return {strict: True}
            if value == 0:
                return {loose: True}
    return {}


def sympy_symbols(statement: Any) -> dict[str, Any]:
    """Build a statement's symbols by name, with assumptions from their domains.

    Symbols that ``let`` defines are omitted.
    """
    defined = {name for name, _ in statement.let}
    return {
        name: symbol_for(name, domain.kind, tuple(domain.constraints))
        for name, domain in statement.domains.items()
        if name not in defined
    }


def sympy_definitions(statement: Any) -> dict[str, Any]:
    """Build the symbols of a statement, and the expressions of the symbols that ``let`` defines."""
    full = sympy_symbols(statement)
    for name, value in statement.let:
        full[name] = to_sympy(value, full)
    return full


def sympy_sides(statement: Any) -> tuple[Any, Any]:
    """Build both sides of a statement with definitions substituted. A missing side is None.

    If the sides apply functions of the paper, sums have no guards: only derivations use such sides.
    """
    full = sympy_definitions(statement)
    sides = (statement.lhs, statement.rhs)
    applied = {
        part.name
        for side in sides
        if side is not None
        for part in walk(side)
        if isinstance(part, Call)
    }
    guards = applied <= BUILTINS.keys()
    left, right = (
        None if side is None else to_sympy(side, full, guards=guards) for side in sides
    )
    return left, right


def sympy_conditions(statement: Any) -> tuple[Any, ...]:
    """Build the relations of a statement's domains and ``requires`` that its symbols' assumptions do not imply."""
    full = sympy_definitions(statement)
    constraints = [
        c for name in statement.domains for c in statement.domains[name].constraints
    ]
    relations: dict[Any, None] = {}
    for constraint in (*constraints, *statement.requires):
        relations |= dict.fromkeys(to_relations(constraint, full))
    return tuple(relations)
