"""Test batches against the promised sampling: valid indices, and how often examples are drawn, alone and together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from dpverify.conform.coverage import format_ranges
from dpverify.conform.promise import Promise
from dpverify.conform.records import Batches, ConformanceTest
from dpverify.conform.sampling_counts import (
    DrawCounts,
    common_events,
    example_events,
    followed_example,
    part_events,
    size_events,
    step_events,
)
from dpverify.foreign import foreign_code

if TYPE_CHECKING:
    from dpverify.privacy.matrix import Participation


RUNS = 400

MAX_SIZE_LEVELS = 40  # upper bound on the one-sided tests of Poisson samples

# total indices of all runs, if the runs are extended to a second epoch
MAX_INDICES = 2 * 10**7
# total indices of all runs, if the steps of each example are listed
MAX_LISTED_INDICES = 10**6


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
    error = ""
    for run in range(runs):
        run_batches = _batches_of_run(
            batches, promise, np.random.default_rng([seed, run])
        )
        error = next(_batch_errors(run_batches, promise), "")
        if error:
            break
        counts.add(run, run_batches)
    yield ConformanceTest(
        "batches",
        not error,
        error or f"{runs * promise.steps} batches are well formed",
        _FORM_FAULTS,
    )
    if error:
        return
    yield ConformanceTest(
        "seeds of batches",
        not counts.are_runs_equal or promise.batch == promise.examples,
        "every seed gives the same batches"
        if counts.are_runs_equal
        else "seeds give different batches",
        "a generator that is not the one that was given",
    )
    epoch_tests = (
        _next_epoch_tests(batches, promise, alpha / 10, seed, runs)
        if promise.sampling == "epochs"
        else []
    )
    yield from _event_tests(counts, promise, 0.9 * alpha if epoch_tests else alpha)
    yield from epoch_tests


def _participation_tests(
    batches: Batches,
    promise: Promise,
    participation: Participation,
    seed: int,
    runs: int,
) -> Iterator[ConformanceTest]:
    """Test whether the steps in which each example takes part are allowed; the law of the batches is not promised."""
    run_count = max(1, min(runs, MAX_LISTED_INDICES // (promise.steps * promise.batch)))
    error = ""
    violation = ""
    for run in range(run_count):
        run_batches = _batches_of_run(
            batches, promise, np.random.default_rng([seed, run])
        )
        error = next(_form_errors(run_batches, promise), "")
        if error:
            break
        violation = violation or _excluded_participation(run_batches, participation)
    form_finding = error or f"{run_count * promise.steps} batches are well formed"
    yield ConformanceTest(
        "batches", not error, form_finding, "an index that is out of range or repeated"
    )
    if not error:
        finding = (
            violation
            or f"all steps of all examples are allowed in {run_count} runs of {promise.steps} steps"
        )
        yield ConformanceTest(
            "participation",
            not violation,
            finding,
            f"an example whose steps {participation} excludes",
        )


def _excluded_participation(batches: list[Any], participation: Participation) -> str:
    """Return a text about an example that takes part in excluded steps, or "" if there is none."""
    steps_of: dict[int, list[int]] = {}
    for step, batch in enumerate(batches):
        for example in batch.tolist():
            steps_of.setdefault(example, []).append(step)
    for example, steps in steps_of.items():
        if not participation.allows(tuple(steps)):
            return f"example {example} takes part in steps {format_ranges([step + 1 for step in steps])}"
    return ""


_FORM_FAULTS = "an index that is out of range or repeated, a wrong batch size, an example twice in an epoch"


def _batches_of_run(
    batches: Batches, promise: Promise, rng: np.random.Generator
) -> list[Any]:
    run_batches = _first_batches(batches, promise, promise.steps, rng)
    if len(run_batches) < promise.steps:
        raise ValueError(
            f"batches must give {promise.steps} batches, got {len(run_batches)}."
        )
    return run_batches


def _first_batches(
    batches: Batches, promise: Promise, steps: int, rng: np.random.Generator
) -> list[Any]:
    all_batches = batches(promise.examples, steps, rng)  # may be infinite
    with foreign_code("batches"):
        return [np.asarray(batch) for batch in islice(all_batches, steps)]


def _next_epoch_tests(
    batches: Batches, promise: Promise, alpha: float, seed: int, runs: int
) -> list[ConformanceTest]:
    """Test whether the second epoch is independent of the first one.

    Count how often an example has the same batch number in the next epoch, and how often it shares its batch with the
    same example again. Return no tests if two epochs are too long to draw, or if ``batches`` ends earlier. The form of
    both epochs is tested in one run.
    """
    n = promise.examples
    b = promise.batch
    epoch_steps = -(-n // b)
    if 2 * runs * n > MAX_INDICES:
        return []
    same_place_count = same_batch_count = 0
    for run in range(runs):
        run_batches = _first_batches(
            batches, promise, 2 * epoch_steps, np.random.default_rng([seed, runs + run])
        )
        if len(run_batches) < 2 * epoch_steps:
            return []
        error = "" if run else next(_batch_errors(run_batches, promise), "")
        if error:
            return [
                ConformanceTest(
                    "next epoch",
                    False,
                    f"in a run of {2 * epoch_steps} steps, {error}",
                    _FORM_FAULTS,
                )
            ]
        example = followed_example(run, n)
        epochs = (range(first, first + epoch_steps) for first in (0, epoch_steps))
        first_step, second_step = (
            next((t for t in steps if example in run_batches[t]), None)
            for steps in epochs
        )
        if first_step is None or second_step is None:
            continue
        batch_mate = next(
            (i for i in run_batches[first_step] if i != example), (example + 1) % n
        )
        same_place_count += second_step - first_step == epoch_steps
        same_batch_count += batch_mate in run_batches[second_step]
    sizes = np.array([min(b, n - t * b) for t in range(epoch_steps)])
    probability_of_place = np.sum((sizes / n) ** 2)
    probability_of_batch = np.sum(sizes * (sizes - 1)) / (n * (n - 1))
    detected_faults = (
        "an order that is used in the next epoch too",
        "batches that are made once and come in another order",
    )
    return [
        _binomial_test(
            "next epoch",
            np.array([same_place_count]),
            runs,
            float(probability_of_place),
            alpha / 2,
            detected_faults[0],
        ),
        _binomial_test(
            "pairs of the next epoch",
            np.array([same_batch_count]),
            runs,
            float(probability_of_batch),
            alpha / 2,
            detected_faults[1],
        ),
    ]


def _form_errors(batches: list[Any], promise: Promise) -> Iterator[str]:
    """Yield errors of batches that are not lists of distinct examples."""
    for step, batch in enumerate(batches):
        if batch.ndim != 1 or (
            batch.size and not np.issubdtype(batch.dtype, np.integer)
        ):
            yield f"step {step + 1} has no list of whole numbers"
            return
        if batch.size and not (batch.min() >= 0 and batch.max() < promise.examples):
            yield f"step {step + 1} has an index outside of 0..{promise.examples - 1}"
            return
        if len(np.unique(batch)) < len(batch):
            yield f"step {step + 1} has an example twice"


def _batch_errors(batches: list[Any], promise: Promise) -> Iterator[str]:
    """Yield errors of batches that are malformed, or have a size or an example that the sampling excludes."""
    yield from _form_errors(batches, promise)
    epoch_steps = -(-promise.examples // promise.batch)
    is_used = np.zeros(promise.examples, dtype=bool)
    for step, batch in enumerate(batches):
        step_of_epoch = step % epoch_steps if promise.sampling == "epochs" else 0
        size = min(promise.batch, promise.examples - step_of_epoch * promise.batch)
        if promise.sampling != "poisson" and len(batch) != size:
            yield f"step {step + 1} has {len(batch)} examples, not {size}"
        if promise.sampling == "epochs":
            is_used &= step_of_epoch > 0
            if is_used[batch].any():
                yield f"step {step + 1} has an example for the second time in its epoch"
            is_used[batch] = True


def _event_tests(
    counts: DrawCounts, promise: Promise, alpha: float
) -> Iterator[ConformanceTest]:
    """Yield exact binomial tests of counts of independent events, whose probability follows from the sampling."""
    events = [*example_events(counts, promise), *part_events(counts, promise)]
    if promise.sampling == "poisson":
        events += size_events(counts, promise, alpha / MAX_SIZE_LEVELS)
    if promise.sampling != "epochs":
        events += [*step_events(counts, promise), *common_events(counts, promise)]
    for name, event_counts, trials, probability, sees in events:
        yield _binomial_test(
            name, event_counts, trials, float(probability), alpha / len(events), sees
        )


def _binomial_test(
    name: str, counts: Any, trials: int, probability: float, alpha: float, sees: str
) -> ConformanceTest:
    """Test counts against a binomial law, two-sided and at total level ``alpha``; report the most deviating count."""
    level = alpha / len(counts) / 2
    low = binom.ppf(level, trials, probability)
    high = binom.isf(level, trials, probability)
    outliers = counts[(counts < low) | (counts > high)]
    count = (
        outliers[0]
        if len(outliers)
        else counts[np.argmax(np.abs(counts - trials * probability))]
    )
    finding = f"{count} of {trials}; {trials * probability:.6g} expected, {low:.0f} to {high:.0f} allowed"
    return ConformanceTest(name, not len(outliers), finding, sees, alpha)
