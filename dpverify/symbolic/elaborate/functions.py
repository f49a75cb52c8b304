"""What a chain declares: the letters that it has, and the functions of the paper with their definitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from dpverify.ledger.formula import Call, Formula, walk
from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.define import fixed_names
from dpverify.symbolic.derive.premise_ranges import range_names
from dpverify.symbolic.derive.steps import Cases, Derivation, Link
from dpverify.symbolic.expressions.ranges import Variable
from dpverify.symbolic.expressions.to_sympy import sympy_sides
from dpverify.symbolic.expressions.whole_functions import AnyFunction, FunctionOf


def function_symbols(statement: Statement) -> dict[str, Any]:
    """The functions that the paper declares, by name."""
    return {name: sympy.Function(name, real=True) for name in statement.functions}


def letters_in_definitions(statement: Statement, formulas: Iterable[Formula]) -> frozenset[str]:
    """Letters on which functions in some formulas depend without showing it: momentum(t) depends on alpha."""
    names = {part.name for formula in formulas for part in walk(formula) if isinstance(part, Call)}
    applied = [sympy.Function(name)(0) for name in sorted(names & statement.functions.keys())]
    return fixed_names(statement, *applied) - statement.functions.keys()


def with_functions(derivation: Derivation, statement: Statement) -> Derivation:
    """Declare the functions of the paper that a chain has, and those in their definitions before them."""
    values: dict[str, Variable] = {}
    for name in sorted(_functions(derivation) & statement.functions.keys()):
        _declare(name, statement, values)
    undefined = {name: variable for name, variable in derivation.variables.items() if name not in values}
    return replace(derivation, variables={**undefined, **values})


def only_used(derivation: Derivation) -> Derivation:
    """The chain without letters that neither it nor a premise has, and without conditions on such letters."""
    names = _names(derivation.start)
    for expr in _expressions(derivation.steps):
        names |= _names(expr)
    for premise in derivation.premises.values():
        names |= _names(premise.lhs) | _names(premise.rhs)
        names |= {n for condition in premise.conditions for part in condition.expressions() for n in _names(part)}
    assumptions = tuple(a for a in derivation.assumptions if _names(a) <= names)
    todo = list(names & derivation.variables.keys())
    while todo:
        needed = range_names(derivation.variables[todo.pop()]) & derivation.variables.keys() - names
        names |= needed
        todo += needed
    variables = {name: variable for name, variable in derivation.variables.items() if name in names}
    return replace(derivation, assumptions=assumptions, variables=variables)


def _declare(name: str, statement: Statement, values: dict[str, Variable]) -> None:
    if name in values:
        return
    parts = {part: statement.definition(name, part) for part in ("", "start", "step")}
    sides = {part: sympy_sides(meaning.statement) for part, meaning in parts.items() if meaning is not None}
    for _, right in sides.values():
        for inner in sorted(_applied(right) - {name}):
            if inner in statement.functions:
                _declare(inner, statement, values)
    values[name] = AnyFunction(statement.functions[name].arity)
    if "" in sides:
        left, right = sides[""]
        values[name] = FunctionOf(name, left.args, right)
    elif {"start", "step"} <= sides.keys():
        (first,) = sides["start"][0].args
        (at,) = sides["step"][0].args
        value = sympy.Piecewise((sides["start"][1], sympy.Le(sympy.Symbol(at.name), first)), (sides["step"][1], True))
        values[name] = FunctionOf(name, (at,), value)


def _functions(derivation: Derivation) -> set[str]:
    """Names of the functions in a chain and in what it cites."""
    names = _applied(derivation.start)
    for expr in _expressions(derivation.steps):
        names |= _applied(expr)
    for premise in derivation.premises.values():
        names |= _applied(premise.lhs) | _applied(premise.rhs)
    return names


def _expressions(links: tuple[Link, ...]) -> Iterator[Any]:
    for link in links:
        yield link.expr
        if isinstance(link, Cases):
            for case in link.cases:
                yield from _expressions(case.steps)
        else:
            yield from link.where.values()


def _names(expr: Any) -> set[str]:
    if isinstance(expr, sympy.core.function.FunctionClass):
        return {str(expr)}
    free = sympy.sympify(expr).free_symbols
    return {symbol.name for symbol in free} | _applied(expr)


def _applied(expr: Any) -> set[str]:
    if isinstance(expr, sympy.Lambda):
        expr = expr.expr
    if isinstance(expr, sympy.core.function.FunctionClass):
        return set()
    return {str(part.func) for part in sympy.sympify(expr).atoms(AppliedUndef)}
