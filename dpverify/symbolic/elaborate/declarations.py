"""Declarations and conditions of a chain: functions of the paper, and letters without those that nothing uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from dpverify.ledger.errors import suggest
from dpverify.ledger.formula import Call, Compare, Formula, free_names, walk
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain
from dpverify.symbolic.derive.define import fixed_names
from dpverify.symbolic.derive.preparation import range_names
from dpverify.symbolic.derive.steps import Cases, Derivation, Link
from dpverify.symbolic.elaborate.letters import Letters
from dpverify.symbolic.expressions.evaluation import AnyFunction, FunctionOf
from dpverify.symbolic.expressions.ranges import SetBits, Variable
from dpverify.symbolic.expressions.translation import sympy_sides


def function_symbols(statement: Statement) -> dict[str, Any]:
    """Return the functions that the paper declares, by name."""
    return {name: sympy.Function(name, real=True) for name in statement.functions}


def letters_in_definitions(
    statement: Statement, formulas: Iterable[Formula]
) -> frozenset[str]:
    """Return letters that functions in formulas depend on without showing them: momentum(t) depends on alpha."""
    names = {
        part.name
        for formula in formulas
        for part in walk(formula)
        if isinstance(part, Call)
    }
    applied = [
        sympy.Function(name)(0) for name in sorted(names & statement.functions.keys())
    ]
    return fixed_names(statement, *applied) - statement.functions.keys()


def with_functions(derivation: Derivation, statement: Statement) -> Derivation:
    """Declare the paper's functions in a chain, and before them the functions in their definitions."""
    values: dict[str, Variable] = {}
    for name in sorted(_functions(derivation) & statement.functions.keys()):
        _declare(name, statement, values)
    undefined = {
        name: variable
        for name, variable in derivation.variables.items()
        if name not in values
    }
    return replace(derivation, variables={**undefined, **values})


def without_unused_letters(derivation: Derivation) -> Derivation:
    """Return the chain without letters that neither it nor a premise has, and without conditions on such letters."""
    names = _names_in(derivation.start)
    for expr in _expressions(derivation.steps):
        names |= _names_in(expr)
    for premise in derivation.premises.values():
        names |= _names_in(premise.lhs) | _names_in(premise.rhs)
        names |= {
            n
            for condition in premise.conditions
            for part in condition.expressions()
            for n in _names_in(part)
        }
    assumptions = tuple(a for a in derivation.assumptions if _names_in(a) <= names)
    todo = list(names & derivation.variables.keys())
    while todo:
        needed = (
            range_names(derivation.variables[todo.pop()])
            & derivation.variables.keys() - names
        )
        names |= needed
        todo += needed
    variables = {
        name: variable
        for name, variable in derivation.variables.items()
        if name in names
    }
    return replace(derivation, assumptions=assumptions, variables=variables)


def _declare(name: str, statement: Statement, values: dict[str, Variable]) -> None:
    if name in values:
        return
    parts = {part: statement.definition(name, part) for part in ("", "start", "step")}
    sides = {
        part: sympy_sides(meaning.statement)
        for part, meaning in parts.items()
        if meaning is not None
    }
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
        value = sympy.Piecewise(
            (sides["start"][1], sympy.Le(sympy.Symbol(at.name), first)),
            (sides["step"][1], True),
        )
        values[name] = FunctionOf(name, (at,), value)


def _functions(derivation: Derivation) -> set[str]:
    """Return the names of the functions in a chain and in its premises."""
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


def _names_in(expr: Any) -> set[str]:
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


def without_conditions(statement: Statement, unused: list[str]) -> Statement:
    """Return the statement without its conditions on some letters."""
    if unknown := sorted(set(unused) - statement.domains.keys()):
        raise ValueError(
            f"unused: the claim has no letter {unknown[0]}{suggest(unknown[0], statement.domains)}"
        )

    def used(conditions: tuple[Compare, ...]) -> tuple[Compare, ...]:
        return tuple(one for one in conditions if free_names(one).isdisjoint(unused))

    domains = {
        name: replace(one, constraints=used(one.constraints))
        for name, one in statement.domains.items()
    }
    return replace(statement, requires=used(statement.requires), domains=domains)


def all_conditions(
    domains: Mapping[str, Domain], requires: Iterable[Compare]
) -> list[Compare]:
    """Return the conditions of domains and further conditions."""
    return [*(c for domain in domains.values() for c in domain.constraints), *requires]


def local_letters(letters: Letters, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the letters that only the proof has, except functions that list set bits."""
    return tuple(
        name for name in names if not isinstance(letters.variables[name], SetBits)
    )
