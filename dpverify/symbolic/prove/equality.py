"""Prove that two expressions are equal on a domain, by several strategies of sympy, cheap ones first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, TypeVar

import sympy

from dpverify.symbolic.expressions.functions import Log2
from dpverify.symbolic.prove.canonical import canonical, common_denominator, expanded
from dpverify.symbolic.prove.facts import Facts, symbols_of, with_witnesses
from dpverify.symbolic.prove.signs import is_nonnegative, is_positive

_SECONDS = 10.0
_MAX_OPERATIONS = 160


def are_equal(left: Any, right: Any, facts: Facts) -> bool:
    """Test whether two expressions are proven equal."""
    difference = left - right
    if difference == 0:
        return True
    if difference.has(sympy.nan, sympy.zoo):
        return False
    if with_witnesses(facts, symbols_of(difference)).is_nonzero_at_witness(difference):
        return False
    return _vanishes(difference, facts.relevant_to(symbols_of(difference)))


@lru_cache(maxsize=5000)
def _vanishes(difference: Any, facts: Facts) -> bool:
    renamed = difference.xreplace(_positive_symbols(difference, facts))
    for form in _forms(renamed, facts):
        if form == 0:
            return True
    if has_unknown_function(difference):
        return False
    return is_nonnegative(difference, facts) and is_nonnegative(-difference, facts)


def has_unknown_function(expr: Any) -> bool:
    """Test whether an expression applies a function with unknown values."""
    return any(
        not applied.is_integer
        for applied in expr.atoms(sympy.core.function.AppliedUndef)
    )


def _positive_symbols(expr: Any, facts: Facts) -> dict[Any, Any]:
    """Map symbols that the facts prove positive to symbols that sympy knows to be positive."""
    return {
        s: _positive(s)
        for s in sorted(symbols_of(expr), key=str)
        if s.is_real and not s.is_positive and is_positive(s, facts)
    }


@lru_cache(maxsize=1000)
def _positive(symbol: Any) -> Any:
    """Return a positive copy of a symbol, the same on every call, so that cached results about it are reused."""
    return sympy.Dummy(symbol.name, positive=True, integer=symbol.is_integer)


def _forms(expr: Any, facts: Facts) -> Iterator[Any]:
    """Yield equal forms of an expression. If the expression is 0, one of them is usually 0."""
    if not expr.has(sympy.Sum, sympy.Integral):
        yield expanded(expr)
    flat = _closed(canonical(expr, facts), facts)
    for form in dict.fromkeys((flat, _without_log2(flat))):
        yield expanded(form)
        cleared = _cleared(form)
        yield cleared
        yield sympy.expand(sympy.powsimp(cleared))
        yield sympy.expand(sympy.expand_log(sympy.powdenest(cleared)))
        yield sympy.powsimp(sympy.expand(cleared))
    if flat.count_ops() <= _MAX_OPERATIONS and not has_unknown_function(expr):
        plain = _without_log2(flat)
        for transform in (sympy.factor, sympy.radsimp, sympy.simplify):
            result = with_time_limit(_SECONDS, partial(transform, plain))
            if result is not None:
                yield result


def _closed(expr: Any, facts: Facts) -> Any:
    """Replace each sum and integral by a symbol: sympy would evaluate sums, and its empty sums are not 0."""
    letters: list[tuple[Any, Any]] = []

    def letter(node: Any) -> Any:
        for representative, dummy in letters:
            if same_terms(node, representative, facts):
                return dummy
        letters.append((node, sympy.Dummy("sum", real=True)))
        return letters[-1][1]

    return expr.replace(lambda e: isinstance(e, sympy.Sum | sympy.Integral), letter)


def same_terms(first: Any, second: Any, facts: Facts) -> bool:
    """Test whether two sums (or integrals) have equal ranges and provably equal terms."""
    if first == second:
        return True
    if first.func != second.func or len(first.limits) != 1 or len(second.limits) != 1:
        return False
    (index, lo, hi), (second_index, *ends) = first.limits[0], second.limits[0]
    body = second.function.xreplace({second_index: index})
    if any(
        a != b and expanded(a - b) != 0 for a, b in zip((lo, hi), ends, strict=True)
    ):
        return False
    return are_equal(first.function, body, facts)


def _without_log2(expr: Any) -> Any:
    return (
        expr.replace(Log2, lambda arg: sympy.log(arg) / sympy.log(2))
        if expr.has(Log2)
        else expr
    )


def _cleared(expr: Any) -> Any:
    """Return the numerator over the common denominator, which is 0 if the expression is 0."""
    denominator = common_denominator(expr)
    return expanded(
        sympy.Add(*(expanded(term * denominator) for term in sympy.Add.make_args(expr)))
    )


T = TypeVar("T")


class _TimeIsUp(BaseException):
    """Raised by the alarm; a BaseException so that no handler inside sympy swallows it."""


def with_time_limit(seconds: float, function: Callable[[], T]) -> T | None:
    """Call a function with a time limit. Return None if the limit is exceeded.

    The limit is far above the time of a normal step, so that a slow machine does not change a verdict. Outside the main
    thread, or if the system has no timer, there is no limit.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        return function()

    def stop(*_: Any) -> None:
        raise _TimeIsUp(stop)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function()
    except _TimeIsUp as up:
        if up.args != (stop,):
            raise
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
