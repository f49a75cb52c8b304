"""Expressions, and instances of rules and premises, in the prefix format of rules and certificates.

Expressions come from sympy and from the formulas of the records.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sympy

from dpverify.ledger.formula import (
    Bin,
    Call,
    Compare,
    Formula,
    Inf,
    Integral,
    Name,
    Neg,
    Num,
    Sum,
    to_text,
)
from dpverify.symbolic.certify.checker import Expr, k
from dpverify.symbolic.derive.steps import (
    PREMISE,
    Cases,
    Link,
    Premise,
    symbol_conditions,
)
from dpverify.symbolic.expressions.functions import (
    Binomial,
    Bit,
    Inner,
    Log2,
    Moment,
    Norm,
    PopCount,
)
from dpverify.symbolic.rules.base import (
    AreSetBits,
    ForAll,
    Holds,
    IsGaussianNorm,
    IsInteger,
    IsRandom,
    IsVector,
)
from dpverify.symbolic.rules.sequences import AreEqual

#: Lists of an operator and its arguments; strings are letters.
Prefix = Any


class NotExpressibleError(ValueError):
    """An expression has no counterpart in the prefix format."""


_NAMES: dict[Any, str] = {
    sympy.exp: "exp",
    sympy.log: "log",
    Log2: "log2",
    sympy.Abs: "abs",
    sympy.floor: "floor",
    sympy.ceiling: "ceil",
    sympy.Max: "max",
    sympy.Min: "min",
    sympy.Mod: "mod",
    Bit: "bit",
    PopCount: "popcount",
    Binomial: "binomial",
    Moment: "moment",
    Norm: "norm",
    Inner: "inner",
    sympy.Add: "+",
    sympy.Mul: "*",
}


def rational(value: Any) -> Prefix:
    """Write a rational number."""
    return ["q", str(value)]


def letter_of(symbol: Any) -> str:
    """Return the name of a symbol, a different one for each Dummy."""
    name = (
        f"{symbol.name}_{symbol.dummy_index}"
        if isinstance(symbol, sympy.Dummy)
        else str(symbol.name)
    )
    # the index of a sum in canonical form
    name = name if name[:1].isalpha() else f"idx{name}"
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise NotExpressibleError(f"the name {name} is no letter.")
    return name


def from_sympy(expr: Any, guarded: bool = False) -> Prefix:
    """Write a sympy expression. A guarded sum is written as a sum, since empty sums are 0.

    With ``guarded``, guards are removed from other expressions as well. This is for contexts, which are compared with
    the original expressions later.
    """
    if guarded:
        expr = expr.replace(
            lambda e: isinstance(e, sympy.Piecewise) and len(e.args) == 2,
            lambda e: e.args[0][0],
        )
    expr = sympy.sympify(expr)
    if expr.is_Rational:
        return rational(expr)
    if expr.is_Symbol:
        return letter_of(expr)
    if expr in _CONSTANTS:
        return _CONSTANTS[expr]
    if expr.is_Pow:
        return ["^", from_sympy(expr.base), from_sympy(expr.exp)]
    if isinstance(expr, sympy.Sum | sympy.Integral):
        body = from_sympy(expr.function)
        for index, lo, hi in expr.limits:
            kind = "sum" if isinstance(expr, sympy.Sum) else "integral"
            body = [kind, letter_of(index), from_sympy(lo), from_sympy(hi), body]
        return body
    if isinstance(expr, sympy.Piecewise):
        return _guarded(expr)
    if isinstance(expr, sympy.core.function.AppliedUndef):
        return ["apply", str(expr.func), *map(from_sympy, expr.args)]
    name = _NAMES.get(expr.func)
    if name is None:
        raise NotExpressibleError(f"{expr.func} has no name in certificates.")
    return _applied(name, [from_sympy(arg) for arg in expr.args])


def _applied(name: str, args: list[Prefix]) -> Prefix:
    """Write a function. A minimum of more than two numbers becomes nested minima of two."""
    return (
        [name, args[0], _applied(name, args[1:])]
        if name == "min" and len(args) > 2
        else [name, *args]
    )


_CONSTANTS: dict[Any, Prefix] = {
    sympy.oo: "oo",
    -sympy.oo: "-oo",
    sympy.pi: "pi",
    sympy.E: ["exp", ["q", "1"]],
}


def _guarded(expr: Any) -> Prefix:
    if len(expr.args) == 2:
        (value, condition), (default, always) = expr.args
        if (
            isinstance(value, sympy.Sum)
            and len(value.limits) == 1
            and default == 0
            and always is sympy.true
        ):
            _, lo, hi = value.limits[0]
            if (
                isinstance(condition, sympy.Ge)
                and sympy.expand(condition.lhs - condition.rhs - hi + lo) == 0
            ):
                return from_sympy(value)
    raise NotExpressibleError(f"a case split inside an expression: {expr}.")


_RELATIONS: dict[Any, str] = {
    sympy.LessThan: "<=",
    sympy.StrictLessThan: "<",
    sympy.GreaterThan: ">=",
    sympy.StrictGreaterThan: ">",
    sympy.Eq: "=",
    sympy.Ne: "!=",
}


def conditions_of(relation: Any) -> list[Prefix]:
    """Write a sympy relation, or a conjunction of some, as conditions."""
    if isinstance(relation, sympy.And):
        return [part for arg in relation.args for part in conditions_of(arg)]
    if relation is sympy.true:
        return []
    name = _RELATIONS.get(type(relation))
    if name is None:
        raise NotExpressibleError(f"no condition of a certificate: {relation}.")
    return [[name, from_sympy(relation.lhs), from_sympy(relation.rhs)]]


def from_formula(node: Formula, letters: Mapping[str, Prefix]) -> Prefix:
    """Write a formula of a record. ``letters`` maps names that a record defines to expressions."""
    match node:
        case Num(value):
            return rational(value)
        case Inf():
            return "oo"
        case Name(name):
            if name == "pi":
                raise NotExpressibleError(
                    "pi is the number in certificates, and no letter."
                )
            return letters.get(name, name)
        case Neg(arg):
            return ["*", rational(-1), from_formula(arg, letters)]
        case Bin(op, left, right):
            a = from_formula(left, letters)
            b = from_formula(right, letters)
            return _operation(op, a, b)
        case Call(name, args):
            parts = [from_formula(arg, letters) for arg in args]
            return (
                _applied(name, parts)
                if name in {*_NAMES.values(), "sqrt"}
                else ["apply", name, *parts]
            )
        case Integral(body, index) if node.is_over_line:
            inner = {name: value for name, value in letters.items() if name != index}
            return ["integral", index, "-oo", "oo", from_formula(body, inner)]
        case Sum() if type(node) is not Sum:
            raise NotExpressibleError(
                f"{to_text(node)} is an extremum or an integral with limits, and no sum."
            )
        case Sum(body, index, lo, hi):
            low = from_formula(lo, letters)
            high = from_formula(hi, letters)
            inner = {name: value for name, value in letters.items() if name != index}
            return ["sum", index, low, high, from_formula(body, inner)]


def _operation(op: str, a: Prefix, b: Prefix) -> Prefix:
    if op == "-":
        return ["+", a, ["*", rational(-1), b]]
    if op == "/":
        return ["*", a, ["^", b, rational(-1)]]
    return ["^" if op == "**" else op, a, b]


def from_compare(node: Compare, letters: Mapping[str, Prefix]) -> list[Prefix]:
    """Write a chain of comparisons as conditions."""
    sides = [from_formula(side, letters) for side in node.operands]
    return [
        ["=" if op == "==" else op, a, b]
        for a, op, b in zip(sides, node.ops, sides[1:], strict=False)
    ]


def kind_of(symbol: Any) -> str:
    """Return the kind of a letter, by the assumptions of its symbol."""
    if symbol.is_integer:
        return "integer"
    return "real" if symbol.is_real else "random"


def where_value(value: Any) -> Any:
    """Write a value of a rule's letter: an expression, a function's name, or an index and a term."""
    if isinstance(value, sympy.Lambda):
        (index,) = value.variables
        return (letter_of(index), from_sympy(value.expr))
    if isinstance(value, sympy.core.function.FunctionClass):
        return (str(value),)
    return from_sympy(value)


def replaced(links: Iterable[Link]) -> dict[str, set[str]]:
    """Return the letters that the uses of each premise replace. The other letters are the statement's own."""
    letters_by_premise: dict[str, set[str]] = {}
    for link in links:
        if isinstance(link, Cases):
            parts = [replaced(case.steps) for case in link.cases]
        else:
            names = {name for name, value in link.where.items() if str(value) != name}
            parts = [{name: names for name in link.premises if link.rule == PREMISE}]
        for part in parts:
            for name, letters in part.items():
                letters_by_premise.setdefault(name, set()).update(letters)
    return letters_by_premise


