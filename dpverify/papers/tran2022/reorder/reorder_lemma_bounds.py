"""A corrected Lemma 17 with explicit constants: how far Algorithm 4's momentum is off under fresh permutations.

With the noise off, 1/N <= alpha <= 1, 0 < gamma < 1, N >= 2 and gradients of norm at most G that change by at most
``change`` between two anchors (eta N L for L-smooth losses and normalized steps),

    E|m_hat_t - m_t|                         <= 2 G sqrt(alpha)     + 11/10 change sqrt(alpha/gamma),
    E|m_hat_t - momentum of full gradients|  <= 3/2 G sqrt(alpha)   + 11/10 change sqrt(alpha/gamma),

at every t, and the mean of the second over t = 1 .. T is at most

    G sqrt(alpha) (3/2 sqrt(gamma) + 9/2 N/(gamma T)) + 11/10 change sqrt(alpha/gamma).

NOTES_identities.md has the proofs. Rationals and balls; no kernel is imported.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias

from flint import arb

from dpverify.papers.tran2022.reorder.reorder_bias_bounds import Sum, as_value, check_parameters, window_weights
from dpverify.symbolic.exact.numbers import ZERO, Exact, Value, to_ball, to_exact, to_value

CHANGE_FACTOR = Fraction(11, 10)
"""Factor of ``change sqrt(alpha/gamma)``: the exact constant of the proof is sqrt(10)/3, at N = 2, alpha = 1/2."""

FACTORS: dict[Sum, Fraction] = {"difference": Fraction(2), "estimate": Fraction(3, 2), "momentum": Fraction(2)}
"""Factor of ``G sqrt(alpha)``; that of the momentum is Lemma 11's."""

Ordering: TypeAlias = Literal["fresh", "once"]


def weight_bound(
    which: Sum, t: int, n_examples: int, alpha: Fraction, gamma: Fraction, lipschitz: Fraction, change: Fraction
) -> arb:
    """Bound on the root mean square of one of the sums, with the exact weights.

    ``change``: bound on the distance of one example's gradients at the anchors of two epochs that follow on one
    another. ``alpha sqrt(N/(N-1)) (G sqrt(sum of (1-alpha)^(2p) a_i^2) + change sqrt(sum of (1-alpha)^(2p) b_i^2))``; 0
    for N = 1.

    Source: Minkowski's inequality for the exact mean square, without its negative part.
    """
    check_parameters(t, n_examples, alpha, gamma)
    if n_examples == 1:
        return arb(0)
    q, r = divmod(t, n_examples)
    beta = as_value(1 - alpha, t)
    weights = window_weights(which, q, beta**n_examples, as_value(gamma, t))
    whole, cut = _squares(beta, n_examples), _squares(beta, r)
    own = sum((a * a for a, _ in weights[:q]), ZERO) * whole + weights[q][0] ** 2 * cut
    moved = sum((b * b for _, b in weights[:q]), ZERO) * whole
    scale = to_ball(to_value(alpha)) * (to_ball(to_value(Fraction(n_examples, n_examples - 1)))).sqrt()
    return scale * (_times_root(lipschitz, own) + _times_root(change, moved))


def simple_bound(which: Sum, alpha: Fraction, gamma: Fraction, lipschitz: Fraction, change: Fraction) -> arb:
    """Bound of the corrected lemma at every step, for N >= 2 and alpha >= 1/N; parameters as in :func:`weight_bound`.

    ``factor G sqrt(alpha) + 11/10 change sqrt(alpha/gamma)``, the second term for m_hat only.
    """
    check_parameters(1, 1, alpha, gamma)
    if gamma == 0:
        raise ValueError("gamma must be above 0, got gamma=0.")
    own = _times_root(FACTORS[which] * lipschitz, to_value(alpha))
    if which == "momentum":
        return own
    return own + _times_root(CHANGE_FACTOR * change, to_value(alpha / gamma))


