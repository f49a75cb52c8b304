"""Many short runs in one call of a kernel end where the runs of Algorithm 1 end, one object each."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.algorithms.momentum_errors import (
    RunWithMomentum,
    errors_of_seeds,
)
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.problems.base import Problem
from dpverify.problems.worst_cases import antipodal, identical
from dpverify.shared_types import Ordering
from tests.for_each import for_each

SEEDS = np.random.default_rng(4).integers(1 << 62, size=60)


def _one_by_one(problem: Problem, parameters: Parameters) -> Vector:
    errors = np.empty(len(SEEDS))
    for row, seed in enumerate(SEEDS.tolist()):
        run = RunWithMomentum(
            problem.example_gradient,
            problem.x,
            problem.y,
            problem.start,
            parameters,
            seed=seed,
        )
        run.advance(parameters.steps - 1)
        at = run.w
        run.advance(1)
        errors[row] = np.linalg.norm(run.momentum - problem.gradient(at))
    return errors


@for_each(
    ("problem", "steps", "alpha", "eta", "ordering"),
    [
        (antipodal(2, 1, 1.0, 0.1), 9, 0.5, 0.002, "fresh"),  # as the check has it
        (antipodal(2, 1, 1.0, 0.1), 9, 1.0, 0.002, "fresh"),
        (antipodal(6, 3, 1.0, 0.1), 29, 0.3, 0.7, "fresh"),
        (antipodal(6, 1, 2.0, 0.1), 29, 0.3, 0.7, "once"),
        (identical(3, 1, 1.0, 1.0, 0.5), 1, 0.2, 0.1, "fresh"),
    ],
)
def test_errors_are_those_of_the_runs_bit_for_bit(
    problem: Problem, steps: int, alpha: float, eta: float, ordering: Ordering
) -> None:
    parameters = Parameters(steps, alpha, eta, 0.0, problem.lipschitz, ordering)
    found = errors_of_seeds(problem, parameters, SEEDS)
    assert np.array_equal(found, _one_by_one(problem, parameters))
    assert len(set(found.tolist())) > 1 or steps == 1 or alpha == 1.0


def test_what_the_kernel_does_not_do_is_refused() -> None:
    problem = antipodal(2, 1, 1.0, 0.1)
    with pytest.raises(ArgumentError, match=r"sigma must be 0, got sigma=0\.5"):
        errors_of_seeds(problem, Parameters(3, 0.5, 0.1, 0.5, 1.0), SEEDS)
    problem.start[0] = np.nan
    with pytest.raises(
        ArgumentError,
        match="momentum must stay finite, got momentum=not finite at step 1",
    ):
        errors_of_seeds(problem, Parameters(3, 0.5, 0.1, 0.0, 1.0), SEEDS)
