"""epsilon of many Gaussian mechanisms together, to twelve digits also where it is nearly 0.

Near epsilon = 0 the answer is more sensitive than its input: a relative error u of mu or delta becomes one of about
0.8 u mu/epsilon. The rounded root of the sum of squares is then not enough, and the last steps are done in balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np
from flint import arb, ctx

from dpverify.privacy.gaussian import compose_mu, epsilon_of
from dpverify.privacy.gaussian_balls import delta_ball
from dpverify.privacy.mills import ROOT_HALF

SENSITIVE: Final = 0.3
"""epsilon over mu from which on floats alone give thirteen digits."""

SPLITTER: Final = 134217729.0
"""2^27 + 1: splits a float into two of half the bits."""

BITS: Final = 256
STEPS: Final = 60


def composed_epsilon(mus: Iterable[float], delta: float) -> float:
    """Smallest epsilon with which Gaussian mechanisms are (epsilon, delta)-DP together, composed adaptively or not.

    Parameters
    ----------
    mus : iterable of float
        Sensitivity over standard deviation of each, at least 0; an array is fastest.
    delta : float
        Privacy parameter in [0, 1].

    Returns
    -------
    float
        epsilon, with a relative error below 1e-12; 0 where delta is enough for it, +inf where no epsilon is.

    Raises
    ------
    ValueError
        If one mu is negative or NaN, or delta is outside [0, 1].
    """
    values = mus.tolist() if isinstance(mus, np.ndarray) else list(mus)
    mu = compose_mu(values)
    epsilon = epsilon_of(mu, delta)
    if epsilon >= SENSITIVE * mu or epsilon == math.inf:
        return epsilon
    if epsilon == 0.0 and delta > math.erf(0.5 * ROOT_HALF * mu) * (1.0 + 1e-12):
        return 0.0
    return _refined(values, delta, epsilon)


def _refined(mus: list[float], delta: float, epsilon: float) -> float:
    """Newton's method on delta, which is convex in epsilon, with all digits of the sum of squares."""
    before = ctx.prec
    ctx.prec = BITS
    try:
        mu, found, root = _root_of_squares(mus), arb(epsilon), arb(2).sqrt()
        for _ in range(STEPS):
            slope = found.exp() * ((mu / 2 + found / mu) / root).erfc() / 2
            step = ((delta_ball(mu, found) - arb(delta)) / slope).mid()
            found = (found + step).mid()
            if not abs(step) > abs(found) * 2.0**-60:
                break
        return max(float(found), 0.0)
    finally:
        ctx.prec = before


def _root_of_squares(mus: list[float]) -> arb:
    """Root of the sum of squares to thirty digits: squares and their rounding errors, summed without error."""
    scale = math.frexp(max(mus))[1]
    values = np.ldexp(np.array(mus), -scale)  # at most 1; what underflows is below 10^-300 of the sum
    squares = values * values
    split = values * SPLITTER
    high = split - (split - values)
    low = values - high
    errors = ((high * high - squares) + 2.0 * high * low) + low * low  # exact: Dekker's product
    terms = squares.tolist() + errors.tolist()
    total = math.fsum(terms)
    rest = math.fsum([*terms, -total])
    return ((arb(total) + arb(rest)).sqrt() * arb(2) ** scale).mid()
