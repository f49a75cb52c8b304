"""Find parts of an expression that are not proven to have a real value everywhere on a domain.

An infinite sum has a finite value if its terms are geometric with ratios proven to be in (-1, 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy

from dpverify.symbolic.expressions.evaluation import (
    AnyFunction,
    FunctionOf,
    gaussian_integral,
)
from dpverify.symbolic.expressions.functions import (
    Binomial,
    Bit,
    Inner,
    Log2,
    Moment,
    Norm,
    PopCount,
)
from dpverify.symbolic.expressions.ranges import SetBits
from dpverify.symbolic.prove.canonical import expanded
from dpverify.symbolic.prove.facts import (
    Facts,
    FalseAssumptionError,
    Occurrence,
    renamed,
)
from dpverify.symbolic.prove.signs import (
    is_implied,
    is_nonnegative,
    is_nonzero,
    is_positive,
)


def converges(body: Any, index: Any, facts: Facts) -> bool:
    """Test whether the summand is a finite sum of convergent geometric terms.

    Facts about the index hold on its whole range.
    """
    return all(
        _shrinks(term, index, facts)
        for term in sympy.Add.make_args(sympy.expand_mul(body))
    )


def _shrinks(term: Any, index: Any, facts: Facts) -> bool:
    """Test whether successive terms have a constant ratio in (-1, 1)."""
    ratio = [
        (base, sympy.diff(exponent, index))
        for base, exponent in _factors(term)
        if index in exponent.free_symbols
    ]
    fixed = [base for base, _ in _factors(term)] + [exponent for _, exponent in ratio]
    if any(index in part.free_symbols for part in fixed):
        return False
    if not all(exponent.is_number for _, exponent in ratio) and _below_one(
        ratio, facts
    ):
        return True  # tried first, since it is faster
    quotient = sympy.Mul(*(base**exponent for base, exponent in ratio))
    return (
        is_positive(1 + quotient, facts) and is_positive(1 - quotient, facts)
    ) or _below_one(ratio, facts)


def _factors(product: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the base and exponent of each factor. The base of an exponential is e."""
    for factor in sympy.Mul.make_args(product):
        yield (
            (sympy.E, factor.args[0])
            if isinstance(factor, sympy.exp)
            else factor.as_base_exp()
        )


def _below_one(factors: list[tuple[Any, Any]], facts: Facts) -> bool:
    """Test by its logarithm whether a product of powers is proven to be in [0, 1). It is 0 if a base is 0."""
    for base, exponent in factors:
        if is_positive(base, facts):
            continue
        if not (is_nonnegative(base, facts) and is_positive(exponent, facts)):
            return False
        facts = facts.assume([base > 0])
    inverted = {
        node: -sympy.log(1 / node.args[0])
        for f in (*facts.nonnegative, *facts.positive)
        for node in f.atoms(sympy.log)
        if node.args[0].is_Pow
        and node.args[0].exp == -1
        and is_positive(1 / node.args[0], facts)
    }
    facts = facts.assume(
        bound >= 0 for base, _ in factors for bound in list(_bounds(base, facts))
    )
    logarithm = sympy.Add(*(exponent * sympy.log(base) for base, exponent in factors))
    return is_positive(-logarithm, facts.substituted(inverted))


def _bounds(base: Any, facts: Facts) -> Iterator[Any]:
    """Yield nonnegative differences of logarithms that follow from facts about a positive base."""
    for fact in (*facts.nonnegative, *facts.positive):
        above = expanded(base + fact)
        below = expanded(base - fact)
        if base.free_symbols.isdisjoint(above.free_symbols):
            yield sympy.log(above) - sympy.log(base)
        if base.free_symbols.isdisjoint(below.free_symbols) and is_positive(
            below, facts
        ):
            yield sympy.log(base) - sympy.log(below)


_EVERYWHERE = (
    sympy.exp, sympy.Abs, sympy.Max, sympy.Min, sympy.floor, sympy.ceiling, sympy.erf, sympy.erfc, sympy.tanh,
    Norm, Inner,
)  # fmt: skip


def undefined_part(expr: Any, place: Occurrence, variables: Mapping[str, Any]) -> Any:
    """Return the first part of an expression that is not proven to have a value at a place, or None."""
    return next(_parts(sympy.sympify(expr), place, variables), None)


def _parts(expr: Any, place: Occurrence, variables: Mapping[str, Any]) -> Iterator[Any]:
    if expr.is_Symbol or (expr.is_number and not expr.args and expr.is_real):
        return
    if isinstance(expr, sympy.Sum):
        yield from _in_sum(expr, place, variables)
    elif isinstance(expr, sympy.Integral):
        yield from _in_integral(expr, place, variables)
    elif isinstance(expr, sympy.Piecewise):
        yield from _in_choice(expr, place, variables)
    else:
        for arg in expr.args:
            yield from _parts(arg, place, variables)
        if not _has_value(expr, place.facts, variables):
            yield expr


