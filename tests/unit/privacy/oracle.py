"""The definitions themselves, integrated with fifty digits: what the formulas are tested against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mpmath import log as mp_log
from mpmath import mp, mpf, npdf, quad, workdps

Density: TypeAlias = Callable[[mpf], mpf]
DIGITS = 50


def mixture(weights: Sequence[float], means: Sequence[float], sigma: float) -> Density:
    """Density of a mixture of normal laws with one standard deviation."""
    parts = [(mpf(w), mpf(m)) for w, m in zip(weights, means, strict=True)]
    return lambda x: sum((w * npdf(x, m, mpf(sigma)) for w, m in parts), start=mpf(0))


def renyi_by_integration(
    order: float, p: Density, q: Density, ends: Sequence[float]
) -> mpf:
    """Renyi divergence of p from q by its definition.

    ``ends``: ends of the pieces to integrate over; beyond the outermost the integrand must be below 1e-50 of the
    integral. log(integral of p^order q^(1-order))/(order - 1).
    """
    with workdps(DIGITS + 15):
        z = mpf(order)
        moment = quad(lambda x: p(x) ** z * q(x) ** (1 - z), [mpf(end) for end in ends])
        return mp_log(moment) / (z - 1)


def delta_by_integration(
    epsilon: float, p: Density, q: Density, ends: Sequence[float]
) -> mpf:
    """Hockey-stick divergence by its definition, the integral of the positive part of p - exp(epsilon) q.

    ``ends``: ends of the pieces to integrate over; the places where p = exp(epsilon) q must be among them. The smallest
    delta for this pair.
    """
    with workdps(DIGITS + 15):
        factor = mp.exp(mpf(epsilon))
        return quad(
            lambda x: max(p(x) - factor * q(x), mpf(0)), [mpf(end) for end in ends]
        )
