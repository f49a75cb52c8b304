"""Run the conformance tests ("the kit") and other auditors on a catalogue of optimizers.

This module defines what an auditor receives and what it returns. For the kit, the number of seeds with a fault is
recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from dpverify.conform.guarded import GuardedOptimizer
from dpverify.conform.outputs import STEPS, pairs_of_batches, run_on
from dpverify.conform.peers.records import Answer, CatalogueEntry
from dpverify.conform.promise import Promise
from dpverify.conform.records import PrivateOptimizer
from dpverify.conform.run import all_tests
from dpverify.foreign import ForeignError, foreign_code
from dpverify.privacy.accounting import epsilon


@dataclass(frozen=True)
class TwoWorlds:
    """Two neighbouring worlds, a run in each, and the epsilon that the promise has there, by delta."""

    name: str
    # one run; returns the concatenated released vectors
    one: Callable[[np.random.Generator], Any]
    other: Callable[[np.random.Generator], Any]
    allowed: Callable[[float], float]
    towards: Any  # unit vector along the gradient that differs

    def draws(self, count: int, seed: int) -> tuple[Any, Any]:
        """So many runs in each world; two arrays of shape (count, numbers released)."""
        sides = enumerate((self.one, self.other))
        first, second = (
            np.array([run(np.random.default_rng([seed, k, i])) for i in range(count)])
            for k, run in sides
        )
        return first, second


@dataclass(frozen=True)
class Given:
    """What an auditor is given."""

    optimizer: PrivateOptimizer
    promise: Promise
    cases: list[TwoWorlds]
    alpha: float  # upper bound on the false-alarm probability, over all cases
    seed: int


Auditor: TypeAlias = Callable[[Given], str]
"""Describes the violation of the promise that it found; an empty text means no violation."""


def given(
    optimizer: PrivateOptimizer, promise: Promise, alpha: float, seed: int
) -> Given:
    """Make the cases: two steps on the pairs of batches of the kit's own audit, and runs on batches that are drawn."""
    guarded = GuardedOptimizer(optimizer, promise).optimizer
    return Given(optimizer, promise, list(_cases(guarded, promise)), alpha, seed)


def _cases(optimizer: PrivateOptimizer, promise: Promise) -> Iterator[TwoWorlds]:
    if promise.covariance is None and promise.memory is None:

        def of_steps(delta: float) -> float:
            return epsilon(
                promise.deviation / promise.joint_sensitivity, delta, steps=STEPS
            ).upper

        for words, first, second, towards in all_pairs(promise):
            yield TwoWorlds(
                words, _on(optimizer, first), _on(optimizer, second), of_steps, towards
            )
    sampling = promise.sampling
    if optimizer.batches is None or sampling == "epochs":
        return
    axis = np.eye(1, promise.dimension)
    rate = promise.batch / promise.examples
    mark = 1e6 * promise.clip * axis

    def of_runs(delta: float) -> float:
        return epsilon(
            promise.joint_multiplier,
            delta,
            steps=promise.steps,
            rate=rate,
            sampling=sampling,
        ).upper

    second = mark[:0] if sampling == "poisson" else -mark
    with_it, without = (_drawn(optimizer, promise, first) for first in (mark, second))
    yield TwoWorlds("batches as drawn", with_it, without, of_runs, axis[0])


def all_pairs(promise: Promise) -> Iterator[tuple[str, Any, Any, Any]]:
    """Neighbouring batches, those of the kit's own audit and one whose gradient has all coordinates; its direction."""
    axis = np.eye(1, promise.dimension)
    for words, first, second in pairs_of_batches(promise):
        yield words, first, second, axis[0]
    slant = np.ones((1, promise.dimension)) / np.sqrt(promise.dimension)
    mark = 1e6 * promise.clip * slant
    yield (
        "all coordinates",
        mark,
        mark[:0] if promise.neighbours == "add-remove" else -mark,
        slant[0],
    )


def _on(
    optimizer: PrivateOptimizer, gradients: Any
) -> Callable[[np.random.Generator], Any]:
    return lambda rng: run_on(optimizer, [gradients] * STEPS, rng)


def _drawn(
    optimizer: PrivateOptimizer, promise: Promise, mark: Any
) -> Callable[[np.random.Generator], Any]:
    """A run on the optimizer's own batches; example 0 has the gradient ``mark``, or none, and all others have 0."""

    def run(rng: np.random.Generator) -> Any:
        assert optimizer.batches is not None
        drawn = islice(
            optimizer.batches(promise.examples, promise.steps, rng), promise.steps
        )
        return run_on(
            optimizer, (_gradients(np.asarray(batch), mark) for batch in drawn), rng
        )

    return run


def _gradients(batch: Any, mark: Any) -> Any:
    first = batch == 0
    return np.concatenate(
        [np.zeros((int((~first).sum()), mark.shape[1])), *[mark] * int(first.sum())]
    )


def judge(
    target: str,
    name: str,
    optimizer: PrivateOptimizer,
    promise: Promise,
    *,
    seed: int,
    seeds: int,
    alpha: float,
    auditors: Mapping[str, Auditor],
) -> CatalogueEntry:
    """Run the kit with each seed until it finds a fault, and each auditor with the first seed; seconds of processor."""
    began = time.process_time()
    failed_tests = list[str]()
    untested = set[str]()
    for seed_of_run in range(seed, seed + seeds):
        for test in all_tests(optimizer, promise, seed_of_run, alpha):
            if test.status == "fault":
                failed_tests.append(test.name)
                break
            if test.status == "not tested":
                untested.add(test.name)
    seconds = (time.process_time() - began) / seeds
    answers = [
        _ask(auditor, audit, optimizer, promise, alpha, seed)
        for auditor, audit in auditors.items()
    ]
    by = max(set(failed_tests), key=failed_tests.count) if failed_tests else ""
    return CatalogueEntry(
        target=target,
        name=name,
        found=len(failed_tests),
        by=by,
        untested=sorted(untested),
        seconds=seconds,
        answers=answers,
    )


def _ask(
    auditor: str,
    audit: Auditor,
    optimizer: PrivateOptimizer,
    promise: Promise,
    alpha: float,
    seed: int,
) -> Answer:
    began = time.process_time()
    broken = False
    try:
        with foreign_code(f"auditor {auditor}"):
            answer = str(audit(given(optimizer, promise, alpha, seed)))
    except ForeignError as error:  # an exception of the optimizer may be its mistake, so the page reports it
        answer = error.reason.removeprefix("raised ")
        broken = True
    answer = " ".join(answer.split())[:200]
    return Answer(
        auditor=auditor, says=answer, broken=broken, seconds=time.process_time() - began
    )
