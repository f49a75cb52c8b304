"""Points that satisfy given facts, found by trying: they save the search for proofs of what is false there."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

from dpverify.symbolic.exact.numbers import compare, to_value
from dpverify.symbolic.expressions.from_sympy import index_name
from dpverify.symbolic.prove.facts import Facts, value_at

_TRIES = 400
_WANTED = 6
_REALS = tuple(map(Fraction, ("1/1000", "1/10", "1/3", "1/2", "9/10", "1", "3/2", "2", "9")))
_INTEGERS = tuple(map(Fraction, (1, 2, 3, 4, 7, 30)))
_ZERO = to_value(0)


def witnessed(facts: Facts, symbols: set[Any]) -> Facts:
    """Give facts witnesses that know some symbols.

    The same facts; perhaps still without witnesses, where none is found. Symbols that the present witnesses do not know
    get values that fit their assumptions, and nothing else.
    """
    if facts.witnesses:
        missing = sorted((s for s in symbols if index_name(s) not in facts.witnesses[0]), key=str)
        return replace(facts, witnesses=_extended(facts.witnesses, missing)) if missing else facts
    known = frozenset(symbols).union(*(f.free_symbols for f in (*facts.nonnegative, *facts.positive)))
    return replace(facts, witnesses=_search(facts, known))


def _extended(witnesses: Any, missing: list[Any]) -> tuple[dict[str, Any], ...]:
    rng = Random("extended witnesses")
    return tuple({**w, **{index_name(s): to_value(_value(s, rng)) for s in missing}} for w in witnesses)


@lru_cache(maxsize=2000)
def _search(facts: Facts, symbols: frozenset[Any]) -> tuple[dict[str, Any], ...]:
    ordered = sorted(symbols, key=lambda s: s.name)
    rng = Random("witnesses")
    found: list[dict[str, Any]] = []
    for _ in range(_TRIES):
        point = {index_name(s): to_value(_value(s, rng)) for s in ordered}
        if _satisfies(facts, point):
            found.append(point)
            if len(found) == _WANTED:
                break
    return tuple(found)


def _value(symbol: Any, rng: Random) -> Fraction:
    size = rng.choice(_INTEGERS if symbol.is_integer else _REALS)
    sign = -1 if symbol.is_nonpositive or (not symbol.is_nonnegative and rng.random() < 0.4) else 1
    if rng.random() < 0.1 and not symbol.is_nonzero:
        sign = 0
    return sign * size


def _satisfies(facts: Facts, point: dict[str, Any]) -> bool:
    for bounds, relation in ((facts.nonnegative, ">="), (facts.positive, ">")):
        for f in bounds:
            value = value_at(f, point)
            if value is None or not compare(value, relation, _ZERO):
                return False
    return True
