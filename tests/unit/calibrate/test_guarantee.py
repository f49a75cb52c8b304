"""Epsilon of a bundled optimizer at a given noise is what its calibration says, from both sides."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import dpverify as dv
from dpverify.calibrate.records import BatchCalibration, Calibration
from dpverify.kernels.check import ArgumentError
from dpverify.privacy.accounting import steps_of_event
from tests.for_each import for_each
from tests.unit.calibrate.test_by_name import MORE, TREES

DELTA = 1e-6
NODES = {"epochs": 1, "alpha": 0.01}


def run_of(algorithm: str) -> dict[str, Any]:
    return {"n": 1000, **(NODES if algorithm in TREES else MORE[algorithm])}


@for_each("algorithm", MORE)
def test_a_given_noise_buys_what_its_calibration_says(algorithm: str) -> None:
    sizes = {"d": 3} if algorithm in TREES else {}
    found = dv.calibration(
        algorithm, **run_of(algorithm), **sizes, epsilon=1.0, delta=DELTA
    )
    if isinstance(found, Calibration):
        noise, (lower, upper) = float(found.sigma.exact), found.epsilon_bounds
    else:
        assert isinstance(found, BatchCalibration)
        noise, (lower, upper) = (
            float(found.noise["exact"].std),
            map(float, found.noise["exact"].epsilon),
        )
    at = dv.epsilon(noise, DELTA, algorithm=algorithm, **run_of(algorithm))
    assert at.lower == pytest.approx(lower, rel=1e-6)
    assert at.upper == pytest.approx(upper, rel=1e-6)
    assert (
        dv.epsilon(2 * noise, DELTA, algorithm=algorithm, **run_of(algorithm)).upper
        < at.lower
    )


@for_each("algorithm", ["dp-nsgd", "dp-srm", "dp-gd"])
def test_the_noise_for_an_epsilon_gives_it_and_a_little_less_does_not(
    algorithm: str,
) -> None:
    noise = dv.sigma(0.7, DELTA, algorithm=algorithm, **run_of(algorithm))
    assert (
        dv.epsilon(noise, DELTA, algorithm=algorithm, **run_of(algorithm)).upper <= 0.7
    )
    assert (
        dv.epsilon(
            noise * (1 - 1e-5), DELTA, algorithm=algorithm, **run_of(algorithm)
        ).upper
        > 0.7
    )


def test_steps_without_an_optimizer_are_those_of_the_accountant() -> None:
    from dpverify.privacy import accounting

    run: dict[str, Any] = {"steps": 100, "rate": 0.02, "sampling": "batches"}
    assert dv.epsilon(1.0, DELTA, **run) == accounting.epsilon(1.0, DELTA, **run)
    assert dv.sigma(1.0, DELTA, **run) == accounting.sigma(1.0, DELTA, **run)


@for_each(
    ("algorithm", "changes", "name"),
    [
        ("dp-agd", {}, "algorithm"),
        ("adam", {}, "algorithm"),
        ("dp-nsgd", {"epochs": 1}, "alpha"),
        ("dp-nsgd", {"alpha": 0.1}, "steps or epochs"),
        ("dp-sgd", {"batch": 50, "epochs": 2, "beta": 0.5}, "beta"),
        ("dp-sgd", {"batch": 50, "epochs": 2, "epsilon": 1.0}, "epsilon"),
        ("dp-sgd", {"epochs": 2}, "batch"),
    ],
)
def test_what_does_not_belong_or_is_missing_is_named(
    algorithm: str, changes: dict[str, Any], name: str
) -> None:
    sizes = {"n": 1000} if algorithm != "adam" else {}
    with pytest.raises(ArgumentError) as refused:
        dv.epsilon(1.0, DELTA, algorithm=algorithm, **sizes, **changes)
    assert str(refused.value).startswith(name)


def test_noise_out_of_range_is_refused() -> None:
    with pytest.raises(ArgumentError, match="sigma"):
        dv.epsilon(0.0, DELTA, algorithm="dp-gd", **run_of("dp-gd"))


def test_a_gaussian_step_loads_no_kernel() -> None:
    program = "import sys, dpverify as dv; dv.epsilon(1.0, 1e-5); assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@for_each("algorithm", ["dp-sgd", "dp-gd", "dp-srm", "ddp-srm"])
def test_events_of_batches_are_what_dp_accounting_reads_and_bounds(
    algorithm: str,
) -> None:
    events = pytest.importorskip(
        "dp_accounting", reason="the extra `accounting` is not installed"
    )
    rdp = pytest.importorskip("dp_accounting.rdp")
    noise = dv.sigma(1.0, DELTA, algorithm=algorithm, **run_of(algorithm))
    made = dv.event(noise, algorithm=algorithm, **run_of(algorithm))
    found = dv.epsilon(noise, DELTA, algorithm=algorithm, **run_of(algorithm))
    assert dv.epsilon(made, DELTA, sampling="batches").upper == pytest.approx(
        found.upper, rel=1e-3
    )
    theirs = rdp.RdpAccountant(
        neighboring_relation=events.NeighboringRelation.REPLACE_ONE
    ).compose(made)
    # a Renyi bound, which is never below the truth
    assert found.lower <= theirs.get_epsilon(DELTA) < 10 * found.upper


class GaussianDpEvent:
    def __init__(self, noise_multiplier: float) -> None:
        self.noise_multiplier = noise_multiplier


class SampledWithoutReplacementDpEvent:
    def __init__(
        self, source_dataset_size: int, sample_size: int, event: object
    ) -> None:
        self.source_dataset_size, self.sample_size, self.event = (
            source_dataset_size,
            sample_size,
            event,
        )


def test_a_batch_without_replacement_is_read_where_it_is_asked_for_and_only_there() -> (
    None
):
    once = SampledWithoutReplacementDpEvent(1000, 20, GaussianDpEvent(1.5))
    assert steps_of_event(once, "batches")[0].rate == 0.02
    assert dv.epsilon(once, DELTA, sampling="batches") == dv.epsilon(
        3.0, DELTA, rate=0.02, sampling="batches"
    )
    with pytest.raises(
        ArgumentError, match=r"sampling=poisson.*SampledWithoutReplacementDpEvent"
    ):
        dv.epsilon(once, DELTA)


def test_the_nodes_of_a_tree_of_weights_are_no_event() -> None:
    with pytest.raises(ArgumentError, match="algorithm"):
        dv.event(1.0, algorithm="dp-nsgd", **run_of("dp-nsgd"))
