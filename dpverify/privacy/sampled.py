r"""Privacy of many Gaussian steps on random batches, by the Renyi divergences of one.

Without replacement, each step has a new batch, uniform among those of B of the N examples; q = B/N. Neighbours replace
one example. Let P and Q be a step's laws on neighbours, in either order, and H_c(P, Q) = integral of (P - c Q)_+. Then

1. H_c(P, Q) <= h(c) = H_c((1-q) N(0, s^2) + q N(1, s^2), N(0, s^2)) for all c >= 1, with s = std B/(2G) (Balle, Barthe
   and Gaboardi 2018, theorem 9: 1 + q(c - 1) and q H_c of the Gaussian pair, which is what the mixture has).
2. E_Q (P/Q)^z = 1 + z(z-1) integral over c >= 1 of c^(z-2) H_c(P, Q) + c^(-z-1) H_c(Q, P) (the integral form of an
   f-divergence, Sason and Verdu 2016, f = x^z).
3. Both terms are at most c^(z-2) h(c), whose integral is, by 2. for the mixture, at most its own moment minus 1.

So the moment of a step is at most 1 + 2 (M - 1), with M the moment of Poisson sampling at the same q and s, which
``poisson_gaussian_rdp`` has for one example more or less. This is a bound: less noise may do.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpverify.privacy.conversions import improved_epsilon
from dpverify.privacy.subsampling import poisson_gaussian_rdp

UP = 1.0 + 1e-12
"""Quotients of a few floats are moved to the safe side by this factor, thousands of times their rounding."""

MARGIN = 1.0 + 1e-9  # does the same for the sum of the divergences of all steps

ORDERS = (*range(2, 17), 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256, 512)
"""Renyi orders that are tried; the bound of each holds."""


def poisson_gaussian_epsilon(rate: float, sigma: float, steps: int, delta: float) -> float:
    """An epsilon that holds for many Poisson-subsampled Gaussian steps; neighbours differ by one example more or less.

    Parameters
    ----------
    rate : float
        Probability with which each example is drawn at each step.
    sigma : float
        Standard deviation over sensitivity.
    steps : int
        Number of steps.
    delta : float
        Privacy parameter, 0 < delta < 1.

    Returns
    -------
    float
        By the best of some whole orders; the smallest epsilon would need the whole privacy loss.
    """
    return _best_epsilon(poisson_gaussian_rdp, rate, sigma, steps, delta)


def sampled_epsilon(rate: float, sigma: float, steps: int, delta: float) -> float:
    """An epsilon that holds for many Gaussian steps on batches drawn without replacement.

    Parameters
    ----------
    rate : float
        B/N.
    sigma : float
        Standard deviation over sensitivity, ``std B/(2G)``.
    steps : int
        T.
    delta : float
        Privacy parameter.

    Returns
    -------
    float
        For replacing one example.

    Notes
    -----
    Source: as derived at the head of this module; Canonne, Kamath and Steinke 2020, proposition 12.
    """
    return _best_epsilon(sampled_rdp, rate, sigma, steps, delta)


def sampled_rdp(order: int, rate: float, sigma: float) -> float:
    """Bound replacing one in a batch: log(1 + 2 (M - 1))/(z - 1) as above, and never more than without sampling."""
    exponent = (order - 1) * poisson_gaussian_rdp(order, rate, sigma)
    doubled = math.log1p(2.0 * math.expm1(exponent)) if exponent < 30.0 else exponent + math.log(2.0)
    return min(doubled / (order - 1), order / (2.0 * sigma * sigma))


def sampled_std(examples: int, batch: int, steps: int, lipschitz: float, epsilon: float, delta: float) -> float:
    """Smallest deviation that the bound of :func:`sampled_epsilon` allows, to seven digits, on the safe side.

    Parameters
    ----------
    examples, batch, steps : int
        N, B and T.
    lipschitz : float
        G.
    epsilon, delta : float
        Privacy asked for, for replacing one example.

    Returns
    -------
    float
        Deviation of a coordinate of the noise; infinite where epsilon is so small that none of the orders reaches it.
    """
    rate = batch / examples
    low = 0.25
    high = 1.0
    while sampled_epsilon(rate, low, steps, delta) <= epsilon:
        high = low
        low = low / 4.0
    while sampled_epsilon(rate, high, steps, delta) > epsilon:
        low = high
        high = 4.0 * high
        if high > 1e9:
            return math.inf
    while high > low * (1.0 + 1e-7):
        middle = math.sqrt(low * high)
        if sampled_epsilon(rate, middle, steps, delta) > epsilon:
            low = middle
        else:
            high = middle
    return 2.0 * lipschitz / batch * high * UP


def _best_epsilon(
    rdp: Callable[[int, float, float], float], rate: float, sigma: float, steps: int, delta: float
) -> float:
    return min(improved_epsilon(z, steps * rdp(z, rate, sigma) * MARGIN, delta) for z in ORDERS)
