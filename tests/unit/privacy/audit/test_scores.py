"""Scores of an audit that are computed in another way than they are learned."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.privacy.audit.scores import trees


@pytest.mark.parametrize("grid", [None, 0.1])
@pytest.mark.parametrize("gaps", [False, True])
def test_trees_over_one_number_give_the_very_scores_of_the_same_trees_asked_one_by_one(
    grid: float | None, gaps: bool
) -> None:
    """A second number that never changes splits no node, and lets the trees be asked."""
    rng = np.random.default_rng(5)
    b = rng.integers(0, 2, 4000).astype(np.bool_)
    x = rng.standard_normal(4000) + np.where(rng.random(4000) < 0.1, 3.0 * b, 0.0)
    if grid is not None:
        x = np.round(x / grid) * grid
    if gaps:
        x[(rng.random(4000) < 0.1) & b] = np.nan
    middles = (np.unique(x)[1:] + np.unique(x)[:-1]) / 2  # thresholds lie there
    asked = [x, middles, np.nextafter(middles, 9.0), np.nextafter(middles, -9.0)]
    y = np.concatenate([*asked, [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300]])
    table = trees(x[:, None], b)(y[:, None])
    one_by_one = trees(np.stack([x, np.zeros_like(x)], axis=1), b)(np.stack([y, np.zeros_like(y)], axis=1))
    assert len(np.unique(table)) > 50
    np.testing.assert_array_equal(table, one_by_one)
