"""Runs whose batches are known: each record has a coordinate of its own, and noise cancels between two runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpverify.conform.records import Promise
from dpverify.conform.training.data import Model, data_with
from dpverify.conform.training.runs import Runs, pair_of_runs, seed_of

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
