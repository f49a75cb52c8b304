"""How often a bound is above the truth: counted over games whose truth is known.

Counts are compared with the quantile that a rate of 5% exceeds once in 10^6 test runs; seeds are fixed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from dpverify.privacy.audit.audit import audit
from dpverify.privacy.audit.counting import lower_epsilon
from dpverify.privacy.audit.gaussian import ClassMoments, bound_mu
from dpverify.privacy.gaussian import mu_of
from tests.for_each import for_each

Floats = NDArray[np.float64]
E = math.e
SIGMA = 1.0 / mu_of(1.0, 1e-5)


def most(runs: int, rate: float = 0.05) -> int:
    return int(stats.binom.isf(1e-6, runs, rate))


@for_each("epsilon", [0.0, 0.5, 1.0, 4.0])
@for_each(("trials", "kappa", "delta"), [
    (100, 0.01, 0.0), (100, 0.017, 0.0), (1000, 0.001, 1e-5), (1000, 0.0, 0.02), (1000, 0.016, 0.02),
    (100_000, 1e-4, 1e-5), (100_000, 0.01, 1e-3),
])  # fmt: skip
def test_the_least_private_mechanism_is_bounded_above_its_epsilon_in_one_game_of_twenty_at_most(
    epsilon: float, trials: int, kappa: float, delta: float
) -> None:
    rng = np.random.default_rng(0)
    # the largest that (epsilon, delta) allows
    right = math.exp(epsilon) * kappa + delta
    games = rng.multinomial(trials, [right, kappa, 1.0 - right - kappa], size=20_000)
    bounds = lower_epsilon(
        games[:, 0].astype(float), games[:, 1].astype(float), trials, delta, 0.05
    )
    assert int((bounds > epsilon).sum()) <= most(20_000)


def test_the_level_is_used_up_and_not_a_fraction_of_it() -> None:
    rng = np.random.default_rng(1)
    games = rng.multinomial(100_000, [0.05 * E, 0.05, 0.95 - 0.05 * E], size=20_000)
    bounds = lower_epsilon(
        games[:, 0].astype(float), games[:, 1].astype(float), 100_000, 0.0, 0.05
    )
    assert int((bounds > 1.0).sum()) >= int(stats.binom.isf(1.0 - 1e-6, 20_000, 0.045))


def randomized_response(dataset: Floats, rng: Generator, size: int) -> Any:
    return np.where(rng.random(size) < E / (1.0 + E), dataset[0], 1.0 - dataset[0])


def leaking(dataset: Floats, rng: Generator, size: int) -> Any:
    """(1, 0.02)-DP: it tells everything with chance 0.02."""
    out = randomized_response(dataset, rng, size)
    out[rng.random(size) < 0.02] = 10.0 + dataset[0]
    return out


def gaussian(dataset: Floats, rng: Generator, size: int) -> Any:
    return dataset.sum() / math.sqrt(3.0) + SIGMA * rng.normal(size=(size, 3))


def above(mechanism: Any, runs: int, truth: float = 1.0, **options: Any) -> int:
    return sum(
        audit(mechanism, seed=seed, **options).epsilon > truth for seed in range(runs)
    )


def test_whole_audits_of_randomized_response_keep_the_level() -> None:
    assert above(randomized_response, 300, n=150, delta=0.0) <= most(300)


def test_whole_audits_of_a_leak_within_delta_keep_the_level() -> None:
    assert above(leaking, 300, n=200, delta=0.02) <= most(300)


def test_whole_audits_of_a_gaussian_law_keep_the_level() -> None:
    count = above(gaussian, 600, n=150, law="gaussian")
    assert int(stats.binom.isf(1.0 - 1e-6, 600, 0.05)) <= count <= most(600)


def test_the_law_any_keeps_the_level_on_a_gaussian_mechanism() -> None:
    assert above(gaussian, 100, n=500) <= most(100)


def test_the_statistic_of_many_dimensions_and_few_outputs_has_its_law() -> None:
    """Hotelling's, of 20 dimensions and 15 outputs on each data set: F with 20 and 9 degrees of freedom."""
    rng, found = np.random.default_rng(2), []
    for _ in range(300):
        sides = [ClassMoments(np.zeros(20)) for _ in range(2)]
        for side in sides:
            side.add(rng.normal(size=(15, 20)))
        found.append(bound_mu(sides[0], sides[1], 0.05).statistic)
    assert stats.kstest(found, stats.f(20, 9).cdf).pvalue > 1e-6
