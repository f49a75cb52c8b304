"""Compare a derivation's last expression with the printed right side: equal, weaker, stronger, differs, undecided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy

from dpverify.ledger.records import ORDERS, RelationToDerived
from dpverify.symbolic.derive.define import (
    expand_definition,
    hidden_letters,
    quantity_formula,
    unguarded,
    without_definition_letters,
)
from dpverify.symbolic.derive.integers import divided
from dpverify.symbolic.derive.preparation import prepared, without_local_values
from dpverify.symbolic.derive.setting import Setting, cited_relations
from dpverify.symbolic.derive.steps import Cases, Derivation, DerivationError, Step, symbol_conditions
from dpverify.symbolic.exact.numbers import EvaluationError, compare
from dpverify.symbolic.expressions.ranges import Range, Variable
from dpverify.symbolic.expressions.translation import compile_expr, sympy_conditions, sympy_sides, sympy_symbols
from dpverify.symbolic.prove.defined import evaluated, undefined_part
from dpverify.symbolic.prove.equality import are_equal
from dpverify.symbolic.prove.facts import Facts, Occurrence
from dpverify.symbolic.prove.orders import NoMonomialsError, OrderProof, prove_order
from dpverify.symbolic.prove.signs import is_implied, is_nonnegative, is_positive
from dpverify.symbolic.rules.base import Condition

_POINTS = 100
_MAX_DIVISORS = 3


@dataclass(frozen=True)
class Conclusion:
    """The relation of the printed side to the derived side."""

    # ``weaker``: the printed bound follows from the derived one, and equality is not proven. ``stronger``: the derived
    # bound follows from the printed one, and both certainly differ. ``differs``: each is certainly better at some
    # point.
    relation: RelationToDerived
    reason: str = ""  # the obstacle, if the relation is undecided
    uncovered: str = ""  # why the definition of the measured quantity does not cover the statement


def conclude(derivation: Derivation, statement: Any) -> RelationToDerived:
    """Compare a last expression with the printed side; ``equal`` and ``weaker`` are proven on the whole domain."""
    return compare_with(derivation, statement).relation


def compare_with(derivation: Derivation, statement: Any) -> Conclusion:
    """Compare a last expression with the printed side, and report obstacles. The steps are not checked.

    The result is undecided unless the chain bounds the statement's left side, in the statement's direction, under
    assumptions that the statement grants. A quantity with a definition is replaced by the formula of the definition.
    """
    statement = expand_definition(divided(statement, derivation.division))
    meaning = quantity_formula(statement, derivation.variables)
    clean = without_definition_letters(prepared(derivation), meaning)
    lhs, printed = sympy_sides(statement)
    if printed is None:
        return Conclusion("undecided", "the statement has no right side.")
    granted = Facts().assume(sympy_conditions(statement))
    letters, conditions = hidden_letters(statement)
    granted = granted.assume(conditions)
    letters = letters | (meaning.letters if meaning is not None else {})
    symbols = sympy_symbols(statement) | letters
    expressions = (clean.start, clean.last, *clean.assumptions)
    rename = {s: symbols[s.name] for expr in expressions for s in expr.free_symbols if s.name in symbols}
    stated = granted if meaning is None else granted.assume(meaning.conditions)
    relations = [relation.xreplace(rename) for relation in cited_relations(clean)]  # they follow from the assumptions
    granted, divisors, missing = _with_values(statement, granted.assume(relations), clean.variables)
    if meaning is not None:
        lhs = meaning.formula
        granted = granted.assume(meaning.conditions)
        if meaning.obstacle:
            return Conclusion("undecided", meaning.obstacle, meaning.obstacle)
    if obstacle := _obstacle(clean, statement, rename, lhs, stated if relations else granted, letters):
        return Conclusion("undecided", obstacle)
    last = clean.last.xreplace(rename)
    if statement.relation in ORDERS:
        conclusion = _order(last, statement, () if meaning is None else meaning.conditions)
    else:
        conclusion = _relation(last, unguarded(printed, granted), statement, clean, granted)
    if missing and conclusion.relation in {"equal", "weaker"}:
        return Conclusion("undecided", f"not proven that the printed {missing} has a value on the whole domain.")
    void = "; ".join(f"nothing is claimed where {divisor} = 0" for divisor in divisors)
    return Conclusion(conclusion.relation, "; ".join(filter(None, [void, conclusion.reason])))


def order_of(last: Any, statement: Any, letter_conditions: tuple[Any, ...] = ()) -> OrderProof:
    """Prove that a last expression has the order that a statement claims, or raise a NoMonomialsError.

    ``letter_conditions`` has the conditions on letters that the definition of the measured quantity introduces.
    """
    printed = sympy_sides(statement)[1]
    relations = (*sympy_conditions(statement), *letter_conditions)
    return prove_order(last, printed, relations, statement.relation == "O~", statement.hides)


def _order(last: Any, statement: Any, letter_conditions: tuple[Any, ...]) -> Conclusion:
    try:
        order_of(last, statement, letter_conditions)
    except NoMonomialsError as error:
        return Conclusion("undecided", str(error))
    return Conclusion("weaker")


def _with_values(statement: Any, granted: Facts, variables: Mapping[str, Variable]) -> tuple[Facts, list[Any], Any]:
    """Return facts by which the printed sides have values, the divisors assumed nonzero, and a part that may have none.

    A printed formula claims nothing where it divides by 0. The sides are built without sympy's cancellation.
    """
    with sympy.evaluate(False):
        sides = [side for side in reversed(sympy_sides(statement)) if side is not None]
    divisors: list[Any] = []
    while True:
        parts = (undefined_part(side, Occurrence(granted), variables) for side in sides)
        part = next((part for part in parts if part is not None), None)
        if part is None or not part.is_Pow or not part.exp.is_negative or len(divisors) > _MAX_DIVISORS:
            return granted, divisors, part
        divisor = evaluated(part.base)
        if divisor in divisors or not divisor.free_symbols or not is_nonnegative(divisor, granted):
            return granted, divisors, part
        divisors.append(divisor)
        granted = granted.assume([divisor > 0])


def _obstacle(
    derivation: Derivation, statement: Any, rename: dict[Any, Any], lhs: Any, granted: Facts, letters: Any
) -> str:
    if self_citations := {statement.key, str(statement.reference)} & _cited_names(derivation):
        return f"the derivation of {statement.key} cites {min(self_citations)} itself."
    target_relation = {"<": "<=", ">": ">=", "O": "<=", "O~": "<="}.get(statement.relation, statement.relation)
    if derivation.relation not in {"=", target_relation}:
        return f"the derivation is a chain of {derivation.relation}, the statement has {statement.relation}."
    start = derivation.start.xreplace(rename)
    if lhs is not None and not any(are_equal(start, side, granted) for side in (lhs, unguarded(lhs, granted))):
        return f"the derivation starts from {start}, the statement's left side is {lhs}."
    if theirs := sorted((set(derivation.local) & set(statement.domains)) | derivation.fixed_local_letters):
        return f"the derivation calls {', '.join(theirs)} local, of which the statement speaks."
    if clashes := sorted(letters_of_citations(derivation).keys() & (set(statement.domains) | set(letters))):
        return f"{', '.join(clashes)} of the statement stands for the start of a derivation, or what a record measures."
    declared_letters = {s.name for s in rename.values()} | set(derivation.local)
    used = {s.name for e in (derivation.start, derivation.last, *derivation.assumptions) for s in e.free_symbols}
    for name, variable in derivation.variables.items():
        if isinstance(variable, Range) and name in used - declared_letters:
            return f"the statement says nothing of {name}."
    for condition in (assumption.xreplace(rename) for assumption in derivation.assumptions):
        if {s.name for s in condition.free_symbols} & set(derivation.local):
            continue
        if not is_implied(condition, granted):
            return f"the derivation assumes {condition}, which the statement does not grant."
    return _ungranted_sign(rename, granted) or without_local_values(derivation, rename, granted)


def _cited_names(derivation: Derivation) -> set[str]:
    """Return the names of cited premises, of their statements, and of everything that these use in turn."""
    names: set[str] = set()
    todo = [*derivation.steps, *(Step(None, "=", premises=(name,)) for name in derivation.cited_facts)]
    while todo:
        link = todo.pop()
        if isinstance(link, Cases):
            todo += [step for case in link.cases for step in case.steps]
            continue
        for name in set(link.premises) - names:
            names.add(name)
            premise = derivation.premises.get(name)
            subderivations = () if premise is None else premise.subderivations
            names |= set[str]().union(*(_cited_names(chain) for chain, _ in subderivations))
            names |= set() if subderivations else {str(getattr(premise, "reference", name))}
    return names


def letters_of_citations(derivation: Derivation) -> dict[str, tuple[Any, tuple[Condition, ...]]]:
    """Return the letters that name the start of a cited derivation or a quantity that a record measures.

    The value of a letter is the start, or None for a measured quantity, with the conditions on the letters of the
    start. Letters of citations inside a cited derivation are included if the ends of this derivation contain them. A
    letter must have only one meaning.
    """
    meanings: dict[str, tuple[Any, tuple[Condition, ...]]] = {}
    for premise in derivation.premises.values():
        lhs_names = {s.name for s in premise.lhs.free_symbols}
        cited_derivation = getattr(premise, "derivation", None)
        if getattr(premise, "measured", False):
            meanings |= dict.fromkeys(lhs_names, (None, ()))
        elif cited_derivation is not None:
            deeper = letters_of_citations(cited_derivation)
            meanings = {
                n: deeper[n] for n in deeper if n in lhs_names | {s.name for s in premise.rhs.free_symbols}
            } | meanings
            start = getattr(premise, "start", None)
            meaning = (premise.lhs, ()) if start is None else (start, getattr(premise, "hidden", ()))
            for name in lhs_names - {s.name for s in meaning[0].free_symbols}:
                if meanings.setdefault(name, meaning) != meaning:
                    raise DerivationError(f"{derivation.name}: {name} stands for two things.")
    return meanings


def _ungranted_sign(rename: dict[Any, Any], granted: Facts) -> str:
    """Return which assumption on a symbol of the derivation the statement's symbol does not grant, or an empty text."""
    for symbol, theirs in sorted(rename.items(), key=str):
        for condition in symbol_conditions(symbol):
            if not condition.substituted({symbol.name: theirs}).is_met(granted, {}):
                return f"the derivation assumes {condition}, which the statement does not grant."
    return ""


