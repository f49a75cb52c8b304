"""The JL method in docs/examples/arora2023: its rows, which keep the guarantee, and the iterates that it lifts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpverify.algorithms.algorithm import ProblemSize
from dpverify.algorithms.registry import algorithm_named
from dpverify.cli import main
from dpverify.kernels.check import ArgumentError
from dpverify.problems.logistic import LogisticRegression
from dpverify.targets import load_object
from tests.unit.algorithms.test_spider_boost import FILE, SPIDER_BOOST

TARGET = f"{FILE.with_name('embedding.py')}:EMBEDDED"
EMBEDDED: Any = algorithm_named(TARGET)
MODULE: Any = load_object(TARGET)[1]


def problem_with_a_long_row(k: int) -> LogisticRegression:
    """Rows of length 1, the first of which the embedding of seed 0 makes as long as it can."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 12))
    x[0] = np.linalg.svd(MODULE.embedding(k, 12, 0))[2][0]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return LogisticRegression(
        x, (rng.random(200) < 0.5).astype(float), lam=0.0, radius=1.0 + 1e-12
    )


def test_the_products_of_the_model_are_those_of_the_base_and_no_row_is_long() -> None:
    problem = problem_with_a_long_row(3)
    phi = MODULE.embedding(3, 12, 0)
    assert np.linalg.norm(phi @ problem.x[0]) > 1.5  # what the base would have seen
    rows = MODULE.embedded_rows(problem.x, phi)
    assert np.linalg.norm(rows, axis=1).max() <= 1.0
    short = np.linalg.norm(problem.x @ phi.T, axis=1) < 1.0
    assert np.array_equal(rows[short], (problem.x @ phi.T)[short])
    settings = EMBEDDED.complete({"embedding": 3, "epochs": 2, "sigma": 0.1}, 200)
    run = EMBEDDED.start(problem, settings)
    run.advance(7)
    run.advance()
    base: Any = SPIDER_BOOST.start(
        LogisticRegression(rows, problem.y, 0.0, radius=1.0), EMBEDDED.inner(settings)
    )
    base.advance()
    assert run.t == settings.steps
    assert np.allclose(
        problem.x @ run.w, problem.x @ phi.T @ base.w, rtol=1e-12, atol=1e-15
    )
    assert np.linalg.norm(run.w) > 0.0


def test_a_row_that_stays_long_is_refused_and_a_large_embedding_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = problem_with_a_long_row(3)
    settings = EMBEDDED.complete({"embedding": 12, "epochs": 1}, 200)
    run = EMBEDDED.start(problem, settings)
    run.advance()
    assert np.array_equal(run.w, run.inner.w)
    settings = EMBEDDED.complete({"embedding": 3}, 200)
    monkeypatch.setitem(
        type(EMBEDDED).projected.__globals__, "embedded_rows", lambda x, phi: x @ phi.T
    )
    with pytest.raises(ValueError, match="norm at most"):
        EMBEDDED.start(problem, settings)


def test_the_guarantee_is_that_of_the_base() -> None:
    size = ProblemSize(200, 12)
    settings = EMBEDDED.complete({"sigma": 4.0}, 200)
    inner = SPIDER_BOOST.complete({"sigma": 4.0}, 200)
    assert EMBEDDED.inner(settings) == inner
    assert EMBEDDED.epsilon_bounds(settings, size, 1e-5) == SPIDER_BOOST.epsilon_bounds(
        inner, size, 1e-5
    )
    assert EMBEDDED.sigma(settings, size, 1.0, 1e-5) == SPIDER_BOOST.sigma(
        inner, size, 1.0, 1e-5
    )
    with pytest.raises(ArgumentError, match="two classes"):
        EMBEDDED.start("no problem", settings)


def test_the_command_line_has_the_dimension_of_the_embedding(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(["train", TARGET, "--embedding", "8", "--epochs", "1", "--no-figure"]) == 0
    )
    assert "k = 8" in capsys.readouterr().out
    assert main(["train", TARGET, "--embedding", "0", "--no-figure"]) == 2
    assert "embedding must be an integer, at least 1" in capsys.readouterr().err
