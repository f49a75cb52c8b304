from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.harness import Context, TrajectoryEffect, TrajectoryLaw
from dpverify.harness.statistics.pieces import Pieces
from dpverify.harness.statistics.trajectory_law import trajectory_tests
from dpverify.harness.statistics.trajectory_sums import (
    Pairs,
    TrajectoryStatistics,
    cholesky_factor,
    collect,
    simulated_variance,
    whitening,
)
from tests.for_each import for_each

Floats = NDArray[np.float64]
T, D, N = 6, 3, 4000
COVARIANCE: Floats = np.minimum.outer(np.arange(1.0, T + 1), np.arange(1.0, T + 1))


def walks(seed: int, n: int = N) -> Floats:
    sample: Floats = np.cumsum(
        np.random.default_rng(seed).standard_normal((n, T, D)), axis=1
    )
    return sample


BOTH: tuple[Pairs, Pairs] = ("products", "signs")


def statistics_of(
    sample: Floats | Pieces,
    covariance: Floats = COVARIANCE,
    *,
    pairs: Pairs = "products",
    share: float = 1.0,
) -> TrajectoryStatistics:
    return collect(whitening(covariance), sample, pairs=pairs, share=share)


def refuting(sample: Floats, pairs: Pairs = "products") -> list[str]:
    outcomes = sorted(
        trajectory_tests(statistics_of(sample, pairs=pairs), 1e-6),
        key=lambda o: o.p_value,
    )
    return [outcome.name for outcome in outcomes if outcome.refuted]


@for_each("n", [1, 3, 64, 65, 300])
def test_the_sums_are_those_of_the_whitened_values(n: int) -> None:
    sample = walks(1, n)
    white = np.diff(sample, axis=1, prepend=0.0)
    rows, columns = (
        white.transpose(1, 0, 2).reshape(T, n * D),
        white.transpose(2, 0, 1).reshape(D, n * T),
    )
    found, by_signs = statistics_of(sample), statistics_of(sample, pairs="signs")
    for made in (found, by_signs):
        assert made.n == n
        assert np.allclose(made.sums, white.sum(axis=0), rtol=1e-11, atol=1e-11)
        assert np.allclose(made.lengths, np.square(white).sum(axis=0), rtol=1e-11)
        assert np.allclose(made.squares, np.square(sample).sum(axis=(0, 2)), rtol=1e-11)
    assert found.gram is not None
    assert np.allclose(found.gram, rows @ rows.T, rtol=1e-11, atol=1e-11)
    assert found.coordinates is not None
    assert np.allclose(found.coordinates, columns @ columns.T, rtol=1e-11, atol=1e-11)
    for counts, values in (
        (by_signs.opposite, rows < 0),
        (by_signs.opposite_coordinates, columns < 0),
    ):
        assert counts is not None
        assert counts.tolist() == [
            int((values[t] != values[s]).sum())
            for t in range(len(values))
            for s in range(t)
        ]


@for_each("pairs", BOTH)
def test_the_sample_stays_as_it_was(pairs: Pairs) -> None:
    sample = walks(0, 10)
    before = sample.copy()
    statistics_of(sample, pairs=pairs)
    assert np.array_equal(sample, before)


@for_each("pairs", BOTH)
def test_blocks_add_up_to_the_whole(pairs: Pairs) -> None:
    sample = walks(1, 100)
    whole = statistics_of(sample, pairs=pairs)
    parts = statistics_of(sample[:37], pairs=pairs) + statistics_of(
        sample[37:], pairs=pairs
    )
    assert parts.n == whole.n == 100
    for name in ("gram", "coordinates", "lengths", "sums", "squares"):
        some, all_together = getattr(parts, name), getattr(whole, name)
        if some is None:
            assert all_together is None
        else:
            assert np.allclose(some, all_together, rtol=1e-11, atol=1e-11), name
    for name in ("opposite", "opposite_coordinates", "counts"):
        assert np.array_equal(getattr(parts, name), getattr(whole, name)), name


@for_each("pairs", BOTH)
def test_pieces_give_what_the_whole_sample_gives(pairs: Pairs) -> None:
    sample = walks(2, 150)
    drawn = Pieces(150, iter([sample[:70], sample[70:71], sample[71:]]))
    whole, parts = statistics_of(sample, pairs=pairs), statistics_of(drawn, pairs=pairs)
    assert parts.n == 150
    assert np.allclose(parts.lengths, whole.lengths, rtol=1e-12)
    assert np.array_equal(parts.counts, whole.counts)
    if pairs == "signs":
        assert parts.opposite is not None
        assert whole.opposite is not None
        assert np.array_equal(parts.opposite, whole.opposite)


