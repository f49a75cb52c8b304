"""What both algorithms ask of their numbers, at the ends of what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from dpverify.kernels.check import MOST_STEPS, ArgumentError
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from tests.for_each import for_each

LEAST: dict[str, Any] = {
    "steps": 1,
    "alpha": 1e-300,
    "eta": 0.0,
    "sigma": 0.0,
    "lipschitz": 1e-300,
}
MOST: dict[str, Any] = {
    "steps": MOST_STEPS - 1,
    "alpha": 1.0,
    "eta": 1e300,
    "sigma": 1e300,
    "lipschitz": 1e300,
}
BEYOND = [
    {"steps": 0}, {"steps": MOST_STEPS}, {"alpha": 0.0}, {"alpha": 1.0 + 1e-12}, {"eta": -1e-300}, {"sigma": -1e-300},
    {"lipschitz": 0.0}, {"ordering": "sometimes"},
]  # fmt: skip


def test_the_ends_are_allowed() -> None:
    assert Parameters(**LEAST).steps == 1
    assert Parameters(**MOST).steps == MOST_STEPS - 1


@for_each("changed", BEYOND, ids=str)
def test_beyond_them_the_variable_is_named(changed: dict[str, Any]) -> None:
    (name,) = changed
    with pytest.raises(ArgumentError, match=name):
        Parameters(**LEAST | changed)
