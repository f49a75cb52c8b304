"""Tree-based private Spider in docs/examples/arora2023: its kernel, the law of its noise, and its accountant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import msgspec
import numpy as np
import pytest

import dpverify as dv
from dpverify.algorithms.registry import algorithm_named
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Indices, Vector
from dpverify.problems.logistic import LogisticRegression
from dpverify.targets import load_object
from tests.unit.algorithms.test_spider_boost import (
    FILE,
    logistic_rows,
    shortened_mean,
    step_violations,
)

TARGET = f"{FILE.with_name('tree_spider.py')}:TREE_SPIDER"
TREE_SPIDER = algorithm_named(TARGET)
MODULE: Any = load_object(TARGET)[1]
LIPSCHITZ = 0.7
BETA = 0.3
SIZE = 8
DIMENSION = 20_000


class Box:
    """Algorithm 1 as a recursion over a tree, written down from the paper."""

    def __init__(self, problem: LogisticRegression, s: Any, seed: int) -> None:
        self.problem = problem
        self.s = s
        self.order = generator(seed, 4).permutation(len(problem.x))
        self.noise = generator(seed, 1)
        self.w = problem.start
        self.moves = 0

    def batch(self, size: int) -> Indices:
        drawn: Indices = self.order[:size]
        self.order = self.order[size:]
        return drawn

    def penalty(self, w: Vector) -> Vector:
        """Gradient of the regularizer."""
        rows = logistic_rows(self.problem, w, np.arange(len(self.problem.x)))
        gradient: Vector = self.problem.gradient(w) - rows.mean(axis=0)
        return gradient

    def round(self) -> None:
        rows = logistic_rows(self.problem, self.w, self.batch(self.s.first_batch))
        unit = self.noise.standard_normal(len(self.w))
        root = (
            shortened_mean(rows, 1.0)
            + self.penalty(self.w)
            + 2 * self.s.sigma / self.s.first_batch * unit
        )
        self.descend(0, root, self.w)

    def descend(self, depth: int, estimate: Vector, point: Vector) -> None:
        """Visit a node with this estimate, whose parameters are ``point``."""
        s = self.s
        if depth == s.depth:
            length = s.beta / (2 ** (s.depth / 2) * self.problem.smoothness)
            self.w = self.w - length * estimate / np.linalg.norm(estimate)
            self.moves += 1
            return
        self.descend(depth + 1, estimate, point)
        batch = self.batch(s.first_batch // 2 ** (depth + 1))
        new = self.w
        rows = logistic_rows(self.problem, new, batch) - logistic_rows(
            self.problem, point, batch
        )
        std = s.sigma * 2 * 2 ** (s.depth / 2) * s.beta / s.first_batch
        noise = std * self.noise.standard_normal(len(new))
        change = shortened_mean(rows, 2 ** (s.depth / 2 - depth - 1) * s.beta) + noise
        self.descend(
            depth + 1, estimate + change + self.penalty(new) - self.penalty(point), new
        )


def test_a_run_has_the_iterates_of_the_box_one_gaussian_mechanism_and_its_law() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    problem = LogisticRegression(x, (rng.random(300) < 0.5).astype(float), lam=0.01)
    for depth, first_batch in ((1, 4), (2, 16), (3, 48)):
        request = {
            "depth": depth,
            "first_batch": first_batch,
            "sigma": 0.3,
            "beta": 0.4,
        }
        settings = TREE_SPIDER.complete(request, 300)
        run: Any = TREE_SPIDER.start(problem, settings)
        run.advance()
        box = Box(problem, settings, 0)
        while box.moves < settings.steps:
            box.round()
        assert np.abs(run.w - box.w).max() < 1e-10
        assert np.abs(run.w).max() > 0.1
        assert run.used == 300 - len(box.order) > 300 - first_batch * (1 + depth / 2)
    size = MODULE.ProblemSize(300, 6)
    settings = TREE_SPIDER.complete({}, 300)
    sigma = TREE_SPIDER.sigma(settings, size, 1.0, 1e-5)
    bounds = TREE_SPIDER.epsilon_bounds(
        msgspec.structs.replace(settings, sigma=sigma), size, 1e-5
    )
    assert 0.999 < bounds.lower <= bounds.upper <= 1.0
    printed = math.sqrt(2 * math.log(1.25 / 1e-5))
    assert dv.epsilon(printed, 1e-5).upper < 1.0
    with pytest.raises(ArgumentError, match="multiple of 8"):
        TREE_SPIDER.complete({"depth": 3, "first_batch": 44}, 300)
    assert_law_is_tested()


def law_violations(tree: Callable[..., Any]) -> Iterator[str]:
    """Compare noise and sensitivity of the nodes of a tree with the law that the accountant assumes."""
    p = MODULE.TreeParameters(2, 4 * SIZE, BETA, 1.3, 2.0, lipschitz=LIPSCHITZ)
    rng = np.random.default_rng(2)
    state = tree(p, np.zeros(DIMENSION))
    for t, (length, size) in enumerate(
        [(LIPSCHITZ, 32), (BETA / 2, 8), (BETA, 16), (BETA / 2, 8)] * 2
    ):
        batch = np.arange(size)
        rows = 100.0 * np.eye(size, DIMENSION)
        neighbouring = rows.copy()
        neighbouring[3] *= -1.0
        unit = rng.standard_normal(DIMENSION)
        first, second = (
            deepcopy(state).step(MODULE.GivenRows(x), batch, unit)
            for x in (rows, neighbouring)
        )
        sensitivity = 2 * length / size
        noise = state.step(MODULE.GivenRows(0.0 * rows), batch, unit) / (
            sensitivity * p.sigma
        )
        yield from step_violations(t, (first - second) / sensitivity, noise)


def assert_law_is_tested() -> None:
    """Noise and sensitivity follow the law, and faults are found."""

    class Quiet(MODULE.Tree):  # type: ignore[misc]  # of a module that is loaded by its name
        def deviation(self, size: int) -> float:
            return 0.95 * float(super().deviation(size))

    class OneLength(MODULE.Tree):  # type: ignore[misc]  # as above
        @property
        def bound(self) -> float:
            return BETA if self.node_depth else LIPSCHITZ

    class NoiseOfDepthOne(MODULE.Tree):  # type: ignore[misc]  # as above
        def deviation(self, size: int) -> float:
            return float(super().deviation(size)) * (
                2.0 if self.node_depth == 2 else 1.0
            )

    deepest = (1, 3, 5, 7)
    noise = {f"the noise of step {t}" for t in deepest}
    changes = {f"what one example changes in step {t}" for t in deepest}
    assert set(law_violations(MODULE.Tree)) == set()
    assert set(law_violations(Quiet)) == {f"the noise of step {t}" for t in range(8)}
    assert set(law_violations(OneLength)) == noise | changes
    assert set(law_violations(NoiseOfDepthOne)) == noise
