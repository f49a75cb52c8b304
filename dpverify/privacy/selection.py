"""Privacy of the best of a random number of runs, as in hyperparameter tuning.

A mechanism with output distribution Q is run K times, and the run with the best score
is released. The score is a function of a run's output, ordered in any way that does not
depend on the data, and ties are broken at random. Let f be the generating function of
K, and q the probability that a run ranks below an output y. Then y is released with
density Q(y) f'(q). A moment of the released run is therefore the sum of
``Q(y)^z Q'(y)^(1-z) f'(q)^z f'(q')^(1-z)``, at most the moment of one run times the
largest ``f'(q) (f'(q)/f'(q'))^(z-1)`` (Papernot and Steinke 2022, lemma 7).

1. Let K have the truncated negative binomial distribution with shape eta > -1, so that
   ``f'(q) = E K (gamma/(1-(1-gamma) q))^(1+eta)``, which is at most E K. The divergence
   r(w) of Q' from Q bounds any probability by ``p' <= (e^r p)^(1-1/w)``, so that
   ``(gamma + (1-gamma)(1-q')) / (gamma + (1-gamma)(1-q))`` is at most
   ``exp((1-1/w) r) gamma^(-1/w)``. Hence ``r(z) + (1+eta)((1-1/w) r(w) +
   log(1/gamma)/w) + log(E K)/(z-1)`` for any order w (their theorem 2).
2. Let K have the Poisson distribution with mean m, ``f'(q) = m exp(m (q-1))``. If Q' is within (e, d) of Q with
   exp(e) <= 1 + 1/(z-1), then ``(z-1)(q-q') - (1-q) <= (z-1) d``. No run happens with
   probability exp(-m), so that a moment is at most
   ``exp(-m) + m exp((z-1)(r(z) + m d))``. (Their theorem 6 has the second term only,
   which is too small for m < 1.)

The lower bound uses a score that does not depend on the data, so that the released run has the distribution of a single
run. Without sampling it also uses the most revealing score and event: a run is better the further it is towards the
other data set, or away from it.
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
"""Renyi orders that are tried. The bound at every order is valid."""
THRESHOLDS = 20_001
ROUNDING = 1e-14  # absolute error of a probability
ROUND_UP = 1.0 + 1e-9  # moves sums of a few thousand floats to the safe side
MIN_GAMMA = 1e-12


@dataclass(frozen=True)
class RunCount:
    """The distribution of the number of runs.

    Attributes
    ----------
    mean : float
        Above 1; above 0 if ``shape`` is infinite.
    shape : float
        Above -1. 1 is geometric, 0 logarithmic, and ``math.inf`` Poisson, which
        includes the case of no run.

    Raises
    ------
    ValueError
        If a number is out of its range, or the mean is so large that gamma would be
        below 1e-12.
    """

    mean: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        if not self.shape > -1:
            raise check.ArgumentError("shape", self.shape, "must be above -1")
        least = 0.0 if self.is_poisson else 1.0
        if not least < self.mean < math.inf:
            raise check.ArgumentError(
                "runs", self.mean, f"must be a number above {least:g}"
            )
        if not self.is_poisson and self._excess(math.log(MIN_GAMMA)) < 0:
            raise check.ArgumentError("runs", self.mean, "is too large for this shape")

    @property
    def is_poisson(self) -> bool:
        """Whether the number of runs has a Poisson distribution."""
        return self.shape == math.inf

    @cached_property
    def log_gamma(self) -> float:
        """Logarithm of the parameter gamma of the truncated negative binomial distribution with this mean."""
        return float(
            brentq(self._excess, math.log(MIN_GAMMA), -1e-12, xtol=1e-15, rtol=1e-14)
        )

    def _excess(self, log_gamma: float) -> float:
        """Return the logarithm of the mean at a gamma over the requested mean."""
        failure = -math.expm1(log_gamma)
        share = (
            -log_gamma
            if self.shape == 0
            else -math.expm1(self.shape * log_gamma) / self.shape
        )
        return math.log(failure / share) - log_gamma - math.log(self.mean)

    def at_least_one(self, chance: Floats) -> Floats:
        """Return the probability that at least one run is in a set with probability ``chance`` per run."""
        if self.is_poisson:
            return -np.expm1(-self.mean * chance)
        gamma = math.exp(self.log_gamma)
        return self._share(np.log1p((1.0 - gamma) / gamma * chance))

    def all_of_some(self, chance: Floats) -> Floats:
        """Return the probability of a positive number of runs, all in a set with probability ``chance`` per run."""
        return self.at_least_one(np.ones(1)) - self.at_least_one(1.0 - chance)

    def _share(self, logarithm: Floats) -> Floats:
        """Return ``(1 - exp(-eta L))/(1 - gamma^eta)``, or its limit at eta = 0."""
        if self.shape == 0:
            return logarithm / -self.log_gamma
        return np.expm1(-self.shape * logarithm) / math.expm1(
            self.shape * self.log_gamma
        )


def selected_epsilon(
    sigma: float | Any,
    delta: float,
    *,
    runs: float,
    shape: float = 1.0,
    steps: int = 1,
    rate: float = 1.0,
) -> Bounds:
    """Bound the epsilon of the best of a random number of runs of Gaussian steps from above and below.

    Parameters
    ----------
    sigma, delta, steps, rate
        Parameters of one run, as for :func:`dpverify.epsilon` with Poisson sampling and
        add-remove neighbours. ``sigma`` may be an event of dp-accounting.
    runs : float
        Mean of the number of runs, above 1.
    shape : float
        Shape of the truncated negative binomial distribution of that number, above -1:
        1 is geometric, 0 is logarithmic. ``math.inf`` is Poisson, for which the mean
        may be any number above 0.

    Returns
    -------
    Bounds
        ``upper`` holds for any score; ``lower`` is attained by a score. Without
        sampling that score is the most revealing.

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
    # each divergence is a bound in both directions
    bounds = selected_rdp(divergences, divergences, law)
    upper = (
        min(tight_epsilon(order, bound, delta) for order, bound in bounds.items())
        * ROUND_UP
    )
    share = delta if not law.is_poisson else delta / -math.expm1(-law.mean)
    # A score that does not depend on the data: the released run, if any, has the
    # distribution of a single run.
    lower = poisson_epsilon(parts, share).lower if share < 1 else 0.0
    if all(part.rate == 1.0 for part in parts):
        mu = math.sqrt(math.fsum(part.count / part.noise**2 for part in parts))
        lower = max(lower, _revealing_score_epsilon(law, mu, delta))
    return Bounds(
        min(lower, upper),
        upper,
        exact=False,
        method="Renyi divergences of the selected run",
    )


