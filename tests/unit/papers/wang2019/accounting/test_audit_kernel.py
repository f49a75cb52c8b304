"""What the audited kernel releases: what each estimate adds to the one before, whatever came before it."""

from functools import cache

import numpy as np

from dpverify.kernels.typing import Matrix
from dpverify.papers.wang2019.accounting.audit_kernel import (
    NOISE,
    RUN,
    datasets,
    log_ratio,
    mechanism,
)

RUNS = 4000


@cache
def released(k: int) -> Matrix:
    """What runs on one of the data sets release."""
    return mechanism(datasets()[k], np.random.default_rng(1 + k), RUNS)


def test_each_step_shows_its_batch_and_its_noise_alone() -> None:
    length, (_, noise) = (
        RUN.gamma * RUN.lipschitz + (1 - RUN.gamma) * RUN.zeta,
        RUN.deviations(NOISE),
    )
    for k, signs in enumerate(datasets()):
        found = released(k)
        assert found.shape == (RUNS, RUN.steps)
        against = (signs > 0).any() * RUN.batch / RUN.examples
        share = 2 * length / RUN.batch
        variance = noise**2 + share**2 * against * (1 - against)
        assert np.abs(
            found.mean(axis=0) + length - share * against
        ).max() < 5 * np.sqrt(variance / RUNS)
        covariance = np.cov(found, rowvar=False)
        assert np.abs(
            covariance - variance * np.eye(RUN.steps)
        ).max() < 6 * variance * np.sqrt(2 / RUNS)


def test_the_score_is_the_logarithm_of_a_likelihood_ratio() -> None:
    """Its exponential has the mean 1 under the first data set, and another one where the noise is a tenth smaller."""
    for scale in (1.0, 0.9):
        ratios = np.exp(log_ratio(scale * (released(0) + RUN.length) - RUN.length))
        assert (abs(ratios.mean() - 1) < 5 * ratios.std() / np.sqrt(len(ratios))) == (
            scale == 1.0
        )
