"""Data sets on which a training is tested, its runs with given seeds, and the batches of pools of runs.

The models have known per-example gradients. The updates of a run are checked, and batches are decoded from them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from dpverify.conform.guard import to_numpy
from dpverify.conform.promise import Promise
from dpverify.conform.replay.generators import generators_restored, global_generators
from dpverify.foreign import ForeignError, foreign_code

Model: TypeAlias = Literal["linear", "sequence", "convolution"]
MODELS: tuple[Model, ...] = ("linear", "sequence", "convolution")
# weights of the two positions in the loss, so that positions can cancel
SIGNS = np.array([1.0, -1.0])
KERNEL = 2  # kernel width of the convolution, in positions
SHAPES: dict[Model, str] = {
    "linear": "(records, dimension)",
    "sequence": "(records, 2 positions, dimension)",
    "convolution": "(records, dimension / 2 channels, 3 positions)",
}


@dataclass(frozen=True)
class TrainingData:
    """Records chosen by the tests, and the model to be trained on them.

    The loss of a record is an inner product of the weights with numbers of the record.
    So its gradient is known and does not depend on initial weights, learning rates or
    earlier noise.

    Parameters
    ----------
    inputs : array
        One row per record. Its shape depends on the model: ``(records, dimension)`` for
        ``"linear"``, ``(records, 2, dimension)`` for ``"sequence"``,
        ``(records, dimension / 2, 3)`` for ``"convolution"``.
    model : {"linear", "sequence", "convolution"}
        The model. ``"linear"`` has two layers; the gradient is the record.
        ``"sequence"`` applies one linear layer to two positions; the gradient is their
        difference. ``"convolution"`` applies a kernel of width 2 to 3 positions.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.conform.training import TrainingData
    >>> data = TrainingData(np.array([[3.0, 4.0], [0.0, 1.0], [2.0, 2.0]]))
    >>> len(data), data.dimension, data.layers
    (3, 2, (1, 1))
    >>> data.gradients([1])
    array([[0., 1.]])
    """

    inputs: Any
    model: Model = "linear"

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Any) -> Any:
        """Return the input of one or several records."""
        return self.inputs[index]

    @property
    def dimension(self) -> int:
        """Number of weights, at least 2."""
        width = (
            self.inputs.shape[1] if self.model != "sequence" else self.inputs.shape[2]
        )
        return int(width) * (KERNEL if self.model == "convolution" else 1)

    @property
    def layers(self) -> tuple[int, ...]:
        """Number of weights of each layer, in the order of a flat gradient."""
        if self.model != "linear":
            return (self.dimension,)
        first = self.dimension // 2
        return (first, self.dimension - first)

    def gradients(self, indices: Any = None) -> Any:
        """Return the gradients of records as flat rows in the order of the model's parameters.

        Parameters
        ----------
        indices : sequence of int, optional
            The records; all by default.

        Returns
        -------
        array of float64, of shape (number of records, dimension)
        """
        records = (
            self.inputs
            if indices is None
            else self.inputs[np.asarray(indices, dtype=int)]
        )
        if self.model == "linear":
            return records.copy()
        if self.model == "sequence":
            return SIGNS[0] * records[:, 0] + SIGNS[1] * records[:, 1]
        windows = SIGNS[0] * records[:, :, :KERNEL] + SIGNS[1] * records[:, :, 1:]
        return windows.reshape(len(records), self.dimension)

    def torch_model(self, dtype: Any = None) -> Any:
        """Build the model, a ``torch.nn.Module`` of standard layers that returns the loss of each record of a batch.

        Parameters
        ----------
        dtype : torch.dtype, optional
            Type of the weights; PyTorch's default type by default.

        Returns
        -------
        torch.nn.Module
        """
        from dpverify.conform.training.torch_models import build_model

        return build_model(self, dtype)

    def torch_data(self, dtype: Any = None) -> Any:
        """Return the inputs as a ``torch.utils.data.TensorDataset``.

        Parameters
        ----------
        dtype : torch.dtype, optional
            Type of the inputs; PyTorch's default type by default.

        Returns
        -------
        torch.utils.data.TensorDataset
        """
        from dpverify.conform.training.torch_models import build_data

        return build_data(self, dtype)


def training_data(
    gradients: Any, model: Model = "linear", hidden: Any = 0.0
) -> TrainingData:
    """Return data with these gradients.

    ``hidden`` is added to both positions of a sequence or convolution. It cancels and does not change the gradients.
    """
    flat_gradients = np.asarray(gradients, dtype=float)
    if model == "linear":
        return TrainingData(flat_gradients.copy())
    hidden = np.broadcast_to(np.asarray(hidden, dtype=float), flat_gradients.shape)
    if model == "sequence":
        return TrainingData(np.stack([flat_gradients + hidden, hidden], axis=1), model)
    kernels = flat_gradients.reshape(len(flat_gradients), -1, KERNEL)
    hidden_kernel = hidden.reshape(kernels.shape)[:, :, 0]
    return TrainingData(
        np.stack(
            [
                kernels[:, :, 0] + hidden_kernel,
                hidden_kernel,
                hidden_kernel - kernels[:, :, 1],
            ],
            axis=2,
        ),
        model,
    )


Training: TypeAlias = Callable[[TrainingData, int], Iterable[Any]]

TRAINING = "training"
TORCH_NAME = "torch"
SEED_LIMIT = 2**31 - 1


class Runs(Protocol):
    """Interface for running a training in this process or on several ranks."""

    def updates(self, data: TrainingData, seed: int) -> Any:
        """Return the updates of a run; axes: step, number."""


class LocalRuns:
    """Run a training in this process."""

    def __init__(self, make: Training, promise: Promise) -> None:
        self._make = make
        # detects a wrong number of updates, even an infinite one
        self._max_updates = promise.steps + 1

    def updates(self, data: TrainingData, seed: int) -> Any:
        """Return the updates of a run, at most one more than promised."""
        was_torch_loaded = TORCH_NAME in sys.modules
        updates = self._run(data, seed)
        # the training imported torch, whose generator was not seeded
        if TORCH_NAME in sys.modules and not was_torch_loaded:
            updates = self._run(data, seed)
        return updates

    def _run(self, data: TrainingData, seed: int) -> Any:
        with generators_restored():
            for generator in global_generators():
                generator.seed(seed)
            with foreign_code(TRAINING):
                updates = iter(
                    self._make(TrainingData(data.inputs.copy(), data.model), seed)
                )
            rows: list[Any] = []
            while len(rows) < self._max_updates:
                with foreign_code(TRAINING):
                    next_updates = [flat_row(update) for update in islice(updates, 1)]
                if not next_updates:
                    break
                rows += next_updates
        return checked_updates(rows, data)


class CountedRuns:
    """Wrap runs and count updates that are not finite."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.update_count = 0
        self.non_finite_count = 0
        self.first_non_finite = ""

    def updates(self, data: TrainingData, seed: int) -> Any:
        """Return the updates of a run, with 0 in place of numbers that are not finite."""
        updates = self._runs.updates(data, seed)
        is_non_finite = ~np.isfinite(updates)
        self.update_count += len(updates)
        if is_non_finite.any():
            rows = np.flatnonzero(is_non_finite.any(axis=1))
            self.non_finite_count += len(rows)
            self.first_non_finite = (
                self.first_non_finite
                or f"update {rows[0] + 1} of a run on {len(data)} records"
            )
        return np.where(is_non_finite, 0.0, updates)


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
    first_updates = runs.updates(first, seed)
    second_updates = runs.updates(second, seed)
    steps = min(len(first_updates), len(second_updates))
    return Pair(first_updates[:steps], second_updates[:steps])


