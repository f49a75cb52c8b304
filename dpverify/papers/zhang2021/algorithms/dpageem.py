"""Algorithms 1 and 2 of the paper, DPageEM, and, with other schedules, its baselines.

    omega_t+1 = omega_t - eta^k (mean over I_t of grad f(omega_t, z_i) + xi_t) + rho_t
    (omega_t - omega_t-1)

Each stage begins without momentum, at the result of the previous stage. Batches are drawn without replacement.
"""

from __future__ import annotations

from bisect import bisect_right

from dpverify.kernels import check
from dpverify.kernels.tape import Seed, generator
from dpverify.kernels.typing import Vector
from dpverify.papers.zhang2021.algorithms.stages import StageSchedule
from dpverify.problems.example_gradients import BatchMean
from dpverify.problems.sampled_run import NoisyDescent

HANDED = 8  # stream of the seed that chooses the result of each stage


class StagedDescent(NoisyDescent):
    """A run in stages; it can be advanced, watched and interrupted.

    Parameters
    ----------
    oracle, examples, start
        As of ``NoisyDescent``.
    schedule : StageSchedule
        Stages and noise.
    seed : int, sequence of int or SeedSequence
        Seed of the noise, the batches, and the choice of each stage's result.
    keep : bool
        Whether to keep all iterates; after the last step of a stage the kept iterate is
        the stage's result.
    """

    def __init__(
        self, oracle: BatchMean, examples: int, start: Vector, schedule: StageSchedule, *,
        seed: Seed = 0, keep: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(oracle, examples, start, schedule, seed=seed, keep=keep)
        self._ends = schedule.ends
        # the whole run's step count at each stage's result
        self._handed = list(schedule.ends)
        if schedule.hand_on == "uniform":
            rng = generator(self._seed, HANDED)
            begins = (0, *schedule.ends[:-1])
            self._handed = [
                begin + 1 - schedule.first + int(rng.integers(stage.steps))
                for begin, stage in zip(begins, schedule.stages, strict=True)
            ]
        self._result = self._w.copy()

    @property
    def output(self) -> Vector:
        """A copy of omega^K, shape (d,); raises ArgumentError before the last step."""
        if self.t < self._last:
            raise check.ArgumentError(
                "t", self.t, f"must have reached the last step {self._last}"
            )
        return self.w

    def _walk(self, first: int, last: int) -> None:
        at = first
        while at < last:
            stage = bisect_right(self._ends, at)
            end = self._ends[stage]
            handed = self._handed[stage]
            if at == handed:
                self._result[:] = self._w
            until = min(last, handed if at < handed else end)
            super()._walk(at, until)
            at = until
            if at == handed:
                self._result[:] = self._w
            if at == end:
                self._w[:] = self._old[:] = self._result
                if len(self._iterates):
                    self._iterates[at] = self._w
