"""Counts of drawn examples over many runs, and the events whose probability follows from the promised sampling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import binom, hypergeom

from dpverify.conform.promise import Promise

FAR = (0.2, 0.02)  # tail probabilities at which numbers of examples are tested

MOST_PAIRED = 400  # examples of which every pair is tested


def _alike(first: list[Any], second: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


class DrawCounts:
    """Counts from the batches of all runs; runs are counted one at a time and not stored."""

    def __init__(self, promise: Promise, runs: int) -> None:
        n = promise.examples
        self.runs = runs
        self.steps = promise.steps
        # steps of one epoch are dependent
        self.usable = 1 if promise.sampling == "epochs" else promise.steps
        self.few = np.unique(np.linspace(0, n - 1, min(n, MOST_PAIRED)).astype(int))
        self.same = True  # whether all runs have the same batches
        self.included = np.zeros(n, dtype=int)  # how often each example was drawn
        # how often a pair of adjacent examples was
        # drawn; the pair changes with run and step
        self.both = 0
        self.sizes = np.zeros((runs, self.steps), dtype=int)
        # whether each of ``few`` was drawn
        self.flat = np.zeros((runs, self.usable, len(self.few)), dtype=bool)
        # number of common examples of two consecutive steps
        self.common = np.zeros((runs, self.steps // 2), dtype=int)
        # whether the example of the run was drawn
        self.chosen = np.zeros((runs, self.steps), dtype=bool)
        # number of examples in each part
        self.in_parts = np.zeros((runs, self.usable, len(PARTS)), dtype=int)
        # steps in which an epoch draws no example again
        self.epoch = min(self.steps, n // promise.batch)
        self.distinct = 0  # number of runs that draw no example again in these steps
        self._first: list[Any] = []

    def add(self, run: int, drawn: list[Any]) -> None:
        """Count the batches of a run."""
        n = len(self.included)
        self._first = self._first or drawn
        self.same = self.same and _alike(drawn, self._first)
        of_epoch = np.concatenate(drawn[: self.epoch])
        self.distinct += len(np.unique(of_epoch)) == len(of_epoch)
        before = np.zeros(n, dtype=bool)
        for t, batch in enumerate(drawn):
            members = np.zeros(n, dtype=bool)
            members[batch.astype(int)] = True
            self.sizes[run, t] = len(batch)
            self.chosen[run, t] = members[followed(run, n)]
            if t < self.usable:
                even = 2 * ((run + t) % (n // 2))
                self.included[batch.astype(int)] += 1
                self.both += int(members[even] and members[even + 1])
                self.flat[run, t] = members[self.few]
                self.in_parts[run, t] = [
                    members[part(n)].sum() for part in PARTS.values()
                ]
            if t % 2:
                self.common[run, t // 2] = np.count_nonzero(before & members)
            before = members


PARTS: dict[str, Callable[[int], slice]] = {
    "the first half": lambda n: slice(n // 2),
    "the first quarter": lambda n: slice(n // 4),
    "every second example": lambda n: slice(0, n, 2),
    "every third example": lambda n: slice(0, n, 3),
}
STRIDES = (7, 11, 13, 17, 19, 23)


def followed(run: int, examples: int) -> int:
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
    pair = rate**2 if promise.sampling == "poisson" else b * (b - 1) / (n * (n - 1))
    few = counts.few
    trials = counts.runs * counts.usable
    flat = counts.flat.reshape(-1, len(few)).astype(float)
    together = (flat.T @ flat)[np.triu_indices(len(few), 1)]
    yield (
        "inclusion",
        counts.included,
        trials,
        rate,
        "an example that is drawn too often or too seldom",
    )
    yield (
        "pairs",
        np.array([counts.both]),
        trials,
        pair,
        "neighbours that are drawn together",
    )
    words = f"two of {len(few)} examples that come together too often or too seldom"
    yield "each pair", together, trials, pair, words


def part_events(counts: DrawCounts, promise: Promise) -> Iterator[Event]:
    """Yield how many batches have a number of examples in a part of the data that is between the tails ``FAR[0]``."""
    n = promise.examples
    b = promise.batch
    for index, (name, part) in enumerate(PARTS.items()):
        size = len(range(n)[part(n)])
        law = (
            binom(size, b / n)
            if promise.sampling == "poisson"
            else hypergeom(n, size, b)
        )
        low = law.ppf(FAR[0])
        high = law.isf(FAR[0])
        numbers = counts.in_parts[..., index]
        ordinary = np.array([((numbers > low) & (numbers < high)).sum()])
        probability = max(0.0, law.cdf(high - 1) - law.cdf(low))
        words = (
            "a number of examples from a part that varies too little or too much, such "
            "as a fixed share of each rank"
        )
        yield f"parts of the data, {name}", ordinary, numbers.size, probability, words


def size_events(counts: DrawCounts, promise: Promise, level: float) -> Iterator[Event]:
    """Yield how many batches are small or large; the last tail is the rarest in which a count of 0 shows a fault."""
    law = binom(promise.examples, promise.batch / promise.examples)
    sizes = counts.sizes.ravel()
    for far in (*FAR, 1 - level ** (1 / sizes.size)):
        low = int(law.ppf(far))
        high = int(law.isf(far))
        of = f", beyond {100 * far:.2g}%"
        words = "sizes that vary too little, or are never"
        small = np.array([(sizes <= low).sum()])
        large = np.array([(sizes >= high).sum()])
        yield (
            f"small batches{of}",
            small,
            sizes.size,
            law.cdf(low),
            f"{words} {low} or less",
        )
        yield (
            f"large batches{of}",
            large,
            sizes.size,
            law.sf(high - 1),
            f"{words} {high} or more",
        )


def step_events(counts: DrawCounts, promise: Promise) -> Iterator[Event]:
    """Yield how often an example was drawn in two consecutive steps."""
    steps = promise.steps
    square = (promise.batch / promise.examples) ** 2
    # axes: run, step; each run follows one example
    chosen = counts.chosen.astype(float)
    twice = np.count_nonzero(
        counts.chosen[:, 0 : steps - 1 : 2] & counts.chosen[:, 1:steps:2]
    )
    words = "a batch that is used again, or examples that are left out after they were drawn"
    yield "next step", np.array([twice]), counts.runs * (steps // 2), square, words
    two = (chosen.T @ chosen)[np.triu_indices(steps, 1)]
    yield (
        "any two steps",
        two,
        counts.runs,
        square,
        f"batches that repeat within {steps} steps",
    )


def common_events(counts: DrawCounts, promise: Promise) -> Iterator[Event]:
    """Yield how many pairs of steps have many or few common examples, and how many runs draw no example again."""
    n = promise.examples
    b = promise.batch
    steps = counts.epoch
    is_poisson = promise.sampling == "poisson"
    law = binom(n, (b / n) ** 2) if is_poisson else hypergeom(n, b, b)
    common = counts.common
    many = int(law.isf(FAR[-1])) + 1
    words = "batches that are made once and drawn again"
    yield (
        "common",
        np.array([(common >= many).sum()]),
        common.size,
        law.sf(many - 1),
        words,
    )
    few = int(law.ppf(FAR[0]))
    words = "a batch that avoids the examples of the batch before, or draws them again"
    yield (
        f"common, at most {few}",
        np.array([(common <= few).sum()]),
        common.size,
        law.cdf(few),
        words,
    )
    none = (
        binom.cdf(1, steps, b / n) ** n
        if is_poisson
        else float(np.prod(hypergeom.pmf(0, n, b * np.arange(steps), b)))
    )
    words = "examples that are drawn again too seldom or too often, such as never in a reshuffled epoch"
    yield (
        f"common in {steps} steps, none",
        np.array([counts.distinct]),
        counts.runs,
        none,
        words,
    )
