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

from dpverify.kernels.typing import Vector
from dpverify.privacy.gaussian import ROOT_HALF, compose_mu, epsilon_of, halves

SENSITIVE: Final = 0.3  # epsilon over mu from which on floats alone give thirteen digits

FEW: Final = 256  # numbers that Python adds up sooner than numpy

BITS: Final = 128
"""Of the balls; as many more as the two terms of delta, which are near 1/2, have leading digits in common."""

SETTLED: Final = 2.0**-56
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
    values = np.asarray(mus if isinstance(mus, np.ndarray) else list(mus), dtype=np.float64)
    mu = compose_mu(values.tolist())
    epsilon = epsilon_of(mu, delta)
    if epsilon >= SENSITIVE * mu or epsilon == math.inf or delta == 1:
        return epsilon
    if epsilon == 0.0 and delta > math.erf(0.5 * ROOT_HALF * mu) * (1.0 + 1e-12):
        return 0.0
    return _refined(values, mu, delta, epsilon)


def _refined(mus: Vector, rough: float, delta: float, epsilon: float) -> float:
    """Newton's method on delta, which is convex in epsilon, with all digits of the sum of squares."""
    with ctx.workprec(BITS + 2 * max(0, -math.frexp(rough)[1])):
        mu = _root_of_squares(mus)
        estimate = arb(epsilon)
        root = arb(2).sqrt()
        for _ in range(STEPS):
            u = estimate / mu / root
            h = mu / 2 / root
            right = estimate.exp() * (u + h).erfc()  # twice minus the slope
            step = (((u - h).erfc() - right - 2 * arb(delta)) / right).mid()
            estimate = (estimate + step).mid()
            if not abs(step) * abs(step) > SETTLED * abs(estimate) * mu:  # what is left is at most step^2/mu
                break
        return max(float(estimate), 0.0)


def _root_of_squares(mus: Vector) -> arb:
    """Root of the sum of squares to thirty digits: squares and their rounding errors, summed with theirs."""
    scale = math.frexp(float(mus.max()))[1]
    values = np.ldexp(mus, -scale)  # at most 1; what underflows is below 10^-300 of the sum
    squares = values * values
    high, low = halves(values)
    correction = float(
        (((high * high - squares) + 2.0 * high * low) + low * low).sum()
    )  # exact terms: Dekker's product
    while squares.size > FEW:
        if squares.size % 2:
            squares = np.append(squares, 0.0)
        a = squares[::2]
        b = squares[1::2]
        squares = a + b
        rounded = squares - a
        correction += float(((a - (squares - rounded)) + (b - rounded)).sum())  # exact terms: Knuth's sum
    terms = [*squares.tolist(), correction]
    total = math.fsum(terms)
    return ((arb(total) + arb(math.fsum([*terms, -total]))).sqrt() * arb(2) ** scale).mid()
