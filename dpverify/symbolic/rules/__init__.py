"""The catalogue of inequalities and identities that steps of a derivation may cite."""

from __future__ import annotations

from difflib import get_close_matches

from dpverify.symbolic.rules import functions, scalars, sequences, sums
from dpverify.symbolic.rules.base import Condition, Instance, Rule

_TOPICS = (scalars, sums, sequences, functions)

CATALOGUE: dict[str, Rule] = {
    rule.name: rule for topic in _TOPICS for rule in topic.RULES
}


def find_rule(name: str) -> Rule:
    """Return the rule of a name. A ValueError for an unknown name lists the nearest names."""
    if name not in CATALOGUE:
        near = ", ".join(get_close_matches(name, CATALOGUE, 3, 0.4))
        raise ValueError(
            f"there is no rule {name!r} in the catalogue"
            + (f"; near: {near}." if near else ".")
        )
    return CATALOGUE[name]


__all__ = ["CATALOGUE", "Condition", "Instance", "Rule", "find_rule"]
