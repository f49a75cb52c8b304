"""What one permutation does to Lemma 11's proof: problems small enough to go through every order (no kernels).

*Pair*: two examples on a line with the gradients 3 and -1: where the second epoch begins depends on the first one's
order, so the anchor tells the order. *Ridges*: example k has the loss ``G h(<a_k, w>)`` with ``a_k = (e_0 + s
e_k)/sqrt(1 + s^2)`` and h a clipped line, -1 below b and 1 above it. In the first epoch all gradients are ``-G a_k``.
The earlier an example is drawn the further the run has gone along e_k: a threshold b parts the examples that have
crossed it at the second anchor from those drawn late, and the second epoch's centred gradients are aligned by its
order. Relabelling permutes the axes: one order is the mean over all.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.shared_types import Ordering

TILT = 0.01  # s: how far a ridge is turned towards its own axis.


def pair_anchor(order: tuple[int, int], alpha: Fraction, eta: Fraction, slope: Fraction = Fraction(0)) -> Fraction:
    """Where the second epoch begins, for two examples with the gradients 3 + slope w and -1 and w_1 = 0."""
    m = Fraction(0)
    w = Fraction(0)
    for k in order:
        m = (1 - alpha) * m + alpha * ((3 + slope * w) if k == 0 else -1)
        w -= eta * ((m > 0) - (m < 0))
    return w


def pair_bias(alpha: Fraction, eta: Fraction, position: int, ordering: Ordering) -> Fraction:
    """Mean of ``grad f(w_3, x) - grad F(w_3)``; near the path example 0 has the gradient 3 + w/2, example 1 -1."""
    slope = Fraction(1, 2)
    drawn = Fraction(0)
    full = Fraction(0)
    cases = 0
    for before in permutations((0, 1)):
        w = pair_anchor((before[0], before[1]), alpha, eta, slope)
        gradients = (3 + slope * w, Fraction(-1))
        for order in permutations((0, 1)) if ordering == "fresh" else (before,):
            drawn += gradients[order[position]]
            full += sum(gradients, Fraction(0)) / 2
            cases += 1
    return (drawn - full) / cases


def ridge_gradients(n_examples: int, alpha: float, late: int) -> NDArray[np.float64]:
    """Give ``grad f(w_{N+1}, x) - grad F(w_{N+1})`` of the examples in the order in which they are drawn, G = 1."""
    if not 1 <= late < n_examples:
        raise ValueError(f"late must lie in [1, N), got late={late}, N={n_examples}.")
    ridges = np.hstack([np.ones((n_examples, 1)), TILT * np.eye(n_examples)]) / np.sqrt(1 + TILT**2)
    w = np.zeros(n_examples + 1)
    m = np.zeros(n_examples + 1)
    projections = np.zeros(n_examples)
    for k in range(n_examples):
        projections[k] = ridges[k] @ w
        m = (1 - alpha) * m - alpha * ridges[k]
        w -= m / np.linalg.norm(m)
    reached = ridges @ w
    crossing = reached[: n_examples - late].min()
    staying = reached[n_examples - late :].max()
    threshold = (crossing + staying) / 2
    if not (staying < crossing and projections.max() < threshold):
        raise ValueError(f"the order does not show with N={n_examples}, alpha={alpha}, late={late}.")
    gradients = np.where(reached > threshold, 1.0, -1.0)[:, None] * ridges
    centred: NDArray[np.float64] = gradients - gradients.mean(axis=0)
    return centred


def ridge_sampling(n_examples: int, alpha: float, late: int) -> float:
    """Mean square ``alpha^2 |sum of c_i A_i|^2`` at t = 2N on ridges under one permutation, G = 1."""
    second = ridge_gradients(n_examples, alpha, late)
    first = -TILT * np.hstack([np.zeros((n_examples, 1)), np.eye(n_examples) - 1 / n_examples]) / np.sqrt(1 + TILT**2)
    decays = (1 - alpha) ** np.arange(2 * n_examples - 1, -1, -1.0)
    total: Any = alpha * decays @ np.vstack([first, second])
    return float(total @ total)
