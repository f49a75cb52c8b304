"""Population risk on a known law against the mean over all data and batches, and the engine against it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

from dpverify.papers.zhang2021.algorithms import StagedDescent, StageSchedule, stagewise
from dpverify.papers.zhang2021.empirical.recursion import Quadratic
from dpverify.papers.zhang2021.population.known_law import (
    generalization_error,
    population_excess,
)
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.symbolic.exact.numbers import working_precision
from tests.for_each import for_each

A, RHO, ETA, START = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3), Fraction(2)


def iterates(b: tuple[int, ...], batches: tuple[int, ...], on: int) -> list[Fraction]:
    """One stage with B = 1 from START: omega_1, ..., omega_T."""
    w = old = START
    found = []
    for t, drawn in enumerate(batches, start=1):
        found.append(w)
        w, old = (
            w - ETA / 2 * (A * w + b[drawn]) + (RHO if t <= on else 0) * (w - old),
            w,
        )
    return found


@for_each(("steps", "on"), [(1, 0), (1, 1), (2, 1), (2, 2)])
def test_it_is_the_mean_over_all_data_and_batches(steps: int, on: int) -> None:
    excess, error, gap, count = Fraction(0), Fraction(0), Fraction(0), 0
    for b in itertools.product((-1, 1), repeat=2):
        mean = Fraction(sum(b), 2)
        for batches in itertools.product(range(2), repeat=2 * steps):
            for w in iterates(b, batches, 2 * on):
                excess += A * w**2 / 2
                error -= mean * w
                gap += A * START**2 / 2 + mean * START + mean**2 / (2 * A)
                count += 1
    with working_precision(256):
        run = Quadratic(A, 1, steps, on, RHO, arb(1) / 3, "loop")
        found = population_excess(run, gap / count, 2, 1, Fraction(1), arb(0))
        generalizes = generalization_error(run, 2, Fraction(1))
    assert float(found.mid()) == pytest.approx(float(excess / count), rel=1e-14)
    assert float(generalizes.mid()) == pytest.approx(float(error / count), rel=1e-14)


def test_the_engine_has_this_risk_and_not_that_on_its_own_data() -> None:
    """Coordinates are independent problems, each with its own data; batches of all examples, noise, from 0."""
    d, n, std, v = 20_000, 4, 0.3, 2.0
    offsets = np.sqrt(v) * np.random.default_rng(0).standard_normal((n, d))
    oracle = ExampleGradients(lambda w, batch: 0.5 * w + offsets[batch])
    schedule = StageSchedule(
        stagewise(2, 3, 2, 1 / 3), n, float(RHO), std, "last", first=0
    )
    run = StagedDescent(oracle, n, np.zeros(d), schedule, seed=1)
    run.advance()
    with working_precision(256):
        exact = Quadratic(A, 2, 3, 2, RHO, arb(1) / 3, "last")
        gap = Fraction(v) / (2 * A * n)
        population = float(
            population_excess(exact, gap, n, n, Fraction(v), arb(std) ** 2).mid()
        )
        empirical = float(exact.excess(arb(v) / 4, arb(std) ** 2).mid())

    def level(excess: float) -> float:
        """Two-sided p-value of the coordinates' variance being that of an excess."""
        square = float(run.output @ run.output) * float(A) / (2 * excess)
        return 2 * min(stats.chi2.cdf(square, d), stats.chi2.sf(square, d))

    assert level(population) > 1e-6
    assert level(empirical) < 1e-6
