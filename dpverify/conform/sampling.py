"""Test batches against the promised sampling: valid indices, and how often examples are drawn, alone and together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from dpverify.conform.coverage import ranges
from dpverify.conform.promise import Promise
from dpverify.conform.records import Batches, ConformanceTest
from dpverify.conform.sampling_counts import (
    DrawCounts,
    common_events,
    example_events,
    followed,
    part_events,
    size_events,
    step_events,
)
from dpverify.foreign import foreign_code

if TYPE_CHECKING:
    from dpverify.privacy.matrix import Participation


RUNS = 400

MOST_LEVELS = 40  # upper bound on the one-sided tests of Poisson samples

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
    counts = DrawCounts(promise, runs)
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
        example = followed(run, n)
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


def _tests(
    counts: DrawCounts, promise: Promise, alpha: float
) -> Iterator[ConformanceTest]:
    """Yield exact binomial tests of counts of independent events, whose probability follows from the sampling."""
    events = [*example_events(counts, promise), *part_events(counts, promise)]
    if promise.sampling == "poisson":
        events += size_events(counts, promise, alpha / MOST_LEVELS)
    if promise.sampling != "epochs":
        events += [*step_events(counts, promise), *common_events(counts, promise)]
    for name, counted, trials, probability, words in events:
        yield _binomial(
            name, counted, trials, float(probability), alpha / len(events), words
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
