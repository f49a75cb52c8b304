"""Effect of fresh permutations on Algorithm 4's momentum: exact second moments, over all orders of the examples.

Let xi_e(x) be the gradient of example x at the anchor of epoch e minus the mean over
all examples, zeta_e = xi_e - xi_{e-1}, and let there be no noise. Then three sums have
the form alpha * sum of (1-alpha)^p (a_i xi_e(x) + b_i zeta_e(x)). The sum is over
windows i = 1, 2, .. (1 the latest) and steps of the window; p counts the step from the
window's end, e is its epoch and x its example. *Difference*, m_hat_t - m_t: a_i =
-(1-gamma)(c_i - c_{i-1}), b_i = (1-gamma) c_i. *Estimate*, m_hat_t - (momentum of full
gradients): a_i = gamma c_i, b_i = (1-gamma) c_i. *Momentum*, m_t - (momentum of full
gradients): a_i = (1-alpha)^{N(i-1)}, b_i = 0.

Gradients are taken at the anchors, and c_i = sum_{j<i} (1-gamma)^j
(1-alpha)^{(i-1-j)N}. In the first whole window (i = q), a_q is (1-gamma) c_{q-1}, or
c_q, and b_q = 0. The steps before it form window q + 1 with 0, or (1-alpha)^{Nq}. Parts
of different epochs are uncorrelated, with mean 0 given the past. Within an epoch,
examples are drawn without replacement (NOTES_identities.md).

The corrected Lemma 17 assumes 1/N <= alpha <= 1, 0 < gamma < 1, N >= 2 and gradients of norm at most G that change by
at most ``change`` between two anchors (eta N L for L-smooth losses and normalized steps). At every t, the mean of the
difference is at most 2 G sqrt(alpha) + 11/10 change sqrt(alpha/gamma). The bound for the estimate has 3/2 instead of 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, Literal, NamedTuple, TypeAlias

from flint import arb

from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import (
    ONE,
    ZERO,
    Exact,
    Value,
    to_ball,
    to_exact,
    to_value,
    working_precision,
)

LONGEST: Final = 600  # Powers longer than this many bits become balls of ``BALL_BITS``.

BALL_BITS: Final = 192

# Which of the three sums.
Sum: TypeAlias = Literal["difference", "estimate", "momentum"]


class GradientMoments(NamedTuple):
    """Mean products of centred gradients over the examples, at the anchor of one epoch."""

    own: Fraction  # mean of ``|xi_e(x)|^2``, at most G^2
    cross: Fraction = Fraction(0)  # mean of ``<xi_e(x), zeta_e(x)>``
    # mean of ``|zeta_e(x)|^2``, at most ``min(2 G, eta N L)^2``
    change: Fraction = Fraction(0)


Spreads: TypeAlias = Callable[[int], GradientMoments]
"""Maps an epoch (0, 1, ...) to the moments of its gradients. They must not depend on the order of the examples."""


def constant_spread(own: Fraction) -> Spreads:
    """Return moments, equal in all epochs, of losses whose gradients do not depend on w; ``own`` is at most G^2."""
    return lambda _epoch: GradientMoments(own)


def alternating_spread(change: Fraction) -> Spreads:
    """Return moments of gradients that alternate: ``xi_e = (-1)^e (change/2) v`` with ``|v(x)| = 1``."""
    return lambda _epoch: GradientMoments(change**2 / 4, change**2 / 2, change**2)


def window_weights(
    quantity: Sum, q: int, block: Value, gamma: Value
) -> list[tuple[Value, Value]]:
    """Return the q + 1 weights (a_i, b_i) of the windows i = 1 .. q + 1; see the head of this file."""
    keep = 1 - gamma
    c: list[Value] = [ZERO]
    powers: list[Value] = [ONE]
    for _ in range(q):
        c.append(keep * c[-1] + powers[-1])
        powers.append(powers[-1] * block)
    if quantity == "momentum":
        return [(power, ZERO) for power in powers]
    if quantity == "estimate":
        inner = [(gamma * c[i], keep * c[i]) for i in range(1, q)]
        return [*inner, *([(c[q], ZERO)] if q else []), (powers[q], ZERO)]
    inner = [(-keep * (c[i] - c[i - 1]), keep * c[i]) for i in range(1, q)]
    return [*inner, *([(keep * c[q - 1], ZERO)] if q else []), (ZERO, ZERO)]


def mean_square(
    quantity: Sum,
    t: int,
    n_examples: int,
    alpha: Fraction,
    gamma: Fraction,
    spreads: Spreads,
) -> Exact:
    """Return the mean square of one of the three sums over the permutations of all epochs; 0 for N = 1."""
    # ``alpha^2 N/(N-1) * sum over epochs of mean over x of (sum_j |f_j(x)|^2 - |sum_j
    # f_j(x)|^2 / N)``, where f_j is the contribution of the epoch's j-th step if it
    # draws x (``tran2022:equation-8``, ``tran2022:lemma-11-sampling``, fresh). The
    # result is a ball where t is large.
    check_parameters(t, n_examples, alpha, gamma)
    if n_examples == 1:
        return Fraction(0)
    q, r = divmod(t, n_examples)
    with working_precision(BALL_BITS):
        beta = as_value(1 - alpha, t)
        weight = as_value(gamma, t)
        weights = window_weights(quantity, q, beta**n_examples, weight)
        sums = _powers(beta, n_examples, r), _powers(beta * beta, n_examples, r)
        total: Value = ZERO
        for epoch in range(q + 1):
            # window q - epoch + 1: the first r steps of the epoch
            late = weights[q - epoch] if r else (ZERO, ZERO)
            # window q - epoch: the other steps
            early = weights[q - epoch - 1] if epoch < q else (ZERO, ZERO)
            total = total + _of_epoch(late, early, sums, n_examples, spreads(epoch))
        return to_exact(to_value(alpha) ** 2 * total * n_examples / (n_examples - 1))


def as_value(number: Fraction, t: int) -> Value:
    """Return a number exactly if its powers up to t stay short, and as a ball otherwise."""
    value = to_value(number)
    return value if t * number.denominator.bit_length() <= LONGEST else to_ball(value)


def check_parameters(t: int, n_examples: int, alpha: Fraction, gamma: Fraction) -> None:
    """Raise ValueError if a parameter is out of range."""
    if t < 1 or n_examples < 1:
        raise ValueError(
            f"t and n_examples must be at least 1, got t={t}, n_examples={n_examples}."
        )
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma must lie in [0, 1], got gamma={gamma}.")


def _of_epoch(
    late: tuple[Value, Value],
    early: tuple[Value, Value],
    sums: tuple[tuple[Value, Value], tuple[Value, Value]],
    n_examples: int,
    spread: GradientMoments,
) -> Value:
    """Return the mean over x of ``sum_j |f_j|^2 - |sum_j f_j|^2 / N`` for one epoch."""
    (late_sum, early_sum), (late_square, early_square) = sums

    def form(i: int, j: int) -> Value:
        squares = late[i] * late[j] * late_square + early[i] * early[j] * early_square
        first = late[i] * late_sum + early[i] * early_sum
        second = late[j] * late_sum + early[j] * early_sum
        return squares - first * second / n_examples

    own, cross, change = (to_value(part) for part in spread)
    return form(0, 0) * own + 2 * form(0, 1) * cross + form(1, 1) * change


def _powers(base: Value, n: int, r: int) -> tuple[Value, Value]:
    """Return the sums of base^p over p = 0 .. r-1 and over p = r .. n-1."""
    sums: list[Value] = [ZERO, ZERO]
    power: Value = ONE
    for p in range(n):
        sums[p >= r] = sums[p >= r] + power
        power = power * base
    return sums[0], sums[1]


CHANGE_FACTOR = Fraction(11, 10)
"""Factor of ``change sqrt(alpha/gamma)``: the exact constant of the proof is sqrt(10)/3, at N = 2, alpha = 1/2."""

FACTORS: dict[Sum, Fraction] = {
    "difference": Fraction(2),
    "estimate": Fraction(3, 2),
    "momentum": Fraction(2),
}
"""Factor of ``G sqrt(alpha)``; the factor of the momentum is that of Lemma 11."""


def simple_bound(
    quantity: Sum,
    alpha: Fraction,
    gamma: Fraction,
    lipschitz: Fraction,
    change: Fraction,
) -> arb:
    """Return the bound of the corrected lemma at every step, for N >= 2 and alpha >= 1/N."""
    # ``factor G sqrt(alpha) + 11/10 change sqrt(alpha/gamma)``, the second term for
    # m_hat only; ``change`` bounds the distance of an example's gradients at two
    # consecutive anchors.
    check_parameters(1, 1, alpha, gamma)
    if gamma == 0:
        raise ValueError("gamma must be above 0, got gamma=0.")
    first_term = _times_root(FACTORS[quantity] * lipschitz, to_value(alpha))
    if quantity == "momentum":
        return first_term
    return first_term + _times_root(CHANGE_FACTOR * change, to_value(alpha / gamma))


def cross_term(
    i: int, j: int, n_examples: int, ordering: Ordering, own: Fraction
) -> Fraction:
    """Return the mean product of the sampling errors of two steps, for gradients that do not depend on w."""
    # ``-own/(N-1)`` for two positions of one order; ``own`` if one order draws the same
    # example twice; 0 between epochs with independent orders.
    same_epoch = (i - 1) // n_examples == (j - 1) // n_examples
    if not same_epoch and ordering == "fresh":
        return Fraction(0)
    if (i - j) % n_examples == 0:
        return own
    return -own / (n_examples - 1)


def momentum_once(t: int, n_examples: int, alpha: Fraction, own: Fraction) -> Fraction:
    """Return the momentum's mean square sampling error under one permutation, constant gradients; 0 for N = 1."""
    # ``own N/(N-1) (sum of w_p^2 - (sum of w_p)^2 / N)``, where w_p is the weight of
    # the example that was drawn p steps ago, including its earlier visits.
    check_parameters(t, n_examples, alpha, Fraction(0))
    if n_examples == 1:
        return Fraction(0)
    return (
        own
        * Fraction(n_examples, n_examples - 1)
        * spread_of(weights_once(t, n_examples, alpha))
    )


def weights_once(t: int, n_examples: int, alpha: Fraction) -> list[Fraction]:
    """Return the weights in m_t of the examples drawn 0 .. N - 1 steps ago, under one permutation; t may be 0."""
    weights = [Fraction(0)] * n_examples
    for age in range(t):
        weights[age % n_examples] += alpha * (1 - alpha) ** age
    return weights


def spread_of(weights: Sequence[Fraction]) -> Fraction:
    """Return the sum of the squared weights minus the square of their sum over their number."""
    return sum((w * w for w in weights), Fraction(0)) - sum(
        weights, Fraction(0)
    ) ** 2 / len(weights)


def _times_root(factor: Fraction, square: Value) -> arb:
    """Return the product of a number with the square root of another."""
    return to_ball(to_value(factor)) * to_ball(square).sqrt()
