"""Noisy descent on batches drawn without replacement, beside its recursion in plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Indices, Vector
from dpverify.problems.sampled_run import DescentParameters, NoisyDescent
from tests.for_each import for_each

EXAMPLES, STEPS = 6, 40
CENTRES = np.random.default_rng(0).normal(size=(EXAMPLES, 2))


class Shrinking:
    """Step sizes that shrink, and momentum that grows."""

    steps, std = STEPS, 0.0

    def __init__(self, batch: int) -> None:
        self.batch = batch

    def factors(self, first: int, last: int) -> tuple[Vector, Vector]:
        t = np.arange(first, last, dtype=np.float64)
        return 0.5 / (t + 1.0), t / (2.0 * STEPS)


class Nearer:
    """Means of w minus the batch's centres, which keeps the batches."""

    def __init__(self) -> None:
        self.batches: list[Indices] = []

    def __call__(self, w: Vector, batch: Indices, out: Vector) -> None:
        self.batches.append(batch.copy())
        out[:] = w - CENTRES[batch].mean(axis=0)


def run_of(parameters: Any, seed: int = 1) -> tuple[NoisyDescent, list[Indices]]:
    oracle = Nearer()
    run = NoisyDescent(
        oracle, EXAMPLES, np.array([3.0, -2.0]), parameters, seed=seed, keep=True
    )
    return run, oracle.batches


@for_each("batch", [1, 4, EXAMPLES])
def test_it_is_its_recursion_in_plain_numpy_on_fresh_batches(batch: int) -> None:
    run, batches = run_of(Shrinking(batch))
    run.advance(7)
    run.advance()
    w = old = np.array([3.0, -2.0])
    for t, examples in enumerate(batches):
        assert len(set(examples.tolist())) == batch
        step = 0.5 / (t + 1.0) * (w - CENTRES[examples].mean(axis=0))
        w, old = w - step + t / (2.0 * STEPS) * (w - old), w
        assert np.allclose(run.iterates[t + 1], w, rtol=1e-12, atol=1e-15)
    assert len(batches) == run.t == STEPS
    assert len({tuple(sorted(examples.tolist())) for examples in batches}) > (
        1 if batch < EXAMPLES else 0
    )


def test_the_output_is_the_iterate_of_a_step_that_is_drawn_and_is_not_told_before() -> (
    None
):
    chosen = set()
    for seed in range(200):
        run, _ = run_of(DescentParameters(4, EXAMPLES, 0.1), seed)
        told = None
        for t in range(5):
            run.advance(t - run.t)
            try:
                told = t if told is None and run.output is not None else told
            except ArgumentError:
                assert told is None
        assert told is not None
        assert np.array_equal(run.output, run.iterates[told])
        chosen.add(told)
    assert chosen == {0, 1, 2, 3}
