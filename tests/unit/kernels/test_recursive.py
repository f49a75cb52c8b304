"""The recursive sum against all gradients and their changes written out."""

import numpy as np

from dpverify.kernels.clipping import pad_rows, recursive_sum
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems.example_gradients import clipped
from tests.for_each import for_each

N, D = 70, 9


@kernel
def slope(z: float, y: float) -> float:
    """Half the square of the error has this derivative."""
    return z - y


def gradients(x: Matrix, y: Vector, w: Vector) -> Matrix:
    found: Matrix = (x @ w - y)[:, np.newaxis] * x
    return found


@for_each(("clip", "change"), [(np.inf, np.inf), (0.5, 0.1), (0.01, 3.0)])
@for_each("size", [0, 1, 8, 70])
def test_it_is_the_sum_of_clipped_gradients_and_of_clipped_changes(
    clip: float, change: float, size: int
) -> None:
    rng = np.random.default_rng(size)
    x, y = rng.standard_normal((N, D)), rng.standard_normal(N)
    new, old, gamma = rng.standard_normal(D), rng.standard_normal(D), 0.3
    batch = rng.permutation(N)[:size]
    rows = pad_rows(x, y)
    points = np.zeros((3, rows.shape[1]))
    points[0, :D], points[1, :D] = new, old
    recursive_sum(slope)(
        rows, batch, points[0], points[1], gamma, clip, change, points[2]
    )
    now, before = gradients(x, y, new)[batch], gradients(x, y, old)[batch]
    want = (
        gamma * clipped(now, clip) + (1 - gamma) * clipped(now - before, change)
    ).sum(axis=0)
    assert np.allclose(points[2, :D], want, rtol=0, atol=1e-12)
    assert not points[2, D:].any()
    if size > 1 and clip < 1:
        # clipped after they are added
        other = clipped(gamma * now + (1 - gamma) * (now - before), clip).sum(axis=0)
        assert not np.allclose(points[2, :D], other, rtol=0, atol=1e-3)


def test_a_slope_that_is_not_a_number_is_not_hidden() -> None:
    rows = pad_rows(np.ones((2, 1)), np.array([0.0, 0.0]))
    points = np.zeros((3, rows.shape[1]))
    points[0, 0] = np.nan
    recursive_sum(slope)(
        rows, np.arange(2), points[0], points[1], 0.5, 1.0, 1.0, points[2]
    )
    assert np.isnan(points[2, 0])