def test_a_share_of_the_replications_is_counted_on_the_grid() -> None:
    sample = walks(3, 100)
    for share, counted in ((1.0, 100), (0.25, 25), (0.011, 2)):
        statistics = statistics_of(sample, share=share)
        assert statistics.counts.sum() == counted * T * D
        assert np.array_equal(statistics.counts, statistics_of(sample[:counted]).counts)
        assert statistics.n == 100


@for_each("pairs", BOTH)
def test_statistics_do_not_grow_with_the_sample(pairs: Pairs) -> None:
    small, large = (
        statistics_of(walks(0, 10), pairs=pairs),
        statistics_of(walks(0, 1000), pairs=pairs),
    )
    for name in (
        "gram",
        "coordinates",
        "opposite",
        "opposite_coordinates",
        "sums",
        "lengths",
        "squares",
        "counts",
    ):
        assert np.shape(getattr(small, name)) == np.shape(getattr(large, name))


def test_counts_are_those_of_a_sorted_search() -> None:
    sample = np.concatenate(
        [walks(2, 50), np.full((1, T, D), 100.0), np.full((1, T, D), -100.0)]
    )
    statistics = statistics_of(sample)
    white = whitening(COVARIANCE).whiten(sample).ravel()
    grid = np.linspace(-8.0, 8.0, 513)
    want = np.bincount(np.searchsorted(grid, white, side="left"), minlength=514)
    assert np.array_equal(statistics.counts, want)
    assert statistics.counts[0] > 0
    assert statistics.counts[-1] > 0


def test_simulated_variance_is_the_mean_square() -> None:
    sample = walks(3, 200)
    assert simulated_variance(statistics_of(sample)) == pytest.approx(
        np.square(sample).mean(axis=(0, 2))
    )


@for_each("pairs", BOTH)
def test_the_right_law_is_not_refuted(pairs: Pairs) -> None:
    assert refuting(walks(4), pairs) == []


@for_each("pairs", BOTH)
def test_every_kind_of_fault_is_refuted_by_the_test_made_for_it(pairs: Pairs) -> None:
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
    assert refuting(1.05 * sample, pairs)[0] == "scale of all"
    assert refuting(scaled_step, pairs)[0] == "scale of a step"
    assert refuting(tied_steps, pairs)[0] == "pair of steps"
    assert refuting(sample + 0.2, pairs)[0] == "mean"
    assert "mean" in refuting(sample + np.array([0.2, -0.2, 0.0]), pairs)
    assert refuting(scaled_coordinate, pairs)[0] == "scale of a coordinate"
    assert "pair of coordinates" in refuting(tied_coordinates, pairs)
    assert "marginal law" in refuting(uniform, pairs)


@for_each("pairs", BOTH)
def test_all_tests_together_spend_the_level_that_they_are_given(pairs: Pairs) -> None:
    statistics = statistics_of(walks(4, 100), pairs=pairs)
    p_values = [outcome.p_value for outcome in trajectory_tests(statistics, 1e-6)]
    assert len(p_values) == 7
    assert min(p_values) < 1.0
    for place, p_value in enumerate(p_values):
        assert trajectory_tests(statistics, p_value * 7 * (1 + 1e-9))[place].refuted
        assert not trajectory_tests(statistics, p_value * 7 * (1 - 1e-9))[place].refuted


@for_each("pairs", BOTH)
def test_the_pair_that_is_tied_is_named(pairs: Pairs) -> None:
    tied = walks(6)
    tied[:, 4] += 0.3 * tied[:, 0]
    tied[:, 5] += 0.3 * tied[:, 0]  # so that the step after is not wrong as well
    outcomes = {
        o.name: o for o in trajectory_tests(statistics_of(tied, pairs=pairs), 1e-6)
    }
    assert outcomes["pair of steps"].refuted
    assert "t 1 and t 5" in outcomes["pair of steps"].detail
    assert not outcomes["pair of coordinates"].refuted


