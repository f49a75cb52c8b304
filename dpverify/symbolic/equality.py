"""Prove that two expressions are equal on a domain: sympy, several strategies, cheap ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sympy

from dpverify.symbolic.canonical import canonical
from dpverify.symbolic.expansion import common_denominator, expanded
from dpverify.symbolic.facts import Facts
from dpverify.symbolic.functions import Log2
from dpverify.symbolic.signs import is_nonnegative, is_positive
from dpverify.symbolic.timing import within

_SECONDS = 10.0
_MAX_OPERATIONS = 160


def are_equal(left: Any, right: Any, facts: Facts, refuted: Callable[[Any], bool] | None = None) -> bool:
    """Whether two expressions are proven equal wherever the facts hold.

    Parameters
    ----------
    left, right : sympy.Expr
        The two sides.
    facts : Facts
        What may be assumed.
    refuted : callable, optional
        From an expression to whether it is certainly not 0 at some point of the domain; saves the search for a proof.

    Returns
    -------
    bool
        True is a proof, False means that none was found.
    """
    difference = left - right
    if difference == 0:
        return True
    if difference.has(sympy.nan, sympy.zoo) or (refuted is not None and refuted(difference)):
        return False
    renamed = difference.xreplace(_positive_symbols(difference, facts))
    for form in _forms(renamed, facts):
        if form == 0:
            return True
    return is_nonnegative(difference, facts) and is_nonnegative(-difference, facts)


def _positive_symbols(expr: Any, facts: Facts) -> dict[Any, Any]:
    """Replace symbols that the facts prove positive by symbols that sympy knows to be."""
    return {
        s: sympy.Dummy(s.name, positive=True, integer=s.is_integer)
        for s in sorted(expr.free_symbols, key=str)
        if s.is_real and not s.is_positive and is_positive(s, facts)
    }


def _forms(expr: Any, facts: Facts) -> Iterator[Any]:
    """Yield equal forms of an expression; one of them is 0 if the expression is, we hope."""
    yield expanded(expr)
    flat = canonical(expr, facts) if expr.has(sympy.Sum) else expr
    for form in dict.fromkeys((flat, _without_log2(flat))):
        yield expanded(form)
        cleared = _cleared(form)
        yield cleared
        yield sympy.expand(sympy.powsimp(cleared))
        yield sympy.expand(sympy.expand_log(sympy.powdenest(cleared)))
        yield sympy.powsimp(sympy.expand(cleared))
    if flat.count_ops() <= _MAX_OPERATIONS:
        for transform in (sympy.factor, sympy.radsimp, sympy.simplify):
            result = within(_SECONDS, lambda transform=transform: transform(_without_log2(flat)))  # type: ignore[misc]  # sympy ships no types
            if result is not None:
                yield result


def _without_log2(expr: Any) -> Any:
    return expr.replace(Log2, lambda arg: sympy.log(arg) / sympy.log(2)) if expr.has(Log2) else expr


def _cleared(expr: Any) -> Any:
    """Numerator over the common denominator: 0 where the expression is 0."""
    denominator = common_denominator(expr)
    return expanded(sympy.Add(*(expanded(term * denominator) for term in sympy.Add.make_args(expr))))
