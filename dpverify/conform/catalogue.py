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

from dpverify.conform.guard import GuardedOptimizer
from dpverify.conform.outputs import AUDITED_STEPS, pairs_of_batches, run_on_batches
from dpverify.conform.peers.records import Answer, CatalogueEntry
from dpverify.conform.promise import Promise
from dpverify.conform.records import PrivateOptimizer
from dpverify.conform.run import all_tests
from dpverify.foreign import ForeignError, foreign_code
from dpverify.privacy.accounting import epsilon


@dataclass(frozen=True)
class AuditCase:
    """Runs on two neighbouring data sets or batches, and the epsilon that the promise allows."""

    name: str
    # one run; returns the concatenated released vectors
    first_run: Callable[[np.random.Generator], Any]
    second_run: Callable[[np.random.Generator], Any]
    allowed_epsilon: Callable[[float], float]
    direction: Any  # unit vector along the gradient that differs

    def sample(self, count: int, seed: int) -> tuple[Any, Any]:
        """Return two arrays of shape (count, numbers released): the outputs of ``count`` calls of each run."""
        runs = enumerate((self.first_run, self.second_run))
        first, second = (
            np.array([run(np.random.default_rng([seed, k, i])) for i in range(count)])
            for k, run in runs
        )
        return first, second


@dataclass(frozen=True)
class AuditRequest:
    """Input of an auditor."""

    optimizer: PrivateOptimizer
    promise: Promise
    cases: list[AuditCase]
    alpha: float  # upper bound on the false-alarm probability, over all cases
    seed: int


Auditor: TypeAlias = Callable[[AuditRequest], str]
"""Return a description of a violation of the promise, or "" if the auditor detects none."""


def audit_request(
    optimizer: PrivateOptimizer, promise: Promise, alpha: float, seed: int
) -> AuditRequest:
    """Build the cases: two steps on the pairs of batches of the outputs test, and runs on batches that are drawn."""
    guarded = GuardedOptimizer(optimizer, promise).optimizer
    return AuditRequest(optimizer, promise, list(_cases(guarded, promise)), alpha, seed)


def _cases(optimizer: PrivateOptimizer, promise: Promise) -> Iterator[AuditCase]:
    if promise.covariance is None and promise.memory is None:

        def epsilon_of_steps(delta: float) -> float:
            return epsilon(
                promise.deviation / promise.joint_sensitivity,
                delta,
                steps=AUDITED_STEPS,
            ).upper

        for description, first, second, direction in all_pairs_of_batches(promise):
            yield AuditCase(
                description,
                _run_on_gradients(optimizer, first),
                _run_on_gradients(optimizer, second),
                epsilon_of_steps,
                direction,
            )
    sampling = promise.sampling
    if optimizer.batches is None or sampling == "epochs":
        return
    axis = np.eye(1, promise.dimension)
    rate = promise.batch / promise.examples
    canary = 1e6 * promise.clip * axis

    def epsilon_of_runs(delta: float) -> float:
        return epsilon(
            promise.joint_multiplier,
            delta,
            steps=promise.steps,
            rate=rate,
            sampling=sampling,
        ).upper

    second = canary[:0] if sampling == "poisson" else -canary
    first_run, second_run = (
        _run_on_drawn_batches(optimizer, promise, first) for first in (canary, second)
    )
    yield AuditCase("batches as drawn", first_run, second_run, epsilon_of_runs, axis[0])


def all_pairs_of_batches(promise: Promise) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield a description, two neighbouring batches and a direction: all pairs of the outputs test, and one more."""
    axis = np.eye(1, promise.dimension)
    for description, first, second in pairs_of_batches(promise):
        yield description, first, second, axis[0]
    diagonal = np.ones((1, promise.dimension)) / np.sqrt(promise.dimension)
    canary = 1e6 * promise.clip * diagonal
    yield (
        "all coordinates",
        canary,
        canary[:0] if promise.neighbours == "add-remove" else -canary,
        diagonal[0],
    )


def _run_on_gradients(
    optimizer: PrivateOptimizer, gradients: Any
) -> Callable[[np.random.Generator], Any]:
    return lambda rng: run_on_batches(optimizer, [gradients] * AUDITED_STEPS, rng)


def _run_on_drawn_batches(
    optimizer: PrivateOptimizer, promise: Promise, canary: Any
) -> Callable[[np.random.Generator], Any]:
    """A run on the optimizer's own batches; example 0 has the gradient ``canary``, or none, and all others have 0."""

    def run(rng: np.random.Generator) -> Any:
        assert optimizer.batches is not None
        batches = islice(
            optimizer.batches(promise.examples, promise.steps, rng), promise.steps
        )
        return run_on_batches(
            optimizer, (_gradients(np.asarray(batch), canary) for batch in batches), rng
        )

    return run


def _gradients(batch: Any, canary: Any) -> Any:
    is_canary = batch == 0
    return np.concatenate(
        [
            np.zeros((int((~is_canary).sum()), canary.shape[1])),
            *[canary] * int(is_canary.sum()),
        ]
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
    start_time = time.process_time()
    failed_tests = list[str]()
    untested = set[str]()
    for seed_of_run in range(seed, seed + seeds):
        for test in all_tests(optimizer, promise, seed_of_run, alpha):
            if test.status == "fault":
                failed_tests.append(test.name)
                break
            if test.status == "not tested":
                untested.add(test.name)
    seconds = (time.process_time() - start_time) / seeds
    answers = [
        _run_auditor(auditor, audit, optimizer, promise, alpha, seed)
        for auditor, audit in auditors.items()
    ]
    top_test = max(set(failed_tests), key=failed_tests.count) if failed_tests else ""
    return CatalogueEntry(
        target=target,
        name=name,
        found=len(failed_tests),
        by=top_test,
        untested=sorted(untested),
        seconds=seconds,
        answers=answers,
    )


def _run_auditor(
    auditor: str,
    audit: Auditor,
    optimizer: PrivateOptimizer,
    promise: Promise,
    alpha: float,
    seed: int,
) -> Answer:
    start_time = time.process_time()
    has_raised = False
    try:
        with foreign_code(f"auditor {auditor}"):
            answer = str(audit(audit_request(optimizer, promise, alpha, seed)))
    except ForeignError as error:  # an exception of the optimizer may be its mistake, so the page reports it
        answer = error.reason.removeprefix("raised ")
        has_raised = True
    answer = " ".join(answer.split())[:200]
    return Answer(
        auditor=auditor,
        says=answer,
        broken=has_raised,
        seconds=time.process_time() - start_time,
    )
