"""The normal law and the exact privacy curves of Gaussian noise, as balls: no claim needs code for them."""

from __future__ import annotations

from flint import arb

from dpverify.symbolic.exact.numbers import ONE, DomainError, UndecidedError, Value, to_ball
from dpverify.symbolic.exact.roots import Falling, falls_to


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
