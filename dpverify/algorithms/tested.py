"""Steps of bundled algorithms as optimizers for ``dpverify conform``. They run the real kernels on given gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.random import Generator

from dpverify.kernels.tape import draw_batch
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm
from dpverify.problems.example_gradients import ExampleGradients

if TYPE_CHECKING:
    from dpverify.algorithms.baselines import NoisyBaseline
    from dpverify.algorithms.dp_srm import DpSrmAlgorithm
    from dpverify.algorithms.dpageem import StagedAlgorithm
    from dpverify.conform import PrivateOptimizer, Promise

EXAMPLES = 64


def batches_of(size: int) -> Any:
    """Return a function that draws the batches of each step, without replacement."""

    def draw(examples: int, steps: int, rng: Generator) -> Iterator[Indices]:
        order = np.arange(examples)
        for _ in range(steps):
            if size < examples:
                draw_batch(rng, order, size)
            yield order[:size].copy()

    return draw


def promise_of(sigma: float, clip: float, batch: int) -> Promise:
    """Return the promise of noise of deviation sigma times 2C/b on a batch mean, for replacing one example."""
    from dpverify.conform import Promise

    sizes = {"examples": EXAMPLES, "batch": batch, "divisor": float(batch)}
    return Promise(
        sigma=2.0 * sigma,
        clip=clip,
        sampling="batches",
        neighbours="replace-one",
        **sizes,  # type: ignore[arg-type]  # counts and a float
    )


def descent_optimizer(
    method: NoisyBaseline | StagedAlgorithm, settings: Any, batch: int
) -> PrivateOptimizer:
    """Return an optimizer that does the first step of noisy descent, which has no momentum yet."""
    from dpverify.conform import PrivateOptimizer

    def step(state: None, gradients: Matrix, rng: Generator) -> tuple[None, Vector]:
        oracle = ExampleGradients(lambda w, rows: gradients[rows], settings.clip)
        run = method.start_on(
            oracle, len(gradients), np.zeros(gradients.shape[1]), settings
        )
        eta = float(run.parameters.factors(0, 1)[0][0])
        run._noise_rng = rng
        run.advance(1)
        return state, -run.w / eta

    def at_clip(length: float) -> PrivateOptimizer:
        return descent_optimizer(
            method, msgspec.structs.replace(settings, clip=length), batch
        )

    return PrivateOptimizer(
        step, batches=batches_of(batch) if batch < EXAMPLES else None, at_clip=at_clip
    )


def estimate_optimizer(method: DpSrmAlgorithm, settings: Any) -> PrivateOptimizer:
    """Return an optimizer that computes DP-SRM's second estimate, minus the part that comes from the first estimate.

    The gradients are taken at the new iterate. At the old iterate they are 0, so both clip lengths are reached.
    """
    from dpverify.conform import PrivateOptimizer

    def step(state: None, gradients: Matrix, rng: Generator) -> tuple[None, Vector]:
        size, d = gradients.shape

        def rows(w: Vector, batch: Indices) -> Matrix:
            return gradients[batch] if w.any() else np.zeros((len(batch), d))

        oracle = ExampleGradients(rows, settings.clip, settings.change_clip)
        # the first estimate moves the iterate away from 0
        tape = np.stack([np.ones(d), rng.standard_normal(d)])
        run = DpSrm(
            oracle,
            size,
            np.zeros(d),
            method.parameters(settings, smoothness=1.0),
            tape=tape,
        )
        run.advance(1)
        previous_share = (1.0 - settings.gamma) * run.v
        run.advance(1)
        return state, run.v - previous_share

    return PrivateOptimizer(step, batches=batches_of(settings.batch))
