"""Sums: in closed form if successive terms have a constant ratio, as in ``(1 - alpha)**(N*i + 1)``, or term by term."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from flint import arb, fmpq

from dpverify.ledger.formula import Bin, Call, Formula, Name, Neg, Num, free_names
from dpverify.ledger.formula.tree import Operator
from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import (
    ONE,
    OO,
    ZERO,
    DomainError,
    UndecidedError,
    Value,
    WorkLimitError,
    exact_limit,
    spend,
)

Env: TypeAlias = dict[str, Any]
Closure: TypeAlias = Callable[[Env], Value]

MAX_TERMS = 1_000_000
_FEW_TERMS = 24


def finite_sum(
    env: Env,
    body: Closure,
    index: str,
    lo: int,
    hi: int,
    ratio: Closure | None,
    parts: int = 1,
) -> Value:
    """Return the sum of ``body`` over the integers from lo to hi, 0 if hi < lo.

    ``parts`` is the size of the formula.
    """
    count = hi - lo + 1
    if count <= 0:
        return ZERO
    if ratio is not None and count > _FEW_TERMS:
        closed = _closed_form(env, body, index, lo, count, ratio)
        if closed is not None:
            return closed
    if count > MAX_TERMS:
        raise WorkLimitError(
            f"the sum over {index} from {lo} to {hi} has more than {MAX_TERMS} terms."
        )
    spend(count * parts)
    total: Value = ZERO
    limit = exact_limit()
    for i in range(lo, hi + 1):
        total += term(env, body, index, i)
        if isinstance(total, fmpq) and total.height_bits() > limit:
            total = arb(total)
    return total


def term(env: Env, body: Closure, index: str, i: int) -> Value:
    """Return the summand at one index."""
    outer = env.get(index)
    env[index] = fmpq(i)
    try:
        return body(env)
    finally:
        if outer is None:
            del env[index]
        else:
            env[index] = outer


def _closed_form(
    env: Env, body: Closure, index: str, lo: int, count: int, ratio: Closure
) -> Value | None:
    try:
        r = ratio(env)
    except (DomainError, UndecidedError):
        return None
    if r == 1:
        return term(env, body, index, lo) * count
    if not (r < 1 or r > 1):
        return None
    last = elementary.power(r, fmpq(count))
    return term(env, body, index, lo) * elementary.divide(1 - last, 1 - r)


def geometric_series(
    env: Env, body: Closure, index: str, lo: int, ratio: Closure
) -> Value:
    """Return the sum of a geometric series from lo on.

    It is first term / (1 - ratio), and +-oo for a ratio of at least 1, unless the first term is 0.
    """
    first = term(env, body, index, lo)
    if first == 0:
        return _series_from_zero(env, body, index, lo, ratio)
    r = ratio(env)
    if -1 < r < 1:
        return first / (ONE - r)
    if r >= 1:
        if first > 0:
            return OO
        if first < 0:
            return -OO
        raise UndecidedError(
            f"the sum over {index} to oo diverges with a first term of unknown sign."
        )
    if r <= -1:
        raise DomainError(f"the sum over {index} to oo has ratio {r} and no limit.")
    raise UndecidedError(f"the ratio {r} of the sum over {index} to oo may be 1 or -1.")


def _series_from_zero(
    env: Env, body: Closure, index: str, lo: int, ratio: Closure
) -> Value:
    """Return 0, the sum of a geometric series whose first term is 0. Raise an error if the ratio is not defined."""
    ratio(env)
    if term(env, body, index, lo + 1) == 0:
        return ZERO
    raise DomainError(
        f"the sum over {index} to oo has no constant ratio: its first term is 0 and its second is not."
    )


def constant_ratio(node: Formula, index: str) -> Formula | None:
    """Return the ratio of successive terms if the form of the summand shows that it is constant, otherwise None.

    A zero base needs a positive slope: the ratio is then 0, which with ``0**0 = 1`` is right from the second term on.
    """
    if index not in free_names(node):
        return Num(Fraction(1))
    match node:
        case Neg(arg):
            return constant_ratio(arg, index)
        case Bin("*" | "/" as op, left, right):
            return _combine(
                op, constant_ratio(left, index), constant_ratio(right, index)
            )
        case Bin("**", base, exponent):
            return _ratio_of_power(base, exponent, index)
        case Call("exp", (arg,)):
            step = slope(arg, index)
            return None if step is None else Call("exp", (step,))
        case Call("sqrt" | "abs" as name, (arg,)):
            inner = constant_ratio(arg, index)
            return None if inner is None else Call(name, (inner,))
        case _:
            return None


def _ratio_of_power(base: Formula, exponent: Formula, index: str) -> Formula | None:
    if index not in free_names(exponent):
        inner = constant_ratio(base, index)
        return None if inner is None else Bin("**", inner, exponent)
    if index in free_names(base):
        return None
    step = slope(exponent, index)
    return None if step is None else Bin("**", base, step)


def distributed(node: Formula, index: str) -> Formula | None:
    """Multiply a sum by one factor of constant ratio, and return None if there is no such product.

    Only one product is expanded, since the formula might become too large otherwise.
    """
    match node:
        case Bin("*", factor, Bin("+" | "-" as op, a, b)) if (
            constant_ratio(factor, index) is not None
        ):
            return Bin(op, Bin("*", factor, a), Bin("*", factor, b))
        case Bin("*", Bin("+" | "-" as op, a, b), factor) if (
            constant_ratio(factor, index) is not None
        ):
            return Bin(op, Bin("*", a, factor), Bin("*", b, factor))
        case _:
            return None


def slope(node: Formula, index: str) -> Formula | None:
    """Return the coefficient of the index in a formula that is syntactically affine in it, otherwise None."""
    if index not in free_names(node):
        return Num(Fraction(0))
    match node:
        case Name():
            return Num(Fraction(1))
        case Neg(arg):
            inner = slope(arg, index)
            return None if inner is None else Neg(inner)
        case Bin("+" | "-" as op, left, right):
            return _combine(op, slope(left, index), slope(right, index))
        case Bin("*", left, right) if index not in free_names(left):
            return _combine("*", left, slope(right, index))
        case Bin("*" | "/" as op, left, right) if index not in free_names(right):
            return _combine(op, slope(left, index), right)
        case _:
            return None


def _combine(
    op: Operator, left: Formula | None, right: Formula | None
) -> Formula | None:
    if left is None or right is None:
        return None
    match op, left, right:
        case ("+", Num(value), other) | ("*", Num(value), other) if value == (
            op == "*"
        ):
            return other
        case ("+" | "-", other, Num(value)) if value == 0:
            return other
        case ("*" | "/", other, Num(value)) if value == 1:
            return other
        case _:
            return Bin(op, left, right)
