"""Definitions and facts of a paper as premises, and formulas of measured quantities.

The formulas come from the records and are never typed by hand. A claim's measured quantity is replaced by its
definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from dpverify.ledger.definitions import Definition, Fact, Meaning
from dpverify.ledger.formula import (
    BUILTINS,
    Call,
    Compare,
    Formula,
    Name,
    free_names,
    substitute,
    walk,
)
from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.preparation import satisfying_values
from dpverify.symbolic.derive.steps import (
    DerivationError,
    Premise,
    check_fixed,
    premise_of,
)
from dpverify.symbolic.expressions.functions import Inner, Norm
from dpverify.symbolic.expressions.translation import (
    guarded_sum,
    sympy_conditions,
    sympy_definitions,
    sympy_sides,
    sympy_symbols,
)
from dpverify.symbolic.prove.defined import evaluated, undefined_part
from dpverify.symbolic.prove.facts import Facts, Occurrence
from dpverify.symbolic.prove.signs import is_implied


@dataclass(frozen=True)
class GlossaryPremise(Premise):
    """A premise that a definition or a fact of the paper's record provides."""

    meaning: Meaning = field(kw_only=True)
    names: frozenset[str] = field(default=frozenset(), kw_only=True)
    # expressions substituted for the letters of the record
    where: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    @property
    def fixed_names(self) -> frozenset[str]:
        """Functions in the definition, and letters that these depend on without showing them."""
        return self.names

    @property
    def fact_letters(self) -> frozenset[str]:
        """Letters of a fact of the literature."""
        return frozenset(self.meaning.record.letters if self.is_fact else ())

    @property
    def is_unproved(self) -> bool:
        """Whether the premise stays unproved: a fact of the literature, or a definition with an argument in words."""
        return self.is_fact or (
            isinstance(self.meaning.record, Definition) and self.meaning.record.argued
        )

    @property
    def is_fact(self) -> bool:
        """Whether the premise is a fact of the literature, which stays unproved, and not a definition."""
        return isinstance(self.meaning.record, Fact)


def define(
    statement: Statement, name: str, letter: Any = None, part: str = "", **where: Any
) -> GlossaryPremise:
    """Return the definition of a quantity or function of the paper as a premise with ``=`` and its conditions.

    ``letter`` names a quantity on the left side. ``part`` is ``start`` or ``step`` for a recursion. ``where`` maps
    letters to their replacements. All conditions are proven at every use.
    """
    meaning = statement.definition(name, part)
    if meaning is None:
        raise DerivationError(
            f"no record says what {' '.join(filter(None, [part, name]))} is in {statement.key}."
        )
    if (meaning.statement.lhs is None) == (letter is None):
        raise DerivationError(
            f"{name} is a {'quantity: give' if letter is None else 'function, and has'} a letter."
        )
    return _premise(statement, meaning, letter, where)


def cite_fact(statement: Statement, name: str, **where: Any) -> GlossaryPremise:
    """Return a fact of the literature as a premise. A proof that uses it is a proof given this fact.

    The letters of a fact about functions cannot be replaced. An induction needs the fact for all integers up to a last
    number n. The record states this in one equation: ``sum(max(left - right, 0), i, 1, n) = 0`` says that
    ``left <= right`` for each i.
    """
    meaning = None if statement.glossary is None else statement.glossary.fact(name)
    if meaning is None:
        raise DerivationError(
            f"no record of the paper of {statement.key} has the fact {name}."
        )
    if clashes := sorted(where.keys() & meaning.record.letters.keys()):
        raise DerivationError(
            f"{', '.join(clashes)} stands for what the fact {name} says, and for nothing else."
        )
    return _premise(statement, meaning, None, where)


def _premise(
    statement: Statement, meaning: Meaning, letter: Any, where: dict[str, Any]
) -> GlossaryPremise:
    symbols = sympy_symbols(meaning.statement)
    full = sympy_definitions(statement)
    if unknown := sorted(where.keys() - symbols.keys()):
        raise DerivationError(
            f"{meaning.record.name} has no letter {', '.join(unknown)} that could become anything."
        )
    solved = {name: full[name] for name in statement.let_names if name in symbols}
    premise = premise_of(meaning.statement, letter).instance(symbols | solved | where)
    names = fixed_names(statement, premise.lhs, premise.rhs)
    names |= (
        meaning.record.letters.keys()
        if isinstance(meaning.record, Fact)
        else frozenset[str]()
    )
    check_fixed(where, names)
    return GlossaryPremise(
        premise.lhs,
        premise.relation,
        premise.rhs,
        premise.conditions,
        meaning=meaning,
        names=names,
        where=where,
    )


