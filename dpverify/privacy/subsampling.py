"""Renyi divergences of one Gaussian step on all data or a random part, and the epsilon of many such steps.

Divergences are computed as sums of positive terms in logarithms. So nothing cancels at
a small rate, and nothing overflows at a high order.

Without replacement, each step draws a new batch, uniform among the sets of B of the N
examples; q = B/N. Neighbours are replace-one. Let P and Q be the output distributions
of a step on neighbours, in either order, and let H_c(P, Q) = integral of (P - c Q)_+.
Then

1. H_c(P, Q) <= h(c) = H_c((1-q) N(0, s^2) + q N(1, s^2), N(0, s^2)) for all c >= 1, with s = std B/(2G) (Balle, Barthe
   and Gaboardi 2018, theorem 9: at 1 + q(c - 1) it is q H_c of the Gaussian pair, as
   for the mixture).
2. E_Q (P/Q)^z = 1 + z(z-1) integral over c >= 1 of c^(z-2) H_c(P, Q) + c^(-z-1) H_c(Q, P) (the integral form of an
   f-divergence, Sason and Verdu 2016, f = x^z).
3. Both terms are at most c^(z-2) h(c), whose integral is, by 2. for the mixture, at most its own moment minus 1.

So the moment of a step is at most 1 + 2 (M - 1), where M is the moment of Poisson sampling at the same q and s, which
``poisson_gaussian_rdp`` computes for add-remove neighbours. This is an upper bound: less noise may suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from flint import arb, ctx, fmpz

from dpverify.privacy.conversions import improved_epsilon

SHARP_ORDER = 256  # highest order of the sharp bound without replacement
MAX_BITS = 1 << 15  # most bits of the balls in which moments are computed


def gaussian_rdp(order: float, mu: float) -> float:
    """Return the Renyi divergence of a Gaussian mechanism, or of a composition whose squares of mu sum to mu^2.

    Parameters
    ----------
    order : float
        Renyi order, above 1.
    mu : float
        Sensitivity over standard deviation.

    Returns
    -------
    float
        order mu^2/2 (Mironov 2017, corollary 3): zero-concentrated DP with rho =
        mu^2/2.

    Raises
    ------
    ValueError
        If the order is not above 1, or mu is negative or NaN.
    """
    if not order > 1:
        raise ValueError(f"order must be above 1, got order={order}.")
    if not mu >= 0:
        raise ValueError(f"mu must be at least 0, got mu={mu}.")
    return order * (0.5 * mu * mu)


def poisson_gaussian_rdp(order: int, rate: float, sigma: float) -> float:
    """Return the Renyi divergence of the Poisson-subsampled Gaussian mechanism, for add-remove neighbours.

    The formula is exact: (1/(z-1)) log sum_k C(z, k) (1-q)^(z-k) q^k exp(k(k-1)/(2
    sigma^2)), the divergence of the mixture (1-q) N(0, sigma^2) + q N(1, sigma^2) from
    N(0, sigma^2). This is the larger one of the two directions (Mironov, Talwar and
    Zhang 2019, section 3.3). The same pair occurs in subsampling without replacement.

    Parameters
    ----------
    order, rate, sigma : float
        Whole order z >= 2, sampling probability q in [0, 1], and standard deviation
        over sensitivity, above 0. A ValueError is raised otherwise.
    """
    _check(order, rate, sigma)
    if rate == 0:
        return 0.0
    if rate == 1:
        return order / (2.0 * sigma * sigma)
    log_q = math.log(rate)
    log_rest = math.log1p(-rate)
    # The moment is 1 plus the same sum with exp(..) - 1, since the binomial weights add
    # up to 1.
    terms = [
        _log_binomial(order, k)
        + k * log_q
        + (order - k) * log_rest
        + _log_expm1(0.5 * k * (k - 1) / (sigma * sigma))
        for k in range(2, order + 1)
    ]
    return _log1p_exp(_log_sum(terms)) / (order - 1)


def without_replacement_rdp(order: int, rate: float, rdp: Sequence[float]) -> float:
    """Bound the Renyi divergence of any mechanism on a batch drawn without replacement, for replace-one neighbours.

    Wang, Balle and Kasiviswanathan 2019, theorem 9, with an unbounded loss
    (epsilon(oo) = oo), as for Gaussian noise: (1/(z-1)) log(1 + q^2 C(z, 2) min(4
    (e^r(2) - 1), 2 e^r(2)) + sum_(j>=3) q^j C(z, j) 2 e^((j-1) r(j))), and at most
    r(z).

    Parameters
    ----------
    order, rate : int, float
        Renyi order z, at least 2, and the fraction q in [0, 1] of the data that is
        drawn. A ValueError is raised otherwise.
    rdp : sequence of float
        Bounds r(2), .., r(z) of the mechanism on all of its input.
    """
    _check(order, rate, 1.0)
    if len(rdp) != order - 1:
        raise ValueError(
            f"rdp must hold the orders 2 .. {order}, {order - 1} numbers, got {len(rdp)}."
        )
    if not min(rdp) >= 0:
        raise ValueError(f"a Renyi bound must be at least 0, got {min(rdp)}.")
    if rate == 0 or rdp[0] == 0:
        return 0.0
    log_q = math.log(rate)
    two = rdp[0]
    terms = [
        2 * log_q
        + _log_binomial(order, 2)
        + min(math.log(4.0) + _log_expm1(two), math.log(2.0) + two)
    ]
    terms += [
        j * log_q + _log_binomial(order, j) + math.log(2.0) + (j - 1) * rdp[j - 2]
        for j in range(3, order + 1)
    ]
    return min(_log1p_exp(_log_sum(terms)) / (order - 1), rdp[-1])


def without_replacement_gaussian_sharp(order: int, rate: float, sigma: float) -> float:
    """Bound the Renyi divergence of a Gaussian mechanism on batches without replacement, for replace-one neighbours.

    This is the sharpest published bound: Wang, Balle and Kasiviswanathan 2019, theorem 27. In theorem 9
    (:func:`without_replacement_rdp`) the terms 2 exp((j-1) r(j)) with j >= 3 do not decrease to 0 as the noise grows.
    Here they may be replaced by 4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), where B(l) is the l-th moment of P/Q - 1 for
    Gaussians P and Q one sensitivity apart. The bound never exceeds the divergence order/(2 sigma^2) without
    subsampling.
    """
    if order != int(order) or not 2 <= order <= SHARP_ORDER:
        raise ValueError(
            f"order must be a whole number from 2 to {SHARP_ORDER}, got order={order}."
        )
    _check(order, rate, sigma)
    if rate == 0:
        return 0.0
    unit = 1.0 / (2.0 * sigma * sigma)
    moments = log_chi_moments(sigma, order + order % 2)
    logs = []
    for j in range(2, order + 1):
        direct = math.log(2.0) + j * (j - 1) * unit
        low = moments[j // 2 - 1]
        high = moments[(j + 1) // 2 - 1]
        logs.append(
            min(direct, math.log(4.0) + 0.5 * (low + high))
            + j * math.log(rate)
            + _log_binomial(order, j)
        )
    return min(_log1p_exp(_log_sum(logs)) / (order - 1), order * unit)


@lru_cache(maxsize=64)
def log_chi_moments(sigma: float, top: int) -> tuple[float, ...]:
    """Return the logarithms of the even moments of the likelihood ratio minus 1 of two Gaussians.

    These are log E_Q[(P/Q - 1)^l] for l = 2, 4, .., top. The alternating sum over C(top, i) exp(i (i-1)/(2 sigma^2))
    cancels to a fraction sigma^-l of its terms. The precision of the balls is increased until enough digits remain.
    """
    bits = 128
    while bits <= MAX_BITS:
        with ctx.workprec(bits):
            unit = 1 / (2 * arb(sigma) ** 2)
            powers = [(i * (i - 1) * unit).exp() for i in range(top + 1)]
            moments = [_moment(powers, degree) for degree in range(2, top + 1, 2)]
            if all(
                moment > 0 and moment.rel_accuracy_bits() > 40 for moment in moments
            ):
                return tuple(float(moment.log()) for moment in moments)
        bits *= 2
    raise ArithmeticError(
        f"moment {top} of two Gaussians needs more than {MAX_BITS} bits at sigma={sigma}."
    )


def _moment(powers: list[arb], degree: int) -> arb:
    terms = (
        (-1) ** (degree - i) * fmpz(math.comb(degree, i)) * powers[i]
        for i in range(degree + 1)
    )
    return sum((arb(term) for term in terms), start=arb(0))


def _check(order: int, rate: float, sigma: float) -> None:
    if order != int(order) or order < 2:
        raise ValueError(
            f"order must be a whole number, at least 2, got order={order}."
        )
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be in [0, 1], got rate={rate}.")
    if not sigma > 0:
        raise ValueError(f"sigma must be above 0, got sigma={sigma}.")


def _log_binomial(n: int, k: int) -> float:
    if n <= 1024:
        return math.log(math.comb(n, k))
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_expm1(x: float) -> float:
    """Return the logarithm of exp(x) - 1, x > 0."""
    return math.log(math.expm1(x)) if x < 30.0 else x + math.log1p(-math.exp(-x))


def _log1p_exp(x: float) -> float:
    """Return the logarithm of 1 + exp(x)."""
    return math.log1p(math.exp(x)) if x < 30.0 else x + math.log1p(math.exp(-x))


def _log_sum(terms: Sequence[float]) -> float:
    """Return the logarithm of the sum of the exponentials."""
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))


ROUND_UP = 1.0 + 1e-12
"""Factor that makes quotients of a few floats safe bounds: a margin of thousands of times their rounding error."""

SUM_FACTOR = 1.0 + 1e-9  # the same for the sum of the divergences of all steps

ORDERS = (*range(2, 17), 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 512)
"""Renyi orders that are tried. The bound at every order is valid."""


def poisson_gaussian_epsilon(
    rate: float, sigma: float, steps: int, delta: float
) -> float:
    """An epsilon that holds for many Poisson-subsampled Gaussian steps; neighbours differ by one example more or less.

    Parameters
    ----------
    rate : float
        Probability with which each example is drawn at each step.
    sigma : float
        Standard deviation over sensitivity.
    steps : int
        Number of steps.
    delta : float
        Privacy parameter, 0 < delta < 1.

    Returns
    -------
    float
        The smallest epsilon over some whole Renyi orders. The distribution of the
        privacy loss may give a smaller one.
    """
    return _best_epsilon(poisson_gaussian_rdp, rate, sigma, steps, delta)


def sampled_epsilon(rate: float, sigma: float, steps: int, delta: float) -> float:
    """An epsilon that holds for many Gaussian steps on batches drawn without replacement.

    Parameters
    ----------
    rate : float
        B/N.
    sigma : float
        Standard deviation over sensitivity, ``std B/(2G)``.
    steps : int
        T.
    delta : float
        Privacy parameter.

    Returns
    -------
    float
        An epsilon for replace-one neighbours.

    Notes
    -----
    Source: the derivation in the docstring of this module; Canonne, Kamath and Steinke 2020, proposition 12.
    """
    return _best_epsilon(sampled_rdp, rate, sigma, steps, delta)


def sampled_rdp(order: int, rate: float, sigma: float) -> float:
    """Bound replacing one in a batch: log(1 + 2 (M - 1))/(z - 1) as above, and never more than without sampling."""
    exponent = (order - 1) * poisson_gaussian_rdp(order, rate, sigma)
    doubled = (
        math.log1p(2.0 * math.expm1(exponent))
        if exponent < 30.0
        else exponent + math.log(2.0)
    )
    return min(doubled / (order - 1), order / (2.0 * sigma * sigma))


def sampled_std(
    examples: int,
    batch: int,
    steps: int,
    lipschitz: float,
    epsilon: float,
    delta: float,
) -> float:
    """Return the smallest noise that the bound of :func:`sampled_epsilon` allows, to seven digits, on the safe side.

    Parameters
    ----------
    examples, batch, steps : int
        N, B and T.
    lipschitz : float
        G.
    epsilon, delta : float
        Target privacy parameters, for replace-one neighbours.

    Returns
    -------
    float
        Standard deviation of a coordinate of the noise; infinite if epsilon is too
        small for all of the orders.
    """
    rate = batch / examples
    low = 0.25
    high = 1.0
    while sampled_epsilon(rate, low, steps, delta) <= epsilon:
        high = low
        low = low / 4.0
    while sampled_epsilon(rate, high, steps, delta) > epsilon:
        low = high
        high = 4.0 * high
        if high > 1e9:
            return math.inf
    while high > low * (1.0 + 1e-7):
        middle = math.sqrt(low * high)
        if sampled_epsilon(rate, middle, steps, delta) > epsilon:
            low = middle
        else:
            high = middle
    return 2.0 * lipschitz / batch * high * ROUND_UP


def _best_epsilon(
    rdp: Callable[[int, float, float], float],
    rate: float,
    sigma: float,
    steps: int,
    delta: float,
) -> float:
    return min(
        improved_epsilon(z, steps * rdp(z, rate, sigma) * SUM_FACTOR, delta)
        for z in ORDERS
    )
