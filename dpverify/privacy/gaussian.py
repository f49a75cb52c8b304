"""The exact trade-off of epsilon and delta of the Gaussian mechanism.

In a Gaussian mechanism with parameter mu, the mean moves by at most mu standard
deviations between neighbours. An adaptive composition of Gaussian mechanisms is at
least as private as a single one whose mu^2 is the sum of squares (Dong, Roth and Su
2022). A mechanism whose mean moves by exactly mu attains the bound. It is (epsilon,
delta)-DP exactly if

    delta >= Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)          (Balle and Wang 2018, theorem 8)
           = phi(x) (M(x) - M(x + mu)),    x = epsilon/mu - mu/2,    M the Mills ratio.

The second form is computed, because nothing in it overflows and ``mills_gap`` does not cancel: M(x) is the integral
of exp(-x t - t^2/2) over t > 0, so that M(u - h) - M(u + h) = 2 sum J_k(u) h^k over odd k, with
J_k(u) = (1/k!) integral of t^k exp(-u t - t^2/2), a sum of positive terms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, erfinv, ndtri_exp

ROOT_HALF = math.sqrt(0.5)
ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)

# for h >= NARROW_LIMIT (1 + u), the difference of two values loses less than two digits
NARROW_LIMIT = 0.01
# for larger u the upward recursion of J_k is unstable, and a continued fraction is used
RECURSION_LIMIT = 3.0
# steps of the continued fraction; they give all digits from u = 3 on
FRACTION_STEPS = 40

# most steps of Newton's method; it takes 4 to 7 unless delta is within 1e-3 of 1
MAX_STEPS = 200
TOLERANCE = 4e-16  # relative step size at which the iteration stops
# for larger mu, exp(epsilon) Phi(-mu/2 - epsilon/mu)
# changes epsilon by less than 1, against mu^2/2
LARGE_MU = 1e8
LARGE_X = 1e8  # for larger x, M(x) is 1/x to the last digit
# for smaller mu, delta/mu depends only on epsilon/mu, to a hundred digits
SMALL_MU = 1e-100
LINEAR_MU = 1e-20  # a mu for which this holds to twenty digits, and nothing underflows

Reals = TypeVar("Reals", float, NDArray[np.float64])


def compose_mu(mus: Iterable[float]) -> float:
    """Return the mu of a composition of Gaussian mechanisms, adaptive or not: the root of the sum of squares."""
    values = tuple(mus)
    if values and not min(values) >= 0:
        raise ValueError(f"each mu must be at least 0, got {min(values)}.")
    total = math.hypot(*values)
    if math.isnan(total):
        raise ValueError("each mu must be a number, got a NaN.")
    return total


def log_delta_of(mu: float, epsilon: float) -> float:
    """Return the logarithm of :func:`delta_of`, even if delta underflows; -inf for delta 0."""
    mu = float(mu)
    epsilon = float(epsilon)
    _check(mu, epsilon)
    if mu == 0 or epsilon == math.inf:
        return -math.inf
    if mu == math.inf:
        return 0.0
    return _log_delta(mu, epsilon, _left(mu, epsilon))


def delta_of(mu: float, epsilon: float) -> float:
    """Return the smallest delta of a Gaussian mechanism at an epsilon, with a relative error below 1e-12.

    Parameters
    ----------
    mu, epsilon : float
        Sensitivity over standard deviation, and privacy parameter. A ValueError is
        raised if one of them is negative or both are infinite.
    """
    return math.exp(log_delta_of(mu, epsilon))


def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest epsilon with which a Gaussian mechanism is (epsilon, delta)-DP; +inf if there is none.

    The result is computed by Newton's method on log delta, which is concave in epsilon.
    It starts from the upper bound mu^2/2 + mu sqrt(2 log(1/delta)), so that every
    iterate is an upper bound up to rounding. ``gaussian_safe`` has a certified result.

    Parameters
    ----------
    mu, delta : float
        Sensitivity over standard deviation, at least 0, and privacy parameter in [0,
        1]. A ValueError is raised otherwise.
    """
    mu = float(mu)
    delta = float(delta)
    _check(mu, 0.0)
    if not 0 <= delta <= 1:
        raise ValueError(f"delta must be in [0, 1], got delta={delta}.")
    if mu == 0 or delta >= math.erf(0.5 * ROOT_HALF * mu):
        return 0.0
    if mu == math.inf or delta == 0:
        return math.inf
    target = math.log(delta)
    if mu >= LARGE_MU:
        return mu * (0.5 * mu - float(ndtri_exp(target)))
    if mu < SMALL_MU:
        return mu * (epsilon_of(LINEAR_MU, delta / mu * LINEAR_MU) / LINEAR_MU)
    epsilon = mu * (0.5 * mu + math.sqrt(-2.0 * target))
    for _ in range(MAX_STEPS):
        left = epsilon / mu - 0.5 * mu
        log_delta = _log_delta(mu, epsilon, left)
        # d delta / d epsilon = -exp(epsilon)
        # Phi(-mu/2 - epsilon/mu) = -phi(x) M(x + mu)
        slope = math.exp(-0.5 * left * left - LOG_ROOT_TWO_PI - log_delta) * mills(
            epsilon / mu + 0.5 * mu
        )
        step = (log_delta - target) / slope
        epsilon = max(epsilon + step, 0.0)
        if step > -TOLERANCE * epsilon:
            break
    return epsilon


