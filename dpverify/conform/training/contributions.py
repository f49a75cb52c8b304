"""Test how much one record changes the updates of whole runs with equal batches and equal noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform.coverage import format_ranges
from dpverify.conform.neighbours import LENGTHS, LENGTHS_AMONG_ZEROS
from dpverify.conform.promise import Promise
from dpverify.conform.records import ConformanceTest, not_tested_result
from dpverify.conform.training.runs import (
    CODE,
    MODELS,
    DecodedRun,
    Model,
    RunPool,
    Runs,
    TrainingData,
    data_with,
    decoded_runs,
    seed_of,
)

FEW_LENGTHS = (1.0, 1e6)
OTHERS = (
    "zero",
    "opposite",
    "alike",
    "huge and opposite",
    "random",
    "short and long by turns",
)
FEW_OTHERS = ("zero", "opposite")
# cancelling part of two positions: -0.5 times the gradient, or in clip lengths
HIDDEN = (-0.5, 0.0, 1e3, 1e6)
TRIES = 6  # most runs with different batches; fewer if every step had a changed record
# relative; float32 updates are differences of
# weights that are large compared with an update
ROUNDING = 1e-4


class Example(NamedTuple):
    """Gradients of the changed records and of all other records."""

    words: str
    gradient: Any  # gradient of each changed record
    others: Any  # axes: record, number
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
        return not_tested_result(name, "no record is in a batch")
    least = float(shares.min())
    largest = float(shares.max())
    finding = f"gradients of {CODE:g} clip lengths contribute {least:.5g} to {largest:.5g} times what is promised"
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
        self.largest = 0.0
        self.where = ""
        self.steps: set[int] = set()
        self.sizes: set[int] = set()  # sizes of batches that had a changed record
        # cached updates of the last run without the changed records
        self._without: tuple[Any, Any] | None = None
        # gradient norm in clip lengths -> largest change
        self.clipped: dict[float, float] = {}

    def run(self) -> None:
        """Try all examples in one run, then the worst examples in further runs until each step had a changed record."""
        place = MODELS.index(self.model)
        seeds = [seed_of(self.seed, 1, place, number) for number in range(TRIES)]
        decoded = decoded_runs(
            self.runs,
            self.promise,
            self.promise.examples,
            self.dimension,
            seeds,
            self.model,
        )
        for number, run in enumerate(decoded):
            rng = np.random.default_rng([self.seed, 2, place, number])
            changed = separate_records(run, self.steps, rng)
            new = (
                set(np.flatnonzero(run.members[:, changed].any(axis=1)).tolist())
                - self.steps
            )
            if number and not new:
                continue
            self._try_all(run, changed, few=number > 0, rng=rng)
            if len(self.steps) >= self.promise.steps:
                break

    def run_sizes(self, pool: RunPool) -> None:
        """Try the worst examples in batches of sizes that were not tried yet, in runs with the seeds of the pool."""
        for coded in pool.runs:
            if self._has_all_sizes(coded):
                continue
            (run,) = decoded_runs(
                self.runs,
                self.promise,
                pool.records,
                self.dimension,
                [coded.seed],
                self.model,
            )
            rng = np.random.default_rng([self.seed, 3, coded.seed])
            tried = {
                step
                for step, size in enumerate(run.members.sum(axis=1).tolist())
                if size in self.sizes
            }
            self._try_all(run, separate_records(run, tried, rng), few=True, rng=rng)

    def _has_all_sizes(self, run: DecodedRun) -> bool:
        return set(run.members.sum(axis=1).tolist()) <= {0, *self.sizes}

    def _try_all(
        self,
        run: DecodedRun,
        changed: Sequence[int],
        *,
        few: bool,
        rng: np.random.Generator,
    ) -> None:
        present = run.members[:, changed].any(axis=1)
        self.steps |= set(np.flatnonzero(present).tolist())
        self.sizes |= set(run.members[present].sum(axis=1).tolist())
        for example in self._examples(few=few, rng=rng):
            self._try(run, changed, example)

    def _examples(self, *, few: bool, rng: np.random.Generator) -> Iterator[Example]:
        size = self.promise.examples
        clip = self.promise.clip
        slant = rng.standard_normal(self.dimension)
        slant /= np.linalg.norm(slant)
        equal = np.full(self.dimension, self.dimension**-0.5)
        for number, kind in enumerate(
            FEW_OTHERS if few or self.model != "linear" else OTHERS
        ):
            direction = -equal if number % 2 else slant
            other_records = {
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
                words = f"a gradient of {length:g} clip lengths, others {kind}"
                yield Example(words, length * clip * direction, other_records)
        if self.model == "linear":
            return
        zero = np.zeros((size, self.dimension))
        for length in FEW_LENGTHS if few else LENGTHS:
            for amount in HIDDEN:
                gradient = length * clip * slant
                hidden = (
                    amount * gradient
                    if amount < 0
                    else amount * clip * np.roll(slant, 1)
                )
                words = f"a gradient of {length:g} clip lengths"
                words += (
                    f", positions that cancel in {amount:g} clip lengths"
                    if amount > 0
                    else ", positions alike"
                )
                yield Example(
                    words if amount else f"{words} in one position",
                    gradient,
                    zero,
                    hidden,
                )

    def _try(self, run: DecodedRun, changed: Sequence[int], example: Example) -> None:
        present = self.runs.updates(self._data(changed, example, 1.0), run.seed)
        absent = self._absent(run, changed, example)
        steps = min(len(present), len(absent), self.promise.steps)
        changes = (
            np.linalg.norm(present[:steps] - absent[:steps], axis=1)
            / self.promise.sensitivity
        )
        length = float(f"{np.linalg.norm(example.gradient) / self.promise.clip:.6g}")
        self.clipped[length] = max(
            self.clipped.get(length, 0.0), float(changes.max(initial=0.0))
        )
        step = int(np.argmax(changes)) if steps else 0
        if steps and changes[step] > self.largest:
            self.largest = float(changes[step])
            batch = int(run.members[step].sum()) if step < len(run.members) else 0
            self.where = f"{example.words}, step {step + 1}, a batch of {batch}"

    def _absent(self, run: DecodedRun, changed: Sequence[int], example: Example) -> Any:
        """Return the updates without the changed records or, for "replace-one", with their gradients reversed."""
        if self.promise.neighbours == "replace-one":
            return self.runs.updates(self._data(changed, example, -1.0), run.seed)
        key = (run.seed, example.others.tobytes())
        if self._without is None or self._without[0] != key:
            self._without = (
                key,
                self.runs.updates(self._data(changed, example, 0.0), run.seed),
            )
        return self._without[1]

    def _data(
        self, changed: Sequence[int], example: Example, factor: float
    ) -> TrainingData:
        gradients = example.others.copy()
        gradients[changed] = factor * example.gradient
        hidden = np.zeros_like(gradients)
        hidden[changed] = factor * np.asarray(example.hidden)
        return data_with(gradients, self.model, hidden)

    def result(self) -> ConformanceTest:
        """Return the result of the search."""
        allowed = self.promise.sensitivity
        name = f"sensitivity, {self.model} model"
        sees = f"a change of more than {1 + ROUNDING:g} times {allowed:.6g} by one record, in the steps tried"
        if not self.steps:
            return not_tested_result(name, "no record is in a batch")
        factor = self.promise.sensitivity * self.promise.divisor / self.promise.clip
        curve = ", ".join(
            f"{length:g}: {factor * size:.4g}"
            for length, size in sorted(self.clipped.items())
        )
        finding = f"one record changes an update by {self.largest * allowed:.6g}; at most {allowed:.6g} is allowed"
        finding += f" ({self.where}); largest change by the length of its gradient, in clip lengths: {curve}"
        steps = format_ranges([step + 1 for step in sorted(self.steps)])
        finding += f"; tested: steps {steps} of {self.promise.steps}, batches of {format_ranges(sorted(self.sizes))}"
        return ConformanceTest(name, self.largest <= 1 + ROUNDING, finding, sees)


def separate_records(
    run: DecodedRun, used_steps: set[int], rng: np.random.Generator
) -> list[int]:
    """Choose records such that no two share a batch, so that each step has at most one of them.

    Records of steps outside ``used_steps`` come first.
    """
    members = run.members
    fresh = [step for step in range(len(members)) if step not in used_steps]
    order = rng.permutation(members.shape[1])
    order = order[np.argsort(~members[fresh][:, order].any(axis=0), kind="stable")]
    used_here = np.zeros(len(members), dtype=bool)
    chosen: list[int] = []
    for record in order:
        steps = members[:, record]
        if steps.any() and not (steps & used_here).any():
            used_here |= steps
            chosen.append(int(record))
    return chosen
