"""The functions of the formula language on exact rationals and balls.

Each function returns an exact rational if it can, and otherwise a ball that contains the result. If a ball does not
show whether the argument is in the domain, the function raises ``UndecidedError``, and the caller retries with more
bits.
"""

from __future__ import annotations

import math

from flint import arb, fmpq, fmpz

from dpverify.symbolic.exact.numbers import (
    ONE,
    ZERO,
    DomainError,
    Meter,
    UndecidedError,
    Value,
    WorkLimitError,
    exact_limit,
    spend,
    to_ball,
)

_MAX_ROOT = 64
_MOST_FACTORIAL = 1000
_HALF = fmpq(1, 2)
MOST_CHOSEN_FROM = 100_000


def divide(a: Value, b: Value) -> Value:
    """Return ``a/b``. Raise a DomainError for a division by zero."""
    if b == 0:
        raise DomainError(f"division by zero: {a}/0.")
    if isinstance(b, arb) and b.contains(0):
        raise UndecidedError(f"the divisor {b} may be zero.")
    return a / b


def divide_extended(a: Value, b: Value) -> Value:
    """Return ``a/b`` in the extended reals: ``x/0`` is +oo for x > 0 and -oo for x < 0; ``0/0`` is a DomainError."""
    if b == 0:
        if a > 0:
            return arb.pos_inf()
        if a < 0:
            return arb.neg_inf()
    return divide(a, b)


def power(base: Value, exponent: Value) -> Value:
    """Return the real power, with ``0**0 = 1``.

    A rational of more than 64 times the working precision becomes a ball.
    """
    if isinstance(exponent, fmpq):
        if exponent.q == 1:
            return _integer_power(base, exponent.p)
        if isinstance(base, fmpq):
            exact = _rational_root(base, exponent)
            if exact is not None:
                return exact
    elif base == 1:
        return ONE
    if base == 0:
        if exponent > 0:
            return ZERO
        if exponent < 0:
            raise DomainError(f"zero to the negative power {exponent}.")
        raise UndecidedError(f"zero to the power {exponent}, which may be zero.")
    if base < 0:
        raise DomainError(
            f"the negative number {base} to the power {exponent}, which is not an integer."
        )
    if base > 0:
        if exponent == _HALF:
            return to_ball(base).sqrt()
        return to_ball(base) ** exponent
    if isinstance(exponent, fmpq) and exponent > 0 and base >= 0:
        return to_ball(base) ** exponent
    raise UndecidedError(f"the base {base} may be negative or zero.")


def _integer_power(base: Value, n: fmpz) -> Value:
    if n == 0:
        return ONE
    if isinstance(base, fmpq):
        if base == 0:
            if n > 0:
                return ZERO
            raise DomainError(f"zero to the negative power {n}.")
        if abs(int(n)) * base.height_bits() <= exact_limit():
            return base**n
        if base == 1:
            return ONE
        return arb(base) ** n
    if n < 0 and base.contains(0):
        raise UndecidedError(f"the base {base} may be zero.")
    return base**n


def _rational_root(base: fmpq, exponent: fmpq) -> fmpq | None:
    degree = int(exponent.q)
    if base <= 0 or degree > _MAX_ROOT:
        return None
    top = base.p.root(degree)
    bottom = base.q.root(degree)
    if top**degree != base.p or bottom**degree != base.q:
        return None
    result = _integer_power(fmpq(top, bottom), exponent.p)
    return result if isinstance(result, fmpq) else None


def sqrt(a: Value) -> Value:
    """Return the square root, exact for squares of rationals."""
    return power(a, _HALF)


def exp(a: Value) -> Value:
    """Return the exponential, with ``exp(0) = 1`` exactly."""
    if a == 0:
        return ONE
    return to_ball(a).exp()


def log(a: Value) -> Value:
    """Return the natural logarithm, with ``log(1) = 0`` exactly. Raise a DomainError for log(0)."""
    if a == 1:
        return ZERO
    _check_positive("log", a)
    return to_ball(a).log()


def log_extended(a: Value) -> Value:
    """Return the natural logarithm in the extended reals, with ``log(0) = -oo``."""
    return arb.neg_inf() if a == 0 else log(a)


def log2(a: Value) -> Value:
    """Return the logarithm to base 2, exact at powers of two."""
    if isinstance(a, fmpq) and a > 0:
        p = int(a.p)
        q = int(a.q)
        if not (p & (p - 1) or q & (q - 1)):
            return fmpq(p.bit_length() - q.bit_length())
    _check_positive("log2", a)
    return to_ball(a).log() / arb.const_log2()


def floor_log2(a: Value) -> Value:
    """Return ``floor(log2(a))``, exact for every positive rational."""
    _check_positive("log2", a)
    if not isinstance(a, fmpq):
        return floor(log2(a))
    guess = int(a.p).bit_length() - int(a.q).bit_length()
    below = (fmpq(2) ** guess) <= a
    return fmpq(guess if below else guess - 1)


def _check_positive(name: str, a: Value) -> None:
    if not a > 0:
        if a <= 0:
            raise DomainError(f"{name} of {a}, which is not positive.")
        raise UndecidedError(f"{name} of {a}, which may not be positive.")


def floor(a: Value) -> Value:
    """Return the floor. For a ball with several possible results, return a ball that contains all of them."""
    if isinstance(a, fmpq):
        return fmpq(a.floor())
    return _exact_if_unique(a.floor())


