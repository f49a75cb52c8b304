from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.harness import Context, TrajectoryEffect, TrajectoryLaw
from dpverify.harness.trajectory_statistics import (
    TrajectoryStatistics,
    cholesky_factor,
    collect,
    simulated_variance,
    whiten,
)
from dpverify.harness.trajectory_tests import trajectory_tests

Floats = NDArray[np.float64]
T, D, N = 6, 3, 4000
COVARIANCE: Floats = np.minimum.outer(np.arange(1.0, T + 1), np.arange(1.0, T + 1))


def walks(seed: int, n: int = N) -> Floats:
    sample: Floats = np.cumsum(np.random.default_rng(seed).standard_normal((n, T, D)), axis=1)
    return sample


def statistics_of(sample: Floats, covariance: Floats = COVARIANCE) -> TrajectoryStatistics:
    return collect(whiten(cholesky_factor(covariance), sample), np.square(sample).sum(axis=(0, 2)))


def refuting(sample: Floats) -> list[str]:
    outcomes = sorted(trajectory_tests(statistics_of(sample), 1e-6), key=lambda o: o.p_value)
    return [outcome.name for outcome in outcomes if outcome.refuted]


def test_whitened_rows_solve_the_triangular_system() -> None:
    sample = walks(0, 10)
    white = whiten(cholesky_factor(COVARIANCE), sample)
    increments = np.diff(sample, axis=1, prepend=0.0)
    assert np.allclose(white, increments.transpose(1, 0, 2), rtol=1e-12, atol=1e-12)


def test_whitening_leaves_the_sample_as_it_was() -> None:
    sample = walks(0, 10)
    before = sample.copy()
    whiten(cholesky_factor(COVARIANCE), sample)
    assert np.array_equal(sample, before)


def test_blocks_add_up_to_the_whole() -> None:
    sample = walks(1, 100)
    whole, parts = statistics_of(sample), statistics_of(sample[:37]) + statistics_of(sample[37:])
    assert parts.n == whole.n == 100
    for name in ("gram", "sums", "coordinates", "squares"):
        assert np.allclose(getattr(parts, name), getattr(whole, name), rtol=1e-11, atol=1e-11), name
    assert np.array_equal(parts.counts, whole.counts)


def test_statistics_do_not_grow_with_the_sample() -> None:
    small, large = statistics_of(walks(0, 10)), statistics_of(walks(0, 1000))
    for name in ("gram", "sums", "coordinates", "squares", "counts"):
        assert getattr(small, name).shape == getattr(large, name).shape


def test_counts_are_those_of_a_sorted_search() -> None:
    sample = np.concatenate([walks(2, 50), np.full((1, T, D), 100.0), np.full((1, T, D), -100.0)])
    statistics = statistics_of(sample)
    white = whiten(cholesky_factor(COVARIANCE), sample).ravel()
    grid = np.linspace(-8.0, 8.0, 513)
    want = np.bincount(np.searchsorted(grid, white, side="left"), minlength=514)
    assert np.array_equal(statistics.counts, want)
    assert statistics.counts[0] > 0
    assert statistics.counts[-1] > 0


def test_simulated_variance_is_the_mean_square() -> None:
    sample = walks(3, 200)
    assert simulated_variance(statistics_of(sample)) == pytest.approx(np.square(sample).mean(axis=(0, 2)))


def test_the_right_law_is_not_refuted() -> None:
    assert refuting(walks(4)) == []


def test_every_kind_of_fault_is_refuted_by_the_test_made_for_it() -> None:
    rng = np.random.default_rng(5)
    sample = walks(6)
    scaled_step = sample.copy()
    scaled_step[:, 3] += 0.3 * (sample[:, 3] - sample[:, 2])
    tied_steps = sample.copy()
    tied_steps[:, 5] += 0.3 * sample[:, 0]
    scaled_coordinate = sample * np.array([1.0, 1.0, 1.1])
    tied_coordinates = sample.copy()
    tied_coordinates[:, :, 2] = 0.3 * sample[:, :, 1] + 0.954 * sample[:, :, 2]
    uniform = np.cumsum(rng.uniform(-(3**0.5), 3**0.5, (N, T, D)), axis=1)
    assert refuting(1.05 * sample)[0] == "scale of all"
    assert refuting(scaled_step)[0] == "scale of a step"
    assert refuting(tied_steps)[0] == "pair of steps"
    assert refuting(sample + 0.2)[0] == "mean"
    assert "mean" in refuting(sample + np.array([0.2, -0.2, 0.0]))
    assert refuting(scaled_coordinate)[0] == "scale of a coordinate"
    assert "pair of coordinates" in refuting(tied_coordinates)
    assert "marginal law" in refuting(uniform)


def test_one_step_in_one_coordinate_needs_no_pairs() -> None:
    sample = np.random.default_rng(0).standard_normal((50, 1, 1))
    names = [outcome.name for outcome in trajectory_tests(statistics_of(sample, np.eye(1)), 1e-6)]
    assert "pair of steps" not in names
    assert "pair of coordinates" not in names
    assert len(names) == 5


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (np.ones((2, 3)), "square matrix"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
    ],
)
def test_matrices_that_are_no_covariance_are_refused(covariance: Floats, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cholesky_factor(covariance)


@pytest.mark.parametrize(
    ("sample", "message"), [(np.zeros((5, T + 1, D)), "shape"), (np.full((5, T, D), np.nan), "must be finite")]
)
def test_samples_that_do_not_fit_are_refused(sample: Floats, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        whiten(cholesky_factor(COVARIANCE), sample)


LAW = TrajectoryLaw(lambda _: COVARIANCE, printed=lambda _: np.full(T, 9.0))


def test_the_judge_gives_a_figure_and_the_nearest_test(context: Context) -> None:
    said = LAW.decide(context, LAW.collect(context, walks(7)), 1e-6)
    assert said.says == "agrees"
    assert said.statistic.startswith("7 exact tests agree; nearest:")
    figure = said.figures["noise-variance"]
    assert figure["x"] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert figure["exact"] == figure["x"]
    assert all(
        low < true < high for low, true, high in zip(figure["low"], figure["exact"], figure["high"], strict=True)
    )
    assert figure["printed"] == [9.0] * T
    assert figure["simulated"] == pytest.approx(figure["exact"], rel=0.1)


def test_the_judge_names_which_test_refutes(context: Context) -> None:
    said = LAW.decide(context, LAW.collect(context, 1.1 * walks(8)), 1e-6)
    assert said.says == "disagrees"
    assert said.statistic.startswith("scale of all: standard deviation 1.098")


def test_planted_faults_have_exactly_the_declared_sizes(context: Context) -> None:
    effect = TrajectoryEffect(T, D, scale=1.02, row_scale=1.5, correlation=0.25)
    here = replace(context, point={"T": Fraction(T)})
    sample, rng = walks(9, 5), np.random.default_rng(0)
    before = sample.copy()
    faults = {fault.name: fault for fault in LAW.planted(here, effect)}
    factor = cholesky_factor(COVARIANCE)
    white = whiten(factor, sample)
    assert np.allclose(faults["scale"].change(here, sample, rng), 1.02 * sample)
    row = whiten(factor, faults["row scale"].change(here, sample, rng))
    assert np.allclose(row[-1], 1.5 * white[-1])
    assert np.allclose(row[:-1], white[:-1])
    tied = whiten(factor, faults["correlation"].change(here, sample, rng))
    assert np.allclose(tied[-1], 0.25 * white[0] + (1 - 0.25**2) ** 0.5 * white[-1])
    assert np.allclose(tied[:-1], white[:-1])
    assert np.array_equal(sample, before)
