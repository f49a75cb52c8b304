"""Audit released outputs: lower bounds on epsilon for worst-case batches, compared with the promised epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpverify.conform.coverage import states_before, tested_steps
from dpverify.conform.guard import copy_state
from dpverify.conform.promise import Promise
from dpverify.conform.records import ConformanceTest, PrivateOptimizer, untested_result
from dpverify.privacy.accounting import epsilon
from dpverify.privacy.audit.audit import audit
from dpverify.privacy.audit.records import AuditError

DELTA = 1e-5
AUDITED_STEPS = 2  # length of an observed run; the same batch in each step


def output_tests(
    optimizer: PrivateOptimizer, promise: Promise, alpha: float, seed: int, outputs: int
) -> Iterator[ConformanceTest]:
    """Audit two steps on pairs of neighbouring batches, if independent noise in each step is promised.

    The first two steps are audited; for the last pair of batches, the last two tested steps.
    """
    if promise.covariance is not None or promise.memory is not None:
        yield untested_result(
            "outputs", "the noise of a step may depend on earlier ones"
        )
        return
    allowed_epsilon = epsilon(
        promise.deviation / promise.joint_sensitivity, DELTA, steps=AUDITED_STEPS
    ).upper
    largest_epsilon = -1.0
    worst_pair = ""
    power = math.inf
    is_refuted = False
    pairs = list(pairs_of_batches(promise))

    last_start = max(0, tested_steps(promise)[-1] + 1 - AUDITED_STEPS)
    warm_up_gradients = np.ones((promise.batch, promise.dimension)) * promise.clip
    # the start; replaced by the state before the last steps for the last pair
    state = None

    def run_steps(gradients: Any, rng: np.random.Generator) -> Any:
        return run_on_batches(optimizer, [gradients] * AUDITED_STEPS, rng, state)

    for index, (description, first, second) in enumerate(pairs):
        if index == len(pairs) - 1:
            ((_, state),) = states_before(
                optimizer, [last_start], warm_up_gradients, [seed, 15]
            )
        confidence = 1.0 - alpha / len(pairs)
        try:
            result = audit(
                run_steps,
                (first, second),
                epsilon=allowed_epsilon,
                delta=DELTA,
                n=outputs,
                confidence=confidence,
                seed=seed,
            )
        except AuditError as error:
            message = f"no bound ({description}): {error}"
            yield ConformanceTest(
                "outputs", False, message, "outputs that cannot be audited"
            )
            return
        if result.interrupted:  # the bound uses fewer outputs than requested
            raise KeyboardInterrupt
        is_refuted = is_refuted or result.verdict == "refuted"
        power = min(power, float(result.power.largest_epsilon) if result.power else 0.0)
        if result.epsilon > largest_epsilon:
            largest_epsilon = result.epsilon
            worst_pair = description
    if power <= allowed_epsilon and not is_refuted:
        reason = (
            f"so few outputs can show at most epsilon {power:.3g}, "
            f"and {allowed_epsilon:.3g} is promised for two steps"
        )
        # the audit could have refuted
        yield replace(untested_result("outputs", reason), alpha=alpha)
        return
    finding = (
        f"epsilon of two steps is at least {largest_epsilon:.3g} ({worst_pair}); "
        f"{allowed_epsilon:.3g} is promised at delta = {DELTA:g}"
        f"; tested: the first {AUDITED_STEPS} steps, and steps {last_start + 1} and {last_start + AUDITED_STEPS} "
        f"for the last of {len(pairs)} pairs"
    )
    sees = (
        f"no epsilon above {power:.3g}, whatever the optimizer does"
        if power > allowed_epsilon
        else "nothing"
    )
    yield ConformanceTest("outputs", not is_refuted, finding, sees, alpha)


def run_on_batches(
    optimizer: PrivateOptimizer,
    batches: Iterable[Any],
    rng: np.random.Generator,
    state: Any = None,
) -> Any:
    """Return the concatenated vectors that are released on these batches, from ``state`` or from the start."""
    state = optimizer.start() if state is None else copy_state(state)
    releases = []
    for gradients in batches:
        state, released = optimizer.step(state, gradients.copy(), rng)
        releases.append(np.asarray(released, dtype=float))
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
    is_fixed_size = promise.sampling != "poisson" or batch == promise.examples
    largest_count = batch - 1 if is_fixed_size else min(8 * batch, promise.examples - 1)
    other_gradients = {
        "other gradients zero"
        if is_fixed_size and batch > 1
        else "no other examples": np.zeros((batch - 1 if is_fixed_size else 0, d)),
        "other gradients opposite": np.tile(-clip * axis, (batch - 1, 1)),
        "many equal gradients": np.tile(clip * axis, (largest_count, 1)),
    }
    absent_example = np.zeros((1, d)) if promise.sampling == "batches" else axis[:0]
    for description, other_rows in other_gradients.items():
        first = np.concatenate([other_rows, 1e6 * clip * axis])
        second = np.concatenate(
            [
                other_rows,
                absent_example
                if promise.neighbours == "add-remove"
                else -1e6 * clip * axis,
            ]
        )
        yield description, first, second
