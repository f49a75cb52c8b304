"""Find where two expressions differ, and for which values of its letters a side of a rule is a given expression.

A difference is a pair of different parts with the expression around them. Differences are listed from the innermost
pair to the whole expressions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, permutations
from typing import Any, NamedTuple

import sympy

from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.rules.base import substitute

Rebuild = Callable[[Any], Any]


class Difference(NamedTuple):
    """A part of one expression, and the part of the other expression at the same place."""

    context: Any  # both expressions with ``HOLE`` in that place
    old: Any
    new: Any


def differences(old: Any, new: Any) -> Iterator[Difference]:
    """Yield the pairs of parts by which two expressions differ, the innermost pair first."""
    seen: set[Difference] = set()
    for difference in _differences(old, new, lambda part: part):
        if difference not in seen:
            seen.add(difference)
            yield difference


def _differences(old: Any, new: Any, rebuild: Rebuild) -> Iterator[Difference]:
    if old == new:
        return
    for operation in (sympy.Add, sympy.Mul):
        yield from _operand_differences(operation, old, new, rebuild)
    if (
        isinstance(old, sympy.Sum | sympy.Integral)
        and type(old) is type(new)
        and len(old.limits) == len(new.limits)
    ):
        yield from _sum_differences(old, new, rebuild)
    elif (
        old.func == new.func
        and len(old.args) == len(new.args)
        and not (old.is_Add or old.is_Mul)
    ):
        places = [
            k for k, (a, b) in enumerate(zip(old.args, new.args, strict=True)) if a != b
        ]
        if len(places) == 1:
            (k,) = places
            yield from _differences(
                old.args[k],
                new.args[k],
                lambda part: rebuild(_with_argument(old, k, part)),
            )
    yield Difference(rebuild(HOLE), old, new)


def _operand_differences(
    operation: Any, old: Any, new: Any, rebuild: Rebuild
) -> Iterator[Difference]:
    """Compare the terms that two sums do not share, or the factors of two products."""
    if not (isinstance(old, operation) or isinstance(new, operation)):
        return
    ours = Counter(operation.make_args(old))
    theirs = Counter(operation.make_args(new))
    shared = operation(*(ours & theirs).elements())
    if shared == operation.identity:
        return
    remaining = (
        operation(*(ours - theirs).elements()),
        operation(*(theirs - ours).elements()),
    )
    yield from _differences(*remaining, lambda part: rebuild(operation(shared, part)))


def _sum_differences(old: Any, new: Any, rebuild: Rebuild) -> Iterator[Difference]:
    """Compare the terms of two sums over the same range, or one end of two sums of the same terms."""
    renamed = {
        new_limit[0]: old_limit[0]
        for old_limit, new_limit in zip(old.limits, new.limits, strict=True)
    }
    body = new.function.xreplace(renamed)
    ours = [end for limit in old.limits for end in limit[1:]]
    theirs = [end.xreplace(renamed) for limit in new.limits for end in limit[1:]]
    if ours == theirs:
        yield from _differences(
            old.function, body, lambda part: rebuild(old.func(part, *old.limits))
        )
    elif body == old.function and len(old.limits) == 1:
        places = [
            k for k, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b
        ]
        index = old.limits[0][0]
        if len(places) == 1:
            (k,) = places

            def with_end(part: Any) -> Any:
                return rebuild(
                    old.func(old.function, (index, *ours[:k], part, *ours[k + 1 :]))
                )

            yield from _differences(ours[k], theirs[k], with_end)


def _with_argument(expr: Any, place: int, part: Any) -> Any:
    arguments = list(expr.args)
    arguments[place] = part
    return expr.func(*arguments)


Where = Mapping[str, Any]

_MOST_PARTS = 6  # largest number of terms or factors of which all subsets are tried
_MOST_OPERATIONS = 60  # largest difference that is expanded to test whether it is 0
_HALF = sympy.Rational(1, 2)


def unify(
    pattern: Any, expr: Any, where: Where, letters: frozenset[str]
) -> Iterator[Where]:
    """Yield ``where`` with values of the other letters for which a pattern equals an expression.

    They are equal by their form or by arithmetic. The certificate checks this.
    """
    expr = sympy.sympify(expr)
    if pattern.is_Symbol and pattern.name in letters and pattern.name not in where:
        yield {**where, pattern.name: expr}
    elif _names(pattern) & letters <= where.keys():
        if _same(substitute(pattern, where), expr):
            yield where
    elif (
        isinstance(pattern, sympy.core.function.AppliedUndef)
        and str(pattern.func) in letters
    ):
        if all(one.is_Symbol for one in pattern.args):
            yield {**where, str(pattern.func): sympy.Lambda(pattern.args, expr)}
    elif isinstance(pattern, sympy.Sum | sympy.Integral):
        if type(pattern) is type(expr) and len(pattern.limits) == len(expr.limits) == 1:
            yield from _unify_sum(pattern, expr, where, letters)
    elif pattern.is_Add or pattern.is_Mul:
        yield from _unify_operation(pattern, expr, where, letters)
    elif pattern.is_Pow:
        yield from _unify_power(pattern, expr, where, letters)
    elif isinstance(pattern, sympy.Max | sympy.Min):
        if pattern.func == expr.func and len(pattern.args) == len(expr.args):
            for order in permutations(expr.args):
                yield from _unify_pairs(
                    list(zip(pattern.args, order, strict=True)), where, letters
                )
    elif pattern.func == expr.func and len(pattern.args) == len(expr.args):
        yield from _unify_pairs(
            list(zip(pattern.args, expr.args, strict=True)), where, letters
        )


def _unify_pairs(
    pairs: list[tuple[Any, Any]], where: Where, letters: frozenset[str]
) -> Iterator[Where]:
    if not pairs:
        yield where
        return
    (pattern, expr), *others = pairs
    for bindings in unify(pattern, expr, where, letters):
        yield from _unify_pairs(others, bindings, letters)


def _unify_sum(
    pattern: Any, expr: Any, where: Where, letters: frozenset[str]
) -> Iterator[Where]:
    index, *ends = pattern.limits[0]
    expr_index, *expr_ends = expr.limits[0]
    body = expr.function
    if expr_index.name in letters:  # the index has the name of a letter of the rule
        expr_index = sympy.Dummy("index", integer=True)
        body = body.xreplace({expr.limits[0][0]: expr_index})
    term = pattern.function.xreplace({index: expr_index})
    yield from _unify_pairs(
        [(term, body), *zip(ends, expr_ends, strict=True)], where, letters
    )


def _unify_operation(
    pattern: Any, expr: Any, where: Where, letters: frozenset[str]
) -> Iterator[Where]:
    """Remove the operands without unknown letters from a sum or product, and distribute its parts among the others."""
    known = [
        operand for operand in pattern.args if _names(operand) & letters <= where.keys()
    ]
    unknown = sorted(
        (operand for operand in pattern.args if operand not in known),
        key=lambda x: bool(x.is_Symbol),
    )
    determined = substitute(pattern.func(*known), where)
    if pattern.is_Mul and determined == 0:
        return
    remaining = expr - determined if pattern.is_Add else expr / determined
    if len(unknown) == 1:
        yield from unify(unknown[0], remaining, where, letters)
        return
    parts = pattern.func.make_args(remaining)
    if len(parts) > _MOST_PARTS:
        return
    first, *others = unknown
    for size in range(1, len(parts) - len(others) + 1):
        for chosen in combinations(range(len(parts)), size):
            mine = pattern.func(*(parts[k] for k in chosen))
            theirs = pattern.func(
                *(part for k, part in enumerate(parts) if k not in chosen)
            )
            for bindings in unify(first, mine, where, letters):
                yield from unify(pattern.func(*others), theirs, bindings, letters)


def _unify_power(
    pattern: Any, expr: Any, where: Where, letters: frozenset[str]
) -> Iterator[Where]:
    base, exponent = pattern.args
    whole = sympy.powsimp(expr) if expr.is_Mul else expr  # 2*2**n is also a power
    if whole.is_Pow:
        yield from _unify_pairs(
            [(exponent, whole.exp), (base, whole.base)], where, letters
        )
    if _names(exponent) & letters <= where.keys():
        yield from _unify_base(base, substitute(exponent, where), whole, where, letters)
    elif not whole.is_Pow:
        yield from _unify_pairs(
            [(exponent, sympy.Integer(1)), (base, whole)], where, letters
        )


def _unify_base(
    base: Any, exponent: Any, expr: Any, where: Where, letters: frozenset[str]
) -> Iterator[Where]:
    """Unify the base of a power with a known exponent: for the exponent i, ``x**(n*i)`` has the base ``x**n``."""
    if exponent == -1:
        yield from unify(base, 1 / expr, where, letters)
    elif exponent == _HALF and not (expr.is_Pow and expr.exp == _HALF):
        yield from unify(base, expr**2, where, letters)
    elif expr.is_Pow and expr.exp != exponent and not exponent.is_number:
        ratio = expr.exp / exponent
        if not ratio.free_symbols & exponent.free_symbols:
            yield from unify(base, expr.base**ratio, where, letters)


def _same(left: Any, right: Any) -> bool:
    if left == right:
        return True
    difference = left - right
    if difference == 0:
        return True
    if (
        difference.has(sympy.Sum, sympy.Integral)
        or difference.count_ops() > _MOST_OPERATIONS
    ):
        return bool(_renamed(left) == _renamed(right))
    return bool(sympy.expand(difference) == 0)


def _renamed(expr: Any) -> Any:
    """Return the expression with a standard index in every sum with a single index."""
    index = sympy.Symbol("index_of_sum", integer=True)

    def renamed(node: Any) -> Any:
        (own_index, *ends), *other_limits = node.limits
        return (
            node
            if other_limits
            else node.func(node.function.xreplace({own_index: index}), (index, *ends))
        )

    return expr.replace(lambda node: isinstance(node, sympy.Sum), renamed)


def _names(expr: Any) -> set[str]:
    functions = {
        str(application.func)
        for application in expr.atoms(sympy.core.function.AppliedUndef)
    }
    return {symbol.name for symbol in expr.free_symbols} | functions
