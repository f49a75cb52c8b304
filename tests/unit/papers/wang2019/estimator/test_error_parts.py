"""Parts of an estimate's error, against runs of the kernel."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.papers.wang2019.estimator.bounds import PARTS, error_parts
from dpverify.papers.wang2019.estimator.checks.error_parts import RUN, _alternating
from dpverify.problems.example_gradients import ExampleGradients


def test_mean_squares_of_start_sampling_and_noise_are_those_of_runs() -> None:
    """On opposite gradients there is no drift: what is left is the whole mean square."""
    steps, runs = 6, 1500
    numbers = SrmParameters(
        steps, RUN.batch_0, RUN.batch, float(RUN.gamma), 0.05, 1.0,
        math.sqrt(RUN.variance_0), math.sqrt(RUN.variance),
    )  # fmt: skip
    squares = np.empty((runs, steps))
    for seed in range(runs):
        run = DpSrm(
            ExampleGradients(_alternating),
            RUN.examples,
            np.zeros(3),
            numbers,
            seed=seed,
        )
        for t in range(steps):
            run.advance(1)
            squares[seed, t] = float(run.v @ run.v)
    for t in range(steps):
        parts = error_parts(t, RUN)
        exact = float(
            sum(
                (parts[name].attained for name in PARTS if name != "drift"), Fraction(0)
            )
        )
        error = squares[:, t].std(ddof=1) / math.sqrt(runs)
        assert abs(squares[:, t].mean() - exact) < 5.0 * error
        assert error < 0.04 * exact
