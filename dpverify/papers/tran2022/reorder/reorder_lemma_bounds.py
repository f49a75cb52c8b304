"""A corrected Lemma 17 with explicit constants: how far Algorithm 4's momentum is off under fresh permutations.

With the noise off, 1/N <= alpha <= 1, 0 < gamma < 1, N >= 2 and gradients of norm at most G that change by at most
``change`` between two anchors (eta N L for L-smooth losses and normalized steps),

    E|m_hat_t - m_t|                         <= 2 G sqrt(alpha)     + 11/10 change sqrt(alpha/gamma),
    E|m_hat_t - momentum of full gradients|  <= 3/2 G sqrt(alpha)   + 11/10 change sqrt(alpha/gamma),

at every t. NOTES_identities.md has the proofs. Rationals and balls; no kernel is imported.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias

from flint import arb

from dpverify.papers.tran2022.reorder.reorder_bias_bounds import Sum, check_parameters
from dpverify.symbolic.exact.numbers import Value, to_ball, to_value

CHANGE_FACTOR = Fraction(11, 10)
"""Factor of ``change sqrt(alpha/gamma)``: the exact constant of the proof is sqrt(10)/3, at N = 2, alpha = 1/2."""

FACTORS: dict[Sum, Fraction] = {"difference": Fraction(2), "estimate": Fraction(3, 2), "momentum": Fraction(2)}
"""Factor of ``G sqrt(alpha)``; that of the momentum is Lemma 11's."""

Ordering: TypeAlias = Literal["fresh", "once"]


def simple_bound(which: Sum, alpha: Fraction, gamma: Fraction, lipschitz: Fraction, change: Fraction) -> arb:
    """Bound of the corrected lemma at every step, for N >= 2 and alpha >= 1/N.

    ``change``: bound on the distance of one example's gradients at the anchors of two epochs that follow on one
    another. ``factor G sqrt(alpha) + 11/10 change sqrt(alpha/gamma)``, the second term for m_hat only.
    """
    check_parameters(1, 1, alpha, gamma)
    if gamma == 0:
        raise ValueError("gamma must be above 0, got gamma=0.")
    own = _times_root(FACTORS[which] * lipschitz, to_value(alpha))
    if which == "momentum":
        return own
    return own + _times_root(CHANGE_FACTOR * change, to_value(alpha / gamma))


def cross_term(i: int, j: int, n_examples: int, ordering: Ordering, own: Fraction) -> Fraction:
    """Mean product of the sampling errors of two steps, for gradients that do not depend on w.

    ``-own/(N-1)`` for two positions of one order; ``own`` where one order draws the same example twice; 0 between
    epochs that have orders of their own.
    """
    same_epoch = (i - 1) // n_examples == (j - 1) // n_examples
    if not same_epoch and ordering == "fresh":
        return Fraction(0)
    if (i - j) % n_examples == 0:
        return own
    return -own / (n_examples - 1)


def momentum_once(t: int, n_examples: int, alpha: Fraction, own: Fraction) -> Fraction:
    """Mean square of the momentum's sampling error under one permutation, constant gradients.

    ``own N/(N-1) (sum of w_p^2 - (sum of w_p)^2 / N)``, w_p the weight of the example that was drawn p steps ago, its
    earlier visits included; 0 for N = 1.
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


def _times_root(factor: Fraction, square: Value) -> arb:
    """Product of a number with a root."""
    return to_ball(to_value(factor)) * to_ball(square).sqrt()
