from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.harness.statistics.trajectory_effects import (
    DetectableFaults,
    plan_to_detect,
    shape,
)
from dpverify.harness.statistics.trajectory_law import run_by_run

ROUGH, FINE = DetectableFaults(0.3, 1.25, 1.02), DetectableFaults(0.1, 1.1, 1.005)


@pytest.fixture
def runs(context: Context) -> Context:
    return replace(context, point={"T": Fraction(5), "d": Fraction(3)})


def test_smaller_faults_are_seen_outside_smoke_runs(runs: Context) -> None:
    plan = plan_to_detect(ROUGH, FINE, block=7)
    smoke, standard = (
        plan(replace(runs, budget=BUDGETS[name])) for name in ("smoke", "standard")
    )
    assert smoke.n < standard.n
    assert smoke.block_size == 7
    assert smoke.reached_power >= 0.9999


def test_a_kernel_fills_one_run_after_the_other(runs: Context) -> None:
    def draw(context: Context, rng: np.random.Generator, run: Any) -> None:
        assert run.shape == shape(context) == (5, 3)
        run[:] = rng.standard_normal(run.shape)

    sample = run_by_run(draw)(runs, np.random.default_rng(2), 4)
    found = np.concatenate([part.copy() for part in sample.parts])
    assert np.array_equal(found, np.random.default_rng(2).standard_normal((4, 5, 3)))
