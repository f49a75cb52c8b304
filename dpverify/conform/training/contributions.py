"""Test how much one record changes the updates of whole runs with equal batches and equal noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform.coverage import format_ranges
from dpverify.conform.neighbours import LENGTHS, LENGTHS_AMONG_ZEROS
from dpverify.conform.promise import Promise
from dpverify.conform.records import ConformanceTest, untested_result
from dpverify.conform.training.runs import (
    CODE_NORM,
    MODELS,
    DecodedRun,
    Model,
    RunPool,
    Runs,
    TrainingData,
    decoded_runs,
    derived_seed,
    training_data,
)

FEW_LENGTHS = (1.0, 1e6)
OTHER_KINDS = (
    "zero",
    "opposite",
    "alike",
    "huge and opposite",
    "random",
    "short and long by turns",
)
FEW_OTHER_KINDS = ("zero", "opposite")
# cancelling part of two positions: -0.5 times the gradient, or in clip lengths
HIDDEN_AMOUNTS = (-0.5, 0.0, 1e3, 1e6)
# most runs with different batches; fewer if every step had a changed record
MAX_RUNS = 6
# relative; float32 updates are differences of
# weights that are large compared with an update
ROUNDING = 1e-4


class GradientCase(NamedTuple):
    """Gradients of the changed records and of all other records."""

    description: str
    gradient: Any  # gradient of each changed record
    other_gradients: Any  # axes: record, number
    hidden: Any = 0.0  # cancelling part of the inputs of the changed records


def contribution_tests(
    runs: Runs, promise: Promise, dimension: int, seed: int, pool: RunPool
) -> Iterator[ConformanceTest]:
    """Search for the largest change by one record, on each model of the tests, in batches of all sizes of a pool."""
    for model in MODELS:
        search = _ContributionSearch(runs, promise, dimension, seed, model)
        search.run()
        search.run_sizes(pool)
        yield search.result()


def equal_contributions_test(pool: RunPool) -> ConformanceTest:
    """Test whether gradients of equal norm contribute equally in all records, batches and steps."""
    shares = pool.shares
    name = "contribution of a record"
    sees = f"a record that counts twice, or a divisor that depends on the batch, by more than {ROUNDING:.2%}"
    if not len(shares):
        return untested_result(name, "no record is in a batch")
    least = float(shares.min())
    largest = float(shares.max())
    finding = f"gradients of {CODE_NORM:g} clip lengths contribute {least:.5g} to {largest:.5g} times what is promised"
    return ConformanceTest(name, largest <= least * (1 + 2 * ROUNDING), finding, sees)


class _ContributionSearch:
    """Search for the largest change on one model, in units of the allowed change."""

    def __init__(
        self, runs: Runs, promise: Promise, dimension: int, seed: int, model: Model
    ) -> None:
        self.runs = runs
        self.promise = promise
        self.dimension = dimension
        self.seed = seed
        self.model = model
        self.largest_ratio = 0.0
        self.worst_case = ""
        self.steps: set[int] = set()
        self.sizes: set[int] = set()  # sizes of batches that had a changed record
        # cached updates of the last run without the changed records
        self._cached_updates: tuple[Any, Any] | None = None
        # gradient norm in clip lengths -> largest change
        self.change_by_length: dict[float, float] = {}

    def run(self) -> None:
        """Try all examples in one run, then the worst examples in further runs until each step had a changed record."""
        model_index = MODELS.index(self.model)
        seeds = [
            derived_seed(self.seed, 1, model_index, number)
            for number in range(MAX_RUNS)
        ]
        runs = decoded_runs(
            self.runs,
            self.promise,
            self.promise.examples,
            self.dimension,
            seeds,
            self.model,
        )
        for number, run in enumerate(runs):
            rng = np.random.default_rng([self.seed, 2, model_index, number])
            changed_records = separate_records(run, self.steps, rng)
            new_steps = (
                set(
                    np.flatnonzero(run.members[:, changed_records].any(axis=1)).tolist()
                )
                - self.steps
            )
            if number and not new_steps:
                continue
            self._try_examples(run, changed_records, few=number > 0, rng=rng)
            if len(self.steps) >= self.promise.steps:
                break

    def run_sizes(self, pool: RunPool) -> None:
        """Try the worst examples in batches of sizes that were not tried yet, in runs with the seeds of the pool."""
        for pool_run in pool.runs:
            if self._has_all_sizes(pool_run):
                continue
            (run,) = decoded_runs(
                self.runs,
                self.promise,
                pool.records,
                self.dimension,
                [pool_run.seed],
                self.model,
            )
            rng = np.random.default_rng([self.seed, 3, pool_run.seed])
            tested_steps = {
                step
                for step, size in enumerate(run.members.sum(axis=1).tolist())
                if size in self.sizes
            }
            self._try_examples(
                run, separate_records(run, tested_steps, rng), few=True, rng=rng
            )

    def _has_all_sizes(self, run: DecodedRun) -> bool:
        return set(run.members.sum(axis=1).tolist()) <= {0, *self.sizes}

    def _try_examples(
        self,
        run: DecodedRun,
        changed_records: Sequence[int],
        *,
        few: bool,
        rng: np.random.Generator,
    ) -> None:
        has_changed_record = run.members[:, changed_records].any(axis=1)
        self.steps |= set(np.flatnonzero(has_changed_record).tolist())
        self.sizes |= set(run.members[has_changed_record].sum(axis=1).tolist())
        for example in self._examples(few=few, rng=rng):
            self._try_example(run, changed_records, example)

    def _examples(
        self, *, few: bool, rng: np.random.Generator
    ) -> Iterator[GradientCase]:
        size = self.promise.examples
        clip = self.promise.clip
        random_direction = rng.standard_normal(self.dimension)
        random_direction /= np.linalg.norm(random_direction)
        diagonal = np.full(self.dimension, self.dimension**-0.5)
        for index, kind in enumerate(
            FEW_OTHER_KINDS if few or self.model != "linear" else OTHER_KINDS
        ):
            direction = -diagonal if index % 2 else random_direction
            other_gradients = {
                "zero": np.zeros((size, self.dimension)),
                "opposite": np.tile(-clip * direction, (size, 1)),
                "alike": np.tile(clip * direction, (size, 1)),
                "huge and opposite": np.tile(-1e6 * clip * direction, (size, 1)),
                "random": clip * rng.standard_normal((size, self.dimension)),
                "short and long by turns": clip
                * np.resize([0.1, 30.0], (size, 1))
                * direction,
            }[kind]
            lengths = LENGTHS_AMONG_ZEROS if kind == "zero" else LENGTHS
            for length in FEW_LENGTHS if few else lengths:
                description = f"a gradient of {length:g} clip lengths, others {kind}"
                yield GradientCase(
                    description, length * clip * direction, other_gradients
                )
        if self.model == "linear":
            return
        zero_gradients = np.zeros((size, self.dimension))
        for length in FEW_LENGTHS if few else LENGTHS:
            for amount in HIDDEN_AMOUNTS:
                gradient = length * clip * random_direction
                hidden = (
                    amount * gradient
                    if amount < 0
                    else amount * clip * np.roll(random_direction, 1)
                )
                description = f"a gradient of {length:g} clip lengths"
                description += (
                    f", positions that cancel in {amount:g} clip lengths"
                    if amount > 0
                    else ", positions alike"
                )
                yield GradientCase(
                    description if amount else f"{description} in one position",
                    gradient,
                    zero_gradients,
                    hidden,
                )

    def _try_example(
        self, run: DecodedRun, changed_records: Sequence[int], example: GradientCase
    ) -> None:
        updates = self.runs.updates(
            self._data_with(changed_records, example, 1.0), run.seed
        )
        updates_without = self._updates_without(run, changed_records, example)
        steps = min(len(updates), len(updates_without), self.promise.steps)
        changes = (
            np.linalg.norm(updates[:steps] - updates_without[:steps], axis=1)
            / self.promise.sensitivity
        )
        length = float(f"{np.linalg.norm(example.gradient) / self.promise.clip:.6g}")
        self.change_by_length[length] = max(
            self.change_by_length.get(length, 0.0), float(changes.max(initial=0.0))
        )
        step = int(np.argmax(changes)) if steps else 0
        if steps and changes[step] > self.largest_ratio:
            self.largest_ratio = float(changes[step])
            batch = int(run.members[step].sum()) if step < len(run.members) else 0
            self.worst_case = (
                f"{example.description}, step {step + 1}, a batch of {batch}"
            )

    def _updates_without(
        self, run: DecodedRun, changed_records: Sequence[int], example: GradientCase
    ) -> Any:
        """Return the updates without the changed records or, for "replace-one", with their gradients reversed."""
        if self.promise.neighbours == "replace-one":
            return self.runs.updates(
                self._data_with(changed_records, example, -1.0), run.seed
            )
        key = (run.seed, example.other_gradients.tobytes())
        if self._cached_updates is None or self._cached_updates[0] != key:
            self._cached_updates = (
                key,
                self.runs.updates(
                    self._data_with(changed_records, example, 0.0), run.seed
                ),
            )
        return self._cached_updates[1]

    def _data_with(
        self, changed_records: Sequence[int], example: GradientCase, factor: float
    ) -> TrainingData:
        gradients = example.other_gradients.copy()
        gradients[changed_records] = factor * example.gradient
        hidden = np.zeros_like(gradients)
        hidden[changed_records] = factor * np.asarray(example.hidden)
        return training_data(gradients, self.model, hidden)

    def result(self) -> ConformanceTest:
        """Return the result of the search."""
        bound = self.promise.sensitivity
        name = f"sensitivity, {self.model} model"
        sees = f"a change of more than {1 + ROUNDING:g} times {bound:.6g} by one record, in the steps tried"
        if not self.steps:
            return untested_result(name, "no record is in a batch")
        factor = self.promise.sensitivity * self.promise.divisor / self.promise.clip
        curve = ", ".join(
            f"{length:g}: {factor * size:.4g}"
            for length, size in sorted(self.change_by_length.items())
        )
        finding = f"one record changes an update by {self.largest_ratio * bound:.6g}; at most {bound:.6g} is allowed"
        finding += f" ({self.worst_case}); largest change by the length of its gradient, in clip lengths: {curve}"
        steps = format_ranges([step + 1 for step in sorted(self.steps)])
        finding += f"; tested: steps {steps} of {self.promise.steps}, batches of {format_ranges(sorted(self.sizes))}"
        return ConformanceTest(name, self.largest_ratio <= 1 + ROUNDING, finding, sees)


def separate_records(
    run: DecodedRun, used_steps: set[int], rng: np.random.Generator
) -> list[int]:
    """Choose records such that no two share a batch, so that each step has at most one of them.

    Records of steps outside ``used_steps`` come first.
    """
    members = run.members
    new_steps = [step for step in range(len(members)) if step not in used_steps]
    order = rng.permutation(members.shape[1])
    order = order[np.argsort(~members[new_steps][:, order].any(axis=0), kind="stable")]
    is_used = np.zeros(len(members), dtype=bool)
    chosen: list[int] = []
    for record in order:
        steps = members[:, record]
        if steps.any() and not (steps & is_used).any():
            is_used |= steps
            chosen.append(int(record))
    return chosen
