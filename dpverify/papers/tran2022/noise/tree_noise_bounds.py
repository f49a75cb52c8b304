"""The exact law of Algorithm 1's noise, and what Lemma 12 says of it.

NOISE_t is Gaussian with independent coordinates, each of variance ``(4*alpha*G*sigma)**2 * V * F(t)``, where F(t) sums
the squared decays of COMPOSE(1, t). So the expected norm is known in closed form, without a simulation.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpverify.papers.tran2022.trees.compose_bounds import squared_decay_sum
from dpverify.symbolic.exact.numbers import Exact, ball, to_exact, to_value


def noise_variance(t: int, alpha: Fraction, lipschitz: Fraction, sigma: Fraction, v: Exact) -> Exact:
    """Variance of one coordinate of NOISE_t, ``16 * alpha**2 * G**2 * sigma**2 * V * F(t)`` (Algorithm 1)."""
    node = to_value(16 * (alpha * lipschitz * sigma) ** 2) * to_value(v)
    return to_exact(node * to_value(squared_decay_sum(t, alpha)))


def mean_chi(d: int) -> arb:
    """Mean of the norm of a standard Gaussian vector, ``sqrt(2) * Gamma((d+1)/2) / Gamma(d/2)``, below ``sqrt(d)``."""
    if d < 1:
        raise ValueError(f"d must be at least 1, got d={d}.")
    if d < 400:
        return arb(2).sqrt() * (arb(d + 1) / 2).gamma() / (arb(d) / 2).gamma()
    # log-gamma does not overflow
    return arb(2).sqrt() * ((arb(d + 1) / 2).lgamma() - (arb(d) / 2).lgamma()).exp()


def expected_norm(variance: Exact, d: int) -> arb:
    """Expected norm of a centred Gaussian vector with independent coordinates: ``sqrt(variance) * mean_chi(d)``."""
    return ball(variance).sqrt() * mean_chi(d)


def expected_noise_norm(t: int, alpha: Fraction, lipschitz: Fraction, sigma: Fraction, v: Exact, d: int) -> arb:
    """Expected norm of NOISE_t, ``sqrt(noise_variance) * mean_chi(d)`` (``tran2022:lemma-12`` bounds it)."""
    return expected_norm(noise_variance(t, alpha, lipschitz, sigma, v), d)
