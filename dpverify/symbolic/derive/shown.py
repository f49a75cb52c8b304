"""Facts that a derivation may use in every step because other derivations, which it cites, prove them on its domain."""

from __future__ import annotations

from typing import Any

import sympy

from dpverify.symbolic.derive.steps import Derivation, DerivationError, Premise
from dpverify.symbolic.prove.facts import Facts

_RELATIONS: dict[str, Any] = {"<=": sympy.Le, ">=": sympy.Ge, "=": sympy.Eq}


def shown_relations(derivation: Derivation) -> tuple[Any, ...]:
    """How the two ends of each derivation stand that is cited for a fact; of no letter that only a chain has."""
    relations = []
    for name in derivation.shown:
        premise = _cited(derivation, name)
        sides = premise.lhs, premise.rhs
        if local_names := sorted(set(derivation.local) & {s.name for side in sides for s in side.free_symbols}):
            raise DerivationError(f"{derivation.name}: {name} says something of {local_names[0]}, which is local.")
        relations.append(_RELATIONS[premise.relation](*sides, evaluate=False))
    return tuple(relations)


def check_shown(derivation: Derivation, facts: Facts) -> None:
    """Raise a `DerivationError` where a fact is cited whose conditions do not follow from what the chain assumes."""
    for name in derivation.shown:
        for condition in _cited(derivation, name).instance({}).conditions:
            if not condition.met(facts, derivation.variables):
                raise DerivationError(f"{derivation.name}: {name} is used as a fact, and not proven: {condition}.")


def _cited(derivation: Derivation, name: str) -> Premise:
    """The premise of this name, if it is a derivation that is cited from its first expression to its last."""
    premise = derivation.premises.get(name)
    start = getattr(premise, "start", None)
    if premise is None or start is None or premise.lhs != start or len(premise.under) != 1:
        raise DerivationError(f"{derivation.name}: {name} is used as a fact, and is no derivation that is cited.")
    return premise
