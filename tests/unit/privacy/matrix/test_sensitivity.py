"""Sensitivities of matrix mechanisms against brute force over all patterns, signs and gradients."""

from __future__ import annotations

import time
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.kernels.check import ArgumentError
from dpverify.privacy.matrix import (
    Cyclic,
    Epochs,
    MatrixMechanism,
    Once,
    Participation,
    Separated,
)
from dpverify.privacy.matrix.participation import Floats
from dpverify.privacy.matrix.strategies import MOST_DENSE

ROUNDING = 1e-9  # more than the bounds are widened for at these sizes

PARTICIPATIONS: list[Participation] = [
    Once(),
    Cyclic(1),
    Cyclic(3),
    Epochs(1),
    Epochs(3),
    Epochs(4),
    Separated(1),
    Separated(2),
    Separated(3, most=2),
    Separated(2, most=3),
    Separated(9),
]


def brute_force(matrix: Floats, participation: Participation) -> tuple[float, float]:
    """The largest change with equal or opposite gradients, and the largest sum of absolute products."""
    products = matrix.T @ matrix
    reached = 0.0
    limit = 0.0
    for pattern in participation.patterns(matrix.shape[1]):
        part = products[np.ix_(pattern, pattern)]
        limit = max(limit, float(np.abs(part).sum()))
        for signs in product((1.0, -1.0), repeat=len(pattern)):
            reached = max(reached, float(np.array(signs) @ part @ np.array(signs)))
    return float(np.sqrt(reached)), float(np.sqrt(limit))


def small_mechanisms() -> list[MatrixMechanism]:
    rng = np.random.default_rng(0)
    return [
        MatrixMechanism.identity(7),
        MatrixMechanism.tree(7),
        MatrixMechanism.tree(8, restart=3),
        MatrixMechanism.square_root(7),
        MatrixMechanism.square_root(8, bands=3),
        MatrixMechanism.inverse_square_root(7, bands=3),
        MatrixMechanism.buffered([0.3, 0.2], [0.9, 0.5], steps=7),
        MatrixMechanism.toeplitz([1.0, -0.5, 0.25], steps=7),
        MatrixMechanism.toeplitz([0.5, 1.0, 0.25], steps=7),
        MatrixMechanism.toeplitz(
            [0.5, 0.0, 0.0, 1.0], steps=7
        ),  # steps at distance 3 add up, at distance 2 they do not
        MatrixMechanism.matrix(np.tril(rng.random((7, 7)))),
        MatrixMechanism.matrix(rng.standard_normal((7, 7))),
        MatrixMechanism.matrix(rng.standard_normal((3, 8))),
    ]


def test_bounds_hold_the_largest_change_of_all_patterns() -> None:
    for mechanism in small_mechanisms():
        matrix = mechanism.dense()
        for participation in PARTICIPATIONS:
            reached, limit = brute_force(matrix, participation)
            bounds = mechanism.sensitivity(participation)
            what = f"{mechanism.name}, {participation}, {bounds}"
            assert bounds.lower <= reached * (1 + ROUNDING), what
            assert bounds.upper >= reached * (1 - ROUNDING), what
            if bounds.exact or bounds.method != "row by row":
                assert bounds.upper <= limit * (1 + ROUNDING), what
            if bounds.exact:
                assert bounds.lower >= reached * (1 - ROUNDING), what


def test_named_mechanisms_are_exact_where_a_proof_is_known() -> None:
    falling = [
        MatrixMechanism.square_root(60),
        MatrixMechanism.square_root(60, bands=7),
        MatrixMechanism.inverse_square_root(60, bands=5),
        MatrixMechanism.buffered([0.3, 0.2], [0.9, 0.5], steps=60),
    ]
    for mechanism in falling:
        for participation in (
            Once(),
            Cyclic(13),
            Separated(13),
            Separated(10, most=3),
            Separated(1),
        ):
            assert mechanism.sensitivity(participation).exact
    assert (
        MatrixMechanism.tree(64, restart=8).sensitivity(Separated(8)).method
        == "orthogonal columns"
    )


def test_no_gradients_change_more_than_the_upper_bound() -> None:
    rng = np.random.default_rng(1)
    for mechanism in small_mechanisms():
        matrix = mechanism.dense()
        for participation in PARTICIPATIONS:
            upper = mechanism.sensitivity(participation).upper
            for pattern in participation.patterns(mechanism.steps):
                gradients = rng.standard_normal((len(pattern), 3))
                gradients /= np.linalg.norm(gradients, axis=1, keepdims=True)
                assert np.linalg.norm(matrix[:, pattern] @ gradients) <= upper * (
                    1 + ROUNDING
                )


