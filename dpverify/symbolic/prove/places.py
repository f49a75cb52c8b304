"""Where in an expression we stand: inside a sum more is known, of its index, and nothing of that may leak out.

A sum may be empty. So ``lo <= i`` and ``i <= hi``, and ``lo <= hi`` that follows from them, hold inside the sum alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import sympy

from dpverify.symbolic.prove.facts import Facts, symbols_of

Limits = tuple[tuple[Any, Any, Any], ...]


@dataclass(frozen=True)
class Occurrence:
    """What is known at a place of an expression; a letter lies between two values once all sums around it are entered.

    Inside sums the letter stands for a function of their indices, and its bounds may use them.
    """

    facts: Facts
    letter: Any = None
    small: Any = None
    large: Any = None
    paths: frozenset[tuple[Any, ...]] = frozenset()  # indices of the sums, outermost first, inside which that holds
    path: tuple[Any, ...] = ()

    def bounded(self, letter: Any, small: Any, large: Any, paths: frozenset[tuple[Any, ...]]) -> Occurrence:
        """The same place in an expression with a letter."""
        return Occurrence(self.facts, letter, small, large, paths)._arrived()

    def inside(self, limit: Any) -> tuple[Any, Occurrence]:
        """Step into a sum: a fresh symbol for its index, and what is known there."""
        index, lo, hi = limit
        fresh = _fresh(index, len(self.path))
        path = (*self.path, index)
        facts = inside_sums(self.facts, ((fresh, lo, hi),))
        if self.letter is None:
            return fresh, Occurrence(facts, path=path)
        small, large = (side.xreplace({index: fresh}) for side in (self.small, self.large))
        return fresh, replace(self, facts=facts, small=small, large=large, path=path)._arrived()

    def _arrived(self) -> Occurrence:
        if self.path not in self.paths:
            return self
        facts = self.facts.extended(self.letter, (self.small, self.large))
        return replace(self, facts=facts.given([self.letter >= self.small, self.letter <= self.large]))


@lru_cache(maxsize=1000)
def _fresh(index: Any, depth: int) -> Any:
    """A symbol for an index inside so many sums: the same one each time, so that what is known of it is kept."""
    return sympy.Dummy(index.name, integer=True)


def inside_sums(facts: Facts, limits: Limits) -> Facts:
    """Add ``lo <= i`` and ``i <= hi`` for the indices of some sums, outermost first."""
    for index, lo, hi in limits:
        inside = [index >= lo] + ([] if hi == sympy.oo else [index <= hi, lo <= hi])
        facts = facts.extended(index, (lo, lo + 1, lo + 3)).given(r for r in inside if r is not sympy.false)
    return facts


def sums_around(expr: Any, letter: Any) -> Iterator[Limits]:
    """Yield, for each place where a letter stands, the limits of the sums around it, outermost first."""
    if expr == letter:
        yield ()
    elif letter not in symbols_of(expr):
        return
    elif isinstance(expr, sympy.Sum):
        around: Limits = ()
        for limit in reversed(expr.limits):
            for end in limit[1:]:
                yield from ((*around, *inner_limits) for inner_limits in sums_around(end, letter))
            around = (*around, tuple(limit))
        yield from ((*around, *inner_limits) for inner_limits in sums_around(expr.function, letter))
    else:
        for arg in expr.args:
            yield from sums_around(arg, letter)
