"""Tree aggregation, exactly: the nodes that COMPOSE returns, their decay, and the privacy of noisy answers.

Algorithm 3 in closed form gives the number of nodes that COMPOSE returns, and their
decay.

COMPOSE(a, b) is arithmetic on the bits of ``x = a - 1`` and ``y = b``. Let ``j`` be the
highest bit in which they differ. Going up from x to the multiple of ``2**j`` between
them takes one node per set bit of ``p = 2**j - (x mod 2**j)``. Going on to y takes one
node per set bit of ``v = y mod 2**j`` (NOTES.md has the proof).

Theorem 10 and the following conversion are about the aggregation mechanism of Algorithm
5.

It releases Gaussian queries one after the other. For a neighbour that touches V of them and moves each by its whole
sensitivity, the privacy loss is Gaussian with mean ``mu**2/2`` and variance ``mu**2``, where ``mu = rho*sqrt(V)``. So
the Renyi divergence and the exact (epsilon, delta) trade-off are both known, and both are attained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from flint import arb

from dpverify.symbolic.exact.numbers import ZERO, Exact, Value, ball, power, to_exact

Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]

Node: TypeAlias = tuple[int, int]  # First and last step of a dyadic interval

LONGEST: Final = 4096  # Powers longer than this many bits become balls


def compose_intervals(a: int, b: int) -> list[Node]:
    """Return the nodes of COMPOSE(a, b) from left to right, none if a > b (Algorithm 3, ``proposition-18-cover``)."""
    if a < 1:
        raise ValueError(f"a must be at least 1, got a={a}.")
    nodes: list[Node] = []
    at = a - 1
    while at < b:
        longest = 1 << ((b - at).bit_length() - 1)
        length = min(at & -at, longest) if at else longest
        nodes.append((at + 1, at + length))
        at += length
    return nodes


def compose_count(a: int, b: int) -> int:
    """Count the nodes of COMPOSE(a, b): ``popcount(2**j - (a-1) mod 2**j) + popcount(b mod 2**j)``."""
    if not 1 <= a <= b:
        raise ValueError(f"a and b must satisfy 1 <= a <= b, got a={a}, b={b}.")
    x = a - 1
    block = 1 << ((x ^ b).bit_length() - 1)
    return (block - x % block).bit_count() + (b % block).bit_count()


def count_nodes(
    last: str, first: str = ""
) -> Callable[[Mapping[str, Fraction], object], Fraction]:
    """Return a left side that counts COMPOSE's nodes from the step of symbol ``first``, or 1, to that of ``last``."""
    return lambda point, _: Fraction(
        compose_count(int(point[first]) if first else 1, int(point[last]))
    )


def squared_decay_sum(t: int, alpha: Fraction) -> Exact:
    """Sum the squared decays of the nodes of COMPOSE(1, t): the noise variance of step t in units of one node's.

    The node of the set bit i of t ends at ``t - t mod 2**i``, so its noise enters with the factor
    ``(1-alpha)**(t mod 2**i)`` (``tran2022:proposition-16`` with gamma = 1 - alpha).
    """
    return covariance_factor(t, t, alpha)


def covariance_factor(s: int, t: int, alpha: Fraction) -> Exact:
    """Return the covariance of NOISE_s and NOISE_t per coordinate, in units of one node's variance.

    Two steps share the node of a set bit i exactly if they agree in bit i and in every bit above it.
    """
    if min(s, t) < 1:
        raise ValueError(f"s and t must be at least 1, got s={s}, t={t}.")
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    decay = 1 - alpha
    total: Value = ZERO
    for i in range(min(s, t).bit_length()):
        if s >> i == t >> i and t >> i & 1:
            total += power(decay, s % (1 << i) + t % (1 << i), LONGEST)
    return to_exact(total)


def covariance_matrix(steps: int, alpha: float) -> Matrix:
    """Return the covariance of NOISE_1 .. NOISE_T as floats: entry (s-1, t-1) is ``covariance_factor(s, t, alpha)``."""
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got steps={steps}.")
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got alpha={alpha}.")
    t = np.arange(1, steps + 1)
    total = np.zeros((steps, steps))
    for i in range(steps.bit_length()):
        decays = np.where(t >> i & 1, (1.0 - alpha) ** (t % (1 << i)), 0.0)
        total += np.outer(decays, decays) * ((t >> i)[:, None] == (t >> i)[None, :])
    return total


def gaussian_renyi(z: Fraction, shift: Fraction, scale: Fraction) -> Fraction:
    """Return the Renyi divergence ``z * shift**2 / (2 * scale**2)`` of two Gaussians with the same variance."""
    if z <= 1:
        raise ValueError(f"z must be above 1, got z={z}.")
    if scale <= 0:
        raise ValueError(f"scale must be positive, got scale={scale}.")
    return z * shift**2 / (2 * scale**2)


def aggregation_renyi(
    z: Fraction, rho: Fraction, touched: Sequence[Fraction]
) -> Fraction:
    """Return Algorithm 5's Renyi divergence if touched queries move by these fractions of their sensitivity."""
    for part in touched:
        if not 0 <= part <= 1:
            raise ValueError(f"touched must hold fractions in [0, 1], got {part}.")
    if rho <= 0:
        raise ValueError(f"rho must be positive, got rho={rho}.")
    return sum((gaussian_renyi(z, part, 1 / rho) for part in touched), Fraction(0))


def gaussian_delta(mu: arb, epsilon: arb) -> arb:
    """Return the smallest delta at epsilon of a Gaussian mechanism with this mu (Balle and Wang 2018, Theorem 8)."""
    root2 = arb(2).sqrt()
    below = ((epsilon / mu - mu / 2) / root2).erfc() / 2
    above = ((epsilon / mu + mu / 2) / root2).erfc() / 2
    return below - epsilon.exp() * above


def aggregation_delta(v: int, rho: Fraction, epsilon: Exact) -> arb:
    """Return Algorithm 5's exact delta at epsilon if a neighbour can touch v queries (``tran2022:theorem-10-dp``)."""
    mu = ball(rho) * arb(v).sqrt()
    return gaussian_delta(mu, ball(epsilon))