def ceil(a: Value) -> Value:
    """Return the ceiling. For a ball with several possible results, return a ball that contains all of them."""
    if isinstance(a, fmpq):
        return fmpq(a.ceil())
    return _exact_if_unique(a.ceil())


def _exact_if_unique(a: arb) -> Value:
    only = a.unique_fmpz() if a.is_exact() and a.is_finite() else None
    return a if only is None else fmpq(only)


def mod(a: Value, b: Value) -> Value:
    """Return ``a - b*floor(a/b)``, the remainder with the sign of b."""
    return a - b * floor(divide(a, b))


def bit(s: Value, i: Value) -> Value:
    """Return bit i of the integer s, ``floor(s / 2**i) mod 2``. Both must be exact integers, with i >= 0."""
    value = as_int("bit", "s", s)
    shift = as_int("bit", "i", i)
    if shift < 0:
        raise DomainError(f"bit(s, i) needs i >= 0, got i={shift}.")
    return fmpq(value >> shift & 1)


def popcount(n: Value) -> Value:
    """Return the number of ones in the binary expansion of an exact integer that is at least 0."""
    value = as_int("popcount", "n", n)
    if value < 0:
        raise DomainError(f"popcount(n) needs n >= 0, got n={value}.")
    return fmpq(value.bit_count())


def tree_nodes(a: Value, b: Value) -> Value:
    """Return the least number of dyadic intervals ``[i 2^k + 1, (i+1) 2^k]`` that make up ``a .. b``; 0 if b < a."""
    low = as_int("tree_nodes", "a", a) - 1
    high = as_int("tree_nodes", "b", b)
    count = 0
    if low < 0:
        raise DomainError(f"tree_nodes(a, b) needs a >= 1, got a={low + 1}.")
    while low < high:  # nodes of this level at both ends that no larger node contains
        count += (low & 1) + (high & 1)
        low = (low + 1) >> 1
        high = high >> 1
    return fmpq(count)


def binomial(n: Value, k: Value) -> Value:
    """Return the number of ways to choose k of n elements, 0 if k is outside of 0 .. n."""
    top = as_int("binomial", "n", n)
    chosen = as_int("binomial", "k", k)
    if top < 0:
        raise DomainError(f"binomial(n, k) needs n >= 0, got n={top}.")
    if top > MOST_CHOSEN_FROM:
        raise WorkLimitError(
            f"binomial(n, k) is computed for n <= {MOST_CHOSEN_FROM}, got n={top}."
        )
    return _chosen(top, chosen) if 0 <= chosen <= top else ZERO


# recent coefficients; a sum over k uses their neighbours
_last_chosen: dict[tuple[int, int, int], fmpz] = {}
_KEPT = 8


def _chosen(top: int, chosen: int) -> fmpq:
    """Return a binomial coefficient, from a neighbour in its row if one was computed recently under the same meter."""
    now = Meter.opened
    key = (now, top, chosen)
    value = _last_chosen.pop(key, None)
    if value is None:
        if (below := _last_chosen.get((now, top, chosen - 1))) is not None:
            value = below * (top - chosen + 1) // chosen
        elif (above := _last_chosen.get((now, top, chosen + 1))) is not None:
            value = above * (chosen + 1) // (top - chosen)
        else:
            spend(top // 16)
            value = fmpz(math.comb(top, chosen))
    _last_chosen[key] = value
    if len(_last_chosen) > _KEPT:
        del _last_chosen[next(iter(_last_chosen))]
    return fmpq(value)


def as_int(function: str, name: str, value: Value) -> int:
    """Convert an exact integer to an int."""
    if isinstance(value, fmpq):
        if value.q == 1:
            return int(value.p)
    elif value.contains_integer():
        raise UndecidedError(f"{name}={value} of {function} must be an exact integer.")
    raise DomainError(f"{name} of {function} must be an integer, got {value}.")


def maximum(*args: Value) -> Value:
    """Return the largest argument. If balls overlap, return a ball that contains every candidate."""
    best = args[0]
    for a in args[1:]:
        best = best if best >= a else a if a >= best else to_ball(best).max(to_ball(a))
    return best


def minimum(*args: Value) -> Value:
    """Return the smallest argument. If balls overlap, return a ball that contains every candidate."""
    best = args[0]
    for a in args[1:]:
        best = best if best <= a else a if a <= best else to_ball(best).min(to_ball(a))
    return best


def gamma(a: Value) -> Value:
    """Return the Gamma function of a positive number, exact for integers up to 1000."""
    _check_positive("gamma", a)
    if isinstance(a, fmpq) and a.q == 1 and a <= _MOST_FACTORIAL:
        return fmpq(math.factorial(int(a.p) - 1))
    return to_ball(a).gamma()


def tanh(a: Value) -> Value:
    """Return the hyperbolic tangent."""
    return ZERO if a == 0 else to_ball(a).tanh()


def loggamma(a: Value) -> Value:
    """Return the logarithm of the Gamma function of a positive number."""
    _check_positive("loggamma", a)
    return to_ball(a).lgamma()


def erf(a: Value) -> Value:
    """Return the error function."""
    return ZERO if a == 0 else to_ball(a).erf()


def erfc(a: Value) -> Value:
    """Return the complementary error function."""
    return ONE if a == 0 else to_ball(a).erfc()
