"""Rounds put together along one number, and the quick bound by which thresholds are compared."""

from __future__ import annotations

import numpy as np

from dpverify.privacy.audit.counting import lower_epsilon, nearly_lower_epsilon
from dpverify.privacy.audit.groups import (
    EVEN_GROUPS,
    SINGLE_ROUNDS,
    SortedOutputs,
    grouped,
    join_rows,
)
from tests.for_each import for_each


@for_each("m", [7, 300, 20_000])
def test_groups_keep_the_counts_the_ends_and_equal_numbers(m: int) -> None:
    rng = np.random.default_rng(m)
    values = rng.normal(size=m)
    values[rng.random(m) < 0.1] = 0.25
    groups = grouped(values, np.ones(m), np.zeros(m))
    assert groups.zeros.sum() == m
    assert (groups.low[1:] > groups.high[:-1]).all()
    assert ((groups.low <= groups.mean) & (groups.mean <= groups.high)).all()
    for low, high, count in zip(groups.low, groups.high, groups.zeros, strict=True):
        assert count == ((values >= low) & (values <= high)).sum()
    ends = min(SINGLE_ROUNDS, len(np.unique(values)) // 2)
    np.testing.assert_array_equal(groups.low[:ends], np.unique(values)[:ends])
    np.testing.assert_array_equal(groups.high[-ends:], np.unique(values)[-ends:])
    where = int(np.searchsorted(groups.low, 0.25, "right")) - 1
    if m > EVEN_GROUPS:
        assert groups.low[where] == groups.high[where] == 0.25
        assert np.delete(groups.zeros, where).max() <= m / EVEN_GROUPS + 1
        assert len(groups.low) < 4 * EVEN_GROUPS


def test_a_line_counts_each_half_on_each_data_set_and_cuts_between_its_groups() -> None:
    rng = np.random.default_rng(0)
    x, b = np.round(rng.normal(size=9000), 2), rng.random(9000) < 0.4
    line = SortedOutputs(x, b, 4000)
    for rows, part in zip(line.halves, (slice(4000), slice(4000, None)), strict=True):
        place = np.searchsorted(line.cuts(), x[part], "right")
        np.testing.assert_array_equal(
            rows.ones, np.bincount(place, b[part], len(rows.ones))
        )
        np.testing.assert_array_equal(
            rows.zeros, np.bincount(place, ~b[part], len(rows.ones))
        )
    assert join_rows(*line.halves).ones.sum() == b.sum()


def test_cells_keep_what_was_seen_twice() -> None:
    x, b = (
        np.array([0.0, 1.0, 1.0, 2.0, 3.0, 3.0]),
        np.array([True, True, False, True, False, False]),
    )
    first, second = SortedOutputs(x, b, 3).cells(
        np.array([0.0, 1.0, 1.0, 2.0, 3.0, 3.0])
    )
    np.testing.assert_array_equal(first.x[:, 0], [1.0, 3.0])
    np.testing.assert_array_equal(
        np.stack([first.zeros, first.ones]), [[1.0, 0.0], [1.0, 0.0]]
    )
    np.testing.assert_array_equal(
        np.stack([second.zeros, second.ones]), [[0.0, 2.0], [0.0, 0.0]]
    )


@for_each(
    ("trials", "delta", "alpha"),
    [(180_000, 1e-5, 0.05), (3000, 0.0, 0.05), (20_000, 0.0, 1e-4)],
)
def test_the_quick_bound_is_near_the_exact_one(
    trials: int, delta: float, alpha: float
) -> None:
    """Within 0.05, and within 0.02 at alpha 0.05: less than a threshold's place matters."""
    rng = np.random.default_rng(0)
    right = 10.0 ** rng.uniform(0.5, 3.4, 4000)
    wrong = np.where(
        rng.random(4000) < 0.2, 0.0, right * 10.0 ** -rng.uniform(0.0, 3.0, 4000)
    )
    exact = lower_epsilon(right, wrong, trials, delta, alpha)
    off = np.abs(nearly_lower_epsilon(right, wrong, trials, delta, alpha) - exact)[
        exact > 0.2
    ]
    assert off.size > 1000
    assert off.max() < (0.02 if alpha > 0.01 else 0.05)