def instance_data(instance: Any, symbols: Iterable[Any]) -> dict[str, Any]:
    """Return an instance as a statement for all values of some symbols, under its conditions and their assumptions."""
    sign_conditions = [condition for s in symbols for condition in symbol_conditions(s)]
    return {
        "letters": {letter_of(s): kind_of(s) for s in symbols},
        "conditions": [
            condition
            for c in dict.fromkeys((*instance.conditions, *sign_conditions))
            for condition in condition_data(c)
        ],
        "lhs": from_sympy(instance.lhs),
        "relation": instance.relation,
        "rhs": from_sympy(instance.rhs),
    }


def premise_data(premise: Premise, letters: Collection[str]) -> dict[str, Any]:
    """Return a premise as a statement for all values of some letters, under its conditions."""
    expressions = [
        premise.lhs,
        premise.rhs,
        *(e for c in premise.conditions for e in _expressions(c)),
    ]
    symbols = sorted(
        {s for e in expressions for s in sympy.sympify(e).free_symbols}, key=str
    )
    return instance_data(premise, [s for s in symbols if letter_of(s) in letters])


def _expressions(condition: Any) -> list[Any]:
    if isinstance(condition, Holds):
        return [condition.relation]
    if isinstance(condition, ForAll):
        index = condition.index
        return [
            condition.lo,
            condition.hi,
            condition.relation.subs(index, condition.lo),
        ]
    return [v for v in vars(condition).values() if isinstance(v, sympy.Basic)]


