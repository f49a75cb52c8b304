"""Private SpiderBoost in docs/examples/arora2023: its kernel, the law of its noise, its accountant, the commands."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import stats

from dpverify.algorithms.registry import algorithm_named
from dpverify.cli import main
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems.logistic import LogisticRegression
from dpverify.targets import load_object

FILE = (
    Path(__file__).parents[3]
    / "docs"
    / "examples"
    / "arora2023"
    / "arora2023"
    / "spider_boost.py"
)
TARGET = f"{FILE}:SPIDER_BOOST"
SPIDER_BOOST = algorithm_named(TARGET)
MODULE: Any = load_object(TARGET)[1]
LIPSCHITZ = 0.7
BATCH = 8
DIMENSION = 20_000
ALPHA = 1e-6


def logistic_rows(problem: LogisticRegression, w: Vector, batch: Any) -> Matrix:
    """Gradients of the logistic loss of examples, without the regularizer."""
    x = problem.x[batch]
    rows: Matrix = x * (1.0 / (1.0 + np.exp(-x @ w)) - problem.y[batch])[:, None]
    return rows


def shortened_mean(rows: Matrix, length: float) -> Vector:
    """Mean of rows that are shortened to a length."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    mean: Vector = (rows * np.minimum(1.0, length / np.maximum(norms, 1e-300))).mean(
        axis=0
    )
    return mean


def by_the_box(problem: LogisticRegression, s: Any, seed: int) -> tuple[Matrix, Vector]:
    """Iterates and output of Algorithm 2, written down from the paper."""
    n, d = problem.x.shape
    L_1 = problem.smoothness
    batches = generator(seed, 4)
    noise = generator(seed, 1)
    sigma_1 = 2 * s.sigma * max(1 / s.first_batch, math.sqrt(s.steps / s.phase) / n)
    sigma_2 = 2 * s.sigma * L_1 * max(1 / s.batch, math.sqrt(s.steps) / n)
    most = 4 * s.sigma * max(1 / s.batch, math.sqrt(s.steps) / n)
    tau_2 = math.sqrt(L_1**2 / s.batch + d * sigma_2**2)
    eta = min(s.eta / L_1, 0.5 / (tau_2 * math.sqrt(s.phase)))
    w = [problem.start]
    estimate = np.zeros(d)
    for t in range(s.steps):
        size = s.batch if t % s.phase else s.first_batch
        batch = (
            np.arange(n)
            if size == n
            else batches.choice(n, size, replace=False, shuffle=False)
        )
        now = logistic_rows(problem, w[t], batch)
        penalty = problem.gradient(w[t]) - logistic_rows(
            problem, w[t], np.arange(n)
        ).mean(axis=0)
        if t % s.phase == 0:
            estimate = (
                shortened_mean(now, 1.0) + penalty + sigma_1 * noise.standard_normal(d)
            )
        else:
            moved = float(np.linalg.norm(w[t] - w[t - 1]))
            change = shortened_mean(
                now - logistic_rows(problem, w[t - 1], batch), min(L_1 * moved, 2.0)
            )
            penalty -= problem.gradient(w[t - 1]) - logistic_rows(
                problem, w[t - 1], np.arange(n)
            ).mean(axis=0)
            estimate = (
                estimate
                + change
                + penalty
                + min(sigma_2 * moved, most) * noise.standard_normal(d)
            )
        w.append(w[t] - eta * estimate)
    return np.array(w), w[1 + int(generator(seed, 6).integers(s.steps))]


def test_a_run_has_the_iterates_of_the_box_and_its_noise_follows_the_law() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((50, 6))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    problem = LogisticRegression(x, (rng.random(50) < 0.5).astype(float), lam=0.01)
    for request in ({}, {"first_batch": 20, "phase": 3, "batch": 5}, {"phase": 1}):
        settings = SPIDER_BOOST.complete(
            {"steps": 25, "sigma": 0.3, "eta": 3.0, **request}, 50
        )
        run: Any = SPIDER_BOOST.start(problem, settings)
        run.advance()
        iterates, output = by_the_box(problem, settings, 0)
        assert np.abs(run.w - iterates[-1]).max() < 1e-10
        assert np.abs(run.output - output).max() < 1e-10
        assert np.abs(iterates).max() > 0.2
    assert_law_is_tested()


def law_violations(spider: Callable[..., Any]) -> set[str]:
    """Compare noise and sensitivity of the state of Algorithm 2 with the law that the accountant assumes."""
    # with 0.4, changes are cut at 2 L_0
    return {text for eta in (0.01, 0.4) for text in violations_at(eta, spider)}


