"""Exact privacy parameters of the Gaussian mechanism, rounded to either side and certain there."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from flint import arb, ctx, fmpq

from dpverify.privacy.gaussian import epsilon_of, mu_of

Real: TypeAlias = float | int | Fraction | arb

FIRST_BITS = 128
LAST_BITS = 1 << 16


def certify(mu: Real, epsilon: Real, delta: Real) -> bool:
    """Decide without rounding whether a Gaussian mechanism is (epsilon, delta)-DP; floats stand for dyadic rationals.

    True is certain. False is too, unless an argument is a ball that holds both answers or the two sides agree to
    thousands of digits.
    """
    for name, value in (("mu", mu), ("epsilon", epsilon), ("delta", delta)):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {name}={value}.")
        if value < 0:
            raise ValueError(f"{name} must be at least 0, got {name}={value}.")
    if delta >= 1 or (not isinstance(mu, arb) and mu == 0):
        return True
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        with ctx.workprec(bits):
            gap = delta_ball(mu, epsilon) - _ball(delta)
            if gap <= 0 or gap > 0:
                return bool(gap <= 0)
        bits *= 2
    return False


def delta_ball(mu: Real, epsilon: Real) -> arb:
    """Enclose Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu); terms may cancel, and more bits help."""
    m = _ball(mu)
    e = _ball(epsilon)
    root = arb(2).sqrt()
    u = e / m / root
    h = m / 2 / root
    return ((u - h).erfc() - e.exp() * (u + h).erfc()) / 2


def _ball(value: Real) -> arb:
    """Enclose a number; a float is the rational that it is."""
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(value)


TRIES = 64  # doublings of the step with which a rounded value is moved to the safe side


def safe_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon, rounded up and certified, for which it is certain that the mechanism is (epsilon, delta)-DP."""
    epsilon = epsilon_of(mu, delta)
    if mu == 0 or epsilon == math.inf:
        return epsilon
    return _moved(epsilon, 1.0, lambda value: certify(mu, value, delta), f"epsilon at mu={mu}, delta={delta}")


def safe_mu(epsilon: float, delta: float) -> float:
    """Largest mu, rounded down and certified, for which it is certain that the mechanism is (epsilon, delta)-DP."""
    mu = mu_of(epsilon, delta)
    if mu in {0.0, math.inf}:
        return mu
    return _moved(mu, -1.0, lambda value: certify(value, epsilon, delta), f"mu at epsilon={epsilon}, delta={delta}")


def missed_epsilon(mu: float, delta: float) -> float:
    """Largest epsilon, rounded down, for which the mechanism is certainly not (epsilon, delta)-DP; 0 says nothing."""
    epsilon = epsilon_of(mu, delta)
    if epsilon in {0.0, math.inf}:
        return epsilon
    what = f"that epsilon is missed at mu={mu}, delta={delta}"
    return _moved(epsilon, -1.0, lambda value: value == 0.0 or not certify(mu, value, delta), what)


def missed_mu(epsilon: float, delta: float) -> float:
    """Smallest mu, rounded up, for which the mechanism is certainly not (epsilon, delta)-DP; infinite for delta = 1."""
    mu = mu_of(epsilon, delta)
    if mu == math.inf:
        return mu
    what = f"that mu misses epsilon={epsilon}, delta={delta}"
    return _moved(mu, 1.0, lambda value: not certify(value, epsilon, delta), what)


def _moved(value: float, sign: float, is_safe: Callable[[float], bool], what: str) -> float:
    """Move a value by one unit in the last place, then two, four, .. until it is certain."""
    unit = max(math.ulp(value), 1e-300)
    for doubling in range(TRIES):
        if is_safe(value):
            return value
        value = max(value + sign * unit * 2.0**doubling, 0.0)
    raise ArithmeticError(f"could not certify {what}.")
