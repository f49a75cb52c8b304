"""Runs of a training: guarded, seeded, and with updates of one form."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from dpverify.conform.records import Promise
from dpverify.conform.replay.devices import on_host
from dpverify.conform.replay.sources import global_generators, global_generators_kept
from dpverify.conform.training.data import TrainingData
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
