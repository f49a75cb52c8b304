"""Does an infinite sum have a finite value? Where its terms are geometric, with ratios proven below 1, it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from dpverify.symbolic.prove.canonical import expanded
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.prove.signs import is_nonnegative, is_positive


def converges(body: Any, index: Any, facts: Facts) -> bool:
    """Whether the terms are finitely many geometric ones; what is known of the index is known of all of its range."""
    return all(_shrinks(term, index, facts) for term in sympy.Add.make_args(sympy.expand_mul(body)))


def _shrinks(term: Any, index: Any, facts: Facts) -> bool:
    """Whether each term is the one before times a number in (-1, 1) that is the same for all."""
    ratio = [(base, sympy.diff(exponent, index)) for base, exponent in _factors(term) if index in exponent.free_symbols]
    fixed = [base for base, _ in _factors(term)] + [exponent for _, exponent in ratio]
    if any(index in part.free_symbols for part in fixed):
        return False
    if not all(exponent.is_number for _, exponent in ratio) and _below_one(ratio, facts):
        return True  # tried first, for it takes less
    quotient = sympy.Mul(*(base**exponent for base, exponent in ratio))
    return (is_positive(1 + quotient, facts) and is_positive(1 - quotient, facts)) or _below_one(ratio, facts)


def _factors(product: Any) -> Iterator[tuple[Any, Any]]:
    """Bases and exponents; of an exponential, its argument stands for the logarithm."""
    for factor in sympy.Mul.make_args(product):
        yield (sympy.E, factor.args[0]) if isinstance(factor, sympy.exp) else factor.as_base_exp()


def _below_one(factors: list[tuple[Any, Any]], facts: Facts) -> bool:
    """Whether a product of powers is proven to be in [0, 1), by its logarithm; where a base is 0, so is the product."""
    for base, exponent in factors:
        if is_positive(base, facts):
            continue
        if not (is_nonnegative(base, facts) and is_positive(exponent, facts)):
            return False
        facts = facts.given([base > 0])
    inverted = {
        node: -sympy.log(1 / node.args[0])
        for f in (*facts.nonnegative, *facts.positive)
        for node in f.atoms(sympy.log)
        if node.args[0].is_Pow and node.args[0].exp == -1 and is_positive(1 / node.args[0], facts)
    }
    facts = facts.given(bound >= 0 for base, _ in factors for bound in list(_bounds(base, facts)))
    logarithm = sympy.Add(*(exponent * sympy.log(base) for base, exponent in factors))
    return is_positive(-logarithm, facts.substituted(inverted))


def _bounds(base: Any, facts: Facts) -> Iterator[Any]:
    """Differences of logarithms that are not negative, from what is known of a positive base."""
    for fact in (*facts.nonnegative, *facts.positive):
        above = expanded(base + fact)
        below = expanded(base - fact)
        if base.free_symbols.isdisjoint(above.free_symbols):
            yield sympy.log(above) - sympy.log(base)
        if base.free_symbols.isdisjoint(below.free_symbols) and is_positive(below, facts):
            yield sympy.log(base) - sympy.log(below)
