"""Counts of drawn examples over many runs, and the events whose probability follows from the promised sampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import binom, hypergeom

from dpverify.conform.promise import Promise

# tail probabilities at which numbers of examples are tested
TAIL_PROBABILITIES = (0.2, 0.02)

MAX_PAIRED_EXAMPLES = 400  # examples of which every pair is tested


def _are_equal(first: list[Any], second: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


class DrawCounts:
    """Counts from the batches of all runs; runs are counted one at a time and not stored."""

    def __init__(self, promise: Promise, runs: int) -> None:
        n = promise.examples
        self.runs = runs
        self.steps = promise.steps
        # steps of one epoch are dependent
        self.independent_steps = 1 if promise.sampling == "epochs" else promise.steps
        self.paired_examples = np.unique(
            np.linspace(0, n - 1, min(n, MAX_PAIRED_EXAMPLES)).astype(int)
        )
        self.are_runs_equal = True  # whether all runs have the same batches
        # how often each example was drawn
        self.inclusion_counts = np.zeros(n, dtype=int)
        # how often a pair of adjacent examples was
        # drawn; the pair changes with run and step
        self.adjacent_pair_count = 0
        self.batch_sizes = np.zeros((runs, self.steps), dtype=int)
        # whether each of ``paired_examples`` was drawn
        self.paired_draws = np.zeros(
            (runs, self.independent_steps, len(self.paired_examples)), dtype=bool
        )
        # number of common examples of two consecutive steps
        self.common_counts = np.zeros((runs, self.steps // 2), dtype=int)
        # whether the example of the run was drawn
        self.followed_draws = np.zeros((runs, self.steps), dtype=bool)
        # number of examples in each part
        self.part_counts = np.zeros(
            (runs, self.independent_steps, len(PARTS)), dtype=int
        )
        # steps in which an epoch draws no example again
        self.epoch_steps = min(self.steps, n // promise.batch)
        # number of runs that draw no example again in these steps
        self.distinct_run_count = 0
        self._first_run: list[Any] = []

    def add(self, run: int, batches: list[Any]) -> None:
        """Count the batches of a run."""
        n = len(self.inclusion_counts)
        self._first_run = self._first_run or batches
        self.are_runs_equal = self.are_runs_equal and _are_equal(
            batches, self._first_run
        )
        epoch_examples = np.concatenate(batches[: self.epoch_steps])
        self.distinct_run_count += len(np.unique(epoch_examples)) == len(epoch_examples)
        previous_members = np.zeros(n, dtype=bool)
        for step, batch in enumerate(batches):
            members = np.zeros(n, dtype=bool)
            members[batch.astype(int)] = True
            self.batch_sizes[run, step] = len(batch)
            self.followed_draws[run, step] = members[followed_example(run, n)]
            if step < self.independent_steps:
                pair_start = 2 * ((run + step) % (n // 2))
                self.inclusion_counts[batch.astype(int)] += 1
                self.adjacent_pair_count += int(
                    members[pair_start] and members[pair_start + 1]
                )
                self.paired_draws[run, step] = members[self.paired_examples]
                self.part_counts[run, step] = [
                    members[part(n)].sum() for part in PARTS.values()
                ]
            if step % 2:
                self.common_counts[run, step // 2] = np.count_nonzero(
                    previous_members & members
                )
            previous_members = members


PARTS: dict[str, Callable[[int], slice]] = {
    "the first half": lambda n: slice(n // 2),
    "the first quarter": lambda n: slice(n // 4),
    "every second example": lambda n: slice(0, n, 2),
    "every third example": lambda n: slice(0, n, 3),
}
STRIDES = (7, 11, 13, 17, 19, 23)


def followed_example(run: int, examples: int) -> int:
    """Return the example that a run follows; successive runs follow all examples in turn."""
    stride = next((prime for prime in STRIDES if examples % prime), 1)
    return (run * stride) % examples


Event: TypeAlias = tuple[str, Any, int, float, str]
"""Name of a test, counts of events, number of trials, probability of an event, and the faults that the test detects."""


def example_events(counts: DrawCounts, promise: Promise) -> Iterator[Event]:
    """Yield how often examples, and pairs of examples, were drawn."""
    n = promise.examples
    b = promise.batch
    rate = b / n
    pair_probability = (
        rate**2 if promise.sampling == "poisson" else b * (b - 1) / (n * (n - 1))
    )
    examples = counts.paired_examples
    trials = counts.runs * counts.independent_steps
    draws = counts.paired_draws.reshape(-1, len(examples)).astype(float)
    pair_counts = (draws.T @ draws)[np.triu_indices(len(examples), 1)]
    yield (
        "inclusion",
        counts.inclusion_counts,
        trials,
        rate,
        "an example that is drawn too often or too seldom",
    )
    yield (
        "pairs",
        np.array([counts.adjacent_pair_count]),
        trials,
        pair_probability,
        "neighbours that are drawn together",
    )
    sees = f"two of {len(examples)} examples that come together too often or too seldom"
    yield "each pair", pair_counts, trials, pair_probability, sees


def part_events(counts: DrawCounts, promise: Promise) -> Iterator[Event]:
    """Yield how many batches have a number of examples in a part of the data that is between the first tails."""
    n = promise.examples
    b = promise.batch
    for index, (name, part) in enumerate(PARTS.items()):
        size = len(range(n)[part(n)])
        law = (
            binom(size, b / n)
            if promise.sampling == "poisson"
            else hypergeom(n, size, b)
        )
        low = law.ppf(TAIL_PROBABILITIES[0])
        high = law.isf(TAIL_PROBABILITIES[0])
        sizes = counts.part_counts[..., index]
        typical_count = np.array([((sizes > low) & (sizes < high)).sum()])
        probability = max(0.0, law.cdf(high - 1) - law.cdf(low))
        sees = (
            "a number of examples from a part that varies too little or too much, such "
            "as a fixed share of each rank"
        )
        yield f"parts of the data, {name}", typical_count, sizes.size, probability, sees


def size_events(counts: DrawCounts, promise: Promise, level: float) -> Iterator[Event]:
    """Yield how many batches are small or large; the last tail is the rarest in which a count of 0 shows a fault."""
    law = binom(promise.examples, promise.batch / promise.examples)
    sizes = counts.batch_sizes.ravel()
    for tail in (*TAIL_PROBABILITIES, 1 - level ** (1 / sizes.size)):
        low = int(law.ppf(tail))
        high = int(law.isf(tail))
        suffix = f", beyond {100 * tail:.2g}%"
        sees = "sizes that vary too little, or are never"
        small_count = np.array([(sizes <= low).sum()])
        large_count = np.array([(sizes >= high).sum()])
        yield (
            f"small batches{suffix}",
            small_count,
            sizes.size,
            law.cdf(low),
            f"{sees} {low} or less",
        )
        yield (
            f"large batches{suffix}",
            large_count,
            sizes.size,
            law.sf(high - 1),
            f"{sees} {high} or more",
        )


def step_events(counts: DrawCounts, promise: Promise) -> Iterator[Event]:
    """Yield how often an example was drawn in two consecutive steps."""
    steps = promise.steps
    probability = (promise.batch / promise.examples) ** 2
    # axes: run, step; each run follows one example
    draws = counts.followed_draws.astype(float)
    repeats = np.count_nonzero(
        counts.followed_draws[:, 0 : steps - 1 : 2]
        & counts.followed_draws[:, 1:steps:2]
    )
    sees = "a batch that is used again, or examples that are left out after they were drawn"
    yield (
        "next step",
        np.array([repeats]),
        counts.runs * (steps // 2),
        probability,
        sees,
    )
    pair_counts = (draws.T @ draws)[np.triu_indices(steps, 1)]
    yield (
        "any two steps",
        pair_counts,
        counts.runs,
        probability,
        f"batches that repeat within {steps} steps",
    )


def common_events(counts: DrawCounts, promise: Promise) -> Iterator[Event]:
    """Yield how many pairs of steps have many or few common examples, and how many runs draw no example again."""
    n = promise.examples
    b = promise.batch
    steps = counts.epoch_steps
    is_poisson = promise.sampling == "poisson"
    law = binom(n, (b / n) ** 2) if is_poisson else hypergeom(n, b, b)
    common_counts = counts.common_counts
    many_examples = int(law.isf(TAIL_PROBABILITIES[-1])) + 1
    sees = "batches that are made once and drawn again"
    yield (
        "common",
        np.array([(common_counts >= many_examples).sum()]),
        common_counts.size,
        law.sf(many_examples - 1),
        sees,
    )
    few_examples = int(law.ppf(TAIL_PROBABILITIES[0]))
    sees = "a batch that avoids the examples of the batch before, or draws them again"
    yield (
        f"common, at most {few_examples}",
        np.array([(common_counts <= few_examples).sum()]),
        common_counts.size,
        law.cdf(few_examples),
        sees,
    )
    distinct_probability = (
        binom.cdf(1, steps, b / n) ** n
        if is_poisson
        else float(np.prod(hypergeom.pmf(0, n, b * np.arange(steps), b)))
    )
    sees = "examples that are drawn again too seldom or too often, such as never in a reshuffled epoch"
    yield (
        f"common in {steps} steps, none",
        np.array([counts.distinct_run_count]),
        counts.runs,
        distinct_probability,
        sees,
    )
