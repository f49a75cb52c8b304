"""Exponents from simulation: runs at the record's own parameters, and a check that never refutes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.harness.checks import as_point
from dpverify.harness.simulation.slopes_check import SlopesCheck
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs
from dpverify.papers.wang2019.accounting.onset import best_beta
from dpverify.papers.wang2019.utility.checks.simulation import (
    CHECKS,
    DELTA,
    STANDARD,
    AccurateSize,
    Identical,
    mean_gradient,
)
from dpverify.report.pages.figures import caption, svg
from dpverify.symbolic.exact.evaluate import definitions, requires_hold
from dpverify.symbolic.exact.numbers import nearest_float
from tests.for_each import for_each

STATEMENT = load_specs().claim("wang2019:theorem-4-4").statement({}, "amended")


@for_each("size", [size for sizes in STANDARD.values() for size in sizes])
def test_runs_have_the_parameters_of_the_record(size: AccurateSize) -> None:
    p = size.parameters
    point = as_point(
        {
            "n": size.examples, "d": size.dimension, "epsilon": Fraction(size.epsilon), "delta": Fraction(str(DELTA)),
            "beta": Fraction(best_beta(size.cell)), "G": 1, "L": 1, "gap": 1, "zeta": Fraction(size.zeta),
            "T": p.steps, "b": p.batch, "b_0": p.batch_0,
        }
    )  # fmt: skip
    assert requires_hold(STATEMENT, point) is True
    found = {
        name: float(nearest_float(value))
        for name, value in definitions(STATEMENT, point).items()
    }
    assert p.gamma == pytest.approx(found["gamma"])
    assert p.std**2 == pytest.approx(found["variance"], rel=1e-6)
    assert p.std_0**2 == pytest.approx(found["variance_0"], rel=1e-6)


def test_the_problem_falls_by_one_and_is_as_steep_as_is_said() -> None:
    size, slope = AccurateSize(2000), 1.5 * AccurateSize(2000).zeta
    way = np.linspace(0.0, 1.0 / slope + 0.5 * slope, 100_001)
    assert np.trapezoid([Identical(slope).at(x) for x in way], way) == pytest.approx(
        1.0, rel=1e-4
    )
    assert 0.3 * slope < mean_gradient(size, 3) <= slope * (1.0 + 1e-12)
    assert mean_gradient(size, 3) == mean_gradient(size, 3)
    assert len({mean_gradient(size, seed) for seed in range(8)}) > 2


def _finish(gradient: Callable[[AccurateSize, int], float]) -> CheckResult:
    """Judge given gradients instead of simulated ones."""
    check = CHECKS.find("theorem-4-4", "slopes")
    assert isinstance(check, SlopesCheck)
    parts = [
        (name, [gradient(size, run) for run in range(24)])
        for name, sizes in STANDARD.items()
        for size in sizes
    ]
    return check.finish(Context(STATEMENT, BUDGETS["standard"], 0), parts)


def _power(n: float, d: float, epsilon: float) -> Callable[[AccurateSize, int], float]:
    def gradient(size: AccurateSize, run: int) -> float:
        shaken = 1.0 + 0.001 * math.cos(run * size.examples)
        return float(
            shaken * size.examples**n * size.dimension**d * size.epsilon**epsilon
        )

    return gradient


def test_gradients_that_fall_like_the_bound_pass_and_are_drawn() -> None:
    found = _finish(_power(-0.66, 0.33, -0.65))
    assert found.status == "not refuted"
    assert all(control.refuted for control in found.controls)
    ((name, columns),) = found.figures.items()
    assert svg(name, columns).startswith(b"<?xml")
    assert "As powers of n, the runs have the exponent -0.66 (" in caption(
        name, columns
    )


@for_each(("powers", "name"), [((-0.5, 0.33, -0.65), "n"), ((-0.66, 0.5, -0.65), "d")])
def test_a_slow_decay_is_told_and_never_refutes(
    powers: tuple[float, float, float], name: str
) -> None:
    found = _finish(_power(*powers))
    assert found.status == "inconclusive"
    assert f"not shown: the decay in {name}" in found.message