def run_mean_bound(
    steps: int, n_examples: int, alpha: Fraction, gamma: Fraction, lipschitz: Fraction, change: Fraction
) -> arb:
    """Bound on the mean over t = 1 .. T of the estimate's root mean square, for N >= 2 and alpha >= 1/N.

    ``G sqrt(alpha) (3/2 sqrt(gamma) + 9/2 N/(gamma T)) + 11/10 change sqrt(alpha/gamma)``: after 1/gamma epochs the
    estimate is sharper than the momentum, by the factor sqrt(gamma).
    """
    check_parameters(steps, n_examples, alpha, gamma)
    if gamma == 0:
        raise ValueError("gamma must be above 0, got gamma=0.")
    settled = _times_root(Fraction(3, 2) * lipschitz, to_value(alpha * gamma))
    begin = _times_root(lipschitz * Fraction(9, 2) * n_examples / (gamma * steps), to_value(alpha))
    return settled + begin + _times_root(CHANGE_FACTOR * change, to_value(alpha / gamma))


def largest_difference(t: int, n_examples: int, alpha: Fraction, gamma: Fraction, lipschitz: Fraction) -> Exact:
    """Largest |m_hat_t - m_t| over all orders, for gradients that stay: +G for half of the examples, -G for the others.

    Per epoch the larger half of the steps' weights minus the smaller half, added up: the rearrangement inequality.
    """
    check_parameters(t, n_examples, alpha, gamma)
    if n_examples % 2:
        raise ValueError(f"n_examples must be even, got n_examples={n_examples}.")
    q, r = divmod(t, n_examples)
    beta, half = to_value(1 - alpha), n_examples // 2
    weights = window_weights("difference", q, beta**n_examples, to_value(gamma))
    decays: list[Value] = [to_value(Fraction(1))]
    for _ in range(n_examples - 1):
        decays.append(decays[-1] * beta)
    total: Value = ZERO
    for epoch in range(q + 1):
        late = [weights[q - epoch][0] * decay for decay in decays[:r]]
        early = [weights[q - epoch - 1][0] * decay for decay in decays[r:]] if epoch < q else [ZERO] * (n_examples - r)
        ranked = sorted([*late, *early])
        total = total + sum(ranked[half:], ZERO) - sum(ranked[:half], ZERO)
    return to_exact(to_value(alpha * lipschitz) * total)


def cross_term(i: int, j: int, n_examples: int, ordering: Ordering, own: Fraction) -> Fraction:
    """Mean product of the sampling errors of two steps, for gradients that do not depend on w.

    ``-own/(N-1)`` for two positions of one order; ``own`` where one order draws the same example twice; 0 between
    epochs that have orders of their own.

    Source: ``tran2022:lemma-11-cross-epochs``: 0 needs fresh permutations.
    """
    same_epoch = (i - 1) // n_examples == (j - 1) // n_examples
    if not same_epoch and ordering == "fresh":
        return Fraction(0)
    if (i - j) % n_examples == 0:
        return own
    return -own / (n_examples - 1)


def momentum_once(t: int, n_examples: int, alpha: Fraction, own: Fraction) -> Fraction:
    """Mean square of the momentum's sampling error under one permutation, for gradients that do not depend on w.

    ``own N/(N-1) (sum of w_p^2 - (sum of w_p)^2 / N)``, w_p the weight of the example that was drawn p steps ago, its
    earlier visits included; 0 for N = 1.

    Source: ``tran2022:lemma-11-sampling`` under the ordering "once".
    """
    check_parameters(t, n_examples, alpha, Fraction(0))
    if n_examples == 1:
        return Fraction(0)
    beta = 1 - alpha
    weights = [Fraction(0)] * n_examples
    for age in range(t):
        weights[age % n_examples] += alpha * beta**age
    squares, whole = sum((w * w for w in weights), Fraction(0)), sum(weights, Fraction(0))
    return own * Fraction(n_examples, n_examples - 1) * (squares - whole**2 / n_examples)


def _squares(beta: Value, count: int) -> Value:
    """Sum of beta^(2p) over p < count."""
    total: Value = ZERO
    power: Value = to_value(Fraction(1))
    for _ in range(count):
        total, power = total + power, power * beta * beta
    return total


def _times_root(factor: Fraction, square: Value) -> arb:
    """Product of a number with a root."""
    return to_ball(to_value(factor)) * to_ball(square).sqrt()