def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest mu with which a Gaussian mechanism is (epsilon, delta)-DP.

    The result is +inf for delta 1 or epsilon +inf. The smallest sigma for a sensitivity
    is that sensitivity over this mu. The result is computed by Newton's method on log
    delta, which is concave in mu. It starts from below, so that every iterate is
    private up to rounding. ``gaussian_safe`` has a certified result.

    Parameters
    ----------
    epsilon, delta : float
        Privacy parameters, at least 0 and in [0, 1]. A ValueError is raised otherwise.
    """
    epsilon = float(epsilon)
    delta = float(delta)
    _check(1.0, epsilon)
    if not 0 <= delta <= 1:
        raise ValueError(f"delta must be in [0, 1], got delta={delta}.")
    if delta == 1 or epsilon == math.inf:
        return math.inf
    if delta == 0:
        return 0.0
    target = math.log(delta)
    if epsilon >= LARGE_MU * LARGE_MU:
        x = -float(ndtri_exp(target))
        return math.hypot(x, math.sqrt(2.0) * math.sqrt(epsilon)) - x
    root = math.sqrt(-2.0 * target)
    mu = max(
        2.0 * epsilon / (math.sqrt(2.0 * (epsilon - target)) + root),
        2.0 / ROOT_HALF * float(erfinv(delta)),
    )
    for _ in range(MAX_STEPS):
        left = epsilon / mu - 0.5 * mu
        log_delta = _log_delta(mu, epsilon, left)
        # d delta/d mu = phi(x)
        step = (target - log_delta) * math.exp(
            log_delta + 0.5 * left * left + LOG_ROOT_TWO_PI
        )
        mu += step
        if step < TOLERANCE * mu:
            break
    return mu


def _check(mu: float, epsilon: float) -> None:
    """Raise a ValueError for arguments without a delta."""
    if not mu >= 0:
        raise ValueError(f"mu must be at least 0, got mu={mu}.")
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, got epsilon={epsilon}.")
    if mu == math.inf and epsilon == math.inf:
        raise ValueError("mu and epsilon cannot both be infinite.")


def _log_delta(mu: float, epsilon: float, left: float) -> float:
    """Return log delta for finite mu > 0 and epsilon; ``left`` is epsilon/mu - mu/2."""
    u = epsilon / mu
    h = 0.5 * mu
    if u == math.inf:
        return -math.inf
    if left >= LARGE_X:
        return (
            math.log(mu)
            - math.log(left)
            - math.log(left + mu)
            - 0.5 * left * left
            - LOG_ROOT_TWO_PI
        )
    if mu < SMALL_MU:
        return (
            _log_delta(LINEAR_MU, u * LINEAR_MU, u) + math.log(mu) - math.log(LINEAR_MU)
        )
    if left >= -1.0:
        return math.log(mills_gap(u, h, left)) - 0.5 * left * left - LOG_ROOT_TWO_PI
    # 1 - delta = Phi(x) + phi(x) M(x + mu), two positive terms
    complement = 0.5 * math.erfc(-ROOT_HALF * left) + math.exp(
        -0.5 * left * left - LOG_ROOT_TWO_PI
    ) * mills(u + h)
    return math.log1p(-complement)


def _left(mu: float, epsilon: float) -> float:
    """Return epsilon/mu - mu/2, corrected for the rounding error of the quotient if the terms are large and close."""
    quotient = epsilon / mu
    difference = quotient - 0.5 * mu
    if not mu / 3.0 <= quotient <= mu:
        return difference
    scale = math.frexp(mu)[1]  # scales all three numbers to about 1
    quotient = math.ldexp(quotient, -scale)
    near = math.ldexp(mu, -scale)
    a = halves(quotient)
    b = halves(near)
    product = quotient * near
    # exact: Dekker's product
    error = ((a[0] * b[0] - product) + a[0] * b[1] + a[1] * b[0]) + a[1] * b[1]
    return difference + math.ldexp(
        ((math.ldexp(epsilon, -2 * scale) - product) - error) / near, scale
    )


def halves(x: Reals) -> tuple[Reals, Reals]:
    """Split a float, or each element of an array, into two floats of at most 26 bits."""
    scaled = 134217729.0 * x  # 2^27 + 1
    high = scaled - (scaled - x)
    return high, x - high


def mills(x: float) -> float:
    """Return the Mills ratio Phi(-x)/phi(x) of the standard normal distribution: sqrt(pi/2) erfcx(x/sqrt(2))."""
    return ROOT_HALF_PI * float(erfcx(ROOT_HALF * x))


def mills_gap(u: float, h: float, left: float | None = None) -> float:
    """Return the difference M(u - h) - M(u + h) of two Mills ratios, to nearly all digits."""
    if h < NARROW_LIMIT * (1.0 + u):
        return _narrow_gap(u, h)
    return mills(u - h if left is None else left) - mills(u + h)


def _narrow_gap(u: float, h: float) -> float:
    """Return the sum of the first four terms of the series in h; the next term is below 1e-16 of it."""
    if u < RECURSION_LIMIT:
        i0 = mills(u)
        i1 = 1.0 - u * i0
        i2 = i0 - u * i1
        i3 = 2.0 * i1 - u * i2
        i4 = 3.0 * i2 - u * i3
        i5 = 4.0 * i3 - u * i4
        i7 = 6.0 * i5 - u * (5.0 * i4 - u * i5)
    else:
        # I_k/I_(k-1) = k/(u + I_(k+1)/I_k); starts from its fixed point
        ratio = 0.5 * (math.sqrt(u * u + 4.0 * FRACTION_STEPS) - u)
        ratios = [0.0] * (FRACTION_STEPS + 1)
        for k in range(FRACTION_STEPS, 0, -1):
            ratio = k / (u + ratio)
            ratios[k] = ratio
        i1 = ratios[1] * mills(u)
        i3 = i1 * ratios[2] * ratios[3]
        i5 = i3 * ratios[4] * ratios[5]
        i7 = i5 * ratios[6] * ratios[7]
    square = h * h
    return (
        2.0
        * h
        * (i1 + square * (i3 / 6.0 + square * (i5 / 120.0 + square * i7 / 5040.0)))
    )
