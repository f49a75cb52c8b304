"""What the audited kernel releases: noisy gradients, whatever momentum and the step sizes made of them."""

from functools import cache

import numpy as np

from dpverify.kernels.typing import Matrix
from dpverify.papers.zhang2021.accounting.audit_kernel import (
    BATCH,
    EXAMPLES,
    STEPS,
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
    for k, signs in enumerate(datasets()):
        found = released(k)
        assert found.shape == (RUNS, STEPS.count)
        against = (signs > 0).any() * BATCH / EXAMPLES
        noise = STEPS.noise * 2 / BATCH
        variance = noise**2 + (2 / BATCH) ** 2 * against * (1 - against)
        assert np.abs(found.mean(axis=0) + 1 - 2 / BATCH * against).max() < 5 * np.sqrt(
            variance / RUNS
        )
        covariance = np.cov(found, rowvar=False)
        assert np.abs(
            covariance - variance * np.eye(STEPS.count)
        ).max() < 6 * variance * np.sqrt(2 / RUNS)


def test_the_score_is_the_logarithm_of_a_likelihood_ratio() -> None:
    """Its exponential has the mean 1 under the first data set, and another one where the noise is a tenth smaller."""
    for scale in (1.0, 0.9):
        ratios = np.exp(log_ratio(scale * (released(0) + 1.0) - 1.0))
        assert (abs(ratios.mean() - 1) < 5 * ratios.std() / np.sqrt(len(ratios))) == (
            scale == 1.0
        )
