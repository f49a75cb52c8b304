"""Privacy of the best of a random number of runs, as tuning of hyperparameters releases it.

K runs of a mechanism with law Q are made, and the one with the best score is released. The score is a function of a
run's output, in any order that does not depend on the data, and ties are broken at random. Let f be the generating
function of K, and q the chance that a run is below an output y. Then y is released with density Q(y) f'(q), so that a
moment of the released run is the sum of ``Q(y)^z Q'(y)^(1-z) f'(q)^z f'(q')^(1-z)``, at most the moment of one run
times the largest ``f'(q) (f'(q)/f'(q'))^(z-1)`` (Papernot and Steinke 2022, lemma 7).

1. K is a truncated negative binomial number of shape eta > -1, so that ``f'(q) = E K (gamma/(1-(1-gamma) q))^(1+eta)``,
   which is at most E K. The divergence r(w) of Q' from Q bounds any chance by ``p' <= (e^r p)^(1-1/w)``, so that
   ``(gamma + (1-gamma)(1-q')) / (gamma + (1-gamma)(1-q))`` is at most ``exp((1-1/w) r) gamma^(-1/w)``.
   Hence ``r(z) + (1+eta)((1-1/w) r(w) + log(1/gamma)/w) + log(E K)/(z-1)`` for any order w (their theorem 2).
2. K is a Poisson number of mean m, ``f'(q) = m exp(m (q-1))``. If Q' is within (e, d) of Q with exp(e) <= 1 + 1/(z-1),
   then ``(z-1)(q-q') - (1-q) <= (z-1) d``. With the chance exp(-m) of no run, a moment is at most
   ``exp(-m) + m exp((z-1)(r(z) + m d))``. (Their theorem 6 has the second term alone; for m < 1 that is too little.)

The lower bound is a score that the data do not change, with which the released run is one run; and without sampling the
score and the event that tell most: a run is better the further it is towards (or away from) the other data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from dpverify.kernels import check
from dpverify.privacy.accounting import gaussian_steps
from dpverify.privacy.batches import BatchSteps, check_delta, poisson_epsilon
from dpverify.privacy.conversions import tight_epsilon
from dpverify.privacy.participation import Bounds
from dpverify.privacy.subsampling import poisson_gaussian_rdp

Floats: TypeAlias = NDArray[np.float64]

ORDERS = (*range(2, 65), *(round(64 * 2 ** (k / 4)) for k in range(1, 25)))
"""Renyi orders that are tried; the bound of each holds."""
THRESHOLDS = 20_001
ROUNDING = 1e-14  # of a chance
UP = 1.0 + 1e-9  # moves sums of a few thousand floats to the safe side
LEAST_GAMMA = 1e-12


@dataclass(frozen=True)
class RunCount:
    """The law of the number of runs.

    Attributes
    ----------
    mean : float
        Above 1; above 0 if ``shape`` is infinite.
    shape : float
        Above -1: 1 is geometric, 0 logarithmic, ``math.inf`` Poisson, with which no run at all is possible.

    Raises
    ------
    ValueError
        If a number is out of its range, or the mean is so large that the law has no parameter above 1e-12.
    """

    mean: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        if not self.shape > -1:
            raise check.ArgumentError("shape", self.shape, "must be above -1")
        least = 0.0 if self.is_poisson else 1.0
        if not least < self.mean < math.inf:
            raise check.ArgumentError("runs", self.mean, f"must be a number above {least:g}")
        if not self.is_poisson and self._excess(math.log(LEAST_GAMMA)) < 0:
            raise check.ArgumentError("runs", self.mean, "is too large for this shape")

    @property
    def is_poisson(self) -> bool:
        """Whether the number of runs is Poisson's."""
        return self.shape == math.inf

    @cached_property
    def log_gamma(self) -> float:
        """Logarithm of the parameter gamma of a truncated negative binomial law with this mean."""
        return float(brentq(self._excess, math.log(LEAST_GAMMA), -1e-12, xtol=1e-15, rtol=1e-14))

    def _excess(self, log_gamma: float) -> float:
        """Logarithm of the mean at a gamma over the mean that is asked for."""
        failure = -math.expm1(log_gamma)
        share = -log_gamma if self.shape == 0 else -math.expm1(self.shape * log_gamma) / self.shape
        return math.log(failure / share) - log_gamma - math.log(self.mean)

    def at_least_one(self, chance: Floats) -> Floats:
        """Chance that at least one run is in a set, if a run is in it with this chance."""
        if self.is_poisson:
            return -np.expm1(-self.mean * chance)
        gamma = math.exp(self.log_gamma)
        return self._share(np.log1p((1.0 - gamma) / gamma * chance))

    def all_of_some(self, chance: Floats) -> Floats:
        """Chance that there is a run and all runs are in a set, if a run is in it with this chance."""
        return self.at_least_one(np.ones(1)) - self.at_least_one(1.0 - chance)

    def _share(self, logarithm: Floats) -> Floats:
        """``(1 - exp(-eta L))/(1 - gamma^eta)``, and its limit at eta = 0."""
        if self.shape == 0:
            return logarithm / -self.log_gamma
        return np.expm1(-self.shape * logarithm) / math.expm1(self.shape * self.log_gamma)


