"""Audit released outputs: lower bounds on epsilon for worst-case batches, compared with the promised epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpverify.conform.coverage import states_before, tested_steps
from dpverify.conform.guarded import copied
from dpverify.conform.promise import Promise
from dpverify.conform.records import ConformanceTest, PrivateOptimizer, not_tested
from dpverify.privacy.accounting import epsilon
from dpverify.privacy.audit.audit import audit
from dpverify.privacy.audit.records import AuditError

DELTA = 1e-5
STEPS = 2  # length of an observed run; the same batch in each step


def output_tests(
    optimizer: PrivateOptimizer, promise: Promise, alpha: float, seed: int, outputs: int
) -> Iterator[ConformanceTest]:
    """Audit two steps on pairs of neighbouring batches, if independent noise in each step is promised.

    The first two steps are audited; for the last pair of batches, the last two tested steps.
    """
    if promise.covariance is not None or promise.memory is not None:
        yield not_tested("outputs", "the noise of a step may depend on earlier ones")
        return
    allowed = epsilon(
        promise.deviation / promise.joint_sensitivity, DELTA, steps=STEPS
    ).upper
    largest = -1.0
    where = ""
    power = math.inf
    refuted = False
    pairs = list(pairs_of_batches(promise))

    last = max(0, tested_steps(promise)[-1] + 1 - STEPS)
    other_rows = np.ones((promise.batch, promise.dimension)) * promise.clip
    # the start; replaced by the state before the last steps for the last pair
    state = None

    def released(gradients: Any, rng: np.random.Generator) -> Any:
        return run_on(optimizer, [gradients] * STEPS, rng, state)

    for place, (words, first, second) in enumerate(pairs):
        if place == len(pairs) - 1:
            ((_, state),) = states_before(optimizer, [last], other_rows, [seed, 15])
        confidence = 1.0 - alpha / len(pairs)
        try:
            audited = audit(
                released,
                (first, second),
                epsilon=allowed,
                delta=DELTA,
                n=outputs,
                confidence=confidence,
                seed=seed,
            )
        except AuditError as error:
            refused = f"no bound ({words}): {error}"
            yield ConformanceTest(
                "outputs", False, refused, "outputs that cannot be audited"
            )
            return
        if audited.interrupted:  # the bound uses fewer outputs than requested
            raise KeyboardInterrupt
        refuted = refuted or audited.verdict == "refuted"
        power = min(
            power, float(audited.power.largest_epsilon) if audited.power else 0.0
        )
        if audited.epsilon > largest:
            largest = audited.epsilon
            where = words
    if power <= allowed and not refuted:
        words = f"so few outputs can show at most epsilon {power:.3g}, and {allowed:.3g} is promised for two steps"
        # the audit could have refuted
        yield replace(not_tested("outputs", words), alpha=alpha)
        return
    words = f"epsilon of two steps is at least {largest:.3g} ({where}); {allowed:.3g} is promised at delta = {DELTA:g}"
    words += (
        f"; tested: the first {STEPS} steps, and steps {last + 1} and {last + STEPS} "
        f"for the last of {len(pairs)} pairs"
    )
    sees = (
        f"no epsilon above {power:.3g}, whatever the optimizer does"
        if power > allowed
        else "nothing"
    )
    yield ConformanceTest("outputs", not refuted, words, sees, alpha)


def run_on(
    optimizer: PrivateOptimizer,
    batches: Iterable[Any],
    rng: np.random.Generator,
    state: Any = None,
) -> Any:
    """Return the concatenated vectors that are released on these batches, from ``state`` or from the start."""
    state = optimizer.start() if state is None else copied(state)
    releases = []
    for gradients in batches:
        state, out = optimizer.step(state, gradients.copy(), rng)
        releases.append(np.asarray(out, dtype=float))
    return np.concatenate(releases)


def pairs_of_batches(promise: Promise) -> Iterator[tuple[str, Any, Any]]:
    """Yield neighbouring batches of promised sizes, with a description of the gradients that they share.

    One long gradient is present in the first batch. In the second batch it is absent or reversed. Poisson samples
    have one example, the promised size or a larger size; other batches have the promised size.
    """
    d = promise.dimension
    clip = promise.clip
    batch = promise.batch
    axis = np.eye(1, d)
    exact = promise.sampling != "poisson" or batch == promise.examples
    many = batch - 1 if exact else min(8 * batch, promise.examples - 1)
    rests = {
        "other gradients zero"
        if exact and batch > 1
        else "no other examples": np.zeros((batch - 1 if exact else 0, d)),
        "other gradients opposite": np.tile(-clip * axis, (batch - 1, 1)),
        "many equal gradients": np.tile(clip * axis, (many, 1)),
    }
    absent = np.zeros((1, d)) if promise.sampling == "batches" else axis[:0]
    for words, other_rows in rests.items():
        first = np.concatenate([other_rows, 1e6 * clip * axis])
        second = np.concatenate(
            [
                other_rows,
                absent if promise.neighbours == "add-remove" else -1e6 * clip * axis,
            ]
        )
        yield words, first, second
