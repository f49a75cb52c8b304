"""Test batches against the promised sampling: valid indices, and how often examples are drawn, alone and together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom, hypergeom

from dpverify.conform.coverage import ranges
from dpverify.conform.records import Batches, Promise
from dpverify.conform.results import ConformanceTest
from dpverify.foreign import foreign_code

if TYPE_CHECKING:
    from dpverify.privacy.matrix import Participation

RUNS = 400
FAR = (0.2, 0.02)  # tail probabilities at which batch sizes are tested
MOST_PAIRED = 400  # examples of which every pair is tested
MOST_INDICES = 2 * 10**7  # total indices of all runs, if the runs are extended to a second epoch
MOST_LISTED = 10**6  # total indices of all runs, if the steps of each example are listed


def sampling_tests(
    batches: Batches, promise: Promise, alpha: float, seed: int, runs: int = RUNS
) -> Iterator[ConformanceTest]:
    """Test the batches of ``runs`` runs at total level ``alpha``."""
    if promise.participation is not None:
        yield from _participation_tests(batches, promise, promise.participation, seed, runs)
        return
    counts = _Counts(promise, runs)
    wrong = ""
    for run in range(runs):
        drawn = _run(batches, promise, np.random.default_rng([seed, run]))
        wrong = next(_wrong(drawn, promise), "")
        if wrong:
            break
        counts.add(run, drawn)
    yield ConformanceTest("batches", not wrong, wrong or f"{runs * promise.steps} batches are well formed", _FORM)
    if wrong:
        return
    yield ConformanceTest(
        "seeds of batches",
        not counts.same,
        "every seed gives the same batches" if counts.same else "seeds give different batches",
        "a generator that is not the one that was given",
    )
    epoch_tests = _next_epoch(batches, promise, alpha / 10, seed, runs) if promise.sampling == "epochs" else []
    yield from _tests(counts, promise, 0.9 * alpha if epoch_tests else alpha)
    yield from epoch_tests


def _participation_tests(
    batches: Batches, promise: Promise, participation: Participation, seed: int, runs: int
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
    yield ConformanceTest("batches", not wrong, form, "an index that is out of range or repeated")
    if not wrong:
        finding = excluded or f"all steps of all examples are allowed in {few_runs} runs of {promise.steps} steps"
        yield ConformanceTest(
            "participation", not excluded, finding, f"an example whose steps {participation} excludes"
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
        raise ValueError(f"batches must give {promise.steps} batches, got {len(batches_of_run)}.")
    return batches_of_run


def _taken(batches: Batches, promise: Promise, steps: int, rng: np.random.Generator) -> list[Any]:
    drawn = batches(promise.examples, steps, rng)  # may be infinite
    with foreign_code("batches"):
        return [np.asarray(batch) for batch in islice(drawn, steps)]


def _next_epoch(batches: Batches, promise: Promise, alpha: float, seed: int, runs: int) -> list[ConformanceTest]:
    """Test whether the second epoch is independent of the first one.

    Count how often an example has the same batch number in the next epoch, and how often it shares its batch with the
    same example again. Return no tests if two epochs are too long to draw, or if ``batches`` ends earlier.
    """
    n = promise.examples
    b = promise.batch
    epoch = -(-n // b)
    if 2 * runs * n > MOST_INDICES:
        return []
    same = together = 0
    for run in range(runs):
        batches_of_run = _taken(batches, promise, 2 * epoch, np.random.default_rng([seed, runs + run]))
        if len(batches_of_run) < 2 * epoch:
            return []
        example = _followed(run, n)
        places = (range(first, first + epoch) for first in (0, epoch))
        before, after = (next((t for t in place if example in batches_of_run[t]), None) for place in places)
        if before is None or after is None:
            continue
        mate = next((i for i in batches_of_run[before] if i != example), (example + 1) % n)
        same += after - before == epoch
        together += mate in batches_of_run[after]
    sizes = np.array([min(b, n - t * b) for t in range(epoch)])
    place = np.sum((sizes / n) ** 2)
    pair = np.sum(sizes * (sizes - 1)) / (n * (n - 1))
    words = "an order that is used in the next epoch too", "batches that are made once and come in another order"
    return [
        _binomial("next epoch", np.array([same]), runs, float(place), alpha / 2, words[0]),
        _binomial("pairs of the next epoch", np.array([together]), runs, float(pair), alpha / 2, words[1]),
    ]


def _malformed(run: list[Any], promise: Promise) -> Iterator[str]:
    """Yield errors of batches that are not lists of distinct examples."""
    for t, batch in enumerate(run):
        if batch.ndim != 1 or (batch.size and not np.issubdtype(batch.dtype, np.integer)):
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
    counts = np.zeros(promise.examples, dtype=int)
    for t, batch in enumerate(run):
        if promise.sampling == "batches" and len(batch) != promise.batch:
            yield f"step {t + 1} has {len(batch)} examples, not {promise.batch}"
        if promise.sampling == "epochs":
            if len(batch) > promise.batch:
                yield f"step {t + 1} has {len(batch)} examples, more than {promise.batch}"
            counts = np.zeros(promise.examples, dtype=int) if t % epoch == 0 else counts
            counts[batch] += 1
            if counts.max() > 1:
                yield f"step {t + 1} has an example for the second time in its epoch"


def _alike(first: list[Any], second: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


class _Counts:
    """Counts from the batches of all runs; runs are counted one at a time and not stored."""

    def __init__(self, promise: Promise, runs: int) -> None:
        n = promise.examples
        self.runs = runs
        self.steps = promise.steps
        self.usable = 1 if promise.sampling == "epochs" else promise.steps  # steps of one epoch are dependent
        self.few = np.unique(np.linspace(0, n - 1, min(n, MOST_PAIRED)).astype(int))
        self.same = True  # whether all runs have the same batches
        self.included = np.zeros(n, dtype=int)  # how often each example was drawn
        self.both = 0  # how often a pair of adjacent examples was drawn; the pair changes with run and step
        self.sizes = np.zeros((runs, self.steps), dtype=int)
        self.flat = np.zeros((runs, self.usable, len(self.few)), dtype=bool)  # whether each of ``few`` was drawn
        self.common = np.zeros((runs, self.steps // 2), dtype=int)  # number of common examples of two consecutive steps
        self.chosen = np.zeros((runs, self.steps), dtype=bool)  # whether the example of the run was drawn
        self._first: list[Any] = []

    def add(self, run: int, drawn: list[Any]) -> None:
        """Count the batches of a run."""
        n = len(self.included)
        self._first = self._first or drawn
        self.same = self.same and _alike(drawn, self._first)
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
            if t % 2:
                self.common[run, t // 2] = np.count_nonzero(before & members)
            before = members


STRIDES = (7, 11, 13, 17, 19, 23)


def _followed(run: int, examples: int) -> int:
    """Return the example that a run follows; successive runs follow all examples in turn."""
    stride = next((prime for prime in STRIDES if examples % prime), 1)
    return (run * stride) % examples


def _tests(counts: _Counts, promise: Promise, alpha: float) -> Iterator[ConformanceTest]:
    """Yield exact binomial tests of counts of independent events, whose probability follows from the sampling."""
    n = promise.examples
    steps = promise.steps
    b = promise.batch
    kind = promise.sampling
    rate = b / n
    pair = rate**2 if kind == "poisson" else b * (b - 1) / (n * (n - 1))
    few = counts.few
    usable = counts.usable
    flat = counts.flat.reshape(-1, len(few)).astype(float)
    together = (flat.T @ flat)[np.triu_indices(len(few), 1)]
    tests = [
        ("inclusion", counts.included, counts.runs * usable, rate, "an example that is drawn too often or too seldom"),
        ("pairs", np.array([counts.both]), counts.runs * usable, pair, "neighbours that are drawn together"),
        (
            "each pair",
            together,
            counts.runs * usable,
            pair,
            f"two of {len(few)} examples that come together too often or too seldom",
        ),
    ]
    if kind == "poisson":
        sizes = counts.sizes.ravel()
        for far in FAR:
            low = int(binom.ppf(far, n, rate)) - 1
            high = int(binom.isf(far, n, rate)) + 1
            of = f", beyond {far:.0%}"
            words = "sizes that vary too little, or are cut off"
            few_in = np.array([(sizes <= low).sum()])
            many_in = np.array([(sizes >= high).sum()])
            tests += [
                (f"small batches{of}", few_in, sizes.size, binom.cdf(low, n, rate), words),
                (f"large batches{of}", many_in, sizes.size, binom.sf(high - 1, n, rate), words),
            ]
    if kind != "epochs":
        chosen = counts.chosen.astype(float)  # axes: run, step; each run follows one example
        pairs = steps // 2
        twice = np.count_nonzero(counts.chosen[:, 0 : steps - 1 : 2] & counts.chosen[:, 1:steps:2])
        words = "a batch that is used again, or examples that are left out after they were drawn"
        tests.append(("next step", np.array([twice]), counts.runs * pairs, rate**2, words))
        common = counts.common
        law = binom(n, rate**2) if kind == "poisson" else hypergeom(n, b, b)
        many = int(law.isf(FAR[-1])) + 1
        words = "batches that are made once and drawn again"
        tests.append(("common", np.array([(common >= many).sum()]), common.size, law.sf(many - 1), words))
        two = (chosen.T @ chosen)[np.triu_indices(steps, 1)]
        words = f"batches that repeat within {steps} steps"
        tests.append(("any two steps", two, counts.runs, rate**2, words))
    for name, counts_of_test, trials, probability, words in tests:
        yield _binomial(name, counts_of_test, trials, float(probability), alpha / len(tests), words)


def _binomial(name: str, counts: Any, of: int, probability: float, alpha: float, words: str) -> ConformanceTest:
    """Test counts against a binomial law, two-sided and at total level ``alpha``; report the most deviating count."""
    level = alpha / len(counts) / 2
    low = binom.ppf(level, of, probability)
    high = binom.isf(level, of, probability)
    bad = counts[(counts < low) | (counts > high)]
    count = bad[0] if len(bad) else counts[np.argmax(np.abs(counts - of * probability))]
    finding = f"{count} of {of}; {of * probability:.6g} expected, {low:.0f} to {high:.0f} allowed"
    return ConformanceTest(name, not len(bad), finding, words, alpha)
