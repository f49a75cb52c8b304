r"""Exact privacy curves of Gaussian noise on a sampled sum where one example is replaced, as balls.

Each example adds to the sum a vector in a ball of radius C, and the noise has deviation 1 in every coordinate.

**A batch of m of n examples, q = m/n, without replacement.** ``dpverify.privacy.batches`` shows that for c >= 1 the
hockey-stick divergence of neighbours is at most that of A = (1-q) N(0, 1) + q N(2C, 1) from N(0, 1), in either order,
and which data reach it.

**Each example with probability q (Poisson).** Given which others are drawn, their sum is s and the laws are
(1-q) N(s, 1) + q N(s+u, 1) and (1-q) N(s, 1) + q N(s+v, 1), with the old and the new vector u and v. The divergence is
jointly convex, so at most its largest value at one s, say 0; all others 0 reach it. With the likelihood ratios L_u and
L_v to N(0, 1) it is E f(L_u, L_v), f(a, b) = ((1-q)(1-c) + q a - c q b)_+, whose mixed derivative is not positive. L_u
and L_v are exponentials of jointly Gaussian numbers of variances |u|^2, |v|^2 and covariance <u, v>, so E f falls with
the covariance (Plackett's identity): opposite vectors are the worst. On a line with u >= 0 >= v the ratio of the laws
rises with x, so the divergence is the largest over t of P(X > t) - c Q(X > t), each of which rises with u and falls
with v: u = C, v = -C is the worst. It is the same in the other order, by reflection.

The worst t is where the ratio is c: with y = exp(C t) and g = exp(-C^2/2) it solves
q g y^2 - (1-q)(c-1) y - c q g = 0.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from dpverify.symbolic.exact.laws import check_sampled, least_epsilon, normal_cdf, removed_delta
from dpverify.symbolic.exact.numbers import ONE, Value, to_ball


def batch_gaussian_delta(epsilon: Value, q: Value, mu: Value) -> Value:
    """Smallest delta at epsilon of a batch that is the part q of the data; mu is 2C: what replacing changes at most."""
    check_sampled(epsilon, q, mu)
    return removed_delta(to_ball(epsilon).exp(), to_ball(q), to_ball(mu))


def replaced_gaussian_delta(epsilon: Value, q: Value, mu: Value) -> Value:
    """Smallest delta at epsilon where each example is drawn with probability q; mu is C: what one adds at most."""
    check_sampled(epsilon, q, mu)
    part = to_ball(q)
    shift = to_ball(mu)
    factor = to_ball(epsilon).exp()
    half = to_ball(ONE - q) * (factor - 1)
    scaled = part * (-(shift**2) / 2).exp()
    at = ((half + (half**2 + 4 * factor * scaled**2).sqrt()) / (2 * scaled)).log() / shift
    drawn = part * (to_ball(normal_cdf(shift - at)) - factor * normal_cdf(-shift - at))
    return drawn - half * normal_cdf(-at)


def batch_gaussian_epsilon(delta: Value, q: Value, mu: Value) -> Value:
    """Smallest epsilon, at least 0, at which :func:`batch_gaussian_delta` is at most delta."""
    return least_epsilon(_of(batch_gaussian_delta, q, mu), delta)


def replaced_gaussian_epsilon(delta: Value, q: Value, mu: Value) -> Value:
    """Smallest epsilon, at least 0, at which :func:`replaced_gaussian_delta` is at most delta."""
    return least_epsilon(_of(replaced_gaussian_delta, q, mu), delta)


def _of(curve: Callable[[Value, Value, Value], Value], q: Value, mu: Value) -> Callable[[arb], arb]:
    return lambda epsilon: to_ball(curve(epsilon, q, mu))
