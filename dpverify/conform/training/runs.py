"""Runs of a training: guarded, seeded, with updates of one form, and pools of runs whose batches are known.

In a pool each record has a coordinate of its own, and noise cancels between two runs.
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
    """Where a training runs: in this process, or on several ranks."""

    def updates(self, data: TrainingData, seed: int) -> Any:
        """Return the updates of a run, of shape (step, number)."""


class LocalRuns:
    """Runs a training in this process."""

    def __init__(self, make: Training, promise: Promise) -> None:
        self._make = make
        self._most = promise.steps + 1  # the number of updates may be wrong, and there may be no end of them

    def updates(self, data: TrainingData, seed: int) -> Any:
        """Return the updates of a run, up to one more than promised."""
        loaded = TORCH in sys.modules
        updates = self._run(data, seed)
        if TORCH in sys.modules and not loaded:  # the training has imported it, and its generator had no seed yet
            updates = self._run(data, seed)
        return updates

    def _run(self, data: TrainingData, seed: int) -> Any:
        with global_generators_kept():
            for generator in global_generators():
                generator.seed(seed)
            with foreign_code(NAME):
                updates = iter(self._make(TrainingData(data.inputs.copy(), data.model), seed))
            rows: list[Any] = []
            while len(rows) < self._most:
                with foreign_code(NAME):
                    following = [flat(update) for update in islice(updates, 1)]
                if not following:
                    break
                rows += following
        return checked(rows, data)


class CountedRuns:
    """Passes runs on, and counts updates that are not finite."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.count = 0
        self.not_finite = 0
        self.first = ""

    def updates(self, data: TrainingData, seed: int) -> Any:
        """Return the updates of a run; numbers that are not finite are 0."""
        updates = self._runs.updates(data, seed)
        bad = ~np.isfinite(updates)
        self.count += len(updates)
        if bad.any():
            rows = np.flatnonzero(bad.any(axis=1))
            self.not_finite += len(rows)
            self.first = self.first or f"update {rows[0] + 1} of a run on {len(data)} records"
        return np.where(bad, 0.0, updates)


class Pair(NamedTuple):
    """Updates of two runs with the same seed, as far as both go, and their difference: the noise cancels."""

    first: Any
    second: Any

    @property
    def difference(self) -> Any:
        """Contributions of the first data set, less those of the second one."""
        return self.first - self.second


def pair_of_runs(runs: Runs, first: TrainingData, second: TrainingData, seed: int) -> Pair:
    """Run the training on two data sets with the same seed."""
    left = runs.updates(first, seed)
    right = runs.updates(second, seed)
    steps = min(len(left), len(right))
    return Pair(left[:steps], right[:steps])


def flat(update: Any) -> Any:
    """Return an update, or a list of its parts, as one row of float64: a copy."""
    if isinstance(update, (list, tuple)):
        parts = [flat(part) for part in update]
        return np.concatenate(parts) if parts else np.zeros(0)
    return np.array(on_host(update), dtype=float).reshape(-1)


def checked(rows: list[Any], data: TrainingData) -> Any:
    """Return updates as one array, or refuse them."""
    least = data.dimension
    if not rows:
        return np.zeros((0, least))
    for step, row in enumerate(rows):
        if len(row) < least or len(row) != len(rows[0]):
            rule = f"must have at least {least} numbers, one per weight, always as many"
            raise ForeignError(NAME, f"yields update {step + 1} of {len(row)} numbers; it {rule}")
    return np.array(rows)


def seed_of(seed: int, *place: int) -> int:
    """Return the seed of a run."""
    return int(np.random.default_rng([seed, *place]).integers(SEEDS))


CODE = 0.5  # length of the gradient that tells which records a batch has, in clip lengths: it is not clipped
LEAST_SHARE = 0.05  # of the promised contribution, from which on a record counts as one of the batch


@dataclass(frozen=True)
class DecodedRun:
    """A run: its seed, its noise, and what each record contributes to each update."""

    seed: int
    noise: Any  # (step, number): updates where all gradients are 0
    shares: Any  # (step, record), in units of the promised contribution
    steps: int  # number of updates, perhaps one more than promised

    @property
    def members(self) -> Any:
        """Which records a batch has, as truth values of shape (step, record)."""
        return self.shares > LEAST_SHARE


@dataclass(frozen=True)
class RunPool:
    """Decoded runs on data sets of one size."""

    records: int
    runs: list[DecodedRun] = field(default_factory=list)

    @property
    def fewest_steps(self) -> int:
        """Updates that each run has."""
        return min(run.steps for run in self.runs)

    @property
    def step_counts(self) -> list[int]:
        """The numbers of updates that occur."""
        return sorted({run.steps for run in self.runs})

    @property
    def shares(self) -> Any:
        """What records contribute where they are in a batch, in units of the promised contribution."""
        return np.concatenate([run.shares[run.members] for run in self.runs])

    def members(self, steps: int) -> Any:
        """Which records are in the batches of the first steps: (run, step, record)."""
        return np.array([run.members[:steps] for run in self.runs])

    def noise(self, steps: int) -> Any:
        """Return the noise of the first steps: (run, step, number)."""
        return np.array([run.noise[:steps] for run in self.runs])

    def batches(self) -> Any:
        """Return a function that hands out the batches of one run after the other, as the sampling tests need it."""
        order = iter([*self.runs, *self.runs])

        def batches(examples: int, steps: int, rng: np.random.Generator) -> Iterable[Any]:
            del examples, rng
            run = next(order)
            return (np.flatnonzero(row) for row in run.members[:steps])

        return batches


def decoded_runs(
    runs: Runs, promise: Promise, records: int, dimension: int, seeds: Iterable[int], model: Model = "linear"
) -> Iterator[DecodedRun]:
    """Run the training with each seed, once with gradients of 0 and once with gradients that tell the batches."""
    code = np.eye(records, dimension) * CODE * promise.clip
    unit = CODE * promise.clip / promise.divisor
    coded = data_with(code, model)
    silent = data_with(np.zeros_like(code), model)
    for seed in seeds:
        pair = pair_of_runs(runs, coded, silent, seed)
        shares = np.abs(pair.difference[:, :records]) / unit
        yield DecodedRun(seed, pair.second, shares, len(pair.second))


def pool_of(runs: Runs, promise: Promise, records: int, dimension: int, seed: int, count: int) -> RunPool:
    """Return so many decoded runs on data sets of this size."""
    seeds = [seed_of(seed, records, run) for run in range(count)]
    return RunPool(records, list(decoded_runs(runs, promise, records, dimension, seeds)))
