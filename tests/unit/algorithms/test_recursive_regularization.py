"""Recursive regularization in docs/examples/arora2023: its kernel, its noise, its accountant and its audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import dpverify as dv
from dpverify.algorithms.registry import algorithm_named
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Vector
from dpverify.problems.logistic import LogisticRegression
from dpverify.targets import load_object
from tests.unit.algorithms.test_spider_boost import (
    FILE,
    logistic_rows,
    shortened_mean,
    step_violations,
)

TARGET = f"{FILE.with_name('recursive_regularization.py')}:RECURSIVE"
RECURSIVE = algorithm_named(TARGET)
MODULE: Any = load_object(TARGET)[1]
DIMENSION = 20_000
RUNS = 20_000
# of the distance of two means, 1, over the deviation of one sample: alpha 6e-7
FIVE_ERRORS = 5 * math.sqrt(2.5 / RUNS)


def by_the_box(problem: LogisticRegression, s: Any, seed: int) -> Vector:
    """Output of Algorithm 3, written down from the paper with plain sums."""
    n, d = problem.x.shape
    order = generator(seed, 4).permutation(n)
    noise = generator(seed, 1)
    size = n // s.rounds
    K = s.steps // s.rounds + 1
    centers = [np.zeros(d)]
    for t in range(1, s.rounds + 1):
        batch = order[size * (t - 1) : size * t]
        lam = 2**t * s.strength
        eta = math.log(K) / (lam * K)
        points = [np.zeros(d)]
        for _ in range(K - 1):
            w = points[-1]
            pull = sum(
                2**k * s.strength * (w - center) for k, center in enumerate(centers)
            )
            unit = noise.standard_normal(d)
            gradient = (
                shortened_mean(logistic_rows(problem, w, batch), 1.0)
                + 2 * s.sigma / size * unit
            )
            w = w - eta * (gradient + pull)
            points.append(
                w * min(1.0, 2 ** (t / 2) * s.radius / float(np.linalg.norm(w)))
            )
        weights = np.array([(1 - eta * lam) ** -k for k in range(1, K + 1)])
        centers.append(weights @ np.array(points) / weights.sum())
    return centers[-1]


def test_a_run_has_the_output_of_the_box_and_the_accountant_of_a_round() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x *= rng.uniform(0.5, 4.0, (300, 1))  # so that some gradients are clipped
    problem = LogisticRegression(x, (rng.random(300) < 0.5).astype(float), lam=0.0)
    one_move = RECURSIVE.complete({"rounds": 7, "epochs": 1}, 300)
    chosen = RECURSIVE.complete(
        {"sigma": 2.0, "rounds": 3, "steps": 20, "strength": 0.1, "radius": 0.05}, 300
    )
    for settings in (RECURSIVE.complete({"sigma": 0.3}, 300), one_move, chosen):
        run: Any = RECURSIVE.start(problem, settings)
        with pytest.raises(ArgumentError, match="last step"):
            _ = run.output
        run.advance()
        assert np.array_equal(run.output, run.w)
        assert np.abs(run.w - by_the_box(problem, settings, 0)).max() < 1e-12
        assert np.linalg.norm(run.w) <= 2 ** (settings.rounds / 2) * settings.radius
    assert (one_move.steps, chosen.steps) == (7, 18)
    size = MODULE.ProblemSize(300, 6)
    assert RECURSIVE.epsilon_bounds(chosen, size, 1e-5) == dv.epsilon(
        2.0, 1e-5, steps=6
    )
    assert RECURSIVE.sigma(chosen, size, 1.0, 1e-5) == dv.sigma(1.0, 1e-5, steps=6)
    for request, rule in (
        ({"rounds": 301}, "at most 300"),
        ({"rounds": 3, "steps": 2}, "at least 3"),
    ):
        with pytest.raises(ArgumentError, match=rule):
            RECURSIVE.complete(request, 300)


def law_violations(rounds: Callable[..., Any]) -> Iterator[str]:
    """Compare noise and sensitivity of the steps of two rounds with the law that the accountant assumes.

    A step only adds noise to the mean that it is given. That the rows of the mean are clipped is seen from the box.
    """
    p = MODULE.RoundParameters(2, 3, 0.5, 9.0, 2.0, lipschitz=0.7)
    rng = np.random.default_rng(2)
    state = rounds(p, np.zeros(DIMENSION))
    size = 8
    sensitivity = 2 * p.lipschitz / size
    for t in range(p.rounds * p.moves):
        unit = rng.standard_normal(DIMENSION)
        rows = p.lipschitz * np.eye(size, DIMENSION)
        neighbouring = rows.copy()
        neighbouring[3] *= -1.0
        state.begin()
        first, second = (
            deepcopy(state).step(x.mean(axis=0), size, unit)
            for x in (rows, neighbouring)
        )
        noise = state.step(np.zeros(DIMENSION), size, unit) / (sensitivity * p.sigma)
        yield from step_violations(t, (first - second) / sensitivity, noise)


def test_noise_and_sensitivity_follow_the_law_and_faults_are_found() -> None:
    class Quiet(MODULE.Rounds):  # type: ignore[misc]  # of a module that is loaded by its name
        def deviation(self, size: int) -> float:
            return float(super().deviation(size)) * (0.95 if self.round == 2 else 1.0)

    class OfAllData(MODULE.Rounds):  # type: ignore[misc]  # as above
        """The paper's own slip: n where a round has n/T examples."""

        def deviation(self, size: int) -> float:
            return float(super().deviation(size * self.parameters.rounds))

    assert set(law_violations(MODULE.Rounds)) == set()
    assert set(law_violations(OfAllData)) == {
        f"the noise of step {t}" for t in range(6)
    }
    assert set(law_violations(Quiet)) == {f"the noise of step {t}" for t in (3, 4, 5)}


def test_the_audit_sees_the_accountant_s_mu_and_the_promise_is_kept() -> None:
    target = RECURSIVE.audit_target(1e-5)
    assert target.epsilon == pytest.approx(
        dv.epsilon(2.0, 1e-5, steps=4).upper, rel=1e-6
    )
    rng = np.random.default_rng(3)
    datasets: Any = target.datasets
    first, second = (target.mechanism(np.array(signs), rng, RUNS) for signs in datasets)
    distance = abs(first.mean() - second.mean()) / first.std(ddof=1)
    assert distance == pytest.approx(1.0, abs=FIVE_ERRORS)
    optimizer, promise = RECURSIVE.conformance()
    assert dv.conformance(optimizer, promise)
