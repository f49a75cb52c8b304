"""The normal law, exact privacy curves of noise, and conversions between notions of privacy, as balls.

They are functions of the formula language, so that no claim needs code of its own for
them. The conversions from Renyi and zero-concentrated bounds to (epsilon, delta) are
the best closed forms (Canonne, Kamath and Steinke 2020, proposition 12; Balle et al.
2020). They hold for every mechanism with the bound. The conversions of
zero-concentrated bounds use the exact best order.

**Laplace noise, and binomial noise on a query.** The divergence of neighbours is the
larger of the hockey-stick divergences in the two directions. An added or removed
example moves the query up or down by the same amount.

**Gaussian noise on a sampled sum where one example is replaced.** Each example adds a
vector of norm at most C to the sum, and the noise has deviation 1 in every coordinate.

**A batch of m of n examples, q = m/n, without replacement.**
``dpverify.privacy.batches`` shows that for c >= 1 the hockey-stick divergence of
neighbours is at most that of A = (1-q) N(0, 1) + q N(2C, 1) from N(0, 1), in either
order, and which data attain it.

**Each example with probability q (Poisson).** Condition on the other examples that are drawn; let s be their sum. The
laws are (1-q) N(s, 1) + q N(s+u, 1) and (1-q) N(s, 1) + q N(s+v, 1), with the old vector u and the new vector v. The
divergence is jointly convex, so it is at most its largest value for one s. This value does not depend on s, so take s =
0. The bound is attained if all other vectors are 0. With the likelihood ratios L_u and L_v to N(0, 1) the divergence is
E f(L_u, L_v), f(a, b) = ((1-q)(1-c) + q a - c q b)_+. The mixed derivative of f is not positive. L_u and L_v are
exponentials of jointly Gaussian numbers of variances |u|^2, |v|^2 and covariance <u, v>. So E f decreases with the
covariance (Plackett's identity), and opposite vectors are the worst case. On a line with u >= 0 >= v the ratio of the
laws increases with x, so the divergence is the maximum over t of P(X > t) - c Q(X > t). For each t this difference
increases with u and decreases with v, so u = C, v = -C is the worst case. The other order has the same divergence, by
reflection.

At the worst t the ratio is c: with y = exp(C t) and g = exp(-C^2/2) it solves
q g y^2 - (1-q)(c-1) y - c q g = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb, fmpq

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import (
    ONE,
    ZERO,
    DomainError,
    UndecidedError,
    Value,
    spend,
    to_ball,
)
from dpverify.symbolic.exact.roots import Falling, changes_sign, falls_to


def normal_cdf(x: Value) -> Value:
    """Return the probability that a standard normal number is at most x."""
    return (-to_ball(x) / arb(2).sqrt()).erfc() / 2


def gaussian_delta(epsilon: Value, mu: Value) -> Value:
    """Return the smallest delta at epsilon of Gaussian noise of deviation 1 on a query of sensitivity mu."""
    return sampled_gaussian_delta(epsilon, ONE, mu)


def sampled_gaussian_delta(epsilon: Value, q: Value, mu: Value) -> Value:
    """Return the smallest delta at epsilon of Gaussian noise under Poisson sampling, with one example added or removed.

    Each example is in the query with probability q. Let P be the mixture of N(0, 1) and, with weight q, N(mu, 1). Delta
    is the larger of two integrals: of the positive part of P - exp(epsilon) N(0, 1), and of the positive part of N(0,
    1) - exp(epsilon) P. Each difference is positive on one side of one point.
    """
    check_sampled(epsilon, q, mu)
    weight, shift, factor = to_ball(q), to_ball(mu), to_ball(epsilon).exp()

    def mixed(x: arb) -> arb:
        return (1 - weight) * normal_cdf(x) + weight * normal_cdf(x - shift)

    removed = removed_delta(factor, weight, shift)
    share = (1 / factor - to_ball(ONE - q)) / weight
    if share <= 0:
        return removed
    if not share > 0:
        raise UndecidedError(
            f"whether exp(-epsilon) is above 1 - q, for epsilon = {epsilon} and q = {q}."
        )
    at = _where(share, shift)
    return removed.max(normal_cdf(at) - factor * mixed(at))


def removed_delta(factor: arb, weight: arb, shift: arb) -> arb:
    """Return the integral of the positive part of P - factor N(0, 1), for a factor of at least 1."""
    at = _where((factor - 1 + weight) / weight, shift)
    return (1 - weight - factor) * normal_cdf(-at) + weight * normal_cdf(shift - at)


def _where(ratio: arb, shift: arb) -> arb:
    """Return the point at which the density of N(shift, 1) is ``ratio`` times that of N(0, 1)."""
    return ratio.log() / shift + shift / 2


def check_sampled(epsilon: Value, q: Value, mu: Value) -> None:
    """Raise an error unless the arguments are in the domain of the sampled curves."""
    need("epsilon >= 0", epsilon >= 0, epsilon < 0, epsilon)
    need("mu > 0", mu > 0, mu <= 0, mu)
    need("q > 0", q > 0, q <= 0, q)
    need("q <= 1", q <= 1, q > 1, q)


def gaussian_epsilon(delta: Value, mu: Value) -> Value:
    """Return the smallest epsilon >= 0 at which :func:`gaussian_delta` is at most delta."""
    return sampled_gaussian_epsilon(delta, ONE, mu)


def sampled_gaussian_epsilon(delta: Value, q: Value, mu: Value) -> Value:
    """Return the smallest epsilon >= 0 at which :func:`sampled_gaussian_delta` is at most delta."""
    return least_epsilon(
        lambda epsilon: to_ball(sampled_gaussian_delta(epsilon, q, mu)), delta
    )


def least_epsilon(curve: Falling, delta: Value) -> Value:
    """Return the smallest epsilon >= 0 at which a decreasing curve is at most delta."""
    need("delta > 0", delta > 0, delta <= 0, delta)
    level = to_ball(delta)
    zero = arb(0)
    start = curve(zero)
    if level >= start:
        return zero
    if not level < start:
        raise UndecidedError(f"whether the delta at epsilon = 0 is above {delta}.")
    return falls_to(curve, level, zero)


def need(rule: str, is_satisfied: bool, fails: bool, value: Value) -> None:
    """Raise a DomainError if the value is out of range, and an UndecidedError if its ball does not decide this."""
    if fails:
        raise DomainError(f"a privacy curve or conversion needs {rule}, got {value}.")
    if not is_satisfied:
        raise UndecidedError(f"whether {rule}, for {value}.")


_PARTS_OF_A_TERM = 16


def laplace_delta(epsilon: Value, mu: Value) -> Value:
    """Return the smallest delta at epsilon of Laplace noise.

    ``mu`` is the sensitivity divided by the scale of the noise.

    The privacy loss is at most mu. For epsilon < mu the divergence is ``1 - exp((epsilon - mu)/2)`` in both directions.
    """
    _check_epsilon(epsilon)
    need("mu > 0", mu > 0, mu <= 0, mu)
    if epsilon >= mu:
        return ZERO
    return (1 - (to_ball(epsilon - mu) / 2).exp()).max(arb(0))


def binomial_delta(epsilon: Value, n: Value, p: Value, shift: Value) -> Value:
    """Return the smallest delta at epsilon of a count that changes by ``shift``, with Binomial(n, p) noise added to it.

    Successive masses have the ratio ``(n - i)/(i + 1)*p/(1 - p)``. The sums include all values of both laws.
    """
    _check_epsilon(epsilon)
    coins = elementary.as_int("binomial_delta", "n", n)
    moved = elementary.as_int("binomial_delta", "shift", shift)
    need("n >= 0", coins >= 0, coins < 0, n)
    need("shift >= 1", moved >= 1, moved < 1, shift)
    need("p > 0", p > 0, p <= 0, p)
    need("p < 1", p < 1, p >= 1, p)
    spend(_PARTS_OF_A_TERM * (coins + moved + 1))
    odds = to_ball(p) / to_ball(ONE - p)
    masses = [to_ball(ONE - p) ** coins]
    for i in range(coins):
        masses.append(masses[-1] * (coins - i) / (i + 1) * odds)
    nothing = [arb(0)] * moved
    here = [*masses, *nothing]
    there = [*nothing, *masses]
    factor = to_ball(epsilon).exp()
    up, down = (
        sum(
            ((a - factor * b).max(arb(0)) for a, b in zip(first, second, strict=True)),
            start=arb(0),
        )
        for first, second in ((here, there), (there, here))
    )
    return up.max(down)


def _check_epsilon(epsilon: Value) -> None:
    need("epsilon >= 0", epsilon >= 0, epsilon < 0, epsilon)


def batch_gaussian_delta(epsilon: Value, q: Value, mu: Value) -> Value:
    """Return the smallest delta at epsilon of a batch that is the fraction q of the data.

    ``mu`` is 2C, the largest change of the sum if one example is replaced.
    """
    check_sampled(epsilon, q, mu)
    return removed_delta(to_ball(epsilon).exp(), to_ball(q), to_ball(mu))


def replaced_gaussian_delta(epsilon: Value, q: Value, mu: Value) -> Value:
    """Return the smallest delta at epsilon if each example is drawn with probability q and one is replaced.

    ``mu`` is C, the largest norm of an example's vector.
    """
    check_sampled(epsilon, q, mu)
    part = to_ball(q)
    shift = to_ball(mu)
    factor = to_ball(epsilon).exp()
    half = to_ball(ONE - q) * (factor - 1)
    scaled = part * (-(shift**2) / 2).exp()
    at = (
        (half + (half**2 + 4 * factor * scaled**2).sqrt()) / (2 * scaled)
    ).log() / shift
    drawn = part * (to_ball(normal_cdf(shift - at)) - factor * normal_cdf(-shift - at))
    return drawn - half * normal_cdf(-at)


def batch_gaussian_epsilon(delta: Value, q: Value, mu: Value) -> Value:
    """Return the smallest epsilon >= 0 at which :func:`batch_gaussian_delta` is at most delta."""
    return least_epsilon(_of(batch_gaussian_delta, q, mu), delta)


def replaced_gaussian_epsilon(delta: Value, q: Value, mu: Value) -> Value:
    """Return the smallest epsilon >= 0 at which :func:`replaced_gaussian_delta` is at most delta."""
    return least_epsilon(_of(replaced_gaussian_delta, q, mu), delta)


def _of(
    curve: Callable[[Value, Value, Value], Value], q: Value, mu: Value
) -> Callable[[arb], arb]:
    return lambda epsilon: to_ball(curve(epsilon, q, mu))


def renyi_delta(epsilon: Value, z: Value, r: Value) -> Value:
    """Return the delta at epsilon that a Renyi divergence of at most r at the order z implies.

    It is the lesser of 1 and ``exp((z-1)(r-e)) (1-1/z)^z/(z-1)``.
    """
    _check_bound(z, r)
    order = to_ball(z)
    exponent = (order - 1) * (
        to_ball(r) - to_ball(epsilon) + (1 - 1 / order).log()
    ) - order.log()
    return exponent.exp().min(arb(1))


def renyi_epsilon(delta: Value, z: Value, r: Value) -> Value:
    """Return the epsilon >= 0 at delta that a Renyi divergence of at most r at the order z implies."""
    _check_bound(z, r)
    need("delta > 0", delta > 0, delta <= 0, delta)
    order = to_ball(z)
    value = (
        to_ball(r)
        + (1 - 1 / order).log()
        - (to_ball(delta).log() + order.log()) / (order - 1)
    )
    return value.max(arb(0))


def zcdp_delta(epsilon: Value, rho: Value) -> Value:
    """Return the delta at epsilon that a Renyi divergence of at most ``rho*z`` at every order z implies.

    It is the minimum of :func:`renyi_delta` over all orders. The logarithm of that function is convex in the order, so
    its slope is 0 at the best order.
    """
    need("epsilon >= 0", epsilon >= 0, epsilon < 0, epsilon)
    need("rho > 0", rho > 0, rho <= 0, rho)
    rate, room = to_ball(rho), to_ball(epsilon)

    def slope(log_x: arb) -> arb:
        # negated, so it decreases
        return room - log_x + log_x.exp().log1p() - rate * (2 * log_x.exp() + 1)

    # The order is 1 + x. The search is for log(x), since x is about exp(-rho) for a
    # large rho. The slope is at least room + 1 at the left end, and at most log(2) - 1
    # at the right end.
    best = changes_sign(
        slope, -room - 2 - 3 * rate, ((room + 1) / (2 * rate)).log().max(arb(0))
    )
    middle = best.mid()
    ends = best.exp()
    x = middle.exp()
    exponent = x * (rate * (1 + x) - room + middle - x.log1p()) - x.log1p()
    lower = exponent - abs(slope(best)) * (ends.upper() - ends.lower())
    return exponent.union(lower).exp().min(arb(1))


def zcdp_epsilon(delta: Value, rho: Value) -> Value:
    """Return the epsilon >= 0 at delta that a Renyi divergence of at most ``rho*z`` at every order z implies.

    It is the minimum of :func:`renyi_epsilon` over all orders. At the order 1 + x the slope is
    ``rho - (log(1/delta) - log(1+x))/x^2``, which has one zero. As 0 < log(1+x) < x, the zero is between the x at which
    ``rho*x^2 + x`` is log(1/delta) and the x at which ``rho*x^2`` is.
    """
    need("delta > 0", delta > 0, delta <= 0, delta)
    need("delta < 1", delta < 1, delta >= 1, delta)
    need("rho > 0", rho > 0, rho <= 0, rho)
    rate, room = to_ball(rho), -to_ball(delta).log()
    low = 2 * room / (1 + (1 + 4 * rate * room).sqrt())
    ratio = changes_sign(
        lambda y: room - rate * (low * y) ** 2 - (low * y).log1p(),
        arb(1) / 2,
        2 * (room / rate).sqrt() / low,
    )
    ball = low * ratio
    x = low.mid() * ratio.mid()
    slope = rate - (room - ball.log1p()) / ball**2
    value = rate * (1 + x) - (1 / x).log1p() + (room - x.log1p()) / x
    return value.union(value - abs(slope) * (ball.upper() - ball.lower())).max(arb(0))


def sampled_gaussian_renyi(z: Value, q: Value, mu: Value) -> Value:
    """Return the Renyi divergence of an integer order z of Gaussian noise under Poisson sampling.

    One example is added or removed. The divergence is
    ``log(sum_k C(z, k) (1-q)^(z-k) q^k exp(mu^2 k (k-1)/2)) / (z-1)``, the larger of both directions (Mironov, Talwar
    and Zhang 2019, section 3.3).
    """
    order = elementary.as_int("sampled_gaussian_renyi", "z", z)
    need("z > 1", order > 1, order <= 1, z)
    need("q >= 0", q >= 0, q < 0, q)
    need("q <= 1", q <= 1, q > 1, q)
    spend(_PARTS_OF_A_TERM * (order + 1))
    complement = ONE - q
    half = to_ball(mu) ** 2 / 2
    terms = (
        to_ball(
            math.comb(order, k)
            * elementary.power(complement, fmpq(order - k))
            * elementary.power(q, fmpq(k))
        )
        * (half * k * (k - 1)).exp()
        for k in range(order + 1)
    )
    total: arb = sum(terms, start=arb(0))
    return total.log() / (order - 1)


def _check_bound(z: Value, r: Value) -> None:
    need("z > 1", z > 1, z <= 1, z)
    need("r >= 0", r >= 0, r < 0, r)
