"""Kernels of a step that Algorithms 1 and 2 share: where epochs begin, the next row, and the normalized move."""

from __future__ import annotations

import math

import numpy as np

from dpverify.kernels.cache_lines import prefetch_row
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Vector
from dpverify.kernels.vector import norm


@kernel
def begins(t: int, N: int, fresh: bool) -> bool:
    """Tell whether a permutation is drawn at step t: at an epoch's first step, and but once where it is not fresh."""
    return (t - 1) % N == 0 and (fresh or t == 1)


@kernel
def ask_ahead(t: int, order: Indices, rows: Vector, p: np.uint64) -> None:
    """Ask for the row of the example after that of step t, which comes from far away; nothing changes.

    Shapes: ``order`` (N,), ``rows`` (N * p,).
    """
    i = t % order.shape[0]
    if i > 0:
        prefetch_row(rows, np.uint64(order[i]) * p, p)


@kernel
def move(eta: float, m_hat: Vector, w: Vector) -> bool:
    """Do ``w <- w - eta m^ / |m^|``; a momentum of length 0 moves nothing.

    Whether the momentum is finite. Where it is not, nothing is moved. Shapes: ``m_hat``, ``w`` (d,).
    """
    length = norm(m_hat)
    if not math.isfinite(length):
        return False
    if length > 1e-290:
        step = eta / length
        for j in range(w.shape[0]):
            w[j] -= step * m_hat[j]
    elif length > 0.0:  # the same, where eta / |m^| would overflow
        for j in range(w.shape[0]):
            w[j] -= eta * (m_hat[j] / length)
    return True
