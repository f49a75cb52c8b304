"""Conversions of Renyi and zero-concentrated bounds to (epsilon, delta), published or best possible, and worst cases.

The worst cases are pairs of distributions on two points, in exact arithmetic. By the joint range of two f-divergences,
no pair of distributions with the same Renyi divergence has a larger hockey-stick divergence than the worst pair on two
points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from flint import arb, fmpq


def classic_epsilon(order: float, rdp: float, delta: float) -> float:
    """Return rdp + log(1/delta)/(order - 1), the conversion of Mironov 2017, proposition 3.

    Parameters
    ----------
    order, rdp, delta : float
        Renyi order above 1, bound on the divergence of that order, at least 0, and 0 <
        delta < 1. A ValueError is raised otherwise.
    """
    _check(order, rdp, delta)
    return rdp - math.log(delta) / (order - 1.0)


def improved_epsilon(order: float, rdp: float, delta: float) -> float:
    """Return the conversion of Canonne, Kamath and Steinke 2020, proposition 12.

    It is also due to Balle et al. 2020 and Asoodeh et al. 2020.

    Parameters
    ----------
    order, rdp, delta : float
        As in :func:`classic_epsilon`.

    Returns
    -------
    float
        rdp + log(1 - 1/order) - log(order delta)/(order - 1), at least 0; smaller than
        the classic one at every order.

    Raises
    ------
    ValueError
        If an argument is outside its range.
    """
    _check(order, rdp, delta)
    return max(
        rdp
        + math.log1p(-1.0 / order)
        - (math.log(delta) + math.log(order)) / (order - 1.0),
        0.0,
    )


def tight_epsilon(order: float, rdp: float, delta: float) -> float:
    """Return the smallest epsilon that one Renyi bound implies; it is attained (Asoodeh et al. 2020, theorem 3).

    By the joint range of two f-divergences, two-point distributions are the worst case.
    So (epsilon, delta) is implied exactly if p^order q^(1-order) + (1-p)^order
    (1-q)^(1-order) >= exp((order - 1) rdp) for p = delta + exp(epsilon) q, for every q.
    The left side is convex in q. Dropping its second term gives
    :func:`improved_epsilon`.

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
    from scipy.optimize import brentq  # imported here because it takes half a second

    return float(brentq(excess, 0.0, high, xtol=1e-14 * max(high, 1.0), rtol=1e-14))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return rho + 2 sqrt(rho log(1/delta)), the conversion of rho-zCDP by Bun and Steinke 2016, proposition 3.

    Parameters
    ----------
    rho, delta : float
        Zero-concentrated parameter, at least 0, and 0 < delta < 1. A ValueError is
        raised otherwise.

    Returns
    -------
    float
        epsilon. It equals :func:`classic_epsilon` at the best order, 1 +
        sqrt(log(1/delta)/rho).
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
    """Return the least log moment over all pairs of two-point distributions with p = delta + exp(epsilon) q."""
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

    # The first term alone is minimal at q = (order - 1) delta exp(-epsilon).
    start = min(math.log(order - 1.0) + math.log(delta) - epsilon, limit)
    low = start - 40.0
    high = limit
    # imported here because it takes half a second
    from scipy.optimize import minimize_scalar

    best = minimize_scalar(
        log_moment, bounds=(low, high), method="bounded", options={"xatol": 1e-10}
    )
    return min(float(best.fun), log_moment(start), log_moment(limit))


# parameters of ``near_worst_laws``; a scale is a factor of the worst p
ORDERS = tuple(
    Fraction(text) for text in ("101/100", "11/10", "3/2", "2", "5", "20", "200")
)
LOG_MOMENTS = (0.001, 0.1, 1.0, 5.0)
DELTAS = tuple(
    Fraction(text) for text in ("1/2", "1/10", "1/100000", "1/1000000000000")
)
SCALES = (0.5, 1.0, 2.0, 3.0)


def two_point_divergence(order: Fraction, p: Fraction, q: Fraction) -> arb:
    """Return the Renyi divergence of (p, 1-p) from (q, 1-q): log(p^z q^(1-z) + (1-p)^z (1-q)^(1-z))/(z - 1)."""
    if order <= 1:
        raise ValueError(f"order must be above 1, got order={order}.")
    for name, value in (("p", p), ("q", q)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must be inside (0, 1), got {name}={value}.")
    z = _ball(order)
    terms = (
        (z * a.log() + (1 - z) * b.log()).exp()
        for a, b in ((_ball(p), _ball(q)), (_ball(1 - p), _ball(1 - q)))
    )
    return sum(terms, start=arb(0)).log() / (z - 1)


def two_point_delta(p: Fraction, q: Fraction, epsilon: arb) -> arb:
    """Return the smallest delta of (p, 1-p) against (q, 1-q) for p > q: p - exp(epsilon) q, at least 0."""
    return (_ball(p) - epsilon.exp() * _ball(q)).max(arb(0))


def near_worst_laws() -> Iterator[
    tuple[Fraction, Fraction, Fraction, Fraction, Fraction]
]:
    """Yield nearly worst pairs of two-point distributions: the order, a sharp bound on the divergence, delta, p and q.

    At the classic epsilon, p = delta (1 - 1/order)^(order - 1) is the worst case, except for the effect of the second
    outcome. The probabilities p are multiples of it.
    """
    for order in ORDERS:
        z = float(order)
        best = (1.0 - 1.0 / z) ** (z - 1.0)
        for log_moment in LOG_MOMENTS:
            for delta in DELTAS:
                for p in (scale * best * float(delta) for scale in SCALES):
                    q = _second(z, p, log_moment)
                    if 0.0 < q < p:
                        law = Fraction(p), Fraction(q)
                        yield (
                            order,
                            _rational_above(two_point_divergence(order, *law)),
                            delta,
                            *law,
                        )


def _second(z: float, p: float, log_moment: float) -> float:
    """Return a probability q for which (p, 1-p) and (q, 1-q) have about this log moment, or 0 if there is none."""
    # moment of the first outcome: the second outcome has about (1-p)^z, since q is small
    first = math.exp(log_moment) - (1.0 - p) ** z if p < 1.0 else 0.0
    if first <= 0.0:
        return 0.0
    return math.exp(min((z * math.log(p) - math.log(first)) / (z - 1.0), 0.0))


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _rational_above(value: arb) -> Fraction:
    """Return the upper end of a ball, which is a dyadic rational."""
    mantissa, exponent = value.upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
