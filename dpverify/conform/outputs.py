"""What outputs give away: lower bounds of epsilon on worst cases, beside what the promised noise gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.results import ConformanceTest
from dpverify.privacy.accounting import epsilon
from dpverify.privacy.audit.audit import audit
from dpverify.privacy.audit.records import AuditError

DELTA = 1e-5
STEPS = 2  # of a run that is observed; the same batch in each


def output_tests(
    optimizer: PrivateOptimizer, promise: Promise, alpha: float, seed: int, outputs: int
) -> Iterator[ConformanceTest]:
    """Audit two steps on pairs of neighbouring batches, where the noise of each step is promised to be its own."""
    if promise.covariance is not None:
        yield ConformanceTest("outputs", True, "not tested: the noise of a step may depend on earlier ones", "nothing")
        return
    allowed = epsilon(promise.deviation / promise.sensitivity, DELTA, steps=STEPS).upper
    largest, where, power, refuted = -1.0, "", math.inf, False
    pairs = list(pairs_of_batches(promise))

    def released(gradients: Any, rng: np.random.Generator) -> Any:
        return run_on(optimizer, [gradients] * STEPS, rng)

    for words, one, other in pairs:
        confidence = 1.0 - alpha / len(pairs)
        try:
            found = audit(
                released, (one, other), epsilon=allowed, delta=DELTA, n=outputs, confidence=confidence, seed=seed
            )
        except AuditError as error:
            refused = f"no bound ({words}): {error}"
            yield ConformanceTest("outputs", False, refused, "outputs that cannot be audited")
            return
        if found.interrupted:  # the bound is from fewer outputs than were asked for
            raise KeyboardInterrupt
        refuted = refuted or found.verdict == "refuted"
        power = min(power, float(found.power.largest_epsilon) if found.power else 0.0)
        if found.epsilon > largest:
            largest, where = found.epsilon, words
    says = f"epsilon is at least {largest:.3g} ({where}), where two such steps have {allowed:.3g} at delta = {DELTA:g}"
    if power <= allowed and not refuted:
        says = f"not tested: so few outputs show no epsilon above {power:.3g}, and two such steps have {allowed:.3g}"
    sees = f"no epsilon above {power:.3g}, whatever the optimizer does" if power > allowed else "nothing"
    yield ConformanceTest("outputs", not refuted, says, sees, alpha)


def run_on(optimizer: PrivateOptimizer, batches: Iterable[Any], rng: np.random.Generator) -> Any:
    """All vectors that are released on these batches, one after the other."""
    state, found = optimizer.start(), []
    for gradients in batches:
        state, out = optimizer.step(state, gradients.copy(), rng)
        found.append(np.asarray(out, dtype=float))
    return np.concatenate(found)


def pairs_of_batches(promise: Promise) -> Iterator[tuple[str, Any, Any]]:
    """Neighbouring batches: what else is there, and the one gradient there and not, or turned round."""
    d, clip = promise.dimension, promise.clip
    axis = np.eye(1, d)
    rests = {
        "nothing else": np.zeros((0, d)),
        "others negative": np.tile(-clip * axis, (promise.batch, 1)),
        "many others alike": np.tile(clip * axis, (8 * promise.batch, 1)),
    }
    for words, rest in rests.items():
        one = np.concatenate([rest, 1e6 * clip * axis])
        other = rest if promise.neighbours == "add-remove" else np.concatenate([rest, -1e6 * clip * axis])
        yield words, one, other
