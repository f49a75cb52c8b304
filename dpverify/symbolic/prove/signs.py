"""Prove that an expression is nonnegative or positive, given facts.

True is a proof; False means that none was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import sympy

from dpverify.symbolic.exact.numbers import EvaluationError
from dpverify.symbolic.expressions.evaluation import compile_expr
from dpverify.symbolic.prove.canonical import (
    atoms_of,
    common_denominator,
    expanded,
    facts_about,
    facts_between,
)
from dpverify.symbolic.prove.certificate import combine
from dpverify.symbolic.prove.facts import (
    Facts,
    FalseAssumptionError,
    differences,
    symbol_facts,
    symbols_of,
    with_witnesses,
)

_DEPTH = 4
_MAX_OPERATIONS = 220
_NO_FACTS = Facts()
_decisions_left: ContextVar[list[int] | None] = ContextVar(
    "decisions_left", default=None
)
_CHOICES = (sympy.Piecewise, sympy.Max, sympy.Min, sympy.Abs)
SignedFacts = tuple[tuple[Any, bool], ...]


class TooLongError(RuntimeError):
    """A proof took more decisions than were allowed."""


@contextmanager
def at_most(decisions: int) -> Iterator[None]:
    """Raise a `TooLongError` after this many decisions in the block.

    Caches are cleared first, so the count is reproducible.
    """
    _proved.cache_clear()
    token = _decisions_left.set([decisions])
    try:
        yield
    finally:
        _decisions_left.reset(token)


def is_nonnegative(expr: Any, facts: Facts = _NO_FACTS) -> bool:
    """Test whether ``expr >= 0`` is proven on the domain that the facts describe."""
    return _prove_sign(sympy.sympify(expr), False, facts)


def is_positive(expr: Any, facts: Facts = _NO_FACTS) -> bool:
    """Test whether ``expr > 0`` is proven on the domain that the facts describe."""
    return _prove_sign(sympy.sympify(expr), True, facts)


def is_nonzero(expr: Any, facts: Facts = _NO_FACTS) -> bool:
    """Test whether ``expr`` is proven to have one sign and no zero."""
    return is_positive(expr, facts) or is_positive(-expr, facts)


def is_implied(relation: Any, facts: Facts) -> bool:
    """Test whether a relation is proven. False means that no proof was found."""
    if relation is sympy.true:
        return True
    if relation is sympy.false:
        return False
    if isinstance(relation, sympy.Ne):
        return is_nonzero(relation.lhs - relation.rhs, facts)
    if isinstance(relation, sympy.And):
        return all(is_implied(part, facts) for part in relation.args)
    return all(
        _prove_sign(difference, strict, facts)
        for difference, strict in differences(relation)
    )


def _prove_sign(expr: Any, strict: bool, facts: Facts) -> bool:
    return _prove(
        expr,
        strict,
        facts if facts.witnesses else with_witnesses(facts, symbols_of(expr)),
        _DEPTH,
    )


def _prove(expr: Any, strict: bool, facts: Facts, depth: int) -> bool:
    if (left := _decisions_left.get()) is not None:
        left[0] -= 1
        if left[0] < 0:
            raise TooLongError
    return _proved(expr, strict, facts.relevant_to(symbols_of(expr)), depth)


@lru_cache(maxsize=50_000)
def _proved(expr: Any, strict: bool, facts: Facts, depth: int) -> bool:
    if facts.positive:
        expr = _without_known(expr, facts)
    if not symbols_of(expr):
        return _prove_number(expr, strict)
    if expr in facts.positive or (not strict and expr in facts.nonnegative):
        return True
    if choices := _choices(expr):
        tried = depth > 0 and not facts.is_refuted(expr, strict)
        return tried and (
            _by_terms(expr, strict, facts, depth)
            or _by_cases(expr, choices, strict, facts, depth)
        )
    has_sign = expr.is_positive if strict else expr.is_nonnegative
    if has_sign is not None:
        return bool(has_sign)
    if isinstance(expr, sympy.exp):
        return True
    if (
        depth <= 0
        or expr.count_ops() > _MAX_OPERATIONS
        or facts.is_refuted(expr, strict)
    ):
        return False
    return (
        _by_terms(expr, strict, facts, depth)
        or _by_factors(expr, strict, facts, depth)
        or _by_certificate(expr, strict, facts, depth, products=False)
        or _by_closed_powers(expr, strict, facts, depth)
        or _by_certificate(expr, strict, facts, depth, products=True)
        or _by_shift(expr, strict, facts, depth)
        or _by_fraction(expr, strict, facts, depth)
    )


def _without_known(expr: Any, facts: Facts) -> Any:
    """Remove factors and divisors that are positive by the facts."""
    factors = [
        a
        for a in sympy.Mul.make_args(expr)
        if (a.base if a.is_Pow else a) not in facts.positive
    ]
    return (
        sympy.Mul(*factors) if len(factors) < len(sympy.Mul.make_args(expr)) else expr
    )


def _prove_number(expr: Any, strict: bool) -> bool:
    try:
        value = compile_expr(expr)
        for bits in (128, 1024):
            ball = value({}, bits)
            if ball > 0 or (not strict and ball >= 0):
                return True
            if ball < 0 or (strict and ball <= 0):
                return False
    except (EvaluationError, TypeError):
        return False
    return (
        not strict
        and not expr.has(sympy.Sum, sympy.Integral)
        and sympy.simplify(expr) == 0
    )


def _choices(expr: Any) -> set[Any]:
    """Collect maxima, minima, absolute values and case splits, except those that depend on the index of a sum."""
    if not expr.has(*_CHOICES):
        return set()
    choices = {expr} if isinstance(expr, _CHOICES) else set()
    bound = (
        {limit[0] for limit in expr.limits}
        if isinstance(expr, sympy.Sum | sympy.Integral)
        else set()
    )
    return choices | {
        node
        for arg in expr.args
        for node in _choices(arg)
        if bound.isdisjoint(symbols_of(node))
    }


def _by_cases(
    expr: Any, choices: set[Any], strict: bool, facts: Facts, depth: int
) -> bool:
    """Replace a maximum, minimum, absolute value or case split by each of its values in turn."""
    node = min(choices, key=lambda a: (a.count_ops(), str(a)))
    for value, conditions in _branches(node):
        try:
            branch_facts = facts.assume(conditions)
        except FalseAssumptionError:
            continue  # this branch is never taken
        except ValueError:
            return False  # a condition of an unknown form
        if not _prove(expr.xreplace({node: value}), strict, branch_facts, depth - 1):
            return False
    return True


def _branches(node: Any) -> list[tuple[Any, list[Any]]]:
    if isinstance(node, sympy.Piecewise):
        return [
            (value, [] if condition is sympy.true else [condition])
            for value, condition in node.args
        ]
    if isinstance(node, sympy.Abs):
        (u,) = node.args
        return [(u, [u >= 0]), (-u, [u <= 0])]
    largest = isinstance(node, sympy.Max)
    return [
        (a, [a >= b if largest else a <= b for b in node.args if b is not a])
        for a in node.args
    ]


def _by_factors(expr: Any, strict: bool, facts: Facts, depth: int) -> bool:
    if expr.is_Pow:
        base, exponent = expr.args
        if _prove(base, True, facts, depth - 1):
            return True
        if strict:
            return False
        even = exponent.is_Integer and exponent.is_even
        return bool(even and exponent.is_positive and base.is_real) or _prove(
            base, False, facts, depth - 1
        )
    factors = expr if expr.is_Mul else sympy.factor_terms(expr)
    if not factors.is_Mul:
        factors = _factored(expr) if expr.is_Add and len(expr.args) < 12 else expr
    if factors.is_Pow:
        return factors != expr and _prove(factors, strict, facts, depth - 1)
    if not factors.is_Mul:
        return False
    sign = 1
    for factor in factors.args:
        if _prove(factor, strict, facts, depth - 1):
            continue
        if not _prove(-factor, strict, facts, depth - 1):
            return False
        sign = -sign
    return sign > 0


@lru_cache(maxsize=20_000)
def _factored(expr: Any) -> Any:
    return sympy.factor(expr)


def _by_terms(expr: Any, strict: bool, facts: Facts, depth: int) -> bool:
    """Prove the sign of every term of a sum. This is not tried if a term has a negative coefficient."""
    if not expr.is_Add or any(term.as_coeff_Mul()[0].is_negative for term in expr.args):
        return False
    if strict and not any(_prove(term, True, facts, depth - 1) for term in expr.args):
        return False
    return all(_prove(term, False, facts, depth - 1) for term in expr.args)


def _by_fraction(expr: Any, strict: bool, facts: Facts, depth: int) -> bool:
    denominator = common_denominator(expr)
    if denominator == 1:
        return False
    numerator = expanded(
        sympy.Add(*(term * denominator for term in sympy.Add.make_args(expr)))
    )
    for sign in (1, -1):
        if _prove(sign * denominator, True, facts, depth - 1):
            return _prove(sign * numerator, strict, facts, depth - 1)
    return False


def _by_certificate(
    expr: Any, strict: bool, facts: Facts, depth: int, products: bool
) -> bool:
    return combine(expr, _everything_known(expr, facts, depth), strict, products)


def _by_closed_powers(expr: Any, strict: bool, facts: Facts, depth: int) -> bool:
    """Prove the sign with a symbol for ``(1 - x)**7`` instead of a polynomial of degree 7."""
    powers = [
        p
        for p in expr.atoms(sympy.Pow)
        if p.base.is_Add and p.exp.is_Integer and p.exp > 1
    ]
    if not powers:
        return False
    closed = {p: sympy.Dummy("power", real=True) for p in powers}

    def prove(e: Any, strictly: bool) -> bool:
        return _prove(sympy.sympify(e), strictly, facts, depth - 1)

    power_facts = tuple(
        (f.xreplace(closed), flag) for p in powers for f, flag in facts_about(p, prove)
    )
    return combine(
        expr.xreplace(closed),
        _everything_known(expr, facts, depth) + power_facts,
        strict,
        products=False,
    )


@lru_cache(maxsize=2000)
def _everything_known(expr: Any, facts: Facts, depth: int) -> SignedFacts:
    """Return the facts, the signs of symbols, and facts about the functions in the target and in related facts."""
    pairs = [(f, True) for f in facts.positive] + [
        (f, False) for f in facts.nonnegative
    ]
    symbols = set(symbols_of(expr))
    relevant: list[tuple[Any, bool]] = []
    while len(
        subset := [
            (f, flag) for f, flag in pairs if not symbols.isdisjoint(symbols_of(f))
        ]
    ) > len(relevant):
        relevant = subset
        symbols |= {s for f, _ in relevant for s in symbols_of(f)}
    atoms = list(
        dict.fromkeys(
            a for e in (expr, *(f for f, _ in relevant)) for a in atoms_of(expanded(e))
        )
    )

    def prove(e: Any, strict: bool) -> bool:
        return _prove(sympy.sympify(e), strict, facts, depth - 1)

    ordered = sorted(symbols, key=lambda s: s.name)
    all_facts = relevant + symbol_facts(ordered)
    for atom in atoms:
        all_facts += facts_about(atom, prove)
    all_facts += facts_between(atoms, prove)
    return tuple(sorted(dict(all_facts).items(), key=lambda item: _place(item[0])))


@lru_cache(maxsize=50_000)
def _place(expr: Any) -> tuple[int, str]:
    """Return the sort key of a fact, short ones first. It is cached, since printing an expression is slow."""
    return int(expr.count_ops()), str(expr)


@lru_cache(maxsize=5000)
def _above(symbol: Any, bound: Any) -> Any:
    """Return a letter for a symbol minus a bound, the same on every call, so that cached results are reused."""
    return sympy.Dummy(symbol.name, nonnegative=True, integer=symbol.is_integer)


def _by_shift(expr: Any, strict: bool, facts: Facts, depth: int) -> bool:
    """Replace each symbol by its lower bound plus a letter that sympy knows to be nonnegative, and prove the sign."""
    shifts: dict[Any, tuple[Any, Any]] = {}
    for s in sorted(symbols_of(expr), key=str):
        bounds = [
            s - f for f in (*facts.nonnegative, *facts.positive) if (s - f).is_Rational
        ]
        if s.is_integer:
            bounds = [sympy.ceiling(bound) for bound in bounds] + (
                [sympy.Integer(1)] if s.is_positive else []
            )
        if bounds and (max(bounds) != 0 or not s.is_nonnegative):
            shifts[s] = max(bounds), _above(s, max(bounds))
    if not shifts:
        return False
    moved = expanded(
        expr.xreplace({s: bound + letter for s, (bound, letter) in shifts.items()})
    )
    return moved != expr and _prove(moved, strict, facts.shifted(shifts), depth - 1)
