"""Sums on values: finite ones term by term or in closed form, infinite ones in closed form only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from flint import arb, fmpq

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import (
    ONE,
    OO,
    ZERO,
    DomainError,
    UndecidedError,
    UnsupportedError,
    Value,
    exact_limit,
)

Env: TypeAlias = dict[str, Any]
Closure: TypeAlias = Callable[[Env], Value]

MAX_TERMS = 1_000_000
_FEW_TERMS = 24


def finite_sum(env: Env, body: Closure, index: str, lo: int, hi: int, ratio: Closure | None) -> Value:
    """Sum of ``body`` over the integers from lo to hi; 0 when hi < lo."""
    count = hi - lo + 1
    if count <= 0:
        return ZERO
    if ratio is not None and count > _FEW_TERMS:
        closed = _closed_form(env, body, index, lo, count, ratio)
        if closed is not None:
            return closed
    if count > MAX_TERMS:
        raise UnsupportedError(f"the sum over {index} from {lo} to {hi} has more than {MAX_TERMS} terms.")
    total: Value = ZERO
    limit = exact_limit()
    for i in range(lo, hi + 1):
        total += term(env, body, index, i)
        if isinstance(total, fmpq) and total.height_bits() > limit:
            total = arb(total)
    return total


def term(env: Env, body: Closure, index: str, i: int) -> Value:
    """Summand at one index."""
    outer = env.get(index)
    env[index] = fmpq(i)
    try:
        return body(env)
    finally:
        if outer is None:
            del env[index]
        else:
            env[index] = outer


def _closed_form(env: Env, body: Closure, index: str, lo: int, count: int, ratio: Closure) -> Value | None:
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


def geometric_series(env: Env, body: Closure, index: str, lo: int, ratio: Closure) -> Value:
    """Sum of a geometric series from lo to infinity: first term / (1 - ratio).

    The sum; +oo or -oo where the ratio is at least 1 and the first term is not 0.
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
        raise UndecidedError(f"the sum over {index} to oo diverges with a first term of unknown sign.")
    if r <= -1:
        raise DomainError(f"the sum over {index} to oo has ratio {r} and no limit.")
    raise UndecidedError(f"the ratio {r} of the sum over {index} to oo may be 1 or -1.")


def _series_from_zero(env: Env, body: Closure, index: str, lo: int, ratio: Closure) -> Value:
    """Sum of a series whose first term is 0: every term is, unless the ratio itself is not defined."""
    ratio(env)
    if term(env, body, index, lo + 1) == 0:
        return ZERO
    raise DomainError(f"the sum over {index} to oo has no constant ratio: its first term is 0 and its second is not.")
