"""Renyi divergences of Gaussian mechanisms on a random part of the data, at whole orders.

Sums of positive terms, each in logarithms: nothing cancels where the rate is tiny, nothing overflows where the order is
high.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dpverify.privacy.conversions import improved_epsilon


def poisson_gaussian_rdp(order: int, rate: float, sigma: float) -> float:
    """Renyi divergence of the Poisson-subsampled Gaussian mechanism; neighbours differ by one example more or less.

    Exact: (1/(z-1)) log sum_k C(z, k) (1-q)^(z-k) q^k exp(k(k-1)/(2 sigma^2)), the divergence of the mixture
    (1-q) N(0, sigma^2) + q N(1, sigma^2) from N(0, sigma^2), which is the worse of the two directions (Mironov, Talwar
    and Zhang 2019, section 3.3). That pair is also one of the pairs of subsampling without replacement.

    Parameters
    ----------
    order : int
        Renyi order z, at least 2.
    rate : float
        Probability q with which each example is drawn, in [0, 1].
    sigma : float
        Standard deviation over sensitivity, above 0.

    Returns
    -------
    float
        The divergence.

    Raises
    ------
    ValueError
        If an argument is outside its range.
    """
    _check(order, rate, sigma)
    if rate == 0:
        return 0.0
    if rate == 1:
        return order / (2.0 * sigma * sigma)
    log_q, log_rest = math.log(rate), math.log1p(-rate)
    # The moment is 1 plus the same sum with exp(..) - 1, since the binomial weights add up to 1.
    terms = [
        _log_binomial(order, k) + k * log_q + (order - k) * log_rest + _log_expm1(0.5 * k * (k - 1) / (sigma * sigma))
        for k in range(2, order + 1)
    ]
    return _log1p_exp(_log_sum(terms)) / (order - 1)


def without_replacement_rdp(order: int, rate: float, rdp: Sequence[float]) -> float:
    """Bound for any mechanism on a uniform part of the data, drawn without replacement; neighbours replace one example.

    Wang, Balle and Kasiviswanathan 2019, theorem 9, with an unbounded loss (epsilon(oo) = oo), as for Gaussian noise:
    (1/(z-1)) log(1 + q^2 C(z, 2) min(4 (e^r(2) - 1), 2 e^r(2)) + sum_(j>=3) q^j C(z, j) 2 e^((j-1) r(j))), and never
    more than r(z) itself.

    Parameters
    ----------
    order : int
        Renyi order z, at least 2.
    rate : float
        Part of the data that is drawn, q in [0, 1].
    rdp : sequence of float
        Bounds r(2), .., r(z) of the mechanism on all of its input.

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        If an argument is outside its range, or rdp has not order - 1 entries.
    """
    _check(order, rate, 1.0)
    if len(rdp) != order - 1:
        raise ValueError(f"rdp must hold the orders 2 .. {order}, {order - 1} numbers, got {len(rdp)}.")
    if not min(rdp) >= 0:
        raise ValueError(f"a Renyi bound must be at least 0, got {min(rdp)}.")
    if rate == 0 or rdp[0] == 0:
        return 0.0
    log_q, two = math.log(rate), rdp[0]
    terms = [2 * log_q + _log_binomial(order, 2) + min(math.log(4.0) + _log_expm1(two), math.log(2.0) + two)]
    terms += [j * log_q + _log_binomial(order, j) + math.log(2.0) + (j - 1) * rdp[j - 2] for j in range(3, order + 1)]
    return min(_log1p_exp(_log_sum(terms)) / (order - 1), rdp[-1])


def without_replacement_gaussian_rdp(order: int, rate: float, sigma: float) -> float:
    """Bound :func:`without_replacement_rdp` of a Gaussian mechanism, r(j) = j/(2 sigma^2).

    Parameters
    ----------
    order : int
        Renyi order, at least 2.
    rate : float
        Part of the data that is drawn, in [0, 1].
    sigma : float
        Standard deviation over sensitivity, above 0.

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        If an argument is outside its range.
    """
    _check(order, rate, sigma)
    return without_replacement_rdp(order, rate, [j / (2.0 * sigma * sigma) for j in range(2, order + 1)])


ORDERS = (*range(2, 65), 80, 96, 128, 192, 256, 384, 512, 768, 1024)


def poisson_gaussian_epsilon(
    rate: float, sigma: float, steps: int, delta: float, orders: Iterable[int] = ORDERS
) -> float:
    """Bound epsilon of many Poisson-subsampled Gaussian steps, by the best of some whole orders.

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
    orders : iterable of int
        Orders to try.

    Returns
    -------
    float
        An epsilon that holds; the smallest would need the whole privacy loss.
    """
    return min(improved_epsilon(z, steps * poisson_gaussian_rdp(z, rate, sigma), delta) for z in orders)


def _check(order: int, rate: float, sigma: float) -> None:
    if order != int(order) or order < 2:
        raise ValueError(f"order must be a whole number, at least 2, got order={order}.")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be in [0, 1], got rate={rate}.")
    if not sigma > 0:
        raise ValueError(f"sigma must be above 0, got sigma={sigma}.")


def _log_binomial(n: int, k: int) -> float:
    if n <= 1024:
        return math.log(math.comb(n, k))
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_expm1(x: float) -> float:
    """Logarithm of exp(x) - 1, x > 0."""
    return math.log(math.expm1(x)) if x < 30.0 else x + math.log1p(-math.exp(-x))


def _log1p_exp(x: float) -> float:
    """Logarithm of 1 + exp(x)."""
    return math.log1p(math.exp(x)) if x < 30.0 else x + math.log1p(math.exp(-x))


def _log_sum(terms: Sequence[float]) -> float:
    """Logarithm of the sum of the exponentials."""
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))
