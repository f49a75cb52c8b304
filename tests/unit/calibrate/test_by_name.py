"""Each bundled optimizer is calibrated by its name, and what does not belong to it is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

import dpverify as dv
from dpverify.calibrate.growing import GrowingCalibration
from dpverify.calibrate.records import BatchCalibration, Calibration
from dpverify.kernels.check import ArgumentError
from tests.for_each import for_each

TREES = ("dp-nsgd", "sr-nsgd")
ASKED = {"n": 1000, "epsilon": 1.0, "delta": 1e-6}
MORE: dict[str, dict[str, Any]] = {
    "dp-nsgd": {"d": 10, "epochs": 1},
    "sr-nsgd": {"d": 10, "epochs": 1},
    "dp-srm": {"batch": 50, "steps": 10, "gamma": 0.1, "zeta": 0.1},
    "ddp-srm": {"batch": 50, "steps": 10, "gamma": 0.1, "zeta": 0.1, "parties": 5},
    "dp-sgd": {"batch": 50, "epochs": 2},
    "dp-gd": {"epochs": 2},
    "rrpsgd": {"steps": 5},
    "dpageem": {"batch": 50, "steps": 5, "stages": 1},
}


@for_each("algorithm", MORE)
def test_the_certified_noise_keeps_epsilon(algorithm: str) -> None:
    found = dv.calibration(algorithm, **ASKED, **MORE[algorithm])
    if isinstance(found, Calibration):
        lower, upper = found.epsilon_bounds
        assert algorithm in TREES
    else:
        assert isinstance(found, BatchCalibration)
        lower, upper = (float(end) for end in found.noise["exact"].epsilon)
    assert found.algorithm == algorithm
    assert 0.0 < lower <= upper <= 1.0
    assert upper > 0.999


def test_dp_agd_has_budgets_of_its_own() -> None:
    assert isinstance(dv.calibration("dp-agd", **ASKED), GrowingCalibration)


@for_each(
    ("algorithm", "changes", "name"),
    [
        ("adam", {}, "algorithm"),
        ("dp-sgd", {"d": 3}, "d"),
        ("dp-nsgd", {}, "d"),
        ("dp-agd", {"epochs": 2}, "epochs"),
    ],
)
def test_what_does_not_belong_or_is_missing_is_named(
    algorithm: str, changes: dict[str, Any], name: str
) -> None:
    with pytest.raises(ArgumentError) as refused:
        dv.calibration(algorithm, **ASKED, **changes)
    assert str(refused.value).startswith(name)
