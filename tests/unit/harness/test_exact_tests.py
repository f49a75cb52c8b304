from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from dpverify.harness.exact_tests import distribution_test, normal_test, pair_scores, scale_test


def test_scale_test_names_the_row_and_the_ratio() -> None:
    outcome = scale_test("scale", np.array([100.0, 400.0]), 100, 1e-3, lambda i: f"row {i}")
    assert outcome.refuted
    assert "standard deviation 2 times its value at row 1" in outcome.detail


def test_scale_test_is_two_sided() -> None:
    assert scale_test("scale", np.array([10.0]), 100, 1e-6).refuted
    assert not scale_test("scale", np.array([100.0]), 100, 1e-6).refuted


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
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]


def test_distribution_test_measures_the_largest_distance() -> None:
    counts = np.array([50, 30, 20], dtype=np.int64)
    outcome = distribution_test("law", counts, np.array([0.2, 0.7]), 0.05)
    assert outcome.p_value == pytest.approx(2 * np.exp(-2 * 100 * 0.3**2))
    assert "distance 0.3" in outcome.detail
    assert outcome.refuted


@pytest.mark.parametrize(
    "empty",
    [
        lambda: scale_test("t", np.array([]), 1, 0.1),
        lambda: normal_test("t", np.array([]), 0.1),
        lambda: distribution_test("t", np.zeros(3, dtype=np.int64), np.array([0.1, 0.2]), 0.1),
    ],
)
def test_nothing_to_test_is_refused(empty: object) -> None:
    assert callable(empty)
    with pytest.raises(ValueError, match=r"t: .* must not"):
        empty()
