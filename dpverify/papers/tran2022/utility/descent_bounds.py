"""Lemma 5's proof at its worst: how far a wrong momentum turns a normalized step, and what that costs.

Write g = grad F(w_t), e = m_hat_t - g and u = m_hat_t/|m_hat_t|. For given lengths of g and e, in two dimensions or
more, the largest value of ``-<g, u>`` is

    -sqrt(|g|^2 - |e|^2)   where |e| < |g|   (e is perpendicular to m_hat),
    0                      where |e| = |g|   (not attained: m_hat would be 0),
    |g|                    where |e| > |g|   (m_hat points against g).

NOTES_utility_lemmas.md has the proofs. Rationals and balls; no kernel is imported.
"""

from __future__ import annotations

from fractions import Fraction

from dpverify.symbolic.exact.numbers import DomainError, Exact, to_ball, to_value


def worst_alignment(grad_norm: Fraction, error_norm: Fraction) -> Exact:
    """Largest ``-<g, u>`` over all vectors of the given lengths; a ball where a root is taken."""
    if grad_norm < 0 or error_norm < 0:
        raise ValueError(f"lengths must be at least 0, got grad_norm={grad_norm}, error_norm={error_norm}.")
    if error_norm > grad_norm:
        return grad_norm
    if error_norm == grad_norm:
        return Fraction(0)
    return -to_ball(to_value(grad_norm**2 - error_norm**2)).sqrt()


def attained_loss(loss: Fraction, alignment: Fraction, eta: Fraction, smoothness: Fraction) -> Fraction:
    """Loss after a step on ``F(w + v) = loss + <g, v> + L |v|^2/2``: the bound of smoothness, attained."""
    return loss - eta * alignment + smoothness * eta**2 / 2


def attained_gradient(
    drop: Fraction, eta: Fraction, steps: Fraction, smoothness: Fraction, error_sum: Fraction
) -> Fraction:
    """Mean gradient norm of a run that is known to exist, on a line.

    *Downhill* on ``L w^2/2``, if the drop is large enough: the gradients ``g, g - L eta, ...`` are at least 0, and
    their mean is ``drop/(eta T) + L eta/2``; errors along the gradient change nothing. Otherwise *uphill* on a straight
    slope, with the momentum turned against the gradient by errors a little larger: ``-drop/(eta T)``.

    Source: ``tran2022:lemma-5-telescoped``.
    """
    mean = drop / (eta * steps) + smoothness * eta / 2
    if mean >= (steps - 1) * smoothness * eta / 2:
        return mean
    if 0 <= -drop / eta < error_sum:
        return -drop / (eta * steps)
    raise DomainError(f"no run on a line has drop={drop} with eta={eta}, T={steps}, L={smoothness}.")
