"""Test whether a state remembers unreleased information: with equal releases, an old example must have no effect.

The tests change an example and choose noise that keeps the release of its step equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform.coverage import (
    STATE,
    affordable,
    batch_sizes,
    states_before,
    steps_and_sizes,
    tested_steps,
)
from dpverify.conform.guarded import clip_length, copied
from dpverify.conform.promise import Promise
from dpverify.conform.records import (
    ConformanceTest,
    PrivateOptimizer,
    not_tested,
    worst,
)
from dpverify.conform.replay.generators import Tape, solve_noise
from dpverify.conform.rounding import ADDING, INNER, accumulated, longest, unit_roundoff

# releases that differ by at most this fraction of the sensitivity count as equal
TOLERANCE = 1e-6
# so do low-precision releases that differ by at most this many roundings
ROUNDINGS = 4.0
# lengths of the gradients of a step, in clip lengths: some are clipped, or none
SIZES = (1.0, 0.2)
# norm of the changed example for each of SIZES;
# 1e6 detects a state that reacts to outliers only
CHANGED = (3.0, 1e6)
# first steps in which an example is changed; a middle and a late step are added
FIRST_STEPS = 3
LATER_STEPS = 8  # number of compared steps after that step
SMALL_BATCH = 3
TYPICAL = 4.0  # assumed largest absolute noise value, in deviations
DRAWS = 8  # further draws of the noise of a step
SEES = "a state that keeps information about an example that was not released"
# calls of the changed step in a case; earlier and later steps are counted separately
CALLS = 8
# density of the absolute value of a standard normal number at 0
DENSITY = math.sqrt(2.0 / math.pi)
FOREIGN = "the released vector does not follow normal numbers of numpy, PyTorch, JAX or random"


class CaseKind(NamedTuple):
    """A step, counted from 0, the size of its batch, the length of its gradients in clip lengths, and the change."""

    at: int
    size: int
    length: float  # one of SIZES
    is_removed: bool = False  # the example is removed; by default it is replaced


class StateCase(NamedTuple):
    """A step, counted from 0, its gradients, its gradients with one example changed, and gradients of later steps."""

    at: int
    gradients: Any
    other: Any
    later: Any


def state_tests(
    optimizer: PrivateOptimizer, promise: Promise, seed: int
) -> Iterator[ConformanceTest]:
    """Change an example of a step, adapt the noise so that the release is the same, and compare later releases.

    If neighbours differ by an example and batches are Poisson samples, the example is also removed: a state may
    remember the size of a batch.
    """
    steps = _steps(promise)
    sizes = [
        size
        for size in sorted({SMALL_BATCH, promise.batch})
        if size in _possible(promise)
    ]
    every = [
        CaseKind(at, size, length) for at in steps for size in sizes for length in SIZES
    ]
    if promise.neighbours == "add-remove" and promise.sampling == "poisson":
        every += [CaseKind(at, sizes[-1], SIZES[0], is_removed=True) for at in steps]
    chosen = every[:: _stride(promise, every)]
    results = [
        _result(optimizer, promise, seed, _case(promise, seed, kind)) for kind in chosen
    ]
    text = steps_and_sizes(
        promise,
        sorted({kind.at for kind in chosen}),
        sorted({kind.size for kind in chosen}),
    )
    worst_result = worst(results)
    if worst_result.is_tested:
        worst_result = replace(
            worst_result,
            found=f"{worst_result.found}; tested: {text}",
            sees=_sees(promise, chosen),
        )
    yield worst_result


def _stride(promise: Promise, kinds: list[CaseKind]) -> int:
    """Return the stride at which cases are tested within the work budget; an odd stride includes all kinds of cases."""
    calls = [
        kind.at + CALLS + 2 * len(_later_steps(promise, kind.at)) for kind in kinds
    ]
    paid = affordable(STATE, promise, promise.batch * promise.dimension)
    return min(2 * (sum(calls) // (2 * paid)) + 1, max(1, len(kinds)))


def _sees(promise: Promise, kinds: list[CaseKind]) -> str:
    """Return a text about the faults that the test detects and the probability of missing one.

    In the cases whose gradients are not clipped, an example of random normal numbers of deviation ``length * clip /
    sqrt(d)`` is replaced. If later releases change by the component of the difference along one direction, divided by
    the divisor, this change is normal with some mean. So it is below a tolerance with probability at most DENSITY times
    the tolerance over its deviation. The cases are independent.
    """
    if promise.memory is not None or any(_returns(promise, kind.at) for kind in kinds):
        return SEES
    largest = TYPICAL * promise.deviation + promise.sensitivity
    tolerance = _tolerance(promise, largest, 0.0)
    missed = 1.0
    for kind in kinds:
        if kind.length < 1.0:
            deviation = (
                kind.length
                * promise.clip
                / promise.divisor
                / math.sqrt(promise.dimension)
            )
            missed *= min(1.0, DENSITY * tolerance / deviation)
    return f"{SEES}; a state that keeps one direction of it per step is missed with probability {missed:.1g}"


def _tolerance(promise: Promise, largest: float, left: float) -> float:
    """Bound what rounding adds to the difference of two later releases of numbers up to ``largest``.

    The releases before them are equal up to ``left``. A state may add up earlier releases, so ``left`` counts once per
    later step and once for the release itself. Each of the two later releases may be a float32 sum of this many
    numbers, and is rounded once to the type of the release.
    """
    roundings = accumulated(LATER_STEPS + ADDING) + _unit(promise)
    return (1 + LATER_STEPS) * left + 2.0 * roundings * largest


def _steps(promise: Promise) -> list[int]:
    """Return the steps in which an example is changed."""
    last = min(promise.steps - 2, tested_steps(promise)[-1])
    return sorted({*range(min(FIRST_STEPS, last + 1)), last // 2, last})


def _returns(promise: Promise, at: int) -> bool:
    """Test whether the promise lets later releases depend on the noise of a step."""
    return promise.covariance is not None and bool(
        np.asarray(promise.covariance, dtype=float)[at, at + 1 :].any()
    )


def _possible(promise: Promise) -> set[int]:
    """Return possible batch sizes; Poisson sampling also allows SMALL_BATCH."""
    sizes = batch_sizes(promise)
    return {*sizes, SMALL_BATCH} if len(sizes) > 2 else set(sizes)


def _case(promise: Promise, seed: int, kind: CaseKind) -> StateCase:
    at, size, length, is_removed = kind
    rng = np.random.default_rng([seed, 4, at, size, SIZES.index(length)])
    d = promise.dimension
    later = promise.clip * rng.standard_normal((size, d)) / np.sqrt(d)
    gradients = length * later
    if is_removed:
        return StateCase(at, gradients, gradients[1:], later)
    changed = gradients.copy()
    changed_length = min(
        CHANGED[SIZES.index(length)], longest(promise.dtype, promise.clip)
    )
    changed[0] = -changed_length * promise.clip * np.eye(1, d)[0]
    return StateCase(at, gradients, changed, later)


def _result(
    optimizer: PrivateOptimizer, promise: Promise, seed: int, case: StateCase
) -> ConformanceTest:
    if promise.memory is not None or _returns(promise, case.at):
        return _with_memory(optimizer, promise, seed, case)
    state = _before(optimizer, seed, case)
    size = promise.released_dimension
    tape = Tape([])
    optimizer.step(copied(state), case.gradients.copy(), tape)
    # a step may draw other numbers before or after its noise
    for place in sorted({0, max(0, tape.used - size)}):
        drawn = np.random.default_rng([seed, 12]).standard_normal(max(size, tape.used))
        result = _replayed(optimizer, promise, seed, case, state, drawn, place)
        if result is not None:
            return result
    return _without_replay(optimizer, promise, seed, case)


def _replayed(
    optimizer: PrivateOptimizer,
    promise: Promise,
    seed: int,
    case: StateCase,
    state: Any,
    drawn: Any,
    place: int,
) -> ConformanceTest | None:
    """Compare later releases for two examples, with noise from ``place`` on that makes the releases of the step equal.

    Return None if the releases of the step cannot be made equal.
    """
    noise = drawn[place : place + promise.released_dimension]

    def first(batch: Any, numbers: Any) -> tuple[Any, Any]:
        tape = Tape(
            np.concatenate([drawn[:place], numbers, drawn[place + len(numbers) :]])
        )
        after, released = optimizer.step(copied(state), batch.copy(), tape)
        return copied(after), np.asarray(released, dtype=float)

    original, released = first(case.gradients, noise)
    _, without = first(case.other, noise)
    if not (np.isfinite(released).all() and np.isfinite(without).all()):
        return _not_tested("what is released is not finite")
    replayed = solve_noise(
        lambda numbers: first(case.other, numbers)[1], noise, released, without
    )
    if not np.isfinite(replayed).all():
        return _not_tested("what is released is not finite")
    moved, replayed_release = first(case.other, replayed)
    left = float(np.abs(replayed_release - released).max())
    largest = float(np.abs(released).max())
    if not left <= max(
        TOLERANCE * promise.sensitivity, ROUNDINGS * _unit(promise) * largest
    ):
        return None
    change = 0.0
    for t in _later_steps(promise, case.at):
        numbers = _numbers(promise, seed, 5, t)
        original, release = optimizer.step(
            original, case.later * (t - case.at), Tape(numbers)
        )
        moved, two = optimizer.step(moved, case.later * (t - case.at), Tape(numbers))
        lengths = clip_length(original), clip_length(moved)
        original = copied(original)
        moved = copied(moved)
        if not (np.isfinite(release).all() and np.isfinite(two).all()):
            return _not_tested(f"what is released in step {t + 1} is not finite")
        largest = max(largest, float(np.abs(release).max()))
        change = max(change, float(np.abs(np.asarray(release) - np.asarray(two)).max()))
        change = max(change, abs(lengths[0] - lengths[1]) / promise.divisor)
    return _judged(
        promise, case, change, largest, left, "although all earlier releases are equal"
    )


def _unit(promise: Promise) -> float:
    """Return the relative rounding of a release, at least that of float32; the "precision" test checks digits."""
    return max(unit_roundoff(promise.dtype), INNER)


def _with_memory(
    optimizer: PrivateOptimizer, promise: Promise, seed: int, case: StateCase
) -> ConformanceTest:
    """Compare runs with equal noise: later releases must change only as the promised memory implies."""
    before = _before(optimizer, seed, case)
    released = _released(optimizer, promise, seed, case, before, case.gradients)
    changed = _released(optimizer, promise, seed, case, before, case.other)
    if not (np.isfinite(released).all() and np.isfinite(changed).all()):
        return _not_tested("what is released is not finite")
    changes = changed - released
    contribution = changes[0] / promise.weight(case.at, case.at)
    expected = np.array(
        [
            promise.weight(case.at + t, case.at) * contribution
            for t in range(len(changes))
        ]
    )
    largest = max(float(np.abs(released).max()), float(np.abs(changed).max()))
    weights = [abs(promise.weight(case.at + t, case.at)) for t in range(len(changes))]
    # rounding of `expected`
    left = 2.0 * _unit(promise) * largest * max(weights) / weights[0]
    change = float(np.abs(changes - expected).max())
    return _judged(
        promise, case, change, largest, left, "beyond the memory that was promised"
    )


def _without_replay(
    optimizer: PrivateOptimizer, promise: Promise, seed: int, case: StateCase
) -> ConformanceTest:
    """Compare later releases after a change of the example, if a change of the step's noise does not affect them.

    This test needs noise with a seed. If later releases do not depend on the noise of a step, and thus not on its
    release, they must not depend on its examples.
    """
    if promise.adaptive_clip or promise.statistic is not None:
        return _not_tested(FOREIGN)
    before = _before(optimizer, seed, case)
    same, repeated = (
        _released(optimizer, promise, seed, case, before, case.gradients)
        for _ in range(2)
    )
    if not np.array_equal(same, repeated):
        return _not_tested(FOREIGN)
    changed = _released(optimizer, promise, seed, case, before, case.other)
    noise = [
        _released(optimizer, promise, seed, case, before, case.gradients, draw)
        for draw in range(1, DRAWS + 1)
    ]
    if not all(np.isfinite(run).all() for run in (same, changed, *noise)):
        return _not_tested("what is released is not finite")
    # some number does not depend on the seed
    fixed = any(not np.abs(run[0] - same[0]).all() for run in noise)
    if (
        fixed
        or max(np.abs(run[1:] - same[1:]).max() for run in noise)
        > TOLERANCE * promise.sensitivity
    ):
        # later releases depend on the noise, perhaps through the release
        return _not_tested(FOREIGN)
    change = float(np.abs(changed[1:] - same[1:]).max())
    return _judged(
        promise,
        case,
        change,
        float(np.abs(same).max()),
        0.0,
        "although other noise in that step changes none",
    )


def _before(optimizer: PrivateOptimizer, seed: int, case: StateCase) -> Any:
    """Return the state before the step in which an example is changed."""
    ((_, state),) = states_before(optimizer, [case.at], case.later, [seed, 13])
    return state


def _released(
    optimizer: PrivateOptimizer,
    promise: Promise,
    seed: int,
    case: StateCase,
    before: Any,
    batch: Any,
    draw: int = 0,
) -> Any:
    """Return the releases of this step with ``batch`` and of later steps; ``draw`` selects the noise of this step."""
    state = copied(before)
    releases = []
    for t in (case.at, *_later_steps(promise, case.at)):
        gradients = batch if t == case.at else case.later * (t - case.at)
        rng = np.random.default_rng([seed, 14, t, draw if t == case.at else 0])
        state, released = optimizer.step(state, gradients.copy(), rng)
        releases.append(np.asarray(released, dtype=float))
    return np.array(releases)


def _judged(
    promise: Promise,
    case: StateCase,
    change: float,
    largest: float,
    left: float,
    condition: str,
) -> ConformanceTest:
    finding = f"an example of step {case.at + 1} changes a later release by {change:.3g}, {condition}"
    return ConformanceTest(
        "state", change <= _tolerance(promise, largest, left), finding, SEES
    )


def _not_tested(reason: str) -> ConformanceTest:
    return not_tested("state", reason)


def _numbers(promise: Promise, *seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(promise.released_dimension)


def _later_steps(promise: Promise, at: int) -> range:
    return range(at + 1, min(promise.steps, at + 1 + LATER_STEPS))
