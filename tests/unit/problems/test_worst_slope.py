"""A slope that ends in a valley: its gradient is that of its loss, and its constants hold and are attained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpverify.problems.base import Problem
from dpverify.problems.worst_slope import Slope
from tests.for_each import for_each

SLOPES = [
    Slope(4, 2, 1.0, 3.0, 0.5),
    Slope(5, 1, 0.5, 0.0, 4.0, rise=0.25),
    Slope(2, 3, 0.25, 1.0, 2.0, rise=1.0, offset=0.5),
]


def _example_gradients(problem: Problem, w: Any) -> Any:
    out = np.full((len(problem.x), len(w)), np.nan)
    for row, label, result in zip(problem.x, problem.y, out, strict=True):
        problem.example_gradient(w, row, label, result)
    return out


@for_each("problem", SLOPES)
def test_the_gradients_of_the_examples_have_the_gradient_of_the_loss_as_their_mean(
    problem: Slope,
) -> None:
    rng = np.random.default_rng(0)
    for u in [
        *rng.uniform(-8, 2, 40),
        0.0,
        -problem.drop,
        -problem.drop - problem.slope / problem.smoothness,
    ]:
        w = np.full(problem.dimension, u)
        got = problem.gradient(w)
        np.testing.assert_allclose(
            _example_gradients(problem, w).mean(axis=0), got, rtol=0, atol=1e-15
        )
        step = np.zeros(problem.dimension)
        step[0] = 1e-6
        assert (
            problem.loss(w + step) - problem.loss(w - step)
        ) / 2e-6 == pytest.approx(got[0], abs=3e-6)


@for_each("problem", SLOPES)
def test_the_loss_does_not_jump_where_it_begins_to_bend_and_where_it_ends(
    problem: Slope,
) -> None:
    """At -D its gradient begins to fall, and beyond the lowest point it is -r; there the loss is r^2/(2L)."""
    far = -problem.drop - (problem.slope + problem.rise) / problem.smoothness
    at = np.zeros(problem.dimension)
    for u, value in ((-problem.drop, problem.slope**2), (far, problem.rise**2)):
        for side in (-1e-12, 0.0, 1e-12):
            at[0] = u + side
            assert problem.loss(at) == pytest.approx(
                value / (2.0 * problem.smoothness), abs=1e-11
            )


@for_each("problem", SLOPES)
def test_all_three_constants_hold_and_are_attained(problem: Slope) -> None:
    places = np.linspace(-12, 2, 3001)
    ways = [np.full(problem.dimension, u) for u in places]
    norms = [np.abs(_example_gradients(problem, w)).max() for w in ways]
    assert max(norms) == problem.lipschitz
    slopes = np.array([problem.gradient(w)[0] for w in ways])
    steepest = np.max(np.abs(np.diff(slopes)) / np.diff(places))
    assert steepest == pytest.approx(problem.smoothness, rel=1e-9)
    losses = [problem.loss(w) for w in ways]
    assert min(losses) >= 0.0
    lowest = np.full(
        problem.dimension, -problem.drop - problem.slope / problem.smoothness
    )
    assert problem.loss(lowest) == pytest.approx(0.0, abs=1e-15)
    assert problem.loss(problem.start) == pytest.approx(problem.gap, rel=1e-15)


@for_each("examples", [1, 2, 7, 100, 101])
def test_offsets_add_up_to_exactly_zero(examples: int) -> None:
    offsets = Slope(examples, 1, 1.0, 1.0, 1.0, offset=0.3).offsets
    assert offsets.sum() == 0.0
    assert len(offsets) == examples
    assert set(np.abs(offsets)) <= {0.0, 0.3}


@for_each(
    ("name", "value", "rule"),
    [
        ("examples", 0, "examples must be at least 1, got examples=0"),
        ("slope", 0.0, "slope must be positive and finite, got slope=0.0"),
        (
            "smoothness",
            float("inf"),
            "smoothness must be positive and finite, got smoothness=inf",
        ),
        ("offset", -1.0, "offset must be at least 0 and finite, got offset=-1.0"),
    ],
)
def test_numbers_out_of_range_are_refused(name: str, value: float, rule: str) -> None:
    given: dict[str, Any] = {
        "examples": 2,
        "dimension": 1,
        "slope": 1.0,
        "drop": 1.0,
        "smoothness": 1.0,
        name: value,
    }
    with pytest.raises(ValueError, match=rule):
        Slope(**given)
