"""The statement of a certificate: letters, conditions, sides, definitions, and local assumptions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from dpverify.ledger.definitions import Definition
from dpverify.ledger.formula import free_names
from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.checker import Expr, k
from dpverify.symbolic.certify.prefix import (
    NotExpressibleError,
    Prefix,
    condition_data,
    conditions_of,
    from_compare,
    from_formula,
    from_sympy,
    instance_data,
    kind_of,
    letter_of,
    premise_data,
)
from dpverify.symbolic.derive.cited import ClaimPremise
from dpverify.symbolic.derive.define import (
    define,
    fixed_names,
    hidden_letters,
    quantity_formula,
)
from dpverify.symbolic.derive.integers import Hypothesis
from dpverify.symbolic.derive.steps import (
    Derivation,
    Premise,
    expressions_of,
    symbol_conditions,
)
from dpverify.symbolic.derive.unnamed import is_named
from dpverify.symbolic.expressions.evaluation import AnyFunction, FunctionOf
from dpverify.symbolic.expressions.functions import Inner, Norm
from dpverify.symbolic.expressions.ranges import AnyVector, GaussianNorm, SetBits
from dpverify.symbolic.expressions.translation import sympy_sides
from dpverify.symbolic.rules.base import Holds, Instance

_RELATION: dict[str, Any] = {"<=": sympy.Le, ">=": sympy.Ge, "=": sympy.Eq}


def record_header(statement: Statement, start: Any = None) -> dict[str, Any]:
    """Return the header of a statement from its records. ``start`` replaces a quantity that no record defines."""
    defined: dict[str, Prefix] = {}
    for name, value in statement.let:
        defined[name] = from_formula(value, defined)
    # sorted, since letters of a definition come from a set
    domains = sorted(statement.domains)
    names = [name for name in domains if name not in defined]
    constraints = [c for name in domains for c in statement.domains[name].constraints]
    if statement.rhs is None or statement.relation not in {
        "<=",
        ">=",
        "<",
        ">",
        "=",
        *k.ORDERS,
    }:
        raise NotExpressibleError(
            "the statement has no sides with a relation between them that is known here"
        )
    meaning = quantity_formula(statement)
    letters: dict[str, str] = {name: statement.domains[name].kind for name in names}
    conditions = [*constraints, *statement.requires]
    symbols, letter_conditions = hidden_letters(statement)
    if meaning is not None:
        symbols = symbols | meaning.letters
        letter_conditions = [*letter_conditions, *meaning.conditions]
    # they come from sets, whose order differs between processes
    symbols = dict(sorted(symbols.items()))
    vectors = (
        set()
        if meaning is None
        else {s for e in meaning.formula.atoms(Norm, Inner) for s in e.free_symbols}
    )
    kinds = {
        name: "vector" if s in vectors and not s.is_real else kind_of(s)
        for name, s in symbols.items()
    }
    letters |= {name: kind for name, kind in kinds.items() if name not in letters}
    signs = [c for s in symbols.values() for c in _signs(s)]
    left = (
        from_sympy(start if meaning is None else meaning.formula)
        if statement.lhs is None
        else None
    )
    return {
        "name": statement.key,
        "claim": statement.key,
        "variant": statement.variant,
        "reading": statement.reading,
        "quantity": ""
        if statement.quantity is None or meaning is not None
        else statement.quantity,
        "definitions": definitions_of(statement),
        "letters": letters,
        "conditions": [
            condition for c in conditions for condition in from_compare(c, defined)
        ]
        + [
            condition
            for relation in letter_conditions
            for condition in conditions_of(relation)
        ]
        + signs,
        "lhs": left if statement.lhs is None else from_formula(statement.lhs, defined),
        "relation": statement.relation,
        "rhs": from_formula(statement.rhs, defined),
    } | ({"hides": sorted(statement.hides)} if statement.relation in k.ORDERS else {})


def unused_conditions(
    statement: Statement, letters: Collection[str]
) -> frozenset[Expr]:
    """Return the conditions of a statement about some of its letters, as the checker reads them."""
    values: dict[str, Prefix] = {}
    for name, value in statement.let:
        values[name] = from_formula(value, values)
    used, unused = set[Expr](), set[Expr]()
    constraints = [
        c for domain in statement.domains.values() for c in domain.constraints
    ]
    for condition in (*constraints, *statement.requires):
        gaps = {k.condition(part, ())[2] for part in from_compare(condition, values)}
        (used if free_names(condition).isdisjoint(letters) else unused).update(gaps)
    return frozenset(unused - used)


def measured_left(statement: Statement) -> Prefix | None:
    """Return the recorded formula of what a claim measures, with parts that forms drop, such as parts times 0."""
    meaning = (
        None if statement.quantity is None else statement.definition(statement.quantity)
    )
    if meaning is None or meaning.statement.rhs is None:
        return None
    values: dict[str, Prefix] = {}
    for name, value in (*meaning.statement.let, *statement.let):
        values[name] = from_formula(value, values)
    return from_formula(meaning.statement.rhs, values)


def definitions_of(statement: Statement) -> list[dict[str, Any]]:
    """Return the equations that define the functions of a statement, and the functions in these equations."""
    sides = [side for side in sympy_sides(statement) if side is not None]
    names = fixed_names(statement, *sides)
    meanings = () if statement.glossary is None else statement.glossary.meanings
    records = {
        (m.record.name, m.record.part)
        for m in meanings
        if isinstance(m.record, Definition) and m.record.at
    }
    headers = []
    for name, part in sorted(record for record in records if record[0] in names):
        meaning = statement.definition(name, part)
        if (
            meaning is not None
            and isinstance(meaning.record, Definition)
            and not meaning.record.argued
        ):
            premise = define(statement, name, part=part)
            letters = {letter_of(symbol) for symbol in premise.lhs.free_symbols}
            headers.append(premise_header(premise, str(meaning), letters))
    return headers


def lemma_header(derivation: Derivation, name: str) -> dict[str, Any]:
    """Return what a derivation proves, for all letters except local ones that its ends do not contain."""
    hidden = internal_letters(derivation)
    granted = [
        p
        for p in derivation.premises.values()
        if isinstance(p, Hypothesis) or is_named(p)
    ]
    relations = [_RELATION[p.relation](p.lhs, p.rhs, evaluate=False) for p in granted]
    assumed = [
        a for a in (*derivation.assumptions, *relations) if not hidden & _names(a)
    ]
    ends = derivation.start, derivation.last
    symbols = {
        s for e in (*ends, *assumed) for s in e.free_symbols if s.name not in hidden
    }
    plain = sorted(
        (s for s in symbols if declared(derivation, s.name) is None), key=str
    )
    instance = Instance(
        ends[0], derivation.relation, ends[1], tuple(Holds(a) for a in assumed)
    )
    header = instance_data(instance, plain)
    header["conditions"] = [c for c in header["conditions"] if c[0] != "integer"]
    return {
        "name": name,
        **header,
        "letters": header["letters"] | functions_of(derivation),
    }


def functions_of(derivation: Derivation) -> dict[str, Prefix]:
    """Return the letters in a derivation's two ends that are not numbers, with their declarations."""
    names = sorted(_names(derivation.start, derivation.last))
    return {
        name: declaration
        for name in names
        if (declaration := declared(derivation, name)) is not None
    }