def selected_epsilon(
    sigma: float | Any, delta: float, *, runs: float, shape: float = 1.0, steps: int = 1, rate: float = 1.0
) -> Bounds:
    """Bound the epsilon of the best of a random number of runs of Gaussian steps, from both sides.

    Parameters
    ----------
    sigma, delta, steps, rate
        Of one run, as for :func:`dpverify.epsilon` with Poisson sampling, for one example more or less; an event of
        dp-accounting may be given in place of ``sigma``.
    runs : float
        Mean of the number of runs, above 1.
    shape : float
        Shape of the number's truncated negative binomial law, above -1: 1 is a geometric number, 0 a logarithmic one;
        ``math.inf`` is a Poisson number, with which the mean may be at most 1.

    Returns
    -------
    Bounds
        ``upper`` holds for any score; ``lower`` is reached by one. Without sampling, the score tells as much as it can.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> import dpverify as dv
    >>> one = dv.epsilon(2.0, 1e-5)
    >>> best = dv.selected_epsilon(2.0, 1e-5, runs=20)
    >>> one.upper < best.lower < best.upper < 3 * one.upper
    True
    """
    check_delta(delta)
    law = RunCount(runs, shape)
    parts = gaussian_steps(sigma, steps, rate)
    if not parts:
        return Bounds(0.0, 0.0, exact=True)
    divergences = {order: _divergence(parts, order) for order in ORDERS}
    bounds = selected_rdp(divergences, divergences, law)  # each is a bound in both directions
    upper = min(tight_epsilon(order, bound, delta) for order, bound in bounds.items()) * UP
    share = delta if not law.is_poisson else delta / -math.expm1(-law.mean)
    # the data do not change this score: the released run is one run, if there is one
    lower = poisson_epsilon(parts, share).lower if share < 1 else 0.0
    if all(part.rate == 1.0 for part in parts):
        mu = math.sqrt(math.fsum(part.count / part.noise**2 for part in parts))
        lower = max(lower, _telling_score(law, mu, delta))
    return Bounds(min(lower, upper), upper, exact=False, method="Renyi divergences of the selected run")


def _divergence(parts: Sequence[BatchSteps], order: int) -> float:
    terms = (part.count * poisson_gaussian_rdp(order, part.rate, part.noise) for part in parts)
    return math.fsum(terms) * UP


def selected_rdp(
    divergences: Mapping[int, float], reversed_ones: Mapping[int, float], law: RunCount
) -> dict[int, float]:
    """Bound the Renyi divergences of the selected run, at the orders of the first bounds.

    ``divergences`` are of a run with some data from a run with neighbouring data, ``reversed_ones`` of the latter from
    the former.
    """
    if law.is_poisson:
        return {order: _of_poisson(order, bound, reversed_ones, law.mean) for order, bound in divergences.items()}
    log_gamma = law.log_gamma
    ratios = [(1.0 - 1.0 / order) * bound - log_gamma / order for order, bound in reversed_ones.items()]
    added = (1.0 + law.shape) * min(-log_gamma, *ratios)
    return {order: bound + added + math.log(law.mean) / (order - 1) for order, bound in divergences.items()}


def _of_poisson(order: int, bound: float, reversed_ones: Mapping[int, float], mean: float) -> float:
    chance = _least_delta(reversed_ones, math.log1p(1.0 / (order - 1)))
    log_moment = math.log(mean) + (order - 1) * (bound + mean * chance)
    return float(np.logaddexp(-mean, log_moment)) / (order - 1)


def _least_delta(divergences: Mapping[int, float], epsilon: float) -> float:
    """Delta that Renyi divergences give at an epsilon (Canonne, Kamath and Steinke 2020, proposition 12)."""
    logs = (
        (order - 1) * (bound + math.log1p(-1.0 / order) - epsilon) - math.log(order)
        for order, bound in divergences.items()
    )
    return min(math.exp(min(logs)), 1.0)


def _telling_score(law: RunCount, mu: float, delta: float) -> float:
    """Largest epsilon that a threshold on the released run shows, if a run is N(mu, 1) or N(0, 1) and scores itself.

    The best run is either the largest, which is above a threshold if at least one run is, or the smallest, which is
    above it if all runs are.
    """
    thresholds = np.linspace(-12.0 - mu, 12.0 + mu, THRESHOLDS)
    tails = ndtr(mu - thresholds), ndtr(-thresholds)
    largest = 0.0
    for chance in (law.at_least_one, law.all_of_some):
        first, second = (chance(tail) for tail in tails)
        excess = first - delta - ROUNDING
        seen = (excess > 0) & (second > ROUNDING)
        if seen.any():
            largest = max(largest, float(np.log(excess[seen] / (second[seen] + ROUNDING)).max()))
    return largest