def _has_value(expr: Any, facts: Facts, variables: Mapping[str, Any]) -> bool:
    """Test whether a function has a value, given that its arguments have values."""
    args = expr.args
    if expr.is_Add or expr.is_Mul or isinstance(expr, _EVERYWHERE):
        return bool(args)
    if expr.is_Pow:
        return _power(expr.base, expr.exp, facts)
    if isinstance(expr, sympy.log | Log2 | sympy.gamma | sympy.loggamma):
        return _has_sign(args[0], True, facts)
    if isinstance(expr, sympy.Mod):
        return is_positive(args[1], facts)
    if isinstance(expr, Bit | PopCount | Binomial):
        return all(arg.is_integer and is_nonnegative(arg, facts) for arg in args)
    if isinstance(expr, Moment):
        return is_nonnegative(args[1], facts)
    declared = variables.get(str(expr.func))
    if isinstance(declared, SetBits):
        (k,) = args
        return (
            k.is_integer
            and is_positive(k, facts)
            and is_nonnegative(PopCount(declared.of) - k, facts)
        )
    if isinstance(declared, AnyFunction | FunctionOf):
        return len(args) == declared.arity and all(arg.is_integer for arg in args)
    return False


def _power(base: Any, exponent: Any, facts: Facts) -> bool:
    """Test whether a power has a value.

    A negative base needs an integer exponent. The base 0 needs a nonnegative exponent: ``0**0 = 1``.
    """
    if exponent.is_integer:
        return (
            bool(exponent.is_nonnegative)
            or is_nonnegative(exponent, facts)
            or _nonzero(base, facts)
        )
    return _has_sign(base, not is_nonnegative(exponent, facts), facts)


def _has_sign(expr: Any, strict: bool, facts: Facts) -> bool:
    """Test whether an expression is proven positive (or nonnegative), by its parts if possible, or as a whole."""
    if expr.is_Mul and all(_has_sign(factor, strict, facts) for factor in expr.args):
        return True
    if expr.is_Add and not any(
        term.as_coeff_Mul()[0].is_negative for term in expr.args
    ):
        first, *later_terms = expr.args
        if _has_sign(first, strict, facts) and all(
            _has_sign(term, False, facts) for term in later_terms
        ):
            return True
    if expr.is_Pow and _has_sign(
        expr.base, strict or not expr.exp.is_nonnegative, facts
    ):
        return True
    return is_positive(expr, facts) if strict else is_nonnegative(expr, facts)


def _nonzero(expr: Any, facts: Facts) -> bool:
    """Test whether an expression is proven nonzero. ``a - b`` is nonzero if ``a**2 - b**2`` is."""
    if expr.is_Mul:
        return all(_nonzero(factor, facts) for factor in expr.args)
    if expr.is_Pow:
        return _nonzero(expr.base, facts)
    if _has_sign(expr, True, facts) or is_nonzero(expr, facts):
        return True
    if (
        expr.is_Add
        and len(expr.args) == 2
        and any(s.exp == sympy.Rational(1, 2) for s in expr.atoms(sympy.Pow))
    ):
        return is_nonzero(sympy.expand(expr.args[0] ** 2 - expr.args[1] ** 2), facts)
    return False


def _in_sum(
    expr: Any, place: Occurrence, variables: Mapping[str, Any]
) -> Iterator[Any]:
    """Yield undefined parts of a sum, from the outer limits inwards.

    The range of an index holds only inside its sum.
    """
    *inner, limit = expr.limits
    _, lo, hi = limit
    for end in (lo, hi):
        if end != sympy.oo:
            yield from _parts(end, place, variables)
            if not end.is_integer:
                yield expr
    fresh, inner_place = place.inside(limit)
    body = renamed(
        sympy.Sum(expr.function, *inner) if inner else expr.function, limit[0], fresh
    )
    yield from _parts(body, inner_place, variables)
    if hi == sympy.oo and not converges(body, fresh, inner_place.facts):
        yield expr


def _in_integral(
    expr: Any, place: Occurrence, variables: Mapping[str, Any]
) -> Iterator[Any]:
    """Yield undefined parts of an integral.

    Only exponentials of quadratics over the real line are known, and the square must have a negative coefficient.
    """
    try:
        closed = gaussian_integral(expr)
    except (TypeError, sympy.PolynomialError):
        yield expr
        return
    v = expr.limits[0][0]
    real = sympy.Dummy(v.name, real=True)
    yield from _parts(expr.function.xreplace({v: real}), place, variables)
    yield from _parts(closed, place, variables)


def evaluated(expr: Any) -> Any:
    """Rebuild an expression with sympy's automatic simplification."""
    return expr.func(*map(evaluated, expr.args)) if expr.args else expr


def _in_choice(
    expr: Any, place: Occurrence, variables: Mapping[str, Any]
) -> Iterator[Any]:
    """Yield undefined parts of the branches where they apply, and the Piecewise if they do not cover the domain."""
    negations: list[Any] = []
    for value, written in expr.args:
        condition = evaluated(written)
        for relation in written.atoms(sympy.core.relational.Relational):
            for side in relation.args:
                yield from _parts(side, place, variables)
        try:
            facts = place.facts.assume([*negations, condition])
        except FalseAssumptionError:
            continue
        except ValueError:
            yield expr
            return
        yield from _parts(value, replace(place, facts=facts), variables)
        negations.append(sympy.Not(condition))
    try:
        covered = expr.args[-1][1] is sympy.true or is_implied(
            expr.args[-1][1], place.facts.assume(negations[:-1])
        )
    except ValueError:
        covered = False
    if not covered:
        yield expr
