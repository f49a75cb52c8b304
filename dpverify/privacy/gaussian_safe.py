"""Privacy parameters of Gaussian mechanisms by ball arithmetic: certified bounds on either side, and compositions.

Near epsilon = 0 the epsilon of a composition is more sensitive than its input: a relative error u of mu or delta
becomes a relative error of about 0.8 u mu/epsilon. A rounded root of the sum of squares is then not accurate enough.
The last steps are therefore computed in balls, which gives twelve digits there too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from flint import arb, ctx, fmpq

from dpverify.kernels.typing import Vector
from dpverify.privacy.gaussian import ROOT_HALF, compose_mu, epsilon_of, halves, mu_of

Real: TypeAlias = float | int | Fraction | arb

# ``certify`` starts with the first precision and doubles it up to the last
FIRST_BITS = 128
LAST_BITS = 1 << 16


def certify(mu: Real, epsilon: Real, delta: Real) -> bool:
    """Return whether a Gaussian mechanism is (epsilon, delta)-DP, without rounding; floats count as exact rationals.

    True is always certain. False is certain unless an argument is a ball that contains both answers, or both sides
    agree to thousands of digits.
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
    """Enclose Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu); more bits help if the terms cancel."""
    m = _ball(mu)
    e = _ball(epsilon)
    root = arb(2).sqrt()
    u = e / m / root
    h = m / 2 / root
    return ((u - h).erfc() - e.exp() * (u + h).erfc()) / 2


def _ball(value: Real) -> arb:
    """Enclose a number; a float is taken as an exact rational."""
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(value)


# doublings of the step by which a rounded value is moved to the safe side
MAX_DOUBLINGS = 64


def safe_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon, rounded up and certified, for which it is certain that the mechanism is (epsilon, delta)-DP."""
    epsilon = epsilon_of(mu, delta)
    if mu == 0 or epsilon == math.inf:
        return epsilon
    return _certified(
        epsilon,
        1.0,
        lambda value: certify(mu, value, delta),
        f"epsilon at mu={mu}, delta={delta}",
    )


def safe_mu(epsilon: float, delta: float) -> float:
    """Largest mu, rounded down and certified, for which it is certain that the mechanism is (epsilon, delta)-DP."""
    mu = mu_of(epsilon, delta)
    if mu in {0.0, math.inf}:
        return mu
    return _certified(
        mu,
        -1.0,
        lambda value: certify(value, epsilon, delta),
        f"mu at epsilon={epsilon}, delta={delta}",
    )


def violated_epsilon(mu: float, delta: float) -> float:
    """Return the largest epsilon, rounded down, for which the mechanism certainly is not (epsilon, delta)-DP.

    The result 0 carries no information.
    """
    epsilon = epsilon_of(mu, delta)
    if epsilon in {0.0, math.inf}:
        return epsilon
    what = f"that epsilon is missed at mu={mu}, delta={delta}"
    return _certified(
        epsilon, -1.0, lambda value: value == 0.0 or not certify(mu, value, delta), what
    )


def violated_mu(epsilon: float, delta: float) -> float:
    """Return the smallest mu, rounded up, with which the mechanism certainly is not (epsilon, delta)-DP.

    The result is infinite for delta = 1.
    """
    mu = mu_of(epsilon, delta)
    if mu == math.inf:
        return mu
    what = f"that mu misses epsilon={epsilon}, delta={delta}"
    return _certified(mu, 1.0, lambda value: not certify(value, epsilon, delta), what)


def _certified(
    value: float, sign: float, is_safe: Callable[[float], bool], what: str
) -> float:
    """Move a value by one unit in the last place, then two, four, .. units, until it is certified."""
    unit = max(math.ulp(value), 1e-300)
    for doubling in range(MAX_DOUBLINGS):
        if is_safe(value):
            return value
        value = max(value + sign * unit * 2.0**doubling, 0.0)
    raise ArithmeticError(f"could not certify {what}.")


# if epsilon/mu is at least this, floats give thirteen digits of epsilon
MAX_SENSITIVE_RATIO: Final = 0.3

MIN_NUMPY_VALUES: Final = 256  # Python sums up to this many values faster than numpy

BALL_BITS: Final = 128
"""Precision of the balls; increased for small mu, where the leading digits of the two terms of delta cancel."""

TOLERANCE: Final = 2.0**-56  # relative error at which Newton's method stops
MAX_STEPS: Final = 60  # most steps of Newton's method


def composed_epsilon(mus: Iterable[float], delta: float) -> float:
    """Return the smallest epsilon of a composition of Gaussian mechanisms, adaptive or not.

    Parameters
    ----------
    mus : iterable of float
        Sensitivity over standard deviation of each mechanism, at least 0; an array is
        fastest.
    delta : float
        Privacy parameter in [0, 1].

    Returns
    -------
    float
        epsilon, with a relative error below 1e-12; 0 if epsilon = 0 suffices, and +inf
        if no epsilon suffices.

    Raises
    ------
    ValueError
        If a mu is negative or NaN, or delta is outside [0, 1].
    """
    values = np.asarray(
        mus if isinstance(mus, np.ndarray) else list(mus), dtype=np.float64
    )
    mu = compose_mu(values.tolist())
    epsilon = epsilon_of(mu, delta)
    if epsilon >= MAX_SENSITIVE_RATIO * mu or epsilon == math.inf or delta == 1:
        return epsilon
    if epsilon == 0.0 and delta > math.erf(0.5 * ROOT_HALF * mu) * (1.0 + 1e-12):
        return 0.0
    return _refined(values, mu, delta, epsilon)


def _refined(mus: Vector, approximate_mu: float, delta: float, epsilon: float) -> float:
    """Refine epsilon by Newton's method on delta, which is convex in epsilon, with a precise sum of squares."""
    with ctx.workprec(BALL_BITS + 2 * max(0, -math.frexp(approximate_mu)[1])):
        mu = _root_of_squares(mus)
        estimate = arb(epsilon)
        root = arb(2).sqrt()
        for _ in range(MAX_STEPS):
            u = estimate / mu / root
            h = mu / 2 / root
            # minus twice the slope of delta in epsilon
            right = estimate.exp() * (u + h).erfc()
            step = (((u - h).erfc() - right - 2 * arb(delta)) / right).mid()
            estimate = (estimate + step).mid()
            # the remaining error is at most step^2/mu
            if not abs(step) * abs(step) > TOLERANCE * abs(estimate) * mu:
                break
        return max(float(estimate), 0.0)


def _root_of_squares(mus: Vector) -> arb:
    """Return the root of the sum of squares to thirty digits, by summing the squares and all rounding errors."""
    scale = math.frexp(float(mus.max()))[1]
    # at most 1; numbers that underflow are below 10^-300 of the sum
    values = np.ldexp(mus, -scale)
    squares = values * values
    high, low = halves(values)
    correction = float(
        (((high * high - squares) + 2.0 * high * low) + low * low).sum()
    )  # exact terms: Dekker's product
    while squares.size > MIN_NUMPY_VALUES:
        if squares.size % 2:
            squares = np.append(squares, 0.0)
        a = squares[::2]
        b = squares[1::2]
        squares = a + b
        rounded = squares - a
        # exact terms: Knuth's sum
        correction += float(((a - (squares - rounded)) + (b - rounded)).sum())
    terms = [*squares.tolist(), correction]
    total = math.fsum(terms)
    return (
        (arb(total) + arb(math.fsum([*terms, -total]))).sqrt() * arb(2) ** scale
    ).mid()