def local_part(
    derivation: Derivation,
    statement_letters: Collection[str],
    symbols: Collection[Any],
    *,
    strict: bool,
) -> dict[str, Any]:
    """Return the letters of a derivation that its statement does not have, with their assumptions."""
    local = {
        s.name: kind_of(s)
        for s in symbols
        if s.name not in statement_letters and declared(derivation, s.name) is None
    }
    if strict and (unknown := sorted(local.keys() - set(derivation.local))):
        raise NotExpressibleError(f"the statement says nothing of {', '.join(unknown)}")
    signs = [c for s in symbols if s.name in local for c in _signs(s)]
    assumed = [
        c
        for a in derivation.assumptions
        if _names(a) & local.keys()
        for c in conditions_of(a)
    ]
    declarations = {
        n: declared(derivation, n)
        for n in derivation.variables
        if n not in statement_letters
    }
    letters = local | {n: kind for n, kind in declarations.items() if kind is not None}
    return {"local": {"letters": letters, "conditions": signs + assumed}}


def _signs(symbol: Any) -> list[Prefix]:
    return [
        c
        for condition in symbol_conditions(symbol)
        for c in condition_data(condition)
        if c[0] != "integer"
    ]


def premise_header(
    premise: Premise, name: str, letters: Collection[str]
) -> dict[str, Any]:
    """Return what a premise says, for all values of some letters."""
    return {"name": name, **premise_data(premise, letters)}


def measured_header(premise: ClaimPremise, name: str) -> dict[str, Any]:
    """Return what a referenced statement says about a letter that names what its record measures."""
    statement = premise.statement
    # The proof may have replaced a letter that the record does not have.
    where = {
        letter: from_sympy(value)
        for letter, value in premise.where.items()
        if letter in statement.domains
    }
    defined: dict[str, Prefix] = dict(where)
    for letter, value in statement.let:
        defined[letter] = from_formula(value, defined)
    domains = [
        c
        for letter in sorted(statement.domains)
        for c in statement.domains[letter].constraints
    ]
    assert statement.rhs is not None
    reference = premise.reference
    return {
        "name": name,
        "kind": "claim",
        "claim": reference.claim,
        "reading": reference.reading,
        "variant": reference.variant,
        "measured": True,
        "where": where,
        "letters": {},
        "conditions": [
            condition
            for c in (*domains, *statement.requires)
            for condition in from_compare(c, defined)
        ],
        "lhs": from_sympy(premise.lhs),
        "relation": premise.relation,
        "rhs": from_formula(statement.rhs, defined),
    }


def internal_letters(derivation: Derivation) -> set[str]:
    """Return the local letters that the ends of a derivation do not contain."""
    return set(derivation.local) - _names(derivation.start, derivation.last)


def declared(derivation: Derivation, name: str) -> Prefix | None:
    """Return the declaration of a letter that is not a number, otherwise None."""
    match derivation.variables.get(name):
        case AnyVector():
            return "vector"
        case GaussianNorm(dimension, variance):
            return ["gaussian", from_sympy(dimension), from_sympy(variance)]
        case SetBits(of):
            return ["bits", from_sympy(of)]
        case AnyFunction() | FunctionOf():
            return "sequence"
    return None


def _names(*expressions: Any) -> set[str]:
    terms = [sympy.sympify(e) for e in expressions]
    return {s.name for e in terms for s in e.free_symbols} | {
        str(f.func) for e in terms for f in e.atoms(AppliedUndef)
    }


def symbols_of(derivation: Derivation) -> list[Any]:
    """Return the letters of a derivation."""
    expressions = (
        derivation.start,
        *derivation.assumptions,
        *expressions_of(derivation.steps),
    )
    symbols = {
        s
        for expr in expressions
        for s in expr.free_symbols
        if s.name in derivation.variables
    }
    return sorted(symbols, key=str)