def _relation(derived: Any, printed: Any, statement: Any, derivation: Derivation, granted: Facts) -> Conclusion:
    """Compare the derived side with the printed side.

    For a strict statement, the printed side must be proven to be strictly beyond the derived one. Then the result is
    never ``equal``.
    """
    below, above = _compare_at_points(derived, printed, _points(derivation, statement))
    if below and above:
        return Conclusion("differs")
    strict = statement.relation in {"<", ">"}
    if not strict and not below and not above and are_equal(derived, printed, granted):
        return Conclusion("equal")
    upper = statement.relation not in {">=", ">"}
    gain = printed - derived if upper else derived - printed
    worse_seen, better_seen = (above, below) if upper else (below, above)
    follows = is_positive if strict else is_nonnegative
    if not better_seen and statement.relation != "=" and follows(gain, granted):
        return Conclusion("weaker")
    if better_seen and not worse_seen and is_nonnegative(-gain, granted):
        return Conclusion("stronger")
    if statement.relation == "=" and (below or above):
        return Conclusion("differs")
    if strict:
        return Conclusion("undecided", f"not proven that {printed} lies beyond {derived} everywhere.")
    return Conclusion("undecided", f"not proven how {printed} stands to {derived}.")


def _points(derivation: Derivation, statement: Any) -> list[dict[str, Any]]:
    """Return points of the statement's domain."""
    symbols = tuple(sympy_symbols(statement).values())
    return _points_of(tuple(derivation.variables.items()), symbols, sympy_conditions(statement))


@lru_cache(maxsize=64)
def _points_of(
    variables: tuple[tuple[str, Variable], ...], symbols: tuple[Any, ...], conditions: tuple[Any, ...]
) -> list[dict[str, Any]]:
    """Return cached points: controls of a derivation change the printed side but not its domain."""
    return Setting(dict(variables), symbols, conditions, _POINTS, 0).points.samples


def _compare_at_points(derived: Any, printed: Any, points: list[dict[str, Any]]) -> tuple[bool, bool]:
    """Test whether the printed side is certainly below, and certainly above, the derived one at some point."""
    below = above = False
    try:
        ours, theirs = compile_expr(derived), compile_expr(printed)
    except TypeError:
        return False, False
    for point in points:
        try:
            a, b = ours(dict(point), 170), theirs(dict(point), 170)
        except EvaluationError:
            continue
        below = below or compare(b, "<", a) is True
        above = above or compare(b, ">", a) is True
    return below, above
