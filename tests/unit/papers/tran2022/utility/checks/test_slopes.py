"""Exponents from simulation: the test that never refutes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpverify.harness import Context
from dpverify.harness.checks import BUDGETS
from dpverify.harness.simulation.slopes_check import SlopesCheck
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.accounting.onset import Theorem
from dpverify.papers.tran2022.utility.checks.slopes import (
    Size,
    seconds,
    simulated,
    worst_slope,
)
from dpverify.report.pages.figures import svg
from tests.for_each import for_each

SWEEPS = {
    "N": [Size(n) for n in (200, 400, 800)],
    "d": [Size(400, d) for d in (1, 4)],
    "epsilon": [Size(400, 1, epsilon) for epsilon in (10.0, 20.0)],
}


@for_each("theorem", ["theorem-6", "theorem-9"])
def test_the_loss_falls_by_1_in_all_and_is_as_steep_as_a_multiple_of_the_rate(
    theorem: Theorem,
) -> None:
    for size in (Size(400), Size(6400, 4)):
        found = worst_slope(theorem, size)
        # L = 1: the rest is in the bend
        assert found.slope * found.drop + found.slope**2 / 2 == pytest.approx(1.0)
        assert found.slope / (
            size.examples / size.steps(theorem)
        ) ** 0.5 == pytest.approx({"theorem-6": 2.5, "theorem-9": 8.0}[theorem])
        assert (found.examples, found.dimension, found.smoothness) == (
            size.examples,
            size.dimension,
            1.0,
        )


@for_each("theorem", ["theorem-6", "theorem-9"])
def test_a_run_takes_less_than_a_microsecond_a_step_and_more_in_more_dimensions(
    theorem: Theorem,
) -> None:
    flat, wide = (
        seconds(theorem, size) / size.steps(theorem)
        for size in (Size(400), Size(400, 8))
    )
    assert 1e-9 < flat < wide < 1e-6


def _check() -> SlopesCheck[Size]:
    runs = simulated("theorem-6")
    return SlopesCheck(
        "theorem-6-rate",
        "slopes",
        runs=runs,
        sweeps={"smoke": SWEEPS},
        replications={"smoke": 8},
        room=0.1,
    )


def _finish(gradient: Callable[[Size, int], float]) -> CheckResult:
    """Judge given gradients instead of simulated ones."""
    check = _check()
    context = Context(
        load_specs().claim("tran2022:theorem-6-rate").statement({}, "amended"),
        BUDGETS["smoke"],
        0,
    )
    parts = [
        (name, [gradient(size, run) for run in range(8)])
        for name, sizes in SWEEPS.items()
        for size in sizes
    ]
    return check.finish(context, parts)


def _power(n: float, d: float, epsilon: float) -> Callable[[Size, int], float]:
    def gradient(size: Size, run: int) -> float:
        shaken = 1.0 + 0.001 * np.cos(run * size.examples)
        return float(
            shaken * size.examples**n * size.dimension**d * size.epsilon**epsilon
        )

    return gradient


def test_gradients_that_fall_like_the_bound_pass_and_both_faults_do_not() -> None:
    found = _finish(_power(-0.45, 0.24, -0.48))
    assert found.status == "not refuted"
    assert [control.refuted for control in found.controls] == [True] * 5
    assert "in N -0.450" in found.statistic
    assert svg("utility-slopes-theorem-6", found.figures["utility-slopes-theorem-6"])


@for_each(("powers", "name"), [((-0.3, 0.24, -0.48), "N"), ((-0.45, 0.4, -0.48), "d")])
def test_a_slow_decay_is_told_and_never_refutes(
    powers: tuple[float, float, float], name: str
) -> None:
    found = _finish(_power(*powers))
    assert found.status == "inconclusive"
    assert f"not shown: the decay in {name}" in found.message
    assert found.counterexamples == []
