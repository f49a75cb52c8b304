from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from dpverify.harness.statistics.exact_tests import (
    distribution_test,
    normal_test,
    opposite_signs_limit,
    opposite_signs_test,
    pair_scores,
    scale_test,
)
from tests.for_each import for_each


def test_scale_test_names_the_row_and_the_ratio() -> None:
    outcome = scale_test(
        "scale", np.array([100.0, 400.0]), 100, 1e-3, lambda i: f"row {i}"
    )
    assert outcome.refuted
    assert "standard deviation 2 times its value at row 1" in outcome.detail


def test_scale_test_is_two_sided() -> None:
    assert scale_test("scale", np.array([10.0]), 100, 1e-6).refuted
    assert not scale_test("scale", np.array([100.0]), 100, 1e-6).refuted


@for_each("sum_of_squares", [60.0, 140.0])
def test_the_p_value_of_a_scale_is_twice_its_tail(sum_of_squares: float) -> None:
    tail = min(special.chdtr(100, sum_of_squares), special.chdtrc(100, sum_of_squares))
    assert scale_test(
        "scale", np.array([sum_of_squares]), 100, 0.05
    ).p_value == pytest.approx(2 * tail)


def test_scale_test_shares_alpha_over_its_sums() -> None:
    one = scale_test("scale", np.array([140.0]), 100, 0.05)
    many = scale_test("scale", np.full(7, 140.0), 100, 0.05)
    assert many.p_value == pytest.approx(7 * one.p_value)


def test_normal_test_is_two_sided_and_shares_alpha() -> None:
    outcome = normal_test("mean", np.array([0.0, -3.0, 1.0]), 0.01)
    assert outcome.p_value == pytest.approx(3 * 2 * special.ndtr(-3.0))
    assert outcome.refuted
    assert "score -3 at index 2, the largest of 3" in outcome.detail


def test_pair_scores_divide_by_the_first_row() -> None:
    rows = np.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])
    scores, first, second = pair_scores(rows @ rows.T)
    assert scores == pytest.approx([3 / 5, 8 / 5, 0.0])
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]


def test_distribution_test_measures_the_largest_distance() -> None:
    counts = np.array([50, 30, 20], dtype=np.int64)
    outcome = distribution_test("law", counts, np.array([0.2, 0.7]), 0.05)
    assert outcome.p_value == pytest.approx(2 * np.exp(-2 * 100 * 0.3**2))
    assert "distance 0.3" in outcome.detail
    assert outcome.refuted


@for_each(
    "empty",
    [
        lambda: scale_test("t", np.array([]), 1, 0.1),
        lambda: normal_test("t", np.array([]), 0.1),
        lambda: distribution_test(
            "t", np.zeros(3, dtype=np.int64), np.array([0.1, 0.2]), 0.1
        ),
    ],
)
def test_nothing_to_test_is_refused(empty: object) -> None:
    assert callable(empty)
    with pytest.raises(ValueError, match=r"t: .* must not"):
        empty()


def test_opposite_signs_are_two_sided_and_share_alpha() -> None:
    few, many = (
        opposite_signs_test(
            "signs", np.array([50, k, 51]), 100, 0.01, lambda i: f"pair {i}"
        )
        for k in (25, 75)
    )
    assert (
        few.p_value == many.p_value == pytest.approx(3 * 2 * special.bdtr(25, 100, 0.5))
    )
    assert few.refuted
    assert "in 25 of 100 values at pair 1, the most extreme of 3 pairs" in few.detail
    assert not opposite_signs_test("signs", np.array([50, 45]), 100, 0.01).refuted
    with pytest.raises(ValueError, match="signs: opposite must not be empty"):
        opposite_signs_test("signs", np.array([], dtype=np.int64), 100, 0.01)


@for_each(
    ("values", "alpha"),
    [(1, 0.5), (10, 1e-6), (17, 0.05), (1000, 1e-9), (120_000, 2.7e-13)],
)
def test_the_limit_of_opposite_signs_is_the_largest_at_the_level(
    values: int, alpha: float
) -> None:
    limit = opposite_signs_limit(values, alpha)
    if limit >= 0:
        assert opposite_signs_test("", np.array([limit]), values, alpha).refuted
        assert opposite_signs_test(
            "", np.array([values - limit]), values, alpha
        ).refuted
    assert not opposite_signs_test("", np.array([limit + 1]), values, alpha).refuted
    assert (limit == -1) == (2.0 * 0.5**values > alpha)


@for_each("deviations", [2.0, 7.4, 12.0])
def test_the_binomial_tail_is_right_to_nine_digits(deviations: float) -> None:
    """In whole numbers: how many of the 2^n sequences of signs have at most k minuses."""
    values = 20_000
    k = int(values / 2 - deviations * values**0.5 / 2)
    term, total = 1, 1
    for i in range(1, k + 1):
        term = term * (values - i + 1) // i
        total += term
    exact = (total << 2000 >> values) / 2**2000
    assert opposite_signs_test("", np.array([k]), values, 0.5).p_value == pytest.approx(
        2 * exact, rel=1e-9
    )
