"""Theorem 10 and the conversion after it: the aggregation mechanism of Algorithm 5, exactly.

Releasing Gaussian queries one after the other has, for a neighbour that touches V of them, a privacy loss that is
itself Gaussian, with mean ``mu**2/2`` and variance ``mu**2``, where ``mu = rho*sqrt(V)``, if each touched query attains
its sensitivity. So the Renyi divergence and the exact (epsilon, delta) trade-off are both known, and both are attained.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from dpverify.symbolic.exact.numbers import Exact, ball


def gaussian_renyi(z: Fraction, shift: Fraction, scale: Fraction) -> Fraction:
    """Renyi divergence ``z * shift**2 / (2 * scale**2)`` of two Gaussians with one variance."""
    if z <= 1:
        raise ValueError(f"z must be above 1, got z={z}.")
    if scale <= 0:
        raise ValueError(f"scale must be positive, got scale={scale}.")
    return z * shift**2 / (2 * scale**2)


def aggregation_renyi(z: Fraction, rho: Fraction, touched: Sequence[Fraction]) -> Fraction:
    """Renyi divergence of Algorithm 5 for a neighbour that moves touched queries by shares of their sensitivity."""
    for part in touched:
        if not 0 <= part <= 1:
            raise ValueError(f"touched must hold fractions in [0, 1], got {part}.")
    if rho <= 0:
        raise ValueError(f"rho must be positive, got rho={rho}.")
    return sum((gaussian_renyi(z, part, 1 / rho) for part in touched), Fraction(0))


def gaussian_delta(mu: arb, epsilon: arb) -> arb:
    """Smallest delta at epsilon of a Gaussian mechanism with this mu (Balle and Wang 2018, Theorem 8)."""
    root2 = arb(2).sqrt()
    below = ((epsilon / mu - mu / 2) / root2).erfc() / 2
    above = ((epsilon / mu + mu / 2) / root2).erfc() / 2
    return below - epsilon.exp() * above


def aggregation_delta(v: int, rho: Fraction, epsilon: Exact) -> arb:
    """Exact delta of Algorithm 5 at epsilon, when a neighbour can touch v queries (``tran2022:theorem-10-dp``)."""
    mu = ball(rho) * arb(v).sqrt()
    return gaussian_delta(mu, ball(epsilon))
