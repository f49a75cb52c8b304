"""Tails and quantiles of the chi-square law, accurate for any number of degrees of freedom.

scipy's lower tail loses digits for very many degrees of freedom (measured: at 1e9 it returns 1.1e-7 instead of 2.9e-7).
From a million on we use the cube-root normal form of Wilson and Hilferty. Its relative error in a tail of 1e-8 is then
below 1e-4 and decreases like the inverse of the degrees of freedom. A test compares it with ball arithmetic.
"""

from __future__ import annotations

import math

from scipy import special

LARGE = 1_000_000  # degrees of freedom from which the cube-root normal form is used


def lower_tail(value: float, dof: float) -> float:
    """Return the probability that a chi-square variable is at most a value."""
    if dof < LARGE:
        return float(special.chdtr(dof, value))
    return float(special.ndtr(_normal_score(value, dof)))


def upper_tail(value: float, dof: float) -> float:
    """Return the probability that a chi-square variable is at least a value."""
    if dof < LARGE:
        return float(special.chdtrc(dof, value))
    return float(special.ndtr(-_normal_score(value, dof)))


def lower_quantile(probability: float, dof: float) -> float:
    """Return the x with ``P(X <= x) = probability`` for a chi-square variable and a small probability."""
    if dof < LARGE:
        return 2.0 * float(special.gammaincinv(dof / 2.0, probability))
    return _from_score(float(special.ndtri(probability)), dof)


def upper_quantile(probability: float, dof: float) -> float:
    """Return the x with ``P(X >= x) = probability`` for a chi-square variable and a small probability."""
    if dof < LARGE:
        return 2.0 * float(special.gammainccinv(dof / 2.0, probability))
    return _from_score(-float(special.ndtri(probability)), dof)


def _normal_score(value: float, dof: float) -> float:
    spread = 2.0 / (9.0 * dof)
    return (math.cbrt(value / dof) - (1.0 - spread)) / math.sqrt(spread)


def _from_score(score: float, dof: float) -> float:
    spread = 2.0 / (9.0 * dof)
    return dof * (1.0 - spread + score * math.sqrt(spread)) ** 3
