"""The smallest problems on which one example moves a node as far as it can.

All examples live on a line. The gradient of example n at w is ``y_n`` times the clipped quadratic's,

    grad f(w, x_n) = y_n * clip(L (w - c_n), -G, G),       y_n = 1 or -1, c_n its centre,

G-Lipschitz and L-smooth, both attained. Far from its centre an example pulls with the same force G wherever the run
goes; near it, its gradient changes by L per unit of way, and that of the opposite sign the other way. In every data set
all gradients point to the left along the path, so that a run without noise walks to the right, one step of length eta
each time: consecutive anchors are as far apart as they can be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Matrix, Vector

REPLACED = 0  # Number of the example that the neighbour replaces


class Neighbours(NamedTuple):
    """Two data sets that differ in the example ``REPLACED``."""

    x: Matrix  # (N, d) Centres and signs of the first one
    y: Vector
    x_other: Matrix  # (N, d) Of the second one
    y_other: Vector


def opposed(N: int, reach: float, G: float, L: float) -> Neighbours:
    """Neighbours on which f and G nodes move most: the replaced example pulls with G, to either side, out of reach."""
    N, beyond = _far(N, reach, G, L)
    x = np.full((N, 1), beyond)
    x_other = x.copy()
    x_other[REPLACED] = -beyond
    return Neighbours(x, np.ones(N), x_other, np.ones(N))


def turning(N: int, reach: float, G: float, L: float) -> Neighbours:
    """Neighbours on which Delta and r nodes move most: the replaced example's gradient climbs by L, or falls.

    ``N``, ``reach``, ``G``, ``L``: as for :func:`opposed`. The path must be no longer than G/L, so that the gradients
    can go on changing. One rises from -G to 0 along [0, G/L], its neighbour falls from 0 to -G.
    """
    N, beyond = _far(N, reach, G, L)
    if L * reach > G:
        raise check.ArgumentError("reach", reach, f"must be at most G/L = {G / L}")
    x = np.full((N, 1), beyond)
    y = np.ones(N)
    x[REPLACED] = G / L
    x_other = x.copy()
    y_other = y.copy()
    x_other[REPLACED] = 0.0
    y_other[REPLACED] = -1.0
    return Neighbours(x, y, x_other, y_other)


def _far(N: int, reach: float, G: float, L: float) -> tuple[int, float]:
    """A centre that pulls with G all the way."""
    N = check.whole(1, examples=N)
    reach = check.not_negative(reach=reach)
    return N, 2.0 * (reach + check.positive(G=G) / check.positive(L=L))