def test_one_step_in_one_coordinate_needs_no_pairs() -> None:
    sample = np.random.default_rng(0).standard_normal((50, 1, 1))
    for pairs in BOTH:
        names = [
            outcome.name
            for outcome in trajectory_tests(
                statistics_of(sample, np.eye(1), pairs=pairs), 1e-6
            )
        ]
        assert "pair of steps" not in names
        assert "pair of coordinates" not in names
        assert len(names) == 5


@for_each(
    ("covariance", "message"),
    [
        (np.ones((2, 3)), "square matrix"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
    ],
)
def test_matrices_that_are_no_covariance_are_refused(
    covariance: Floats, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        cholesky_factor(covariance)


def spoilt(value: float) -> Floats:
    sample = walks(0, 300)
    sample[257, 3, 1] = value
    return sample


@for_each("pairs", BOTH)
@for_each(
    ("sample", "message"),
    [
        (np.zeros((5, T + 1, D)), "shape"),
        (np.zeros((0, T, D)), "at least 1 replication"),
        (np.full((5, T, D), np.nan), "must be finite"),
        (spoilt(np.nan), "must be finite"),
        (spoilt(-np.inf), "must be finite"),
        (spoilt(1e200), "and its squares too"),
    ],
)
def test_samples_that_do_not_fit_are_refused(
    sample: Floats, message: str, pairs: Pairs
) -> None:
    with pytest.raises(ValueError, match=message):
        statistics_of(sample, pairs=pairs)
    dense = np.cov(np.random.default_rng(0).standard_normal((T, 50)))
    with pytest.raises(ValueError, match=message):
        statistics_of(sample, dense, pairs=pairs)


@for_each(
    ("arguments", "message"),
    [
        ({"share": 0.0}, r"share=0\.0"),
        ({"share": 1.5}, r"share=1\.5"),
        ({"pairs": "ranks"}, "pairs='ranks'"),
    ],
)
def test_a_judge_that_is_none_is_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        TrajectoryLaw(lambda _: COVARIANCE, **arguments)


def test_a_plan_for_other_pairs_is_refused(context: Context) -> None:
    with pytest.raises(ValueError, match="must agree, got signs and products"):
        LAW.planted(context, TrajectoryEffect(T, D, correlation=0.5, pairs="signs"))


LAW = TrajectoryLaw(lambda _: COVARIANCE, printed=lambda _: np.full(T, 9.0))


def test_the_judge_gives_a_figure_and_the_nearest_test(context: Context) -> None:
    said = LAW.decide(context, LAW.collect(context, walks(7)), 1e-6)
    assert said.outcome == "agrees"
    assert said.statistic.startswith("7 exact tests agree; nearest:")
    figure = said.figures["noise-variance"]
    assert figure["x"] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert figure["exact"] == figure["x"]
    assert all(
        low < true < high
        for low, true, high in zip(
            figure["low"], figure["exact"], figure["high"], strict=True
        )
    )
    assert figure["printed"] == [9.0] * T
    assert figure["simulated"] == pytest.approx(figure["exact"], rel=0.1)


def test_the_judge_names_which_test_refutes(context: Context) -> None:
    said = LAW.decide(context, LAW.collect(context, 1.1 * walks(8)), 1e-6)
    assert said.outcome == "disagrees"
    assert said.statistic.startswith("scale of all: standard deviation 1.098")


def test_planted_faults_have_exactly_the_declared_sizes(context: Context) -> None:
    effect = TrajectoryEffect(T, D, scale=1.02, row_scale=1.5, correlation=0.25)
    here = replace(context, point={"T": Fraction(T)})
    sample, rng = walks(9, 5), np.random.default_rng(0)
    before = sample.copy()
    faults = {fault.name: fault for fault in LAW.planted(here, effect)}
    by = whitening(COVARIANCE)
    white = by.whiten(sample)
    assert np.allclose(faults["scale"].change(here, sample, rng), 1.02 * sample)
    row = by.whiten(faults["row scale"].change(here, sample, rng))
    assert np.allclose(row[:, -1], 1.5 * white[:, -1])
    assert np.allclose(row[:, :-1], white[:, :-1])
    tied = by.whiten(faults["correlation"].change(here, sample, rng))
    assert np.allclose(
        tied[:, -1], 0.25 * white[:, 0] + (1 - 0.25**2) ** 0.5 * white[:, -1]
    )
    assert np.allclose(tied[:, :-1], white[:, :-1])
    assert np.array_equal(sample, before)
