"""What a state remembers beside what was released: released vectors held fixed, an old example must not show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform.coverage import batch_sizes, states_before, steps_and_sizes, tested_steps
from dpverify.conform.guarded import clip_length, copied
from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.results import ConformanceTest, not_tested, worst
from dpverify.conform.tape import Tape

TOLERANCE = 1e-6  # of the sensitivity
SIZES = (1.0, 0.2)  # of the gradients of a step, in clip lengths: some are clipped, or none
FIRST_STEPS = 3  # of each of which an example is changed, besides a middle step and the last but one
LATER_STEPS = 8  # after it that are looked at
SMALL_BATCH = 3
DRAWS = 8  # of the noise of a step
SEES = "a state that keeps something of an example beside what was released"
FOREIGN = "the released vector does not follow normal numbers of numpy, PyTorch, JAX or random"


class StateCase(NamedTuple):
    """A step, counted from 0, one of whose examples is changed, and gradients of that step and of later ones."""

    at: int
    gradients: Any
    other: Any
    later: Any


def state_tests(optimizer: PrivateOptimizer, promise: Promise, seed: int) -> Iterator[ConformanceTest]:
    """Change an example of a step, move its noise so that the same is released, and look at later steps."""
    steps = _steps(promise)
    sizes = [size for size in sorted({SMALL_BATCH, promise.batch}) if size in _possible(promise)]
    cases = [_case(promise, seed, at, size, length) for at in steps for size in sizes for length in SIZES]
    results = [_result(optimizer, promise, seed, case) for case in cases]
    text = steps_and_sizes(promise, steps, sizes)
    shown = worst(results)
    yield replace(shown, found=f"{shown.found}; tested: {text}") if shown.is_tested else shown


def _steps(promise: Promise) -> list[int]:
    """Return the steps of which an example is changed."""
    last = min(promise.steps - 2, tested_steps(promise)[-1])
    return sorted({*range(min(FIRST_STEPS, last + 1)), last // 2, last})


def _returns(promise: Promise, at: int) -> bool:
    """Return whether the noise of a step is promised to be in later releases too."""
    return promise.covariance is not None and bool(np.asarray(promise.covariance, dtype=float)[at, at + 1 :].any())


def _possible(promise: Promise) -> set[int]:
    """Return sizes that a batch may have; a small Poisson sample stands for all others."""
    sizes = batch_sizes(promise)
    return {*sizes, SMALL_BATCH} if len(sizes) > 2 else set(sizes)


def _case(promise: Promise, seed: int, at: int, size: int, length: float) -> StateCase:
    rng = np.random.default_rng([seed, 4])
    d = promise.dimension
    later = promise.clip * rng.standard_normal((size, d)) / np.sqrt(d)
    gradients = length * later
    other = gradients.copy()
    other[0] = -3.0 * promise.clip * np.eye(1, d)[0]
    return StateCase(at, gradients, other, later)


def _result(optimizer: PrivateOptimizer, promise: Promise, seed: int, case: StateCase) -> ConformanceTest:
    if promise.memory is not None or _returns(promise, case.at):
        return _with_memory(optimizer, promise, seed, case)
    state = _before(optimizer, seed, case)
    noise = np.random.default_rng([seed, 12]).standard_normal(promise.released_dimension)

    def first(batch: Any, numbers: Any) -> tuple[Any, Any]:
        after, released = optimizer.step(copied(state), batch.copy(), Tape(numbers))
        return copied(after), np.asarray(released, dtype=float)

    kept, released = first(case.gradients, noise)
    _, without = first(case.other, noise)
    if not (np.isfinite(released).all() and np.isfinite(without).all()):
        return _not_tested("what is released is not finite")
    units = np.eye(promise.released_dimension)
    rate = np.array([first(case.other, noise + row)[1] - without for row in units]).T  # what a unit of noise moves
    if not np.isfinite(rate).all():
        return _not_tested("what is released is not finite")
    if np.linalg.matrix_rank(rate) < len(rate):
        return _without_replay(optimizer, promise, seed, case)
    moved, again = first(case.other, noise + np.linalg.solve(rate, released - without))
    if np.abs(again - released).max() > TOLERANCE * promise.sensitivity:
        return _not_tested("what is released is not linear in the noise")
    change = 0.0
    for t in _later_steps(promise, case.at):
        numbers = _numbers(promise, seed, 5, t)
        kept, one = optimizer.step(kept, case.later * (t - case.at), Tape(numbers))
        moved, two = optimizer.step(moved, case.later * (t - case.at), Tape(numbers))
        lengths = clip_length(kept), clip_length(moved)
        kept, moved = copied(kept), copied(moved)
        if not (np.isfinite(one).all() and np.isfinite(two).all()):
            return _not_tested(f"what is released in step {t + 1} is not finite")
        change = max(change, float(np.abs(np.asarray(one) - np.asarray(two)).max()))
        change = max(change, abs(lengths[0] - lengths[1]) / promise.divisor)
    return _judged(promise, case, change, "although all earlier releases are equal")


def _with_memory(optimizer: PrivateOptimizer, promise: Promise, seed: int, case: StateCase) -> ConformanceTest:
    """Compare runs with the same noise: later releases must change as the promised memory says, by default not."""
    before = _before(optimizer, seed, case)
    released = _released(optimizer, promise, seed, case, before, case.gradients)
    other = _released(optimizer, promise, seed, case, before, case.other)
    if not (np.isfinite(released).all() and np.isfinite(other).all()):
        return _not_tested("what is released is not finite")
    changes = other - released
    own = changes[0] / promise.weight(case.at, case.at)
    expected = np.array([promise.weight(case.at + t, case.at) * own for t in range(len(changes))])
    return _judged(promise, case, float(np.abs(changes - expected).max()), "beyond the memory that was promised")


def _without_replay(optimizer: PrivateOptimizer, promise: Promise, seed: int, case: StateCase) -> ConformanceTest:
    """Use that noise has a seed: what other noise of a step does not change must not depend on its example either."""
    if promise.adaptive_clip or promise.statistic is not None:
        return _not_tested(FOREIGN)
    before = _before(optimizer, seed, case)
    same, repeated = (_released(optimizer, promise, seed, case, before, case.gradients) for _ in range(2))
    if not np.array_equal(same, repeated):
        return _not_tested(FOREIGN)
    other = _released(optimizer, promise, seed, case, before, case.other)
    noise = [_released(optimizer, promise, seed, case, before, case.gradients, draw) for draw in range(1, DRAWS + 1)]
    if not all(np.isfinite(run).all() for run in (same, other, *noise)):
        return _not_tested("what is released is not finite")
    fixed = any(not np.abs(run[0] - same[0]).all() for run in noise)  # some number has no noise that a seed moves
    if fixed or max(np.abs(run[1:] - same[1:]).max() for run in noise) > TOLERANCE * promise.sensitivity:
        return _not_tested(FOREIGN)  # later releases depend on the noise, perhaps through what was released
    change = float(np.abs(other[1:] - same[1:]).max())
    return _judged(promise, case, change, "although other noise in that step changes none")


def _before(optimizer: PrivateOptimizer, seed: int, case: StateCase) -> Any:
    """Return the state before the step of which an example is changed."""
    ((_, state),) = states_before(optimizer, [case.at], case.later, [seed, 13])
    return state


def _released(
    optimizer: PrivateOptimizer, promise: Promise, seed: int, case: StateCase, before: Any, batch: Any, draw: int = 0
) -> Any:
    """Return what is released from this batch on; ``draw`` numbers the noise of its step."""
    state = copied(before)
    found = []
    for t in (case.at, *_later_steps(promise, case.at)):
        gradients = batch if t == case.at else case.later * (t - case.at)
        rng = np.random.default_rng([seed, 14, t, draw if t == case.at else 0])
        state, released = optimizer.step(state, gradients.copy(), rng)
        found.append(np.asarray(released, dtype=float))
    return np.array(found)


def _judged(promise: Promise, case: StateCase, change: float, condition: str) -> ConformanceTest:
    found = f"an example of step {case.at + 1} changes a later release by {change:.3g}, {condition}"
    return ConformanceTest("state", change <= 100 * TOLERANCE * promise.sensitivity, found, SEES)


def _not_tested(reason: str) -> ConformanceTest:
    return not_tested("state", reason)


def _numbers(promise: Promise, *seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(promise.released_dimension)


def _later_steps(promise: Promise, at: int) -> range:
    return range(at + 1, min(promise.steps, at + 1 + LATER_STEPS))