def condition_data(condition: Any) -> list[Prefix]:
    """Return a condition in the format of the rules."""
    if isinstance(condition, Holds):
        return conditions_of(condition.relation)
    if isinstance(condition, ForAll):
        lo = from_sympy(condition.lo)
        hi = from_sympy(condition.hi)
        return [
            ["forall", letter_of(condition.index), lo, hi, relation]
            for relation in conditions_of(condition.relation)
        ]
    if isinstance(condition, IsInteger):
        return [["integer", from_sympy(condition.expr)]]
    if isinstance(condition, AreEqual):
        return [["=", from_sympy(condition.left), from_sympy(condition.right)]]
    if isinstance(condition, IsRandom | IsVector):
        what = "random" if isinstance(condition, IsRandom) else "vector"
        return [["declared", what, from_sympy(condition.variable)]]
    if isinstance(condition, IsGaussianNorm):
        parts = (condition.variable, condition.dimension, condition.variance)
        return [["declared", "gaussian-norm", *(from_sympy(p) for p in parts)]]
    if isinstance(condition, AreSetBits):
        return [
            [
                "declared",
                "set-bits",
                str(condition.position.func),
                from_sympy(condition.of),
            ]
        ]
    raise NotExpressibleError(f"the condition {condition}.")


def read(expr: Any) -> Expr:
    """Convert a sympy expression to the checker's format."""
    return k.read(from_sympy(expr))
