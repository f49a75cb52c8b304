from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpverify.papers.tran2022.momentum.permutation_bounds import (
    pair_anchor,
    pair_bias,
    ridge_gradients,
    ridge_sampling,
)

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def test_the_anchor_of_a_pair_tells_its_order() -> None:
    assert pair_anchor((0, 1), HALF, THIRD) == -2 * THIRD
    assert pair_anchor((1, 0), HALF, THIRD) == 0
    assert (
        pair_bias(HALF, THIRD, 0, "once")
        == -THIRD / 4
        == -pair_bias(HALF, THIRD, 1, "once")
    )
    assert pair_bias(HALF, THIRD, 0, "fresh") == 0


def test_ridges_align_what_is_drawn_late() -> None:
    drawn = ridge_gradients(6, 0.5, 2)
    assert np.abs(drawn.sum(axis=0)).max() < 1e-12
    assert (np.sign(drawn[:, 0]) == [1, 1, 1, 1, -1, -1]).all()
    assert np.linalg.norm(drawn, axis=1).max() <= 2.0
    assert ridge_sampling(20, 0.35, 5) > 4 * 0.35 > ridge_sampling(8, 0.35, 3)


def test_ridges_refuse_a_threshold_outside_the_epoch() -> None:
    with pytest.raises(ValueError, match="late=6"):
        ridge_gradients(6, 0.5, 6)
