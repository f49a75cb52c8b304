"""What a proof may assume: expressions that are nonnegative, expressions that are positive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sympy


@dataclass(frozen=True)
class Facts:
    """A set of assumptions; the signs that sympy's symbols carry come on top.

    Parameters
    ----------
    nonnegative : frozenset of sympy.Expr
        Expressions that are at least 0 on the domain.
    positive : frozenset of sympy.Expr
        Expressions that are above 0 on the domain.
    """

    nonnegative: frozenset[Any] = frozenset()
    positive: frozenset[Any] = frozenset()

    def given(self, relations: Iterable[Any]) -> Facts:
        """These facts and some relations more.

        Parameters
        ----------
        relations : iterable of sympy relationals
            ``<= < >= > =`` and conjunctions of them; inequations ``!=`` are passed over.

        Returns
        -------
        Facts
            Strict relations between integers are tightened by one.

        Raises
        ------
        ValueError
            If a relation is false as it stands: from a false assumption everything would follow.
        """
        nonnegative, positive = set(self.nonnegative), set(self.positive)
        for relation in relations:
            for difference, strict in differences(relation):
                if strict and difference.is_integer:
                    nonnegative.add(difference - 1)
                (positive if strict else nonnegative).add(difference)
        return Facts(frozenset(nonnegative), frozenset(positive))

    def substituted(self, replacement: dict[Any, Any]) -> Facts:
        """The same facts about other symbols."""
        return Facts(
            frozenset(f.xreplace(replacement) for f in self.nonnegative),
            frozenset(f.xreplace(replacement) for f in self.positive),
        )


def differences(relation: Any) -> list[tuple[Any, bool]]:
    """Split a relation into expressions that are nonnegative, or positive where the flag says so."""
    if relation is sympy.true or isinstance(relation, sympy.Ne):
        return []
    if relation is sympy.false:
        raise ValueError("an assumption is false as it stands.")
    if isinstance(relation, sympy.And):
        return [part for arg in relation.args for part in differences(arg)]
    if isinstance(relation, sympy.Eq):
        return [(relation.lhs - relation.rhs, False), (relation.rhs - relation.lhs, False)]
    if isinstance(relation, sympy.GreaterThan | sympy.StrictGreaterThan):
        return [(relation.lhs - relation.rhs, isinstance(relation, sympy.StrictGreaterThan))]
    if isinstance(relation, sympy.LessThan | sympy.StrictLessThan):
        return [(relation.rhs - relation.lhs, isinstance(relation, sympy.StrictLessThan))]
    raise ValueError(f"an assumption must be built from <= < >= > = and And, got {relation}.")


def symbol_facts(symbols: Iterable[Any]) -> list[tuple[Any, bool]]:
    """Signs that symbols carry by themselves, as in :func:`differences`."""
    found: list[tuple[Any, bool]] = []
    for s in symbols:
        if s.is_positive:
            found.append((s, True))
            if s.is_integer:
                found.append((s - 1, False))
        elif s.is_nonnegative:
            found.append((s, False))
        if s.is_negative:
            found.append((-s, True))
            if s.is_integer:
                found.append((-s - 1, False))
        elif s.is_nonpositive:
            found.append((-s, False))
    return found