def _divergence(parts: Sequence[BatchSteps], order: int) -> float:
    terms = (
        part.count * poisson_gaussian_rdp(order, part.rate, part.noise)
        for part in parts
    )
    return math.fsum(terms) * ROUND_UP


def selected_rdp(
    divergences: Mapping[int, float],
    reversed_bounds: Mapping[int, float],
    law: RunCount,
) -> dict[int, float]:
    """Return bounds on the Renyi divergences of the selected run, at the orders of ``divergences``.

    ``divergences`` bound the divergence of a run on some data from a run on neighbouring data. ``reversed_bounds``
    bound it in the other direction.
    """
    if law.is_poisson:
        return {
            order: _poisson_bound(order, bound, reversed_bounds, law.mean)
            for order, bound in divergences.items()
        }
    log_gamma = law.log_gamma
    ratios = [
        (1.0 - 1.0 / order) * bound - log_gamma / order
        for order, bound in reversed_bounds.items()
    ]
    increase = (1.0 + law.shape) * min(-log_gamma, *ratios)
    return {
        order: bound + increase + math.log(law.mean) / (order - 1)
        for order, bound in divergences.items()
    }


def _poisson_bound(
    order: int, bound: float, reversed_bounds: Mapping[int, float], mean: float
) -> float:
    chance = _least_delta(reversed_bounds, math.log1p(1.0 / (order - 1)))
    log_moment = math.log(mean) + (order - 1) * (bound + mean * chance)
    return float(np.logaddexp(-mean, log_moment)) / (order - 1)


def _least_delta(divergences: Mapping[int, float], epsilon: float) -> float:
    """Return the delta that Renyi divergences give at an epsilon (Canonne, Kamath and Steinke 2020, proposition 12)."""
    logs = (
        (order - 1) * (bound + math.log1p(-1.0 / order) - epsilon) - math.log(order)
        for order, bound in divergences.items()
    )
    return min(math.exp(min(logs)), 1.0)


def _revealing_score_epsilon(law: RunCount, mu: float, delta: float) -> float:
    """Return the largest epsilon that a threshold on the released run shows, if the output is the score.

    A run is N(mu, 1) or N(0, 1). The best run is either the largest, which exceeds a threshold if at least one run
    does, or the smallest, which exceeds it if all runs do.
    """
    thresholds = np.linspace(-12.0 - mu, 12.0 + mu, THRESHOLDS)
    tails = ndtr(mu - thresholds), ndtr(-thresholds)
    largest = 0.0
    for chance in (law.at_least_one, law.all_of_some):
        first, second = (chance(tail) for tail in tails)
        excess = first - delta - ROUNDING
        is_reliable = (excess > 0) & (second > ROUNDING)
        if is_reliable.any():
            largest = max(
                largest,
                float(
                    np.log(excess[is_reliable] / (second[is_reliable] + ROUNDING)).max()
                ),
            )
    return largest
