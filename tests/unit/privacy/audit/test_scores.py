"""Scores of an audit against the log likelihood ratios that they are to learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator
from scipy import stats
from threadpoolctl import threadpool_info, threadpool_limits

from dpverify.privacy.audit.audit import audit
from dpverify.privacy.audit.candidates import Learner
from dpverify.privacy.audit.groups import SortedOutputs, join_rows, rows_of
from dpverify.privacy.audit.records import Floats
from dpverify.privacy.audit.scores import (
    _gaussian,
    bent,
    distance,
    fitted,
    linear,
    quadratic,
    smooth,
)
from tests.for_each import for_each

LEARNERS = [
    Learner(each.__name__, each) for each in (linear, bent, distance, quadratic)
]


@for_each("learner", LEARNERS, ids=lambda learner: learner.name)
def test_a_score_from_groups_is_nearly_that_from_all_rounds(learner: Learner) -> None:
    rng = np.random.default_rng(1)
    b = rng.random(8000) < 0.5
    x = rng.normal(size=8000) * (1.0 + 0.3 * b) + 0.5 * b
    grouped, alone = (
        learner.learn(join_rows(*SortedOutputs(x, b, 4000).halves)),
        learner.learn(rows_of(x[:, None], b)),
    )
    at = np.linspace(-3.0, 4.0, 50)[:, None]
    np.testing.assert_allclose(grouped(at), alone(at), atol=0.05)


def test_a_fit_to_columns_that_are_alike_is_that_to_one() -> None:
    x = np.linspace(-2.0, 2.0, 200)
    ones = 100.0 / (1.0 + np.exp(-1.5 * x))
    weights, _ = fitted(
        np.column_stack([x, x]), 100.0 - ones, ones, np.zeros(2)
    )  # no penalty: the curvature is singular
    assert weights.sum() == pytest.approx(1.5, abs=1e-6)


def test_smoothed_shares_follow_the_odds_through_jumps() -> None:
    """Density 1.6 or 0.4 on the halves of [0, 1] against 1: the log odds are log 1.6 and log 0.4."""
    rng = np.random.default_rng(2)
    b = rng.random(40_000) < 0.5
    x = rng.random(40_000)
    x = np.where(b, np.where(rng.random(40_000) < 0.8, 0.5 * x, 0.5 + 0.5 * x), x)
    score = smooth(join_rows(*SortedOutputs(x, b, 20_000).halves))
    for at, odds in ((0.1, 1.6), (0.4, 1.6), (0.6, 0.4), (0.9, 0.4)):
        near = score(np.linspace(at - 0.05, at + 0.05, 21)[:, None])
        assert float(near.mean()) == pytest.approx(np.log(odds), abs=0.1)


def test_a_change_of_scale_in_many_coordinates_is_learned_by_one_number() -> None:
    """Twenty correlated coordinates, 1.1 times as large: half their squared length (1 - 1/1.21) less 20 log 1.1."""
    rng = np.random.default_rng(3)
    b = rng.random(10_000) < 0.5
    root = np.linalg.cholesky(0.5 * np.eye(20) + 0.5)
    z = rng.normal(size=(10_000, 20)) * (1.0 + 0.1 * b)[:, None]
    truth = 0.5 * (z**2).sum(axis=1) * (1.0 - 1.0 / 1.21) - 20.0 * np.log(1.1)
    score = distance(rows_of(z @ root.T, b))(z @ root.T)
    assert np.corrcoef(score, truth)[0, 1] > 0.99
    assert float(np.abs(score - truth).mean()) < 0.2


@for_each("full", [True, False])
def test_the_gaussian_that_fits_has_the_weighted_mean_and_covariance(
    full: bool,
) -> None:
    rng = np.random.default_rng(4)
    z = rng.normal(size=(200, 3)) @ np.array(
        [[1.0, 0.8, 0.0], [0.0, 0.6, 0.3], [0.0, 0.0, 2.0]]
    ) + [1.0, -2.0, 0.5]
    weights = rng.random(200)
    covariance = np.cov(z, rowvar=False, aweights=weights, ddof=0)
    known = covariance if full else np.diag(np.diag(covariance))
    law = stats.multivariate_normal(np.average(z, axis=0, weights=weights), known)
    at = rng.normal(size=(20, 3)) * 3.0
    apart = _gaussian(z, weights, full=full)(at) - law.logpdf(at)
    assert np.ptp(apart) < 1e-9, "but for its constant"


def test_an_audit_computes_on_one_thread_and_leaves_the_mechanism_its_threads() -> None:
    threads: dict[str, set[int]] = {"mechanism": set(), "score": set()}

    def note(caller: str) -> None:
        threads[caller] |= {
            library["num_threads"]
            for library in threadpool_info()
            if library["user_api"] == "blas"
        }

    def mechanism(dataset: Floats, rng: Generator, size: int) -> Floats:
        note("mechanism")
        return rng.normal(float(dataset.sum()), size=(size, 3))

    def score(outputs: Floats) -> Floats:
        note("score")
        return outputs[:, 0]

    with threadpool_limits(2):
        audit(mechanism, n=1000, score=score)
    assert threads == {"mechanism": {2}, "score": {1}}
