"""Kernels of a step that Algorithms 1 and 2 share: which example is next, and the normalized move."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from dpverify.kernels.jit import kernel
from dpverify.kernels.prefetch import prefetch_row
from dpverify.kernels.tape import shuffle
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.kernels.vector import norm


@kernel
def example_of(t: int, order: Indices, fresh: bool, rng: Generator) -> int:
    """Give the example of step t: "for q = 0, ..., floor(T/N): for i = 1, ..., min(N, T - qN): t <- qN + i".

    Parameters
    ----------
    t : int
        Step, from 1; steps are asked for one after the other.
    order : (N,) array of int
        The permutation; shuffled at each epoch's first step.
    fresh : bool
        Whether it is shuffled after the first epoch too.
    rng : Generator
        For the permutations.

    Returns
    -------
    int
        Its number, 0..N-1.
    """
    i = (t - 1) % order.shape[0]
    if i == 0 and (fresh or t == 1):
        shuffle(rng, order)  # "Sample a permutation pi^q of {1, ..., N} uniformly at random"
    example: int = order[i]
    return example


@kernel
def ask_ahead(t: int, order: Indices, x: Matrix) -> None:
    """Ask for the row of the example after that of step t, which comes from far away; nothing changes."""
    i, p = t % order.shape[0], np.uint64(x.shape[1])
    if i > 0:
        prefetch_row(x.reshape(x.size), np.uint64(order[i]) * p, p)


@kernel
def move(eta: float, m_hat: Vector, w: Vector) -> bool:
    """Do ``w <- w - eta m^ / |m^|``; a momentum of length 0 moves nothing.

    Parameters
    ----------
    eta : float
        Length of the move.
    m_hat, w : (d,) array of float
        The momentum, and the iterate that is moved.

    Returns
    -------
    bool
        Whether the momentum is finite. Where it is not, nothing is moved.
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
