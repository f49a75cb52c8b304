from __future__ import annotations

import numpy as np
import pytest

from dpverify.papers.tran2022.accounting.onset import Theorem
from dpverify.papers.tran2022.utility.checks.slopes import (
    Size,
    mean_gradient,
    worst_slope,
)
from tests.for_each import for_each


def test_the_worst_slope_has_the_constants_that_the_bound_is_for() -> None:
    cases: list[tuple[Theorem, Size]] = [
        ("theorem-6", Size(2000)),
        ("theorem-9", Size(50, 4)),
    ]
    for theorem, size in cases:
        problem = worst_slope(theorem, size)
        assert problem.lipschitz <= 1.0
        assert problem.smoothness == 1.0
        assert problem.gap == pytest.approx(1.0, rel=1e-12)
    with pytest.raises(ValueError, match="slope must be at most G = 1"):
        worst_slope("theorem-6", Size(20, 1, 1.0))


@for_each("theorem", ["theorem-6", "theorem-9"])
def test_the_mean_gradient_lies_between_a_part_of_the_slope_and_the_slope(
    theorem: Theorem,
) -> None:
    size = Size(500) if theorem == "theorem-6" else Size(30)
    top = worst_slope(theorem, size).slope
    means = [mean_gradient(theorem, size, seed) for seed in range(3)]
    assert all(top / 4 < mean <= top * (1 + 1e-9) for mean in means)
    assert np.mean(means) < size.bound(theorem)