def violations_at(eta: float, spider: Callable[..., Any]) -> Iterator[str]:
    p = MODULE.SpiderParameters(
        6, 3, BATCH, BATCH, eta, 1.3, 2.0, 3.0, lipschitz=LIPSCHITZ
    )
    batch = np.arange(BATCH)
    rng = np.random.default_rng(2)
    quiet = MODULE.GivenRows(np.zeros((BATCH, DIMENSION)))
    long_rows = MODULE.GivenRows(100.0 * np.eye(BATCH, DIMENSION))
    neighbouring = MODULE.GivenRows(long_rows.rows.copy())
    neighbouring.rows[3] *= -1.0
    state = spider(p, np.zeros(DIMENSION))
    old = state.w.copy()
    for t in range(6):
        length = (
            min(1.3 * float(np.linalg.norm(state.w - old)), 2 * LIPSCHITZ)
            if t % 3
            else LIPSCHITZ
        )
        old = state.w.copy()
        unit = rng.standard_normal(DIMENSION)
        released = [
            deepcopy(state).step(rows, batch, unit)
            for rows in (long_rows, neighbouring)
        ]
        sensitivity = 2 * length / BATCH
        noise = state.step(quiet, batch, unit) / (sensitivity * (3.0 if t % 3 else 2.0))
        yield from step_violations(t, (released[0] - released[1]) / sensitivity, noise)


def step_violations(t: int, change: Vector, noise: Vector) -> Iterator[str]:
    """Test a step: ``change`` by one example in units of the sensitivity, and noise in units of its deviation."""
    if abs(float(np.linalg.norm(change)) - 1.0) > 1e-9:
        yield f"what one example changes in step {t}"
    low, high = (stats.chi2(len(noise)).ppf(q) for q in (ALPHA, 1 - ALPHA))
    if not low <= np.square(noise).sum() <= high:
        yield f"the noise of step {t}"


def assert_law_is_tested() -> None:
    """Noise and sensitivity follow the law, and faults are found."""

    class Quiet(MODULE.Spider):  # type: ignore[misc]  # of a module that is loaded by its name
        def deviation(self, size: int) -> float:
            return 0.95 * float(super().deviation(size))

    class ForgetsLength(MODULE.Spider):  # type: ignore[misc]  # as above
        def deviation(self, size: int) -> float:
            return (
                (self.parameters.multiplier if self.t % 3 else 2.0)
                * 2.0
                * LIPSCHITZ
                / size
            )

    class ClipsAtTwice(MODULE.Spider):  # type: ignore[misc]  # as above
        @property
        def bound(self) -> float:
            return (1.0 if self.is_start else 2.0) * float(super().bound)

        def deviation(self, size: int) -> float:
            return (1.0 if self.is_start else 0.5) * float(super().deviation(size))

    later = (1, 2, 4, 5)
    assert law_violations(MODULE.Spider) == set()
    assert law_violations(Quiet) == {f"the noise of step {t}" for t in range(6)}
    assert law_violations(ForgetsLength) == {f"the noise of step {t}" for t in later}
    assert law_violations(ClipsAtTwice) == {
        f"what one example changes in step {t}" for t in later
    }


@pytest.mark.slow
def test_it_is_calibrated_trained_audited_and_tested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = MODULE.ProblemSize(1000, 10)
    settings = SPIDER_BOOST.complete({"steps": 60}, 1000)
    sigma = SPIDER_BOOST.sigma(settings, size, 1.0, 1e-5)
    at_sigma = msgspec.structs.replace(settings, sigma=sigma)
    bounds = SPIDER_BOOST.epsilon_bounds(at_sigma, size, 1e-5)
    assert 0.9 < bounds.lower <= bounds.upper <= 1.0
    assert bounds.upper == SPIDER_BOOST.epsilon(at_sigma, size, 1e-5) > 0.9999
    file = tmp_path / "c.json"
    words = [
        "--n",
        "1000",
        "--steps",
        "60",
        "--epsilon",
        "1",
        "--delta",
        "1e-5",
        "--json",
        str(file),
    ]
    assert main(["calibrate", TARGET, *words]) == 0
    assert json.loads(file.read_text())["sigma"] == sigma
    assert (
        main(
            [
                "train",
                TARGET,
                "--steps",
                "20",
                "--sigma",
                "1",
                "--delta",
                "1e-5",
                "--no-figure",
            ]
        )
        == 0
    )
    assert "change per unit of length" in capsys.readouterr().out
    assert main(["conform", TARGET]) == 0
    assert main(["audit", TARGET, "--n", "1000"]) == 0
    copy = tmp_path / "quiet_spider.py"
    copy.write_text(
        FILE.read_text().replace(
            "* 2.0 * self.bound / size", "* 0.5 * self.bound / size"
        )
    )
    assert main(["audit", f"{copy}:SPIDER_BOOST", "--n", "1000"]) == 1
