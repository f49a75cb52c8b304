"""Means over a batch of any function's gradients, and the same of logistic regression by its own kernel."""

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.problems.logistic import LogisticRegression, RecursiveGradient, psi_slope
from dpverify.problems.rows import scale_rows
from tests.for_each import for_each

BATCH = np.array([3, 1, 7, 20, 4])


def problem(lam: float) -> LogisticRegression:
    rng = np.random.default_rng(0)
    return LogisticRegression(
        scale_rows(rng.standard_normal((40, 6))),
        (rng.random(40) < 0.4).astype(np.float64),
        lam,
        radius=1.0,
    )


@for_each("lam", [0.0, 0.3])
@for_each("gamma", [0.2, 1.0])
def test_logistic_regression_by_rows_and_by_examples(lam: float, gamma: float) -> None:
    p = problem(lam)

    def losses(w: Vector, batch: Indices) -> Matrix:
        s = 1 - 2 * p.y[batch]
        found: Matrix = (s / (1 + np.exp(-s * (p.x[batch] @ w))))[:, np.newaxis] * p.x[
            batch
        ]
        return found

    new, old = np.linspace(-1, 2, 6), np.linspace(1, -1, 6)
    by_rows, by_examples = np.empty(6), np.empty(6)
    RecursiveGradient(p, 0.4, 0.2).change(new, old, BATCH, gamma, by_rows)
    ExampleGradients(losses, 0.4, 0.2).change(new, old, BATCH, gamma, by_examples)
    penalty = np.array(
        [
            p.lam * (psi_slope(a) - (1 - gamma) * psi_slope(b))
            for a, b in zip(new, old, strict=True)
        ]
    )
    assert np.allclose(by_rows, by_examples + penalty, rtol=0, atol=1e-12)
    RecursiveGradient(p, 0.4, 0.2)(new, BATCH, by_rows)
    ExampleGradients(losses, 0.4)(new, BATCH, by_examples)
    assert np.allclose(
        by_rows - by_examples, [p.lam * psi_slope(a) for a in new], rtol=0, atol=1e-12
    )


@for_each(
    ("found", "words"),
    [
        (np.ones(3), r"shape \(2, 3\)"),
        (np.ones((2, 3), dtype=complex), "complex"),
        (
            np.array([[0.0, 1.0, 2.0], [np.nan, 0.0, 0.0]]),
            "nan in coordinate 0 for example 5",
        ),
    ],
)
def test_a_function_that_gives_something_else_is_refused(
    found: Matrix, words: str
) -> None:
    oracle = ExampleGradients(lambda w, batch: found)
    with pytest.raises(ArgumentError, match=words):
        oracle(np.zeros(3), np.array([4, 5]), np.empty(3))


def test_a_row_that_depends_on_the_rest_of_the_batch_is_refused() -> None:
    def mean(w: Vector, batch: Indices) -> Matrix:
        return np.tile(batch.mean(), (len(batch), len(w)))

    oracle, out = ExampleGradients(mean), np.empty(3)
    oracle(np.zeros(3), np.array([4]), out)
    with pytest.raises(
        ArgumentError, match="a row for example 5 that it has not alone"
    ):
        oracle(np.zeros(3), np.array([4, 5]), out)
    late = ExampleGradients(
        lambda w, batch: mean(w, batch) if w[0] else np.ones((len(batch), len(w)))
    )
    for _ in range(5):
        late(np.zeros(3), np.array([4, 5]), out)
    late(np.ones(3), np.array([4, 5]), out)
    late(np.ones(3), np.array([4, 5]), out)
    with pytest.raises(ArgumentError, match="must be each example's own"):
        late(np.ones(3), np.array([4, 5]), out)


def test_what_is_no_function_and_no_length_is_refused() -> None:
    with pytest.raises(ArgumentError, match="gradients"):
        ExampleGradients(None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="change_clip"):
        ExampleGradients(lambda w, batch: w, 1.0, 0.0)
    with pytest.raises(ArgumentError, match="change_clip"):
        RecursiveGradient(problem(0.0), 1.0, -1.0)
