"""From Renyi and zero-concentrated bounds to (epsilon, delta), and the Renyi divergence of sampled noise, as balls.

The conversions are the best closed ones (Canonne, Kamath and Steinke 2020, proposition 12; Balle et al. 2020): what
holds for every mechanism with the bound. Those of zero-concentrated bounds take the best order, exactly.
"""

from __future__ import annotations

import math

from flint import arb, fmpq

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.laws import need
from dpverify.symbolic.exact.numbers import ONE, Value, to_ball
from dpverify.symbolic.exact.roots import changes_sign
from dpverify.symbolic.exact.work import spend

_PARTS_OF_A_TERM = 16


def renyi_delta(epsilon: Value, z: Value, r: Value) -> Value:
    """Delta at epsilon of what has a Renyi divergence of at most r at the order z: ``exp((z-1)(r-e)) (1-1/z)^z/(z-1)``.

    At most 1.
    """
    _check(z, r)
    order = to_ball(z)
    exponent = (order - 1) * (to_ball(r) - to_ball(epsilon) + (1 - 1 / order).log()) - order.log()
    return exponent.exp().min(arb(1))


def renyi_epsilon(delta: Value, z: Value, r: Value) -> Value:
    """Epsilon at delta of the same, at least 0."""
    _check(z, r)
    need("delta > 0", delta > 0, delta <= 0, delta)
    order = to_ball(z)
    value = to_ball(r) + (1 - 1 / order).log() - (to_ball(delta).log() + order.log()) / (order - 1)
    return value.max(arb(0))


def zcdp_delta(epsilon: Value, rho: Value) -> Value:
    """Delta at epsilon of what has a Renyi divergence of at most ``rho*z`` at every order z: the least of all orders.

    The logarithm of :func:`renyi_delta` is convex in the order, with the slope that is 0 at the best one.
    """
    need("epsilon >= 0", epsilon >= 0, epsilon < 0, epsilon)
    need("rho > 0", rho > 0, rho <= 0, rho)
    rate, room = to_ball(rho), to_ball(epsilon)

    def slope(log_x: arb) -> arb:
        return room - log_x + log_x.exp().log1p() - rate * (2 * log_x.exp() + 1)  # turned: it falls

    # The order is 1 + x, and x is looked for by its logarithm: for a large rho it is about exp(-rho). At its ends the
    # slope is at least room + 1, and at most log(2) - 1.
    best = changes_sign(slope, -room - 2 - 3 * rate, ((room + 1) / (2 * rate)).log().max(arb(0)))
    middle = best.mid()
    ends = best.exp()
    x = middle.exp()
    exponent = x * (rate * (1 + x) - room + middle - x.log1p()) - x.log1p()
    lower = exponent - abs(slope(best)) * (ends.upper() - ends.lower())
    return exponent.union(lower).exp().min(arb(1))


def zcdp_epsilon(delta: Value, rho: Value) -> Value:
    """Epsilon at delta of the same: the least of :func:`renyi_epsilon` at all orders, at least 0.

    At the order 1 + x its slope is ``rho - (log(1/delta) - log(1+x))/x^2``, which is 0 once. As 0 < log(1+x) < x, that
    is between the x at which ``rho*x^2 + x`` and ``rho*x^2`` are log(1/delta).
    """
    need("delta > 0", delta > 0, delta <= 0, delta)
    need("delta < 1", delta < 1, delta >= 1, delta)
    need("rho > 0", rho > 0, rho <= 0, rho)
    rate, room = to_ball(rho), -to_ball(delta).log()
    low = 2 * room / (1 + (1 + 4 * rate * room).sqrt())
    ratio = changes_sign(
        lambda y: room - rate * (low * y) ** 2 - (low * y).log1p(), arb(1) / 2, 2 * (room / rate).sqrt() / low
    )
    ball = low * ratio
    x = low.mid() * ratio.mid()
    slope = rate - (room - ball.log1p()) / ball**2
    value = rate * (1 + x) - (1 / x).log1p() + (room - x.log1p()) / x
    return value.union(value - abs(slope) * (ball.upper() - ball.lower())).max(arb(0))


def sampled_gaussian_renyi(z: Value, q: Value, mu: Value) -> Value:
    """Renyi divergence of a whole order z of Gaussian noise under Poisson sampling, one example added or removed.

    ``log(sum_k C(z, k) (1-q)^(z-k) q^k exp(mu^2 k (k-1)/2)) / (z-1)``, of both directions the larger one (Mironov,
    Talwar and Zhang 2019, section 3.3).
    """
    order = elementary.as_int("sampled_gaussian_renyi", "z", z)
    need("z > 1", order > 1, order <= 1, z)
    need("q >= 0", q >= 0, q < 0, q)
    need("q <= 1", q <= 1, q > 1, q)
    spend(_PARTS_OF_A_TERM * (order + 1))
    complement = ONE - q
    half = to_ball(mu) ** 2 / 2
    terms = (
        to_ball(math.comb(order, k) * elementary.power(complement, fmpq(order - k)) * elementary.power(q, fmpq(k)))
        * (half * k * (k - 1)).exp()
        for k in range(order + 1)
    )
    total: arb = sum(terms, start=arb(0))
    return total.log() / (order - 1)


def _check(z: Value, r: Value) -> None:
    need("z > 1", z > 1, z <= 1, z)
    need("r >= 0", r >= 0, r < 0, r)