def fixed_names(statement: Statement, *sides: Any) -> frozenset[str]:
    """Return the functions in expressions and their definitions, and the letters that only these definitions contain.

    For example, ``momentum(t)`` depends on a weight alpha. A premise about ``momentum`` is only for this alpha.
    """
    functions: set[str] = set()
    letters: set[str] = set()
    todo = [
        str(application.func)
        for side in sides
        for application in side.atoms(AppliedUndef)
    ]
    full = sympy_definitions(statement)
    while todo:
        name = todo.pop()
        if name in functions:
            continue
        functions.add(name)
        for meaning in (
            () if statement.glossary is None else statement.glossary.meanings
        ):
            definition = meaning.statement
            record = meaning.record
            if (
                record.name != name
                or definition.lhs is None
                or definition.rhs is None
                or isinstance(record, Fact)
            ):
                continue
            nodes = (definition.rhs, *definition.requires)
            called = {
                part.name
                for node in nodes
                for part in walk(node)
                if isinstance(part, Call)
            }
            todo += called - BUILTINS.keys()
            letters |= (
                set[str]().union(*map(free_names, nodes))
                - free_names(definition.lhs)
                - record.letters.keys()
            )
    solved = (full[name].free_symbols for name in letters & set(statement.let_names))
    return frozenset(functions | letters).union(
        *({s.name for s in symbols} for symbols in solved)
    )


def hidden_letters(statement: Statement) -> tuple[dict[str, Any], list[Any]]:
    """Return the letters that only the definitions of a statement's functions contain, and the conditions on them."""
    sides = [side for side in sympy_sides(statement) if side is not None]
    names = fixed_names(statement, *sides) - statement.domains.keys()
    letters: dict[str, Any] = {}
    conditions: dict[Any, None] = {}
    for meaning in (
        () if statement.glossary is None or not names else statement.glossary.meanings
    ):
        symbols = {
            name: symbol
            for name, symbol in sympy_symbols(meaning.statement).items()
            if name in names
        }
        letters |= symbols
        relations = (
            sympy_conditions(meaning.statement)
            if meaning.statement.lhs is not None and symbols
            else ()
        )
        conditions |= dict.fromkeys(
            relation
            for relation in relations
            if relation.free_symbols <= set(symbols.values())
        )
    return letters, list(conditions)


@dataclass(frozen=True)
class QuantityFormula:
    """The formula of a claim's quantity, in the claim's letters."""

    formula: Any
    # letters that the definition introduces, by name; the claim is for all their values
    letters: dict[str, Any]
    conditions: tuple[Any, ...]  # conditions on these letters
    obstacle: str = ""  # why the definition does not cover the claim


def expand_definition(statement: Statement) -> Statement:
    """Return the statement with symbols replaced by their formulas in the definition of its quantity, such as a norm.

    The letters in these formulas become letters of the statement, and the definition's conditions on them become
    conditions of the statement. A `DerivationError` is raised unless values that satisfy these conditions are proved to
    exist.
    """
    meaning = (
        None if statement.quantity is None else statement.definition(statement.quantity)
    )
    if meaning is None:
        return statement
    definition = meaning.statement
    replacements: dict[Formula, Formula] = {
        Name(n): v
        for n, v in definition.let
        if n in statement.domains.keys() - set(statement.let_names)
    }
    if not replacements:
        return statement
    letters = (
        definition.domains.keys() - statement.domains.keys() - set(definition.let_names)
    )
    symbols = {
        name: symbol
        for name, symbol in sympy_symbols(definition).items()
        if name in letters
    }
    relations = [
        relation
        for relation in sympy_conditions(definition)
        if relation.free_symbols & set(symbols.values())
    ]
    if satisfying_values(tuple(symbols.values()), relations, Facts()) is None:
        raise DerivationError(
            f"not proven that there are {', '.join(symbols)} as the definition of {definition.quantity} says."
        )

    def replaced(condition: Compare) -> Compare:
        return Compare(
            condition.ops,
            tuple(substitute(side, replacements) for side in condition.operands),
        )

    domains = statement.domains | {name: definition.domains[name] for name in letters}
    return replace(
        statement,
        rhs=None if statement.rhs is None else substitute(statement.rhs, replacements),
        let=tuple(
            (name, substitute(value, replacements)) for name, value in statement.let
        ),
        requires=(*map(replaced, statement.requires), *definition.requires),
        domains={
            name: replace(domain, constraints=tuple(map(replaced, domain.constraints)))
            for name, domain in domains.items()
            if Name(name) not in replacements
        },
        symbols=statement.symbols
        | {name: definition.symbols[name] for name in letters},
    )


