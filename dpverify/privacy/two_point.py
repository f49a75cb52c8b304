"""Two-point laws: the worst case of what a Renyi bound says of (epsilon, delta), in exact arithmetic.

By the joint range of two f-divergences, no pair of laws of a given Renyi divergence has a larger hockey-stick one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from flint import arb, fmpq

ORDERS = tuple(Fraction(text) for text in ("101/100", "11/10", "3/2", "2", "5", "20", "200"))
LOG_MOMENTS = (0.001, 0.1, 1.0, 5.0)
DELTAS = tuple(Fraction(text) for text in ("1/2", "1/10", "1/100000", "1/1000000000000"))
SCALES = (0.5, 1.0, 2.0, 3.0)


def two_point_divergence(order: Fraction, p: Fraction, q: Fraction) -> arb:
    """Renyi divergence of the law (p, 1-p) from (q, 1-q): log(p^z q^(1-z) + (1-p)^z (1-q)^(1-z))/(z - 1)."""
    if order <= 1:
        raise ValueError(f"order must be above 1, got order={order}.")
    for name, value in (("p", p), ("q", q)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must be inside (0, 1), got {name}={value}.")
    z = _ball(order)
    terms = ((z * a.log() + (1 - z) * b.log()).exp() for a, b in ((_ball(p), _ball(q)), (_ball(1 - p), _ball(1 - q))))
    return sum(terms, start=arb(0)).log() / (z - 1)


def two_point_delta(p: Fraction, q: Fraction, epsilon: arb) -> arb:
    """Smallest delta at epsilon of the law (p, 1-p) against (q, 1-q), p above q: p - exp(epsilon) q, at least 0."""
    return (_ball(p) - epsilon.exp() * _ball(q)).max(arb(0))


def near_worst_laws() -> Iterator[tuple[Fraction, Fraction, Fraction, Fraction, Fraction]]:
    """Two-point laws near the worst, each with its order, a sharp upper bound on the divergence, delta, p and q.

    At the classic epsilon, p = delta (1 - 1/order)^(order - 1) is the worst, but for the second outcome.
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
                        yield order, _rational_above(two_point_divergence(order, *law)), delta, *law


def _second(z: float, p: float, log_moment: float) -> float:
    """Probability q with about this moment, 0 where there is none among the floats."""
    first = math.exp(log_moment) - (1.0 - p) ** z if p < 1.0 else 0.0  # the second outcome has the rest
    if first <= 0.0:
        return 0.0
    return math.exp(min((z * math.log(p) - math.log(first)) / (z - 1.0), 0.0))


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _rational_above(value: arb) -> Fraction:
    """Upper end of a ball, which is a dyadic rational."""
    mantissa, exponent = value.upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
