"""Batches against the sampling that the accounting presumes: what an index may be, how often, and with which others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from scipy.stats import binom, hypergeom

from dpverify.conform.records import Batches, Promise
from dpverify.conform.results import ConformanceTest
from dpverify.foreign import foreign_code

RUNS = 400
FAR = (0.2, 0.02)  # shares of sizes that lie beyond the limits at which their spread is counted
MOST_PAIRED = 400  # examples of which every pair is looked at
MOST_INDICES = 2 * 10**7  # of all runs, where runs are made longer


def sampling_tests(
    batches: Batches, promise: Promise, alpha: float, seed: int, count: int = RUNS
) -> Iterator[ConformanceTest]:
    """Test the batches of so many runs; ``alpha`` for all tests together."""
    runs = [_run(batches, promise, np.random.default_rng([seed, run])) for run in range(count)]
    wrong = next((words for run in runs for words in _wrong(run, promise)), "")
    yield ConformanceTest("batches", not wrong, wrong or f"{count * promise.steps} batches are well formed", _FORM)
    if wrong:
        return
    same = all(_alike(run, runs[0]) for run in runs[1:])
    yield ConformanceTest(
        "seeds of batches", not same, "every seed gives the same batches" if same else "seeds give different batches",
        "a generator that is not the one that was given",
    )  # fmt: skip
    drawn = np.array([_members(run, promise) for run in runs])  # run, step, example
    again = _next_epoch(batches, promise, alpha / 10, seed, count) if promise.sampling == "epochs" else []
    yield from _counts(drawn, promise, 0.9 * alpha if again else alpha)
    yield from again


_FORM = "an index that is out of range or repeated, a wrong batch size, an example twice in an epoch"


def _run(batches: Batches, promise: Promise, rng: np.random.Generator) -> list[Any]:
    found = _taken(batches, promise, promise.steps, rng)
    if len(found) < promise.steps:
        raise ValueError(f"batches must give {promise.steps} batches, got {len(found)}.")
    return found


def _taken(batches: Batches, promise: Promise, steps: int, rng: np.random.Generator) -> list[Any]:
    drawn = batches(promise.examples, steps, rng)  # perhaps without an end
    with foreign_code("batches"):
        return [np.asarray(batch) for batch in islice(drawn, steps)]


def _next_epoch(batches: Batches, promise: Promise, alpha: float, seed: int, count: int) -> list[ConformanceTest]:
    """Whether an example comes at the same place of the second epoch, or with the same other one, as chance has it.

    Nothing where that is too long to draw, or where there is no second epoch.
    """
    n, b = promise.examples, promise.batch
    epoch = -(-n // b)
    if 2 * count * n > MOST_INDICES:
        return []
    same = together = 0
    for run in range(count):
        taken = _taken(batches, promise, 2 * epoch, np.random.default_rng([seed, count + run]))
        if len(taken) < 2 * epoch:
            return []
        one = (run * 7) % n
        places = (range(first, first + epoch) for first in (0, epoch))
        before, after = (next((t for t in place if one in taken[t]), None) for place in places)
        if before is None or after is None:
            continue
        mate = next((i for i in taken[before] if i != one), (one + 1) % n)
        same += after - before == epoch
        together += mate in taken[after]
    sizes = np.array([min(b, n - t * b) for t in range(epoch)])
    place, pair = np.sum((sizes / n) ** 2), np.sum(sizes * (sizes - 1)) / (n * (n - 1))
    words = "an order that is used in the next epoch too", "batches that are made once and come in another order"
    return [
        _binomial("next epoch", np.array([same]), count, float(place), alpha / 2, words[0]),
        _binomial("pairs of the next epoch", np.array([together]), count, float(pair), alpha / 2, words[1]),
    ]


def _wrong(run: list[Any], promise: Promise) -> Iterator[str]:
    epoch = -(-promise.examples // promise.batch)
    seen = np.zeros(promise.examples, dtype=int)
    for t, batch in enumerate(run):
        if batch.ndim != 1 or (batch.size and not np.issubdtype(batch.dtype, np.integer)):
            yield f"step {t + 1} has no list of whole numbers"
            return
        if batch.size and not (batch.min() >= 0 and batch.max() < promise.examples):
            yield f"step {t + 1} has an index outside of 0..{promise.examples - 1}"
            return
        if len(np.unique(batch)) < len(batch):
            yield f"step {t + 1} has an example twice"
        if promise.sampling == "batches" and len(batch) != promise.batch:
            yield f"step {t + 1} has {len(batch)} examples, not {promise.batch}"
        if promise.sampling == "epochs":
            if len(batch) > promise.batch:
                yield f"step {t + 1} has {len(batch)} examples, more than {promise.batch}"
            seen = np.zeros(promise.examples, dtype=int) if t % epoch == 0 else seen
            seen[batch] += 1
            if seen.max() > 1:
                yield f"step {t + 1} has an example for the second time in its epoch"


def _alike(one: list[Any], other: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _members(run: list[Any], promise: Promise) -> Any:
    found = np.zeros((promise.steps, promise.examples), dtype=bool)
    for t, batch in enumerate(run):
        found[t, batch.astype(int)] = True
    return found


def _counts(drawn: Any, promise: Promise, alpha: float) -> Iterator[ConformanceTest]:
    """Exact binomial tests of counts, each of independent events whose probability the sampling gives."""
    runs, steps, n = drawn.shape
    b, kind = promise.batch, promise.sampling
    rate = b / n
    pair = rate**2 if kind == "poisson" else b * (b - 1) / (n * (n - 1))
    rows, columns = np.arange(runs)[:, None], np.arange(steps)[None, :]
    few = np.unique(np.linspace(0, n - 1, min(n, MOST_PAIRED)).astype(int))
    even = 2 * ((rows + columns) % (n // 2))  # another pair of neighbours in each run and step
    both = drawn[rows, columns, even] & drawn[rows, columns, even + 1]
    asked = 1 if kind == "epochs" else steps  # steps of one epoch depend on each other
    flat = drawn[:, :asked, few].reshape(-1, len(few)).astype(float)
    together = (flat.T @ flat)[np.triu_indices(len(few), 1)]
    tests = [
        ("inclusion", drawn[:, :asked].sum((0, 1)), runs * asked, rate, "an example that is drawn too often or seldom"),
        ("pairs", np.array([both[:, :asked].sum()]), runs * asked, pair, "neighbours that are drawn together"),
        (
            "each pair",
            together,
            runs * asked,
            pair,
            f"two of {len(few)} examples that come together too often or seldom",
        ),
    ]
    if kind == "poisson":
        sizes = drawn.sum(2).ravel()
        for far in FAR:
            low, high = int(binom.ppf(far, n, rate)) - 1, int(binom.isf(far, n, rate)) + 1
            of, words = f", beyond {far:.0%}", "sizes that vary less, or are cut off"
            few_in, many_in = np.array([(sizes <= low).sum()]), np.array([(sizes >= high).sum()])
            tests += [
                (f"small batches{of}", few_in, sizes.size, binom.cdf(low, n, rate), words),
                (f"large batches{of}", many_in, sizes.size, binom.sf(high - 1, n, rate), words),
            ]
    if kind != "epochs":
        one = np.array([(r * 7) % n for r in range(runs)])
        first, second = drawn[:, 0 : steps - 1 : 2], drawn[:, 1:steps:2]
        twice = np.array([(first[r, :, one[r]] & second[r, :, one[r]]).sum() for r in range(runs)]).sum()
        words = "a batch that is used again, or examples that are left out after they were drawn"
        tests.append(("next step", np.array([twice]), runs * first.shape[1], rate**2, words))
        common = (first & second).sum(2)
        law = binom(n, rate**2) if kind == "poisson" else hypergeom(n, b, b)
        many = int(law.isf(FAR[-1])) + 1
        words = "batches that are made once and drawn again"
        tests.append(("common", np.array([(common >= many).sum()]), common.size, law.sf(many - 1), words))
        chosen = drawn[np.arange(runs), :, one].astype(float)  # run, step: independent runs of one example each
        two = (chosen.T @ chosen)[np.triu_indices(steps, 1)]
        words = f"batches that come back within {steps} steps"
        tests.append(("any two steps", two, runs, rate**2, words))
    for name, counts, of, probability, words in tests:
        yield _binomial(name, counts, of, float(probability), alpha / len(tests), words)


def _binomial(name: str, counts: Any, of: int, probability: float, alpha: float, words: str) -> ConformanceTest:
    """The most surprising of some counts, each two-sided, at a level for all of them."""
    each = alpha / len(counts) / 2
    low, high = binom.ppf(each, of, probability), binom.isf(each, of, probability)
    bad = counts[(counts < low) | (counts > high)]
    shown = bad[0] if len(bad) else counts[np.argmax(np.abs(counts - of * probability))]
    found = f"{shown} of {of}; {of * probability:.6g} expected, {low:.0f} to {high:.0f} allowed"
    return ConformanceTest(name, not len(bad), found, words, alpha)
