import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import python_of
from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems import logistic as module
from dpverify.problems.logistic import (
    BatchGradient,
    LogisticRegression,
    line_losses,
    psi_slope,
)
from dpverify.problems.rows import scale_rows
from tests.for_each import for_each

CLOSE = 1e-12


def problem(n: int = 90, d: int = 7, lam: float = 0.3) -> LogisticRegression:
    rng = np.random.default_rng(0)
    x = scale_rows(rng.standard_normal((n, d)))
    return LogisticRegression(
        x, (rng.random(n) < 0.4).astype(float), lam=lam, radius=1.0
    )


def losses(p: LogisticRegression, w: Vector) -> Matrix:
    """Gradients of the logistic loss, one per row."""
    s = 1 - 2 * p.y
    found: Matrix = (s / (1 + np.exp(-s * (p.x @ w))))[:, np.newaxis] * p.x
    return found


def penalty(p: LogisticRegression, w: Vector) -> Vector:
    return np.array([p.lam * psi_slope(v) for v in w.tolist()])


@for_each("size", [1, 8, 33, 90])
def test_without_a_clip_it_is_the_gradient(size: int) -> None:
    p, w, out = problem(), np.linspace(-1, 1, 7), np.empty(7)
    batch = np.random.default_rng(1).permutation(90)[:size]
    part = LogisticRegression(p.x[batch], p.y[batch], lam=p.lam, radius=1.0)
    BatchGradient(p)(w, batch, out)
    assert np.allclose(out, part.gradient(w), rtol=0, atol=CLOSE)


@for_each("clip", [0.01, 0.4, 5.0])
def test_clipped_gradients_against_all_of_them_written_out(clip: float) -> None:
    p, w, out = problem(), np.linspace(-1, 2, 7), np.empty(7)
    g = losses(p, w)
    lengths = np.linalg.norm(g, axis=1, keepdims=True)
    want = (g * np.minimum(1, clip / lengths)).mean(axis=0) + penalty(p, w)
    BatchGradient(p, clip)(w, np.arange(90), out)
    assert np.allclose(out, want, rtol=0, atol=CLOSE)
    # what clipping the sum of both parts would give, and no regularizer at all
    whole = g + penalty(p, w)
    other = (
        whole * np.minimum(1, clip / np.linalg.norm(whole, axis=1, keepdims=True))
    ).mean(axis=0)
    assert np.abs(out - other).max() > 1e-3 or clip == 5.0
    assert np.abs(out - want + penalty(p, w)).max() > 1e-3


def test_replacing_one_example_moves_it_by_at_most_twice_the_clip_over_the_batch() -> (
    None
):
    p, w, clip, batch = problem(), np.linspace(-1, 2, 7), 0.3, np.arange(10)
    before, after, moved = np.empty(7), np.empty(7), []
    BatchGradient(p, clip)(w, batch, before)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x, y = p.x.copy(), p.y.copy()
        x[3], y[3] = scale_rows(rng.standard_normal((1, 7)))[0], rng.integers(2)
        BatchGradient(LogisticRegression(x, y, lam=p.lam, radius=1.0), clip)(
            w, batch, after
        )
        moved.append(np.linalg.norm(after - before))
    assert clip / 10 < max(moved) <= 2 * clip / 10 * (1 + CLOSE)


@for_each("clip", [0.7, 3.0, 50.0])
def test_losses_along_a_line_are_cut_one_by_one_and_the_regularizer_is_not(
    clip: float,
) -> None:
    """Of an example at most C' counts, on which the noise of a choice rests; a label that is far off costs 20 here."""
    p, w, direction, lengths = (
        problem(lam=0.9),
        np.linspace(-9, 20, 7),
        np.linspace(1, -1, 7),
        np.array([0.0, 0.5, 9.0]),
    )
    found = line_losses(p, clip, w, direction, lengths)
    for k, length in enumerate(lengths.tolist()):
        point = w - length * direction
        each = np.logaddexp(0.0, (1 - 2 * p.y) * (p.x @ point))
        assert (each > 3.0).any()
        regularizer = p.lam * (point**2 / (1 + point**2)).sum()
        assert found[k] == pytest.approx(
            np.minimum(each, clip).mean() + regularizer, rel=CLOSE
        )


def test_rows_of_zeros_and_bad_clips() -> None:
    empty = LogisticRegression(np.zeros((3, 2)), np.ones(3), lam=0.5)
    w, out = np.array([1.0, -2.0]), np.empty(2)
    BatchGradient(empty)(w, np.arange(3), out)
    assert np.allclose(out, penalty(empty, w), rtol=CLOSE)
    with pytest.raises(ArgumentError, match="clip must be finite and above 0"):
        BatchGradient(problem(), 0.0)


def test_jitted_and_python_agree() -> None:
    total, w, out, again = (
        np.arange(5.0),
        np.linspace(-2, 2, 4),
        np.empty(4),
        np.empty(4),
    )
    module.add_penalty(total, 3, w, 0.1, out)
    python_of(module.add_penalty)(total, 3, w, 0.1, again)
    assert np.array_equal(out, again)