def quantity_formula(
    statement: Statement, variables: Mapping[str, Any] | None = None
) -> QuantityFormula | None:
    """Return the formula of a statement's quantity, or None if it has no quantity or no record defines it.

    A definition with a condition that the statement does not grant covers only a part of the statement. The letters of
    the definition must have values at every point of the statement's domain, otherwise the claim would be empty there.
    ``variables`` declares the functions in the definition.
    """
    meaning = (
        None if statement.quantity is None else statement.definition(statement.quantity)
    )
    if meaning is None:
        return None
    full = sympy_definitions(statement)
    symbols = sympy_symbols(meaning.statement)
    substitution = {
        symbol: full[name] for name, symbol in symbols.items() if name in full
    }
    letters = {name: symbol for name, symbol in symbols.items() if name not in full}
    relations = [
        r.xreplace(substitution)
        for r in sympy_conditions(meaning.statement)
        if r.xreplace(substitution) is not sympy.true
    ]
    letter_conditions = tuple(
        r for r in relations if set(letters.values()) & r.free_symbols
    )
    granted = Facts().assume(sympy_conditions(statement))
    obstacle = next(
        (
            f"its definition asks for {r}, which the statement does not grant."
            for r in relations
            if r not in letter_conditions and not is_implied(r, granted)
        ),
        "",
    )
    if (
        not obstacle
        and satisfying_values(
            tuple(sorted(letters.values(), key=str)), list(letter_conditions), granted
        )
        is None
    ):
        obstacle = f"not proven that there are {', '.join(letters)} as its definition says, on the whole domain."
    with sympy.evaluate(False):
        uncancelled = sympy_sides(meaning.statement)[1].xreplace(substitution)
    vectors = {term: evaluated(term) for term in uncancelled.atoms(Norm, Inner)}
    part = undefined_part(
        uncancelled.xreplace(vectors),
        Occurrence(granted.assume(letter_conditions)),
        variables or {},
    )
    if not obstacle and part is not None:
        obstacle = f"not proven that {part} has a value in the definition of {statement.quantity}."
    formula = unguarded(
        sympy_sides(meaning.statement)[1].xreplace(substitution),
        granted.assume(letter_conditions),
    )
    return QuantityFormula(formula, letters, letter_conditions, obstacle)


def unguarded(expr: Any, granted: Facts) -> Any:
    """Remove the guard against an empty range from each sum for which the facts prove that it is not needed."""
    if not expr.has(sympy.Piecewise):
        return expr
    if isinstance(expr, sympy.Sum) and len(expr.limits) == 1:
        fresh, place = Occurrence(granted).inside(expr.limits[0])
        index = {expr.limits[0][0]: fresh}
        return expr.func(
            unguarded(expr.function.xreplace(index), place.facts).xreplace(
                {fresh: expr.limits[0][0]}
            ),
            expr.limits[0],
        )
    expr = expr.func(*(unguarded(arg, granted) for arg in expr.args))
    if expr.is_Piecewise and is_implied(expr.args[0][1], granted):
        return expr.args[0][0]
    if expr.is_Piecewise and isinstance(total := expr.args[0][0], sympy.Sum):
        _, low, high = total.limits[0]
        if expr == guarded_sum(
            total.function, total.limits[0][0], low, high
        ) and is_implied(high >= low - 1, granted):
            return total
    return expr
