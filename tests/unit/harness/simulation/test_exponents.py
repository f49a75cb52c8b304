import numpy as np
import pytest
from scipy import stats

from dpverify.harness.simulation import slopes_check as fitted


def test_a_power_law_is_fitted_exactly() -> None:
    sizes = np.array([1.0, 3.0, 10.0, 50.0])
    rows = np.log(np.array([[2.0], [5.0]]) * sizes**-0.7)
    np.testing.assert_allclose(
        fitted.slopes(rows, np.log(sizes)), [-0.7, -0.7], rtol=1e-12
    )


def test_the_interval_holds_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    held = sum(
        low <= 0.0 <= high
        for _, low, high in (fitted.interval(rng.normal(size=6)) for _ in range(2000))
    )
    assert 1950 <= held <= 1998


def test_the_interval_is_student_s_at_the_level_that_is_stated() -> None:
    values = np.array([1.0, 2.0, 4.5])
    exact = stats.t.interval(
        fitted.LEVEL, 2, loc=values.mean(), scale=stats.sem(values)
    )
    assert fitted.interval(values) == pytest.approx((2.5, *exact))
