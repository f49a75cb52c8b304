"""DPageEM's kernel on the data set that attains the accountant's lower bound, for ``dpverify audit dpageem``.

The gradient of one example has full length in one direction at each step. The gradients of all other examples, and of
the one that replaces it, have full length in the opposite direction. All iterates are released; Algorithm 1's output is
a function of them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.random import Generator

from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.papers.zhang2021.algorithms.dpageem import StagedDescent
from dpverify.papers.zhang2021.algorithms.stages import StageSchedule, stagewise
from dpverify.privacy.batches import BatchSteps, batch_epsilon, log_ratio_of, opposed
from dpverify.privacy.participation import Bounds

EXAMPLES = 4
BATCH = 2
RHO = 0.5
# of 2 and 4 steps, the first half of each with momentum
STAGES: Final = stagewise(2, 1, 1, 0.5)
STEPS: Final = BatchSteps(BATCH / EXAMPLES, 1.0, sum(stage.steps for stage in STAGES))
DESCRIPTION: Final = f"{STEPS.count} steps in {len(STAGES)} stages on a worst case, n = {EXAMPLES}, b = {BATCH}"


def datasets() -> tuple[Vector, Vector]:
    """Return the gradients of the examples of two neighbours: all examples alike, and one against the others."""
    return opposed(EXAMPLES)


def mechanism(signs: Vector, rng: Generator, size: int) -> Matrix:
    """Return the noisy gradients that the iterates of ``size`` runs reveal, shape (size, T).

    The runs are stages of one long run: gradients do not depend on the iterate, and a stage begins without momentum.
    """
    sensitivity = 2.0 / BATCH
    schedule = StageSchedule(
        STAGES * size, BATCH, RHO, STEPS.noise * sensitivity, "last"
    )

    def oracle(w: Vector, batch: Indices, out: Vector) -> None:
        out[:] = signs[batch].mean()

    run = StagedDescent(
        oracle,
        EXAMPLES,
        np.zeros(1),
        schedule,
        seed=int(rng.integers(1 << 62)),
        keep=True,
    )
    run.advance(schedule.steps)
    etas, rhos = schedule.factors(0, schedule.steps)
    moves = np.diff(run.iterates[:, 0])
    before = np.concatenate([[0.0], moves[:-1]])
    before[[0, *schedule.ends[:-1]]] = 0.0
    return np.asarray(((rhos * before - moves) / etas).reshape(size, STEPS.count))


def log_ratio(outputs: Matrix) -> Vector:
    """Return the logarithm of the likelihood of the second data set over that of the first, a sum over steps."""
    return log_ratio_of((outputs + 1.0) * BATCH / 2.0, STEPS)


def certified(delta: float) -> Bounds:
    """Return the accountant's bounds on epsilon for these steps."""
    return batch_epsilon([STEPS], delta)
