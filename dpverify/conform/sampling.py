"""Test batches against the promised sampling: valid indices, and how often examples are drawn, alone and together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.stats import binom, hypergeom

from dpverify.conform.coverage import ranges
from dpverify.conform.records import Batches, Promise
from dpverify.conform.results import ConformanceTest
from dpverify.foreign import foreign_code

if TYPE_CHECKING:
    from dpverify.privacy.matrix import Participation

RUNS = 400
FAR = (0.2, 0.02)  # tail probabilities at which numbers of examples are tested
MOST_LEVELS = 40  # upper bound on the one-sided tests of Poisson samples
MOST_PAIRED = 400  # examples of which every pair is tested
# total indices of all runs, if the runs are extended to a second epoch
MOST_INDICES = 2 * 10**7
# total indices of all runs, if the steps of each example are listed
MOST_LISTED = 10**6


def sampling_tests(
    batches: Batches, promise: Promise, alpha: float, seed: int, runs: int = RUNS
) -> Iterator[ConformanceTest]:
    """Test the batches of ``runs`` runs at total level ``alpha``."""
    if promise.participation is not None:
        yield from _participation_tests(
            batches, promise, promise.participation, seed, runs
        )
        return
    counts = _Counts(promise, runs)
    wrong = ""
    for run in range(runs):
        drawn = _run(batches, promise, np.random.default_rng([seed, run]))
        wrong = next(_wrong(drawn, promise), "")
        if wrong:
            break
        counts.add(run, drawn)
    yield ConformanceTest(
        "batches",
        not wrong,
        wrong or f"{runs * promise.steps} batches are well formed",
        _FORM,
    )
    if wrong:
        return
    yield ConformanceTest(
        "seeds of batches",
        not counts.same or promise.batch == promise.examples,
        "every seed gives the same batches"
        if counts.same
        else "seeds give different batches",
        "a generator that is not the one that was given",
    )
    epoch_tests = (
        _next_epoch(batches, promise, alpha / 10, seed, runs)
        if promise.sampling == "epochs"
        else []
    )
    yield from _tests(counts, promise, 0.9 * alpha if epoch_tests else alpha)
    yield from epoch_tests


def _participation_tests(
    batches: Batches,
    promise: Promise,
    participation: Participation,
    seed: int,
    runs: int,
) -> Iterator[ConformanceTest]:
    """Test whether the steps in which each example takes part are allowed; the law of the batches is not promised."""
    few_runs = max(1, min(runs, MOST_LISTED // (promise.steps * promise.batch)))
    wrong = ""
    excluded = ""
    for run in range(few_runs):
        drawn = _run(batches, promise, np.random.default_rng([seed, run]))
        wrong = next(_malformed(drawn, promise), "")
        if wrong:
            break
        excluded = excluded or _excluded(drawn, participation)
    form = wrong or f"{few_runs * promise.steps} batches are well formed"
    yield ConformanceTest(
        "batches", not wrong, form, "an index that is out of range or repeated"
    )
    if not wrong:
        finding = (
            excluded
            or f"all steps of all examples are allowed in {few_runs} runs of {promise.steps} steps"
        )
        yield ConformanceTest(
            "participation",
            not excluded,
            finding,
            f"an example whose steps {participation} excludes",
        )


def _excluded(run: list[Any], participation: Participation) -> str:
    """Return a text about an example that takes part in excluded steps, or "" if there is none."""
    steps_of: dict[int, list[int]] = {}
    for step, batch in enumerate(run):
        for example in batch.tolist():
            steps_of.setdefault(example, []).append(step)
    for example, steps in steps_of.items():
        if not participation.allows(tuple(steps)):
            return f"example {example} takes part in steps {ranges([step + 1 for step in steps])}"
    return ""


_FORM = "an index that is out of range or repeated, a wrong batch size, an example twice in an epoch"


def _run(batches: Batches, promise: Promise, rng: np.random.Generator) -> list[Any]:
    batches_of_run = _taken(batches, promise, promise.steps, rng)
    if len(batches_of_run) < promise.steps:
        raise ValueError(
            f"batches must give {promise.steps} batches, got {len(batches_of_run)}."
        )
    return batches_of_run


def _taken(
    batches: Batches, promise: Promise, steps: int, rng: np.random.Generator
) -> list[Any]:
    drawn = batches(promise.examples, steps, rng)  # may be infinite
    with foreign_code("batches"):
        return [np.asarray(batch) for batch in islice(drawn, steps)]


def _next_epoch(
    batches: Batches, promise: Promise, alpha: float, seed: int, runs: int
) -> list[ConformanceTest]:
    """Test whether the second epoch is independent of the first one.

    Count how often an example has the same batch number in the next epoch, and how often it shares its batch with the
    same example again. Return no tests if two epochs are too long to draw, or if ``batches`` ends earlier. The form of
    both epochs is tested in one run.
    """
    n = promise.examples
    b = promise.batch
    epoch = -(-n // b)
    if 2 * runs * n > MOST_INDICES:
        return []
    same = together = 0
    for run in range(runs):
        batches_of_run = _taken(
            batches, promise, 2 * epoch, np.random.default_rng([seed, runs + run])
        )
        if len(batches_of_run) < 2 * epoch:
            return []
        wrong = "" if run else next(_wrong(batches_of_run, promise), "")
        if wrong:
            return [
                ConformanceTest(
                    "next epoch",
                    False,
                    f"in a run of {2 * epoch} steps, {wrong}",
                    _FORM,
                )
            ]
        example = _followed(run, n)
        places = (range(first, first + epoch) for first in (0, epoch))
        before, after = (
            next((t for t in place if example in batches_of_run[t]), None)
            for place in places
        )
        if before is None or after is None:
            continue
        mate = next(
            (i for i in batches_of_run[before] if i != example), (example + 1) % n
        )
        same += after - before == epoch
        together += mate in batches_of_run[after]
    sizes = np.array([min(b, n - t * b) for t in range(epoch)])
    place = np.sum((sizes / n) ** 2)
    pair = np.sum(sizes * (sizes - 1)) / (n * (n - 1))
    words = (
        "an order that is used in the next epoch too",
        "batches that are made once and come in another order",
    )
    return [
        _binomial(
            "next epoch", np.array([same]), runs, float(place), alpha / 2, words[0]
        ),
        _binomial(
            "pairs of the next epoch",
            np.array([together]),
            runs,
            float(pair),
            alpha / 2,
            words[1],
        ),
    ]


def _malformed(run: list[Any], promise: Promise) -> Iterator[str]:
    """Yield errors of batches that are not lists of distinct examples."""
    for t, batch in enumerate(run):
        if batch.ndim != 1 or (
            batch.size and not np.issubdtype(batch.dtype, np.integer)
        ):
            yield f"step {t + 1} has no list of whole numbers"
            return
        if batch.size and not (batch.min() >= 0 and batch.max() < promise.examples):
            yield f"step {t + 1} has an index outside of 0..{promise.examples - 1}"
            return
        if len(np.unique(batch)) < len(batch):
            yield f"step {t + 1} has an example twice"


def _wrong(run: list[Any], promise: Promise) -> Iterator[str]:
    """Yield errors of batches that are malformed, or have a size or an example that the sampling excludes."""
    yield from _malformed(run, promise)
    epoch = -(-promise.examples // promise.batch)
    used = np.zeros(promise.examples, dtype=bool)
    for t, batch in enumerate(run):
        place = t % epoch if promise.sampling == "epochs" else 0
        size = min(promise.batch, promise.examples - place * promise.batch)
        if promise.sampling != "poisson" and len(batch) != size:
            yield f"step {t + 1} has {len(batch)} examples, not {size}"
        if promise.sampling == "epochs":
            used &= place > 0
            if used[batch].any():
                yield f"step {t + 1} has an example for the second time in its epoch"
            used[batch] = True


def _alike(first: list[Any], second: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


class _Counts:
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
        # how often a pair of adjacent examples was drawn; the pair changes with run and
        # step
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
            self.chosen[run, t] = members[_followed(run, n)]
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


def _followed(run: int, examples: int) -> int:
    """Return the example that a run follows; successive runs follow all examples in turn."""
    stride = next((prime for prime in STRIDES if examples % prime), 1)
    return (run * stride) % examples


Event: TypeAlias = tuple[str, Any, int, float, str]
"""Name of a test, counts of events, number of trials, probability of an event, and the faults that the test detects."""


def _tests(
    counts: _Counts, promise: Promise, alpha: float
) -> Iterator[ConformanceTest]:
    """Yield exact binomial tests of counts of independent events, whose probability follows from the sampling."""
    events = [*_example_events(counts, promise), *_part_events(counts, promise)]
    if promise.sampling == "poisson":
        events += _size_events(counts, promise, alpha / MOST_LEVELS)
    if promise.sampling != "epochs":
        events += [*_step_events(counts, promise), *_common_events(counts, promise)]
    for name, counted, trials, probability, words in events:
        yield _binomial(
            name, counted, trials, float(probability), alpha / len(events), words
        )


def _example_events(counts: _Counts, promise: Promise) -> Iterator[Event]:
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


def _part_events(counts: _Counts, promise: Promise) -> Iterator[Event]:
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


def _size_events(counts: _Counts, promise: Promise, level: float) -> Iterator[Event]:
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


def _step_events(counts: _Counts, promise: Promise) -> Iterator[Event]:
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


def _common_events(counts: _Counts, promise: Promise) -> Iterator[Event]:
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


def _binomial(
    name: str, counts: Any, of: int, probability: float, alpha: float, words: str
) -> ConformanceTest:
    """Test counts against a binomial law, two-sided and at total level ``alpha``; report the most deviating count."""
    level = alpha / len(counts) / 2
    low = binom.ppf(level, of, probability)
    high = binom.isf(level, of, probability)
    bad = counts[(counts < low) | (counts > high)]
    count = bad[0] if len(bad) else counts[np.argmax(np.abs(counts - of * probability))]
    finding = f"{count} of {of}; {of * probability:.6g} expected, {low:.0f} to {high:.0f} allowed"
    return ConformanceTest(name, not len(bad), finding, words, alpha)
