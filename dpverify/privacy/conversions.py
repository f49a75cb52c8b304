"""From Renyi and zero-concentrated bounds to (epsilon, delta), in the forms that papers print and in the best ones."""

from __future__ import annotations

import math


def classic_epsilon(order: float, rdp: float, delta: float) -> float:
    """Convert by Mironov 2017, proposition 3: rdp + log(1/delta)/(order - 1).

    Parameters
    ----------
    order, rdp, delta : float
        Renyi order above 1, bound on the divergence of that order, at least 0, and 0 < delta < 1; else a ValueError.
    """
    _check(order, rdp, delta)
    return rdp - math.log(delta) / (order - 1.0)


def improved_epsilon(order: float, rdp: float, delta: float) -> float:
    """Convert by Canonne, Kamath and Steinke 2020, proposition 12 (also Balle et al. 2020, Asoodeh et al. 2020).

    Parameters
    ----------
    order, rdp, delta : float
        As in :func:`classic_epsilon`.

    Returns
    -------
    float
        rdp + log(1 - 1/order) - log(order delta)/(order - 1), at least 0; it beats the classic one at every order.

    Raises
    ------
    ValueError
        If an argument is outside its range.
    """
    _check(order, rdp, delta)
    return max(rdp + math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0), 0.0)


def tight_epsilon(order: float, rdp: float, delta: float) -> float:
    """Smallest epsilon that one Renyi bound gives; some mechanism attains it (Asoodeh et al. 2020, theorem 3).

    By the joint range of two f-divergences, two-point distributions are the worst case. So (epsilon, delta) is implied
    exactly if p^order q^(1-order) + (1-p)^order (1-q)^(1-order) >= exp((order - 1) rdp) for p = delta + exp(epsilon) q,
    whatever q is. The left side is convex in q. Dropping its second term gives :func:`improved_epsilon`.

    Parameters
    ----------
    order, rdp, delta : float
        As in :func:`classic_epsilon`.

    Returns
    -------
    float
        epsilon, to about ten digits; never below 0.

    Raises
    ------
    ValueError
        If an argument is outside its range.
    """
    _check(order, rdp, delta)
    target = (order - 1.0) * rdp

    def excess(epsilon: float) -> float:
        return _least_log_moment(order, epsilon, delta) - target

    if excess(0.0) >= 0:
        return 0.0
    high = improved_epsilon(order, rdp, delta)
    if excess(high) <= 0:  # equal to the last digit
        return high
    from scipy.optimize import brentq  # not above: its import takes half a second

    return float(brentq(excess, 0.0, high, xtol=1e-14 * max(high, 1.0), rtol=1e-14))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Convert rho-zCDP by Bun and Steinke 2016, proposition 3: rho + 2 sqrt(rho log(1/delta)).

    Parameters
    ----------
    rho, delta : float
        Zero-concentrated parameter, at least 0, and 0 < delta < 1; else a ValueError.

    Returns
    -------
    float
        epsilon; the best order of :func:`classic_epsilon`, 1 + sqrt(log(1/delta)/rho).
    """
    _check(2.0, rho, delta)
    return rho + 2.0 * math.sqrt(-rho * math.log(delta))


def _check(order: float, rdp: float, delta: float) -> None:
    if not order > 1:
        raise ValueError(f"order must be above 1, got order={order}.")
    if not rdp >= 0:
        raise ValueError(f"the Renyi bound must be at least 0, got {rdp}.")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, got delta={delta}.")


def _least_log_moment(order: float, epsilon: float, delta: float) -> float:
    """Least log of the moment over all pairs of two-point laws with p = delta + exp(epsilon) q."""
    limit = math.log1p(-delta) - epsilon  # q < exp(limit) keeps p below 1

    def log_moment(s: float) -> float:  # s = log q
        q = math.exp(s)
        p = delta + math.exp(epsilon + s)
        first = order * math.log(p) + (1.0 - order) * s
        if p >= 1.0:
            return first
        second = order * math.log1p(-p) + (1.0 - order) * math.log1p(-q)
        top = max(first, second)
        return top + math.log(math.exp(first - top) + math.exp(second - top))

    # The first term alone is least at q = (order - 1) delta exp(-epsilon).
    start = min(math.log(order - 1.0) + math.log(delta) - epsilon, limit)
    low = start - 40.0
    high = limit
    from scipy.optimize import minimize_scalar  # not above, as brentq

    best = minimize_scalar(log_moment, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    return min(float(best.fun), log_moment(start), log_moment(limit))
