from __future__ import annotations

import numpy as np
import pytest

from dpverify.report.bench.kinds import kinds
from dpverify.report.bench.page import bench_page
from tests.unit.bench.runs import bench, case, desk


def test_two_groups_are_told_apart() -> None:
    assert kinds([1.0, 2.67, 1.01, 2.68, 1.0]) == ([1.0, 1.0, 1.01], [2.67, 2.68])


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 1.01, 1.02, 1.03],  # one group
        [1.0, 1.0, 1.0, 1.4],  # one pass that is off
        [1.0, 1.0, 1.09, 1.09],  # too near
        [1.0, 1.12, 1.27, 1.44, 1.63],  # spread evenly
        [1.0, 2.0],
        [],
    ],
)
def test_else_there_is_one(values: list[float]) -> None:
    assert kinds(values) is None


def test_the_spread_of_one_law_is_rarely_taken_for_two() -> None:
    draw = np.random.Generator(np.random.SFC64(4))
    told = sum(kinds(np.exp(0.03 * values).tolist()) is not None for values in draw.standard_normal((2000, 11)))
    assert told < 20


def test_the_page_says_so_of_the_form_that_has_them() -> None:
    times = [1.0, 1.01, 1.3, 1.0, 1.32, 1.0]
    passes = [{"limit": [1e-3], "ours": [2e-3 * time], "steady": [3e-3]} for time in times]
    page = bench_page(bench(desk(case("sum"), passes)), [])
    assert "two kinds of pass: 4 near 2.00, 2 near 2.62" in page
    assert page.count("two kinds of pass") == 1
    moved = [{"limit": [1e-3 * time], "ours": [2e-3]} for time in times]
    page = bench_page(bench(desk(case("sum"), moved)), [])
    assert "two kinds of pass: 4 near 1.00 ms, 2 near 1.31 ms" in page
    assert "two kinds of pass: 2 near 1.53, 4 near 2.00" in page
