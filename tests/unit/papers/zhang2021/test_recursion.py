"""The exact recursion of moments against sums over all noises, and the kernel against the recursion."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

from dpverify.papers.zhang2021.algorithms import StagedDescent, StageSchedule, stagewise
from dpverify.papers.zhang2021.empirical.recursion import Quadratic
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.symbolic.exact.numbers import working_precision
from tests.for_each import for_each

SCHEDULES = [(3, 4, 2, "4/5"), (2, 5, 5, "1/2"), (3, 3, 0, "0"), (2, 1, 1, "9/10")]


def summed(run: Quadratic, eta: float, gap: float, variance: float) -> float:
    """Write each iterate as a sum over the start and the noises of its stage, with coefficients."""
    a, rho = float(run.curvature), float(run.rho)
    for k in range(1, run.stages + 1):
        steps, first = run.steps << k, 1 if run.output == "loop" else 0
        rows = np.zeros((steps + 1, steps + 1))
        rows[0, 0] = 1.0
        for s in range(steps):
            on = 1 <= s + first <= run.momentum_steps << k
            rows[s + 1] = (1 - eta / 2**k * a) * rows[s] + (rho if on else 0.0) * (
                rows[s] - rows[max(s - 1, 0)]
            )
            rows[s + 1, s + 1] -= eta / 2**k
        handed = {"loop": rows[:-1], "arguments": rows[1:], "last": rows[-1:]}[
            run.output
        ] ** 2
        gap = float(
            handed[:, 0].mean() * gap
            + a / 2 * handed[:, 1:].sum(axis=1).mean() * variance
        )
    return gap


@for_each("output", ["loop", "arguments", "last"])
@for_each(("stages", "steps", "on", "rho"), SCHEDULES)
def test_powers_of_the_matrix_are_the_sums(
    stages: int, steps: int, on: int, rho: str, output: str
) -> None:
    run = Quadratic(
        Fraction(3, 2), stages, steps, on, Fraction(rho), arb(1) / 4, output
    )
    with working_precision(256):
        found = run.excess(arb(2), arb(5))
    assert float(found.rad()) < 1e-20
    assert float(found.mid()) == pytest.approx(summed(run, 0.25, 2.0, 5.0), rel=1e-12)


@for_each(("stages", "steps", "on", "rho"), SCHEDULES)
def test_the_kernel_has_these_moments(
    stages: int, steps: int, on: int, rho: str
) -> None:
    """Coordinates are independent runs: the last iterate is Gaussian with the exact variance, the start being 0."""
    d, std = 20_000, 0.3
    oracle = ExampleGradients(lambda w, batch: np.tile(1.5 * w, (len(batch), 1)))
    schedule = StageSchedule(
        stagewise(stages, steps, on, 0.25),
        2,
        float(Fraction(rho)),
        std,
        "last",
        first=0,
    )
    run = StagedDescent(oracle, 2, np.zeros(d), schedule, seed=1)
    run.advance()
    with working_precision(256):
        exact = Quadratic(
            Fraction(3, 2), stages, steps, on, Fraction(rho), arb(1) / 4, "last"
        ).excess(arb(0), arb(std) ** 2)
    variance = float(exact.mid()) / 0.75
    assert stats.kstest(run.output / np.sqrt(variance), "norm").pvalue > 1e-6
    square = float(run.output @ run.output) / variance
    assert min(stats.chi2.cdf(square, d), stats.chi2.sf(square, d)) > 1e-6
