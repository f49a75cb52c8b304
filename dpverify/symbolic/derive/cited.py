"""Premises that are derivations of ours, so that a check can walk from a theorem down to what nothing here derives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from dpverify.ledger.statements import Reference
from dpverify.symbolic.derive.conclude import letters_of_citations
from dpverify.symbolic.derive.define import Recorded, Referenced
from dpverify.symbolic.derive.preparation import values_of, without_local_values
from dpverify.symbolic.derive.steps import Derivation, DerivationError, Premise, names_of, symbol_conditions
from dpverify.symbolic.expressions.ranges import AnyVector, GaussianNorm
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules.base import Condition, Holds, IsGaussianNorm, IsVector, substitute


@dataclass(frozen=True)
class Cited(Premise):
    """A premise that a derivation of ours provides."""

    derivation: Derivation | None = None  # goes from what stands on the left side to what stands on the right one
    start: Any = None  # its first expression, for which the left side may be a letter; given by ``cite`` alone
    hidden: tuple[Condition, ...] = ()  # what the letters of that expression are which the two sides do not show
    where: Mapping[str, Any] = field(default_factory=dict)  # what its letters become

    @property
    def under(self) -> tuple[tuple[Derivation, Premise | None], ...]:
        """The derivation, which is granted nothing."""
        return () if self.derivation is None else ((self.derivation, None),)


def cite(derivation: Derivation, letter: Any = None, **where: Any) -> Cited:
    """Make a premise of a derivation's conclusion, with expressions in the place of some symbols (``where``).

    ``letter`` stands for the chain's first expression, or that itself. The chain's assumptions and domains are
    conditions, proven of every use. What is assumed of local letters that are not shown says what they mean, and is
    none, where there are proven to be such values.
    """
    start = derivation.start
    last = derivation.last
    if derivation.own_fixed:
        raise DerivationError(f"{derivation.name}: {min(derivation.own_fixed)} is no letter of its own.")
    opened: list[Condition] = []
    for name, (meaning, its_letters) in letters_of_citations(derivation).items():
        if name in where and where[name] != substitute(meaning, {n: e for n, e in where.items() if n != name}):
            raise DerivationError(f"{derivation.name}: {name} stands for {meaning}, and can become nothing else.")
        opened += its_letters if name in where else ()
    ends = (start, last) if letter is None else (sympy.sympify(letter), last)
    internal_letters = set(derivation.local) - {s.name for side in ends for s in side.free_symbols}
    assumed = [a for a in derivation.assumptions if not internal_letters & {s.name for s in a.free_symbols}]
    if without_local_values(replace(derivation, local=tuple(internal_letters)), {}, Facts().given(assumed)):
        assumed = list(derivation.assumptions)
    conditions: list[Condition] = [*map(Holds, assumed), *opened]
    for symbol in sorted(start.free_symbols | last.free_symbols, key=str):
        if symbol.name not in derivation.local:
            conditions += symbol_conditions(symbol)
    conditions += _declared(derivation, last.free_symbols | (start.free_symbols if letter is None else set()))
    instance = Cited(start, derivation.relation, last, tuple(conditions), derivation).instance(where)
    left = instance.lhs if letter is None else letter
    inside = {s for s in start.free_symbols if s.name in internal_letters}
    hidden: list[Condition] = [Holds(a) for a in derivation.assumptions if inside & a.free_symbols]
    hidden += [condition for symbol in sorted(inside, key=str) for condition in symbol_conditions(symbol)]
    return Cited(
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
    """What a chain declares of its vectors and laws, and what takes their place must be declared as well."""
    conditions: list[Condition] = []
    for symbol in sorted(symbols, key=str):
        match derivation.variables.get(symbol.name):
            case GaussianNorm(dimension=d, variance=v):
                conditions.append(IsGaussianNorm(symbol, d, v))
            case AnyVector():
                conditions.append(IsVector(symbol))
    return conditions


def derivations_under(derivation: Derivation) -> Iterator[tuple[str, Derivation]]:
    """Yield the derivations that a chain rests on, and those that they rest on, each once, by their premise's name."""
    visited: list[Derivation] = []
    todo = list(derivation.premises.items())
    while todo:
        name, premise = todo.pop(0)
        for chain, _ in premise.under:
            if chain not in visited:
                visited.append(chain)
                yield name, chain
                todo += chain.premises.items()


def referred_to(derivation: Derivation) -> list[Reference]:
    """The statements that a chain refers to, at any depth, each once."""
    chains = [derivation, *(chain for _, chain in derivations_under(derivation))]
    references = (p.reference for chain in chains for p in chain.premises.values() if isinstance(p, Referenced))
    return list({str(reference): reference for reference in references}.values())


def definitions_used(derivation: Derivation) -> list[str]:
    """The definitions that a chain cites, at any depth, each once."""
    return list(dict.fromkeys(str(record.meaning) for record in _recorded(derivation) if not record.is_given))


def _recorded(derivation: Derivation) -> list[Recorded]:
    chains = [derivation, *(chain for _, chain in derivations_under(derivation))]
    return [premise for chain in chains for premise in chain.premises.values() if isinstance(premise, Recorded)]


def values_asked_for(derivation: Derivation, conditions: Iterable[Any] = ()) -> dict[str, Any]:
    """Values of the local letters that have no such meaning, by which all is met that is assumed under conditions."""
    relations, reached = _reached(derivation)
    about = [a for a, letters in relations if not letters & (reached | names_of(derivation.last))]
    local_letters = set[str]().union(*(letters for a, letters in relations if a in about))
    symbols = sorted({s for a in about for s in a.free_symbols if s.name in local_letters}, key=str)
    same = {s.name: s for a in derivation.assumptions for s in a.free_symbols}
    wider = [c.xreplace({s: same.get(s.name, s) for s in c.free_symbols}) for c in conditions]
    granted = Facts().given([*(a for a in derivation.assumptions if a not in about), *wider])
    return {s.name: value for s, value in (values_of(tuple(symbols), about, granted) or {}).items()}


def _reached(derivation: Derivation) -> tuple[list[tuple[Any, set[str]]], set[str]]:
    """Assumptions on local letters with these letters, and the local letters that have a meaning."""
    local_letters = set(derivation.local)
    relations = [(a, local_letters & names_of(a)) for a in derivation.assumptions if local_letters & names_of(a)]
    sides = [derivation.start, *(side for p in derivation.premises.values() for side in (p.lhs, p.rhs))]
    reached = local_letters & set[str]().union(*map(names_of, sides))
    for _ in relations:
        reached |= set[str]().union(*(letters for _, letters in relations if letters & reached))
    return relations, reached
