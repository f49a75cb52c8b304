"""DP-SRM's kernel on the data set that attains the accountant's lower bound, for ``dpverify audit dp-srm``.

Gradients are clipped. The gradient of one example grows in one direction at each step, so the gradient and its change
are clipped to full length. The gradients of all other examples, and of the example that replaces this one, have the
opposite direction.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.papers.wang2019.accounting.runs import BatchRun
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.privacy.batches import batch_epsilon, log_ratio_of, opposed
from dpverify.privacy.participation import Bounds

RUN = BatchRun("recursive", 4, 4, 2, 2, 0.25, 0.5, 1.0)
NOISE = 2.0  # k; the noise of a step divided by the sensitivity of a batch is then 1
DESCRIPTION = f"{RUN.steps} steps of Algorithm 1 on a worst case, clipped, n = {RUN.examples}, b = {RUN.batch}"


class FullLength:
    """Worst-case gradients. After clipping, gradients and changes have full length and the ``signs``, shape (n,)."""

    def __init__(self, signs: Vector) -> None:
        self._signs = signs

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        """Write the mean of the batch's clipped gradients into ``out``."""
        out[:] = RUN.lipschitz * self._signs[batch].mean()

    def change(
        self, new: Vector, old: Vector, batch: Indices, gamma: float, out: Vector
    ) -> None:
        """Write the mean of gamma times gradients and 1 - gamma times their changes, both clipped, into ``out``."""
        out[:] = (gamma * RUN.lipschitz + (1.0 - gamma) * RUN.zeta) * self._signs[
            batch
        ].mean()


def datasets() -> tuple[Vector, Vector]:
    """Return the signs of the examples of two neighbours: all signs equal, and one sign opposite to all others."""
    return opposed(RUN.examples)


def mechanism(signs: Vector, rng: Generator, size: int) -> Matrix:
    """Return the released increments of the estimates of ``size`` pieces of one long run, shape (size, T).

    The increment of an estimate is its difference from 1 - gamma times the previous one. The pieces are independent,
    because an increment depends only on the batch and the noise of its step.
    """
    std_0, std = RUN.deviations(NOISE)
    steps = size * RUN.steps + 1
    parameters = SrmParameters(
        steps, RUN.batch_0, RUN.batch, RUN.gamma, RUN.zeta, 1.0, std_0, std
    )
    run = DpSrm(
        FullLength(signs),
        RUN.examples,
        np.zeros(1),
        parameters,
        seed=int(rng.integers(1 << 62)),
    )
    estimates = np.empty(steps)
    for t in range(steps):
        run.advance(1)
        estimates[t] = run.v[0]
    return (estimates[1:] - (1.0 - RUN.gamma) * estimates[:-1]).reshape(size, RUN.steps)


def log_ratio(outputs: Matrix) -> Vector:
    """Return the log of the likelihood ratio of the second data set over the first, summed over steps."""
    return log_ratio_of(
        (outputs + RUN.length) * RUN.batch / (2.0 * RUN.length), RUN.steps_at(NOISE)[-1]
    )


def certified(delta: float) -> Bounds:
    """Return the accountant's bounds on epsilon for these steps."""
    return batch_epsilon(RUN.steps_at(NOISE)[-1:], delta)