def flat_row(update: Any) -> Any:
    """Return a copy of an update, or of a list of its parts, as one float64 row."""
    if isinstance(update, (list, tuple)):
        parts = [flat_row(part) for part in update]
        return np.concatenate(parts) if parts else np.zeros(0)
    return np.array(to_numpy(update), dtype=float).reshape(-1)


def checked_updates(rows: list[Any], data: TrainingData) -> Any:
    """Return updates as one array; raise ForeignError if they have too few or different numbers of entries."""
    dimension = data.dimension
    if not rows:
        return np.zeros((0, dimension))
    for step, row in enumerate(rows):
        if len(row) < dimension or len(row) != len(rows[0]):
            rule = f"must have at least {dimension} numbers, one per weight, always as many"
            raise ForeignError(
                TRAINING, f"yields update {step + 1} of {len(row)} numbers; it {rule}"
            )
    return np.array(rows)


def derived_seed(seed: int, *key: int) -> int:
    """Return a seed derived from ``seed`` and ``key``."""
    return int(np.random.default_rng([seed, *key]).integers(SEED_LIMIT))


# norm, in clip lengths, of the unclipped gradients that identify the records of a batch
CODE_NORM = 0.5
# a record with more than this fraction of the
# promised contribution counts as in the batch
MIN_SHARE = 0.05


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
        return self.shares > MIN_SHARE


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
        runs = iter([*self.runs, *self.runs])

        def batches(
            examples: int, steps: int, rng: np.random.Generator
        ) -> Iterable[Any]:
            del examples, rng
            run = next(runs)
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
    gradients = np.eye(records, dimension) * CODE_NORM * promise.clip
    unit_change = CODE_NORM * promise.clip / promise.divisor
    coded_data = training_data(gradients, model)
    zero_data = training_data(np.zeros_like(gradients), model)
    for seed in seeds:
        pair = pair_of_runs(runs, coded_data, zero_data, seed)
        shares = np.abs(pair.difference[:, :records]) / unit_change
        yield DecodedRun(seed, pair.second, shares, len(pair.second))


def pool_of(
    runs: Runs, promise: Promise, records: int, dimension: int, seed: int, count: int
) -> RunPool:
    """Return ``count`` decoded runs on data sets of this size."""
    seeds = [derived_seed(seed, records, run) for run in range(count)]
    return RunPool(
        records, list(decoded_runs(runs, promise, records, dimension, seeds))
    )
