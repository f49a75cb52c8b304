"""Streaming runs on slopes: the iterates of the optimizers themselves, and means over them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpverify.kernels.tape import generator
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import DpNsgd
from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
from dpverify.papers.tran2022.algorithms.slope_runs import reduced_slope_run, slope_run
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.papers.tran2022.algorithms.tree_noise.stream import noise_from_generator
from dpverify.problems.worst_slope import Slope
from dpverify.shared_types import Ordering
from tests.for_each import for_each

ORDERINGS: tuple[Ordering, ...] = ("fresh", "once")


@for_each(
    ("ordering", "dimension", "sigma"),
    [*product(ORDERINGS, (1, 3), (0.3,)), ("fresh", 1, 0.0)],
)
def test_a_run_is_that_of_the_optimizer_on_the_same_seed(
    ordering: Ordering, dimension: int, sigma: float
) -> None:
    problem = Slope(7, dimension, 0.5, 1.0, 2.0, rise=0.25, offset=0.5)
    p = Parameters(700, 0.1, 0.02, sigma, problem.lipschitz, ordering)
    run = DpNsgd(
        problem.example_gradient,
        problem.x,
        problem.y,
        problem.start,
        p,
        seed=5,
        keep=True,
    )
    run.advance(700)
    found = slope_run(problem, p, 5)
    first = run.iterates[:, 0]
    assert found.last == pytest.approx(first[-1], abs=1e-12)
    assert found.farthest == pytest.approx(np.abs(first).max(), abs=1e-12)
    gradients = np.array([problem.gradient(w) for w in run.iterates[:-1]])
    assert found.gradient == pytest.approx(
        np.linalg.norm(gradients, axis=1).mean(), abs=1e-12
    )
    scale = p.node_deviation(7)
    noise = (
        noise_from_generator(generator(5, 1), 700, dimension, alpha=0.1, scale=scale)
        if sigma
        else np.zeros((700, 1))
    )
    assert found.noise == pytest.approx(np.linalg.norm(noise, axis=1).mean(), rel=1e-12)


def test_errors_are_those_of_a_momentum_that_is_kept_beside_the_optimizer() -> None:
    problem = Slope(4, 2, 0.5, 1.0, 2.0, offset=0.5)
    p = Parameters(200, 0.25, 0.02, 0.2, problem.lipschitz, "once")
    run = DpNsgd(
        problem.example_gradient,
        problem.x,
        problem.y,
        problem.start,
        p,
        seed=3,
        keep=True,
    )
    run.advance(200)
    order = run._order.permutation
    noise = noise_from_generator(
        generator(3, 1), 200, 2, alpha=0.25, scale=p.node_deviation(4)
    )
    m, sampled, errors = np.zeros(2), [], []
    for t in range(200):
        full = problem.gradient(run.iterates[t])
        m = 0.75 * m + 0.25 * (full + np.array([problem.offsets[order[t % 4]], 0.0]))
        sampled.append(np.linalg.norm(m - full))
        errors.append(np.linalg.norm(m + noise[t] - full))
    found = slope_run(problem, p, 3)
    assert found.sampled == pytest.approx(np.mean(sampled), abs=1e-12)
    assert found.error == pytest.approx(np.mean(errors), abs=1e-12)


def test_identical_examples_do_not_depend_on_their_order() -> None:
    runs = [
        slope_run(
            Slope(9, 2, 1.0, 1.0, 1.0),
            Parameters(300, 0.1, 0.01, 0.1, 1.0, ordering),
            1,
        )
        for ordering in ORDERINGS
    ]
    assert runs[0] == runs[1]


def test_a_run_that_goes_uphill_keeps_its_slope() -> None:
    problem, p = Slope(8, 1, 1.0, 0.1, 5.0), Parameters(4000, 0.125, 0.001, 0.01, 1.0)
    assert slope_run(problem, p, 0, direction=-1.0).gradient == 1.0
    assert slope_run(problem, p, 0).gradient < 0.2


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    problem, p = (
        Slope(8, 1, 0.5, 0.1, 5.0, offset=0.5),
        Parameters(500, 0.125, 0.01, 0.3, 1.0),
    )
    assert slope_run(problem, p, 4) == slope_run(problem, p, 4)
    assert slope_run(problem, p, 4) != slope_run(problem, p, 5)


@for_each(("ordering", "dimension"), [*product(ORDERINGS, (1, 3))])
def test_a_run_of_algorithm_2_is_that_of_the_optimizer_on_the_same_seed(
    ordering: Ordering, dimension: int
) -> None:
    problem = Slope(6, dimension, 0.5, 1.0, 2.0, rise=0.25, offset=0.5)
    p = SrParameters(150, 1 / 6, 0.2, 0.03, 0.3, problem.lipschitz, ordering)
    run = SrNsgd(
        problem.example_gradient,
        problem.x,
        problem.y,
        problem.start,
        p,
        seed=5,
        keep=True,
    )
    run.advance(150)
    found = reduced_slope_run(problem, p, 5)
    assert found.last == run.iterates[-1, 0]
    assert found.farthest == np.abs(run.iterates[:, 0]).max()
    full = np.array([problem.gradient(w) for w in run.iterates[:-1]])
    for name, of in (
        ("gradient", full),
        ("sampled", run.momenta - full),
        ("noise", run.released - run.momenta),
        ("error", run.released - full),
    ):
        assert getattr(found, name) == pytest.approx(
            np.linalg.norm(of, axis=1).mean(), rel=1e-12
        )


def test_a_run_of_algorithm_2_that_goes_uphill_keeps_its_slope() -> None:
    problem, p = (
        Slope(8, 1, 1.0, 0.1, 5.0),
        SrParameters(2000, 0.125, 0.1, 0.002, 0.001, 1.0),
    )
    assert reduced_slope_run(problem, p, 0, direction=-1.0).gradient == 1.0
    assert reduced_slope_run(problem, p, 0).gradient < 0.2
