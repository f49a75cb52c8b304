"""The interface of a problem for optimizers and checks: data, kernels, and certified constants."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dpverify.kernels.typing import ExampleGradient, Matrix, Vector


class Problem(Protocol):
    """An empirical risk ``F(w) = (1/n) sum_i f(w, (x_i, y_i))`` with certified constants.

    Attributes
    ----------
    x, y, start : (n, p), (n,) and (d,) array of float
        Rows, one per example, labels, and the first iterate w_1, to which ``gap``
        refers.
    lipschitz, smoothness, gap : float
        G, L and R. G and L are upper bounds on the norms of per-example gradients and
        Hessians at every w. R is an upper bound on ``F(w_1) - inf F``.
    """

    @property
    def x(self) -> Matrix: ...  # noqa: D102 -- described in the class
    @property
    def y(self) -> Vector: ...  # noqa: D102 -- described in the class
    @property
    def start(self) -> Vector: ...  # noqa: D102 -- described in the class
    @property
    def lipschitz(self) -> float: ...  # noqa: D102 -- described in the class
    @property
    def smoothness(self) -> float: ...  # noqa: D102 -- described in the class
    @property
    def gap(self) -> float: ...  # noqa: D102 -- described in the class

    @property
    def example_gradient(self) -> ExampleGradient:
        """Kernel ``gradient(w, x_row, y, out)`` that writes the gradient of one example into ``out``."""
        ...

    def loss(self, w: Vector) -> float:
        """Return the empirical risk F at ``w``, shape (d,)."""
        ...

    def gradient(self, w: Vector) -> Vector:
        """Return the gradient of F at ``w``, shape (d,)."""
        ...


def replace_one(
    x: Matrix, y: Vector, index: int, row: Vector, label: float
) -> tuple[Matrix, Vector]:
    """Return a neighbouring data set, in which one example is replaced.

    Parameters
    ----------
    x : (n, p) array of float
        Rows.
    y : (n,) array of float
        Labels.
    index : int
        Index of the example, ``0 <= index < n``.
    row : (p,) array of float
        The new row.
    label : float
        The new label.

    Returns
    -------
    tuple of (n, p) array and (n,) array
        New arrays; ``x`` and ``y`` are not changed.

    Raises
    ------
    ValueError
        If the index is out of range, or the row has the wrong length.
    """
    if not 0 <= index < len(x):
        raise ValueError(f"index must lie in [0, {len(x) - 1}], got index={index}.")
    if np.shape(row) != x.shape[1:]:
        raise ValueError(
            f"row must have shape {x.shape[1:]}, got shape {np.shape(row)}."
        )
    x = x.copy()
    y = y.copy()
    x[index] = row
    y[index] = label
    return x, y
