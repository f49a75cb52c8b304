"""The normal law, exact privacy curves of noise, and conversions between notions of privacy, as balls.

No claim needs code for the normal law and the curves of Gaussian noise. The conversions from Renyi and
zero-concentrated bounds to (epsilon, delta) are the best closed ones (Canonne, Kamath and Steinke 2020, proposition 12;
Balle et al. 2020): what holds for every mechanism with the bound. Those of zero-concentrated bounds take the best
order, exactly.

**Laplace noise, and binomial noise on a query.** The hockey-stick divergence of neighbours is the larger one of both
directions: added or removed, the query moves up or down by the same amount.

**Gaussian noise on a sampled sum where one example is replaced.** Each example adds to the sum a vector in a ball of
radius C, and the noise has deviation 1 in every coordinate.

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

import math
from collections.abc import Callable

from flint import arb, fmpq

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import ONE, ZERO, DomainError, UndecidedError, Value, spend, to_ball
from dpverify.symbolic.exact.roots import Falling, changes_sign, falls_to


def normal_cdf(x: Value) -> Value:
    """Probability that a standard normal number is at most x."""
    return (-to_ball(x) / arb(2).sqrt()).erfc() / 2


def gaussian_delta(epsilon: Value, mu: Value) -> Value:
    """Smallest delta at epsilon of Gaussian noise of deviation 1 on a query of sensitivity mu."""
    return sampled_gaussian_delta(epsilon, ONE, mu)


def sampled_gaussian_delta(epsilon: Value, q: Value, mu: Value) -> Value:
    """The same where each example is in the query with probability q, and one is added or removed.

    The larger of both orders: with P the mixture of N(0, 1) and, with weight q, N(mu, 1), the integral of the positive
    part of P - exp(epsilon) N(0, 1), and of N(0, 1) - exp(epsilon) P. Each is positive on one side of one point.
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
        raise UndecidedError(f"whether exp(-epsilon) is above 1 - q, for epsilon = {epsilon} and q = {q}.")
    at = _where(share, shift)
    return removed.max(normal_cdf(at) - factor * mixed(at))


def removed_delta(factor: arb, weight: arb, shift: arb) -> arb:
    """Integral of the positive part of P - factor N(0, 1), for a factor of at least 1."""
    at = _where((factor - 1 + weight) / weight, shift)
    return (1 - weight - factor) * normal_cdf(-at) + weight * normal_cdf(shift - at)


def _where(ratio: arb, shift: arb) -> arb:
    """The point at which N(shift, 1) is so many times N(0, 1)."""
    return ratio.log() / shift + shift / 2


def check_sampled(epsilon: Value, q: Value, mu: Value) -> None:
    """Refuse what no sampled curve is defined for."""
    need("epsilon >= 0", epsilon >= 0, epsilon < 0, epsilon)
    need("mu > 0", mu > 0, mu <= 0, mu)
    need("q > 0", q > 0, q <= 0, q)
    need("q <= 1", q <= 1, q > 1, q)


def gaussian_epsilon(delta: Value, mu: Value) -> Value:
    """Smallest epsilon, at least 0, at which Gaussian noise of deviation 1 on sensitivity mu has at most this delta."""
    return sampled_gaussian_epsilon(delta, ONE, mu)


def sampled_gaussian_epsilon(delta: Value, q: Value, mu: Value) -> Value:
    """The same where each example is in the query with probability q, and one is added or removed."""
    return least_epsilon(lambda epsilon: to_ball(sampled_gaussian_delta(epsilon, q, mu)), delta)


def least_epsilon(curve: Falling, delta: Value) -> Value:
    """Smallest epsilon, at least 0, at which a falling curve is at most delta."""
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
    """Refuse what is outside of its range; where a ball holds both, more bits must tell."""
    if fails:
        raise DomainError(f"a privacy curve or conversion needs {rule}, got {value}.")
    if not is_satisfied:
        raise UndecidedError(f"whether {rule}, for {value}.")


_PARTS_OF_A_TERM = 16


def laplace_delta(epsilon: Value, mu: Value) -> Value:
    """Smallest delta at epsilon of Laplace noise; mu: sensitivity divided by the scale of the noise.

    The loss is at most mu; for epsilon < mu the divergence is ``1 - exp((epsilon - mu)/2)``, in both directions.
    """
    _check_epsilon(epsilon)
    need("mu > 0", mu > 0, mu <= 0, mu)
    if epsilon >= mu:
        return ZERO
    return (1 - (to_ball(epsilon - mu) / 2).exp()).max(arb(0))


def binomial_delta(epsilon: Value, n: Value, p: Value, shift: Value) -> Value:
    """Smallest delta at epsilon of a count that changes by ``shift``, with n coins of probability p added to it.

    The masses follow from each other by ``(n - i)/(i + 1)*p/(1 - p)``; the sums run over all values of both laws.
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
        sum(((a - factor * b).max(arb(0)) for a, b in zip(first, second, strict=True)), start=arb(0))
        for first, second in ((here, there), (there, here))
    )
    return up.max(down)


def _check_epsilon(epsilon: Value) -> None:
    need("epsilon >= 0", epsilon >= 0, epsilon < 0, epsilon)


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


def renyi_delta(epsilon: Value, z: Value, r: Value) -> Value:
    """Delta at epsilon of what has a Renyi divergence of at most r at the order z: ``exp((z-1)(r-e)) (1-1/z)^z/(z-1)``.

    At most 1.
    """
    _check_bound(z, r)
    order = to_ball(z)
    exponent = (order - 1) * (to_ball(r) - to_ball(epsilon) + (1 - 1 / order).log()) - order.log()
    return exponent.exp().min(arb(1))


def renyi_epsilon(delta: Value, z: Value, r: Value) -> Value:
    """Epsilon at delta of the same, at least 0."""
    _check_bound(z, r)
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


def _check_bound(z: Value, r: Value) -> None:
    need("z > 1", z > 1, z <= 1, z)
    need("r >= 0", r >= 0, r < 0, r)
