"""Premises that other claims state or other derivations prove.

A check can follow a theorem down to its underived premises. The formulas come from the records and are never typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy
from sympy import Dummy
from sympy.core.function import AppliedUndef

from dpverify.ledger.errors import SpecError
from dpverify.ledger.statements import Reference, Statement, Variant
from dpverify.symbolic.derive.define import GlossaryPremise, fixed_names, unguarded
from dpverify.symbolic.derive.preparation import satisfying_values, without_local_values
from dpverify.symbolic.derive.steps import (
    Derivation,
    DerivationError,
    Premise,
    check_fixed,
    names_of,
    premise_of,
    symbol_conditions,
)
from dpverify.symbolic.expressions.ranges import AnyVector, GaussianNorm
from dpverify.symbolic.expressions.translation import sympy_sides, sympy_symbols
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules.base import (
    Condition,
    Holds,
    Instance,
    IsGaussianNorm,
    IsVector,
    substitute,
)


@dataclass(frozen=True)
class DerivedPremise(Premise):
    """A premise that another derivation proves."""

    derivation: Derivation | None = None  # leads from the left side to the right side
    # its first expression, which a letter on the
    # left side may name; set only by ``cite``
    start: Any = None
    # conditions on letters of ``start`` that neither side contains
    hidden: tuple[Condition, ...] = ()
    # expressions substituted for its letters
    where: Mapping[str, Any] = field(default_factory=dict)

    @property
    def subderivations(self) -> tuple[tuple[Derivation, Premise | None], ...]:
        """The derivation, without a hypothesis."""
        return () if self.derivation is None else ((self.derivation, None),)


def letters_of_citations(
    derivation: Derivation,
) -> dict[str, tuple[Any, tuple[Condition, ...]]]:
    """Return the letters that name the start of a cited derivation or a quantity that a record measures.

    The value of a letter is the start, or None for a measured quantity, with the conditions on the letters of the
    start. Letters of citations inside a cited derivation are included if the ends of this derivation contain them. A
    letter must have only one meaning.
    """
    meanings: dict[str, tuple[Any, tuple[Condition, ...]]] = {}
    for premise in derivation.premises.values():
        lhs_names = {s.name for s in premise.lhs.free_symbols}
        under = getattr(premise, "derivation", None)
        if getattr(premise, "measured", False):
            meanings |= dict.fromkeys(lhs_names, (None, ()))
        elif under is not None:
            deeper = letters_of_citations(under)
            meanings = {
                n: deeper[n]
                for n in deeper
                if n in lhs_names | {s.name for s in premise.rhs.free_symbols}
            } | meanings
            start = getattr(premise, "start", None)
            meaning = (
                (premise.lhs, ())
                if start is None
                else (start, getattr(premise, "hidden", ()))
            )
            for name in lhs_names - {s.name for s in meaning[0].free_symbols}:
                if meanings.setdefault(name, meaning) != meaning:
                    raise DerivationError(
                        f"{derivation.name}: {name} stands for two things."
                    )
    return meanings


def cite(derivation: Derivation, letter: Any = None, **where: Any) -> DerivedPremise:
    """Make a premise of a derivation's conclusion, with expressions substituted for some symbols (``where``).

    ``letter`` names the chain's first expression. Without it, this expression is the left side. The chain's assumptions
    and domains are conditions that are proven at every use. Assumptions about local letters that the sides do not
    contain are dropped once values that satisfy them are proved to exist.
    """
    start = derivation.start
    last = derivation.last
    if derivation.fixed_local_letters:
        raise DerivationError(
            f"{derivation.name}: {min(derivation.fixed_local_letters)} is no letter of its own."
        )
    start_conditions: list[Condition] = []
    for name, (meaning, its_letters) in letters_of_citations(derivation).items():
        if name in where and where[name] != substitute(
            meaning, {n: e for n, e in where.items() if n != name}
        ):
            raise DerivationError(
                f"{derivation.name}: {name} stands for {meaning}, and can become nothing else."
            )
        start_conditions += its_letters if name in where else ()
    ends = (start, last) if letter is None else (sympy.sympify(letter), last)
    internal_letters = set(derivation.local) - {
        s.name for side in ends for s in side.free_symbols
    }
    assumed = [
        a
        for a in derivation.assumptions
        if not internal_letters & {s.name for s in a.free_symbols}
    ]
    if without_local_values(
        replace(derivation, local=tuple(internal_letters)), {}, Facts().assume(assumed)
    ):
        assumed = list(derivation.assumptions)
    conditions: list[Condition] = [*map(Holds, assumed), *start_conditions]
    for symbol in sorted(start.free_symbols | last.free_symbols, key=str):
        if symbol.name not in derivation.local:
            conditions += symbol_conditions(symbol)
    conditions += _declared(
        derivation,
        last.free_symbols | (start.free_symbols if letter is None else set()),
    )
    instance = DerivedPremise(
        start, derivation.relation, last, tuple(conditions), derivation
    ).instance(where)
    left = instance.lhs if letter is None else letter
    inside = {s for s in start.free_symbols if s.name in internal_letters}
    hidden: list[Condition] = [
        Holds(a) for a in derivation.assumptions if inside & a.free_symbols
    ]
    hidden += [
        condition
        for symbol in sorted(inside, key=str)
        for condition in symbol_conditions(symbol)
    ]
    return DerivedPremise(
        left,
        instance.relation,
        instance.rhs,
        instance.conditions,
        derivation,
        instance.lhs,
        tuple(condition.substituted(where) for condition in hidden),
        where,
    )


def _declared(derivation: Derivation, symbols: set[Any]) -> list[Condition]:
    """Return the conditions that replacements of vectors and Gaussian norms are declared as such."""
    conditions: list[Condition] = []
    for symbol in sorted(symbols, key=str):
        match derivation.variables.get(symbol.name):
            case GaussianNorm(dimension=d, variance=v):
                conditions.append(IsGaussianNorm(symbol, d, v))
            case AnyVector():
                conditions.append(IsVector(symbol))
    return conditions


def all_subderivations(derivation: Derivation) -> Iterator[tuple[str, Derivation]]:
    """Yield the derivations that a chain uses, directly or indirectly, each once, with the name of its premise."""
    visited: list[Derivation] = []
    todo = list(derivation.premises.items())
    while todo:
        name, premise = todo.pop(0)
        for chain, _ in premise.subderivations:
            if chain not in visited:
                visited.append(chain)
                yield name, chain
                todo += chain.premises.items()


def cited_statements(derivation: Derivation) -> list[Reference]:
    """Return the statements that a chain refers to at any depth, without repetition."""
    chains = [derivation, *(chain for _, chain in all_subderivations(derivation))]
    references = (
        p.reference
        for chain in chains
        for p in chain.premises.values()
        if isinstance(p, ClaimPremise)
    )
    return list({str(reference): reference for reference in references}.values())


def cited_definitions(derivation: Derivation) -> list[str]:
    """Return the definitions that a chain cites at any depth, without repetition."""
    return list(
        dict.fromkeys(
            str(record.meaning)
            for record in _glossary_premises(derivation)
            if not record.is_unproved
        )
    )


def _glossary_premises(derivation: Derivation) -> list[GlossaryPremise]:
    chains = [derivation, *(chain for _, chain in all_subderivations(derivation))]
    return [
        premise
        for chain in chains
        for premise in chain.premises.values()
        if isinstance(premise, GlossaryPremise)
    ]


def local_letter_values(
    derivation: Derivation, conditions: Iterable[Any] = ()
) -> dict[str, Any]:
    """Return values for the local letters without a meaning.

    Under the conditions, they satisfy all assumptions on them.

    A letter has a meaning if the start or a premise contains it, or if an assumption relates it to such a letter.
    """
    relations, reached = _local_letters_with_meaning(derivation)
    about = [
        a
        for a, letters in relations
        if not letters & (reached | names_of(derivation.last))
    ]
    local_letters = set[str]().union(
        *(letters for a, letters in relations if a in about)
    )
    symbols = sorted(
        {s for a in about for s in a.free_symbols if s.name in local_letters}, key=str
    )
    same = {s.name: s for a in derivation.assumptions for s in a.free_symbols}
    wider = [
        c.xreplace({s: same.get(s.name, s) for s in c.free_symbols}) for c in conditions
    ]
    granted = Facts().assume(
        [*(a for a in derivation.assumptions if a not in about), *wider]
    )
    return {
        s.name: value
        for s, value in (
            satisfying_values(tuple(symbols), about, granted) or {}
        ).items()
    }


def _local_letters_with_meaning(
    derivation: Derivation,
) -> tuple[list[tuple[Any, set[str]]], set[str]]:
    """Return the assumptions on local letters with these letters, and the local letters that have a meaning."""
    local_letters = set(derivation.local)
    relations = [
        (a, local_letters & names_of(a))
        for a in derivation.assumptions
        if local_letters & names_of(a)
    ]
    sides = [
        derivation.start,
        *(side for p in derivation.premises.values() for side in (p.lhs, p.rhs)),
    ]
    reached = local_letters & set[str]().union(*map(names_of, sides))
    for _ in relations:
        reached |= set[str]().union(
            *(letters for _, letters in relations if letters & reached)
        )
    return relations, reached


@dataclass(frozen=True)
class ClaimPremise(Premise):
    """A premise that the record of a claim provides."""

    # the statement whose sides, relation, domains and conditions these are
    reference: Reference = field(kw_only=True)
    statement: Statement = field(kw_only=True)
    # expressions substituted for its letters
    where: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    # whether the left side names what the record measures
    measured: bool = field(default=False, kw_only=True)
    names: frozenset[str] = field(default=frozenset(), kw_only=True)

    @property
    def fixed_names(self) -> frozenset[str]:
        """Functions in the record, and letters that they may depend on without showing them."""
        return self.names

    def instance(self, where: Mapping[str, Any]) -> Instance:
        """Return the premise unchanged. Its letters are replaced where it is referred to, and not at a use."""
        if where:
            raise DerivationError(
                f"what the letters of {self.reference} become is said where it is referred to."
            )
        return super().instance(where)


def refer(
    statement: Statement,
    claim: str,
    letter: Any = None,
    variant: Variant = "printed",
    reading: Mapping[str, str] | None = None,
    **where: Any,
) -> ClaimPremise:
    """Return a statement of another claim as a premise. By its record, ``statement`` must rest on this claim.

    ``letter`` names the quantity that the record measures. ``where`` maps symbols to their replacements, and other
    symbols are kept. All conditions are proven at every use. A reading that is not chosen is that of ``statement``.
    """
    paper, _, claim_id = statement.key.partition(":")
    claims = (
        statement.siblings[claim_id].below | {claim_id: statement.siblings[claim_id]}
        if claim_id in statement.siblings
        else {}
    )
    claim = claim.removeprefix(f"{paper}:")
    if claim not in claims:
        raise DerivationError(
            f"{statement.key} does not rest on {paper}:{claim}, so that it cannot refer to it."
        )
    choices = {item.name for item in claims[claim].record.reading}
    chosen = {
        name: choice for name, choice in statement.reading.items() if name in choices
    } | dict(reading or {})
    try:
        record = claims[claim].statement(chosen, variant)
    except SpecError as error:
        raise DerivationError(
            f"{statement.key} refers to what is not there: {error}"
        ) from None
    if (record.lhs is None) == (letter is None):
        raise DerivationError(
            f"{record.reference} has {'no formula' if letter is None else 'a formula'} on its left."
        )
    symbols = sympy_symbols(record)
    if unknown := sorted(where.keys() - symbols.keys()):
        raise DerivationError(
            f"{record.reference} has no symbol {', '.join(unknown)} that could become anything."
        )
    measured = None if letter is None else Dummy(str(record.quantity))
    premise = premise_of(record, measured).instance(symbols | where)
    names = fixed_names(statement, premise.lhs, premise.rhs)
    # a function without a definition may depend on all letters except its arguments
    if names:
        free = {
            s
            for side in sympy_sides(record)
            for item in side.atoms(AppliedUndef)
            for s in item.args
        }
        names |= {name for name, symbol in symbols.items() if symbol not in free}
    check_fixed(where, names)
    facts = Facts().assume(
        c.relation
        for c in premise.conditions
        if isinstance(c, Holds) and c.relation is not sympy.true
    )
    left = unguarded(premise.lhs, facts) if letter is None else letter
    sides = (left, premise.relation, unguarded(premise.rhs, facts), premise.conditions)
    return ClaimPremise(
        *sides,
        reference=record.reference,
        statement=record,
        where=where,
        measured=letter is not None,
        names=names,
    )
