"""The problems on which the corrected Theorem 4.4 is run are what they say, and at the edge of its condition."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.papers.wang2019.utility.checks.theorem_runs import (
    ALL,
    PARTIES,
    Ramp,
    RampOracle,
)
from tests.for_each import for_each


def slope(ramp: Ramp, x: float, example: int) -> float:
    out = np.zeros(ramp.dimension)
    RampOracle(ramp)(np.full(ramp.dimension, x), np.array([example]), out)
    assert not out[1:].any()
    return float(out[0])


@for_each("ramp", [*ALL, *PARTIES], ids=lambda ramp: ramp.name)
def test_a_ramp_has_the_constants_it_states(ramp: Ramp) -> None:
    x = np.linspace(-3.0, float(ramp.start), 60_001)
    each = np.array(
        [[slope(ramp, float(at), example) for at in x[::20]] for example in (0, 1)]
    )
    mean = np.array([ramp.mean_slope(float(at)) for at in x])
    assert np.allclose(each.mean(axis=0), mean[::20], atol=1e-12)
    assert np.abs(each).max() <= 1.0 + 1e-12
    bends = np.abs(np.diff(each, axis=1)) / (20 * (x[1] - x[0]))
    assert 0.9 * float(ramp.bend) < bends.max() <= float(ramp.smoothness) + 1e-9
    fall = float(np.sum(np.maximum(0.0, 0.5 * (mean[1:] + mean[:-1]))) * (x[1] - x[0]))
    assert fall == pytest.approx(float(ramp.gap), rel=1e-3)


def test_changes_are_differences_of_gradients() -> None:
    ramp, out, new, old = ALL[-1], np.zeros(1), np.array([0.3]), np.array([0.1])
    for example in (0, 1):
        RampOracle(ramp).change(new, old, np.array([example]), 0.25, out)
        assert out[0] == pytest.approx(
            slope(ramp, 0.3, example) - 0.75 * slope(ramp, 0.1, example), abs=1e-15
        )
