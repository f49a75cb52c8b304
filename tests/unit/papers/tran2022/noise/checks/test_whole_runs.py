"""How whole runs of noise are simulated for the checks: the library's numbers, whatever draws them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpverify.bench.cases.sleeps import some_context
from dpverify.harness import Context
from dpverify.harness.statistics.pieces import Pieces, replications_of_a_piece
from dpverify.harness.statistics.trajectory_effects import plan_to_detect
from dpverify.kernels.tape import normal_tape
from dpverify.papers.tran2022.algorithms.tree_noise import faults as tree_noise_faults
from dpverify.papers.tran2022.algorithms.tree_noise import stream as tree_noise
from dpverify.papers.tran2022.noise.checks import whole_runs
from tests.for_each import for_each

STEPS, D, RUNS = 1023, 8, 19


@pytest.fixture
def context() -> Context:
    return replace(
        some_context(),
        point={"T": Fraction(STEPS), "d": Fraction(D), "alpha": Fraction(1, 8)},
    )


def joined(sample: Pieces) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.concatenate([part.copy() for part in sample.parts])


def test_runs_are_those_of_the_library_s_draw(context: Context) -> None:
    assert replications_of_a_piece(STEPS * D) < RUNS  # so that pieces are joined
    found = joined(whole_runs.streams(context, np.random.default_rng(3), RUNS))
    rng, want = whole_runs.spawned(np.random.default_rng(3)), np.empty((RUNS, STEPS, D))
    for run in want:
        tree_noise.draw_noise(rng, 0.125, 1.0, run)
    assert np.array_equal(found, want)


def test_a_control_without_a_fault_is_the_good_kernel(context: Context) -> None:
    good = tree_noise_faults.NoiseFault("none", "no fault", tree_noise.stream_noise)
    found = whole_runs.planted(good).simulate(context, np.random.default_rng(4), RUNS)
    assert isinstance(found, Pieces)
    assert np.array_equal(
        joined(found),
        joined(whole_runs.streams(context, np.random.default_rng(4), RUNS)),
    )


def test_spawned_streams_differ_from_each_other_and_leave_the_generator_alone() -> None:
    rng, untouched = np.random.default_rng(5), np.random.default_rng(5)
    tapes = [
        normal_tape(whole_runs.spawned(made), 4, 2)
        for made in (rng, rng, np.random.default_rng(6))
    ]
    assert np.array_equal(tapes[0], tapes[1])
    assert not np.isin(tapes[0], tapes[2]).any()
    assert rng.random() == untouched.random()


@for_each("name", ["smoke", "standard"])
def test_plans_and_judges_compare_pairs_in_the_same_way(
    context: Context, name: str
) -> None:
    here = replace(context, budget=replace(context.budget, name=name))
    for pairs in ("products", "signs"):
        plan = plan_to_detect(
            whole_runs.ROUGH, whole_runs.FINE, pairs, block=whole_runs.BLOCK
        )(here)
        assert len(whole_runs.judge(pairs).planted(here, plan.effect)) == 3
        assert plan.reached_power >= 0.9999
