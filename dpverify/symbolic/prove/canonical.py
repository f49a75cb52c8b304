"""Canonical forms of expressions, and facts about the functions that these forms treat as symbols.

Expressions are expanded into monomials, with sum indices that start at 0 and are named
by their depth.

A certificate treats ``exp(u)``, ``b**e``, ``log(u)``, ``floor(u)`` and similar functions as symbols. This module lists
the inequalities between them: 0 < exp(u), u - 1 >= log(u), 0 <= b**e <= 1 for b in [0, 1], and others. The prover
decides the conditions of these inequalities (is ``u`` negative? is ``b`` below 1?).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import permutations
from typing import Any

import sympy

from dpverify.symbolic.expressions.functions import Bit, Log2, PopCount
from dpverify.symbolic.prove.facts import Facts, renamed

_FEW_TERMS = 6
_HINTS = {"power_exp": False, "power_base": False, "log": False, "deep": True}


def canonical(expr: Any, facts: Facts) -> Any:
    """Rewrite every sum. A sum of equal terms becomes a product only if its length is proven nonnegative."""
    return expr.replace(lambda e: isinstance(e, sympy.Sum), lambda e: _sum(e, facts))


def _sum(node: Any, facts: Facts) -> Any:
    body = node.function
    for index, lo, hi in node.limits:
        body = _one_sum(body, index, lo, hi, facts)
    return body


def _one_sum(body: Any, index: Any, lo: Any, hi: Any, facts: Facts) -> Any:
    fresh = _index(depth_of(body))
    if lo == -sympy.oo:
        return sympy.Sum(body, (index, lo, hi))
    shifted = expanded(renamed(body, index, fresh + lo))
    last = expanded(hi - lo)
    if last.is_Integer:
        if last < 0:
            return sympy.Integer(0)
        if last < _FEW_TERMS:
            few = (
                shifted.xreplace({fresh: sympy.Integer(k)})
                for k in range(int(last) + 1)
            )
            return sympy.Add(*(canonical(term, facts) for term in few))
    terms = sympy.Add.make_args(shifted) if last != sympy.oo else (shifted,)
    return sympy.Add(*(_one_term(term, fresh, last, facts) for term in terms))


@lru_cache
def _index(depth: int) -> Any:
    """Return the index of every sum at a nesting depth."""
    return sympy.Dummy(str(depth), integer=True, nonnegative=True)


def _one_term(term: Any, index: Any, last: Any, facts: Facts) -> Any:
    from dpverify.symbolic.prove.signs import is_nonnegative

    constant, variable_part = term.replace(
        lambda e: _splittable(e, index), lambda e: _split(e, index)
    ).as_independent(index, as_Add=False)
    if variable_part == 1 and last != sympy.oo and is_nonnegative(last + 1, facts):
        return constant * (last + 1)
    return constant * sympy.Sum(variable_part, (index, 0, last))


def _splittable(expr: Any, index: Any) -> bool:
    return bool(
        expr.is_Pow
        and expr.exp.is_Add
        and expr.base.is_positive
        and index not in expr.base.free_symbols
    )


def _split(power: Any, index: Any) -> Any:
    constant, variable_part = power.exp.as_independent(index, as_Add=True)
    return sympy.Mul(power.base**constant, power.base**variable_part, evaluate=False)


def inner_sum(node: Any, count: int) -> Any:
    """Return the innermost ``count`` sums of a nested sum, which sympy stores as a flat list of limits."""
    return sympy.Sum(node.function, *node.limits[:count]) if count else node.function


def depth_of(expr: Any) -> int:
    """Return the nesting depth of sums in an expression."""
    if isinstance(expr, sympy.Sum):
        return len(expr.limits) + depth_of(expr.function)
    return max((depth_of(arg) for arg in expr.args), default=0)


@lru_cache(maxsize=100_000)
def expanded(expr: Any) -> Any:
    """Expand products, integer powers, and exponents of numeric bases: ``2**(u + 1)`` becomes ``2*2**u``."""
    if not expr.has(sympy.Add):
        return expr
    # term by term, since each may be cached already
    if expr.is_Mul and any(factor.is_Add for factor in expr.args):
        terms = [sympy.Integer(1)]
        for factor in expr.args:
            terms = [
                term * new
                for term in terms
                for new in sympy.Add.make_args(expanded(factor))
            ]
        return sympy.Add(*map(expanded, terms))
    result = sympy.expand(expr, **_HINTS)
    split = result.replace(_has_numeric_base, _split_exponent)
    return result if split == result else sympy.expand(split, **_HINTS)


def _has_numeric_base(expr: Any) -> bool:
    return bool(
        expr.is_Pow
        and expr.base.is_Rational
        and expr.base.is_positive
        and expr.exp.is_Add
    )


def _split_exponent(power: Any) -> Any:
    constant, variable_part = power.exp.as_coeff_Add()
    return (
        power.base**constant * power.base**variable_part
        if constant.is_Integer
        else power
    )


def squares(symbols: list[Any]) -> list[Any]:
    """Return squares of differences of symbols, and of symbols and 1.

    They are nonnegative, but not products of facts.
    """
    real = [s for s in symbols if s.is_real]
    return [
        (a - b) ** 2
        for i, a in enumerate(real)
        for b in (*real[i + 1 :], sympy.Integer(1))
    ]


def common_denominator(expr: Any) -> Any:
    """Return the product of the bases in denominators, except exponentials, each to its highest power, or 1."""
    powers: dict[Any, Any] = {}
    for term in sympy.Add.make_args(expr):
        for factor in sympy.Mul.make_args(term):
            if (
                factor.is_Pow
                and factor.exp.is_Rational
                and factor.exp.is_negative
                and not factor.base.is_Rational
            ):
                powers[factor.base] = max(powers.get(factor.base, 0), -factor.exp)
    return sympy.Mul(*(base**exponent for base, exponent in powers.items()))


Prove = Callable[[Any, bool], bool]
Fact = tuple[Any, bool]

_MAX_PAIRS = 6


def atoms_of(expr: Any) -> Iterator[Any]:
    """Yield the generators of a polynomial that are neither symbols nor numbers."""
    if expr.is_Add or expr.is_Mul:
        for arg in expr.args:
            yield from atoms_of(arg)
    elif expr.is_Pow and expr.exp.is_Integer and expr.exp.is_positive:
        yield from atoms_of(expr.base)
    elif not expr.is_Symbol and not expr.is_Rational:
        yield expr


def facts_about(atom: Any, prove: Prove) -> Iterator[Fact]:
    """Yield expressions that are nonnegative, or positive if the flag is set."""
    if isinstance(atom, sympy.exp):
        yield from _exp_facts(atom, prove)
    elif atom.is_Pow:
        yield from _power_facts(atom, prove)
    elif isinstance(atom, sympy.log | Log2):
        yield from _log_facts(atom, prove)
    elif isinstance(atom, sympy.floor | sympy.ceiling):
        yield from _rounding_facts(atom, prove)
    elif isinstance(atom, sympy.Mod):
        if prove(atom.args[1], True):
            yield atom, False
            yield atom.args[1] - atom, True
            if prove(atom.args[0], False):
                yield atom.args[0] - atom, False
            if atom.args[0].is_integer and atom.args[1].is_integer:
                yield atom.args[1] - atom - 1, False
    elif isinstance(atom, Bit):
        yield atom, False
        yield 1 - atom, False
    elif isinstance(atom, PopCount):
        yield atom, False
        yield atom.args[0] - atom, False
    elif isinstance(atom, sympy.Sum):
        index, lo, hi = atom.limits[-1]
        fresh = sympy.Dummy(index.name, integer=True)
        body = inner_sum(atom, len(atom.limits) - 1).xreplace({index: fresh})
        if prove(sympy.Piecewise((body, sympy.And(fresh >= lo, fresh <= hi))), False):
            yield atom, False
    elif isinstance(atom, sympy.Integral) and atom.limits[0][1:] == (
        -sympy.oo,
        sympy.oo,
    ):
        inside = sympy.Dummy("x", real=True)
        if prove(atom.function.xreplace({atom.limits[0][0]: inside}), True):
            yield atom, True
    elif atom.is_nonnegative:
        yield atom, bool(atom.is_positive)


def _exp_facts(atom: Any, prove: Prove) -> Iterator[Fact]:
    (u,) = atom.args
    yield atom, True
    yield atom - 1 - u, False
    yield 1 - atom * (1 - u), False
    if prove(-u, True):
        yield 1 - atom, True
    elif prove(-u, False):
        yield 1 - atom, False
    elif prove(u, True):
        yield atom - 1, True


def _power_facts(atom: Any, prove: Prove) -> Iterator[Fact]:
    base, exponent = atom.args
    positive = prove(base, True)
    if not positive and not (prove(base, False) and prove(exponent, False)):
        return
    yield atom, positive
    if base.is_Integer and base > 1 and exponent.is_integer and prove(exponent, False):
        yield atom - 1 - exponent * (base - 1), False  # Bernoulli
    rising = prove(exponent, False)
    falling = prove(-exponent, False)
    if rising or falling:
        strict = prove(exponent if rising else -exponent, True)
        sign = 1 if rising else -1
        for above in (True, False):
            if base.is_number and (base > 1) != above:
                continue
            gap = base - 1 if above else 1 - base
            direction = sign if above else -sign
            if strict and prove(gap, True):
                yield direction * (atom - 1), True
            elif prove(gap, False):
                yield direction * (atom - 1), False


def _log_facts(atom: Any, prove: Prove) -> Iterator[Fact]:
    (u,) = atom.args
    if not prove(u, True):
        return
    if isinstance(atom, sympy.log):
        yield u - 1 - atom, False
        yield atom - 1 + 1 / u, False
    for gap, sign in ((u - 1, 1), (1 - u, -1)):
        if prove(gap, True):
            yield sign * atom, True
        elif prove(gap, False):
            yield sign * atom, False


def _rounding_facts(atom: Any, prove: Prove) -> Iterator[Fact]:
    (u,) = atom.args
    down = isinstance(atom, sympy.floor)
    yield (u - atom if down else atom - u), False
    yield (atom + 1 - u if down else u + 1 - atom), True
    for k in (0, 1):
        if down and prove(u - k, False):
            yield atom - k, False
        elif not down and prove(u - k, True):
            yield atom - k - 1, False


def facts_between(atoms: list[Any], prove: Prove) -> Iterator[Fact]:
    """Yield facts from monotonicity for two atoms of the same kind: ``exp(u) >= exp(v)`` if ``u >= v`` is proven."""
    for a, b in permutations(atoms[:_MAX_PAIRS], 2):
        if a.func == b.func and isinstance(
            a, sympy.exp | sympy.log | Log2 | sympy.floor | sympy.ceiling
        ):
            logarithm = isinstance(a, sympy.log | Log2)
            if prove(a.args[0] - b.args[0], False) and (
                not logarithm or prove(b.args[0], True)
            ):
                yield a - b, False
        elif a.is_Pow and b.is_Pow:
            yield from _facts_between_powers(a, b, prove)


def _facts_between_powers(a: Any, b: Any, prove: Prove) -> Iterator[Fact]:
    if a.exp == b.exp and prove(a.exp, False):
        if prove(b.base, False) and prove(a.base - b.base, False):
            yield a - b, False
    elif a.base == b.base:
        rising = prove(a.base - 1, False) and prove(a.exp - b.exp, False)
        if rising or (
            prove(a.base, True)
            and prove(1 - a.base, False)
            and prove(b.exp - a.exp, False)
        ):
            yield a - b, False