def test_the_pattern_reaches_the_lower_bound() -> None:
    for mechanism in small_mechanisms()[:7]:
        for participation in PARTICIPATIONS:
            bounds = mechanism.sensitivity(participation)
            assert bounds.pattern is not None
            change = float(
                np.linalg.norm(mechanism.dense()[:, bounds.pattern].sum(axis=1))
            )
            assert change >= bounds.lower * (1 - ROUNDING)
            assert participation.allows(bounds.pattern)


def test_steps_are_allowed_if_a_pattern_has_them_all() -> None:
    steps = 6
    for participation in (*PARTICIPATIONS, Separated(3, most=1), Separated(1, most=2)):
        patterns = [set(pattern) for pattern in participation.patterns(steps)]
        for pattern in chain.from_iterable(
            combinations(range(steps), size) for size in range(1, steps + 1)
        ):
            assert participation.allows(pattern) == any(
                set(pattern) <= allowed for allowed in patterns
            )


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9),
    st.sampled_from(PARTICIPATIONS),
)
def test_the_heaviest_pattern_is_the_heaviest(
    weights: list[float], participation: Participation
) -> None:
    values = np.array(weights)
    most = max(
        float(values[list(pattern)].sum())
        for pattern in participation.patterns(len(values))
    )
    assert float(values[list(participation.heaviest(values))].sum()) == pytest.approx(
        most, abs=1e-12
    )


def test_sums_of_rows_are_the_largest_of_patterns_that_contain_the_step() -> None:
    products = np.abs(np.random.default_rng(2).standard_normal((8, 8)))
    for participation in PARTICIPATIONS:
        sums = participation.row_sums(products)
        for step in range(8):
            containing = [
                pattern for pattern in participation.patterns(8) if step in pattern
            ]
            most = max(
                float(products[step, list(pattern)].sum()) for pattern in containing
            )
            assert sums[step] == pytest.approx(most)


def test_many_steps_in_seconds() -> None:
    begin = time.process_time()
    banded = MatrixMechanism.matrix(
        np.tril(np.triu(np.random.default_rng(3).random((2000, 2000)), -19))
    )
    assert banded.sensitivity(Separated(20, most=10)).exact
    many = MatrixMechanism.buffered([0.1, 0.05], [0.999, 0.9], steps=100_000)
    bounds = many.epsilon(30.0, 1e-6, Separated(2000, most=20))
    assert bounds.exact
    assert bounds.ratio < 1.01
    assert time.process_time() - begin < 60.0  # hangs, not speed: benchmarks measure it


def test_long_epochs_have_bounds_of_both_sides() -> None:
    for steps, length in ((MOST_DENSE + 100, 700), (MOST_DENSE, 700)):
        bounds = MatrixMechanism.square_root(steps).sensitivity(Epochs(length))
        assert 0 < bounds.lower <= bounds.upper < 1.6 * bounds.lower
    near = (
        MatrixMechanism.square_root(MOST_DENSE)
        .sensitivity(Epochs(MOST_DENSE // 4))
        .upper
    )
    far = (
        MatrixMechanism.square_root(MOST_DENSE + 4)
        .sensitivity(Epochs(MOST_DENSE // 4 + 1))
        .upper
    )
    assert far == pytest.approx(near, rel=0.3)


def test_what_cannot_be_computed_is_refused() -> None:
    rising = MatrixMechanism.toeplitz(np.arange(1.0, 6000.0), steps=MOST_DENSE + 1)
    with pytest.raises(
        ArgumentError,
        match=rf"^steps must be at most {MOST_DENSE} .*, got steps={MOST_DENSE + 1}\.$",
    ):
        rising.sensitivity(Separated(10))
    with pytest.raises(
        ArgumentError,
        match=r"^neighbours must be one of add-remove, zero-out, replace-one",
    ):
        rising.sensitivity(Once(), "swap")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(
        ArgumentError,
        match=r"^separation must be an integer, at least 1, got separation=0\.$",
    ):
        Separated(0)
    with pytest.raises(ArgumentError, match=r"^coefficients\[0\] must not be 0"):
        MatrixMechanism.toeplitz([0.0, 1.0], steps=3)
