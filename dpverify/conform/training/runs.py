"""Run a training with given seeds, check its updates, and decode the batches of pools of runs.

In a pool, each record has its own coordinate, and noise cancels in the difference of two runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from dpverify.conform.guarded import on_host
from dpverify.conform.records import Promise
from dpverify.conform.replay.generators import global_generators, global_generators_kept
from dpverify.conform.training.data import Model, TrainingData, data_with
from dpverify.foreign import ForeignError, foreign_code

Training: TypeAlias = Callable[[TrainingData, int], Iterable[Any]]

NAME = "training"
TORCH = "torch"
SEEDS = 2**31 - 1


class Runs(Protocol):
    """Interface for running a training in this process or on several ranks."""

    def updates(self, data: TrainingData, seed: int) -> Any:
        """Return the updates of a run; axes: step, number."""


class LocalRuns:
    """Run a training in this process."""

    def __init__(self, make: Training, promise: Promise) -> None:
        self._make = make
        # detects a wrong number of updates, even an infinite one
        self._most = promise.steps + 1

    def updates(self, data: TrainingData, seed: int) -> Any:
        """Return the updates of a run, at most one more than promised."""
        loaded = TORCH in sys.modules
        updates = self._run(data, seed)
        # the training imported torch, whose generator was not seeded
        if TORCH in sys.modules and not loaded:
            updates = self._run(data, seed)
        return updates

    def _run(self, data: TrainingData, seed: int) -> Any:
        with global_generators_kept():
            for generator in global_generators():
                generator.seed(seed)
            with foreign_code(NAME):
                updates = iter(
                    self._make(TrainingData(data.inputs.copy(), data.model), seed)
                )
            rows: list[Any] = []
            while len(rows) < self._most:
                with foreign_code(NAME):
                    following = [flat(update) for update in islice(updates, 1)]
                if not following:
                    break
                rows += following
        return checked(rows, data)


class CountedRuns:
    """Wrap runs and count updates that are not finite."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.count = 0
        self.not_finite = 0
        self.first = ""

    def updates(self, data: TrainingData, seed: int) -> Any:
        """Return the updates of a run, with 0 in place of numbers that are not finite."""
        updates = self._runs.updates(data, seed)
        bad = ~np.isfinite(updates)
        self.count += len(updates)
        if bad.any():
            rows = np.flatnonzero(bad.any(axis=1))
            self.not_finite += len(rows)
            self.first = (
                self.first or f"update {rows[0] + 1} of a run on {len(data)} records"
            )
        return np.where(bad, 0.0, updates)


class Pair(NamedTuple):
    """Updates of two runs with the same seed, cut to equal length; the noise cancels in their difference."""

    first: Any
    second: Any

    @property
    def difference(self) -> Any:
        """Contributions of the first data set minus those of the second one."""
        return self.first - self.second


def pair_of_runs(
    runs: Runs, first: TrainingData, second: TrainingData, seed: int
) -> Pair:
    """Run the training on two data sets with the same seed and return both runs."""
    left = runs.updates(first, seed)
    right = runs.updates(second, seed)
    steps = min(len(left), len(right))
    return Pair(left[:steps], right[:steps])


def flat(update: Any) -> Any:
    """Return a copy of an update, or of a list of its parts, as one float64 row."""
    if isinstance(update, (list, tuple)):
        parts = [flat(part) for part in update]
        return np.concatenate(parts) if parts else np.zeros(0)
    return np.array(on_host(update), dtype=float).reshape(-1)


def checked(rows: list[Any], data: TrainingData) -> Any:
    """Return updates as one array; raise ForeignError if they have too few or different numbers of entries."""
    least = data.dimension
    if not rows:
        return np.zeros((0, least))
    for step, row in enumerate(rows):
        if len(row) < least or len(row) != len(rows[0]):
            rule = f"must have at least {least} numbers, one per weight, always as many"
            raise ForeignError(
                NAME, f"yields update {step + 1} of {len(row)} numbers; it {rule}"
            )
    return np.array(rows)


def seed_of(seed: int, *place: int) -> int:
    """Return a seed derived from ``seed`` and ``place``."""
    return int(np.random.default_rng([seed, *place]).integers(SEEDS))


# norm, in clip lengths, of the unclipped gradients that identify the records of a batch
CODE = 0.5
# a record with more than this fraction of the promised contribution counts as in the
# batch
LEAST_SHARE = 0.05


@dataclass(frozen=True)
class DecodedRun:
    """A run: its seed, its noise, and the contribution of each record to each update."""

    seed: int
    noise: Any  # axes: step, number; updates if all gradients are 0
    shares: Any  # axes: step, record; in units of the promised contribution
    steps: int  # number of updates, at most one more than promised

    @property
    def members(self) -> Any:
        """Mask of the records in each batch; axes: step, record."""
        return self.shares > LEAST_SHARE


@dataclass(frozen=True)
class RunPool:
    """Decoded runs on data sets of one size."""

    records: int
    runs: list[DecodedRun] = field(default_factory=list)

    @property
    def fewest_steps(self) -> int:
        """Smallest number of updates of a run."""
        return min(run.steps for run in self.runs)

    @property
    def step_counts(self) -> list[int]:
        """Sorted distinct numbers of updates of the runs."""
        return sorted({run.steps for run in self.runs})

    @property
    def shares(self) -> Any:
        """Contributions of all records in batches, in units of the promised contribution."""
        return np.concatenate([run.shares[run.members] for run in self.runs])

    def members(self, steps: int) -> Any:
        """Return masks of the records in the batches of the first steps; axes: run, step, record."""
        return np.array([run.members[:steps] for run in self.runs])

    def noise(self, steps: int) -> Any:
        """Return the noise of the first steps; axes: run, step, number."""
        return np.array([run.noise[:steps] for run in self.runs])

    def batches(self) -> Any:
        """Return a function for the sampling tests that returns the batches of the next run at each call."""
        order = iter([*self.runs, *self.runs])

        def batches(
            examples: int, steps: int, rng: np.random.Generator
        ) -> Iterable[Any]:
            del examples, rng
            run = next(order)
            return (np.flatnonzero(row) for row in run.members[:steps])

        return batches


def decoded_runs(
    runs: Runs,
    promise: Promise,
    records: int,
    dimension: int,
    seeds: Iterable[int],
    model: Model = "linear",
) -> Iterator[DecodedRun]:
    """Run the training with each seed twice: with gradients of 0, and with gradients that identify the batches."""
    code = np.eye(records, dimension) * CODE * promise.clip
    unit = CODE * promise.clip / promise.divisor
    coded = data_with(code, model)
    silent = data_with(np.zeros_like(code), model)
    for seed in seeds:
        pair = pair_of_runs(runs, coded, silent, seed)
        shares = np.abs(pair.difference[:, :records]) / unit
        yield DecodedRun(seed, pair.second, shares, len(pair.second))


def pool_of(
    runs: Runs, promise: Promise, records: int, dimension: int, seed: int, count: int
) -> RunPool:
    """Return ``count`` decoded runs on data sets of this size."""
    seeds = [seed_of(seed, records, run) for run in range(count)]
    return RunPool(
        records, list(decoded_runs(runs, promise, records, dimension, seeds))
    )
