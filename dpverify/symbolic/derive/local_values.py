"""Local letters may not narrow a statement: at each point of its domain they must have values that are assumed of them.

Such values are found, as expressions in the statement's letters: the bounds that the assumptions have, these letters
themselves, 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from dpverify.symbolic.derive.steps import Derivation, symbol_conditions
from dpverify.symbolic.expressions.functions import Norm
from dpverify.symbolic.prove.defined import undefined_part
from dpverify.symbolic.prove.facts import Facts, differences
from dpverify.symbolic.prove.places import Occurrence
from dpverify.symbolic.prove.signs import implied, is_nonnegative


def without_local_values(derivation: Derivation, rename: dict[Any, Any], granted: Facts) -> str:
    """Why the local letters may have no values somewhere; empty if they have some everywhere."""
    local_letters = set(derivation.local)
    assumed = [a.xreplace(rename) for a in derivation.assumptions if local_letters & {s.name for s in a.free_symbols}]
    letters = sorted({s for a in assumed for s in a.free_symbols if s.name in local_letters}, key=str)
    if values_of(tuple(letters), assumed, granted) is not None:
        return ""
    return f"not proven that there are values of {', '.join(map(str, letters))} as assumed, on the whole domain."


def values_of(letters: tuple[Any, ...], assumed: list[Any], granted: Facts) -> dict[Any, Any] | None:
    """Values of letters, as expressions in the others, of which all that is assumed is proven; None if not found.

    Of a vector, it is the length.
    """
    for letter in letters:
        other_letters = tuple(symbol for symbol in letters if symbol != letter)
        sizes = () if letter.is_real else (0, 1)  # of a vector, of whose norm alone the assumptions speak
        for size in map(sympy.Integer, sizes):
            values = values_of(other_letters, [a.xreplace({Norm(letter): size}) for a in assumed], granted)
            if values is not None:
                return {letter: size, **values}
        for value in dict.fromkeys(_candidates(letter, assumed)):
            if not value.free_symbols.isdisjoint(letters) or not _may_be(letter, value, granted):
                continue
            put = [a.xreplace({letter: value}) for a in assumed]
            open_ones = [a for a in put if a is not sympy.true and not a.free_symbols.isdisjoint(other_letters)]
            if not all(_implied(a, granted) for a in put if a not in open_ones):
                continue
            values = values_of(other_letters, open_ones, granted)
            if values is not None:
                return {letter: value, **values}
    return None if letters else {}


def _implied(relation: Any, granted: Facts) -> bool:
    """Whether a relation is proven, with ``b**e <= exp(e*(b - 1))`` for the powers in it."""
    powers = [p for p in relation.atoms(sympy.Pow) if p.base.is_Add and not p.exp.is_number]
    usable = (p for p in powers if is_nonnegative(p.base, granted) and is_nonnegative(p.exp, granted))
    return implied(relation, granted.given([p <= sympy.exp(sympy.expand(p.exp * (p.base - 1))) for p in usable]))


def _candidates(letter: Any, assumed: list[Any]) -> Iterator[Any]:
    """Where the assumptions on a letter become equalities, if they are linear in it."""
    for relation in assumed:
        for difference, _ in differences(relation):
            slope = sympy.diff(difference, letter) if letter in difference.free_symbols else sympy.Integer(0)
            if slope != 0 and letter not in slope.free_symbols:
                yield letter - difference / slope
                yield letter - difference / slope + 1
                yield sympy.expand((letter * slope - difference) / slope)
        for symbol in sorted(relation.free_symbols - {letter}, key=str):
            yield from (symbol, symbol + 1)
    yield sympy.Integer(0)
    yield sympy.Integer(1)


def _may_be(letter: Any, value: Any, granted: Facts) -> bool:
    if undefined_part(value, Occurrence(granted), {}) is not None:
        return False
    return all(condition.substituted({letter.name: value}).met(granted, {}) for condition in symbol_conditions(letter))
