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
    STATE_SHARE,
    affordable_steps,
    batch_sizes,
    states_before,
    steps_and_sizes_text,
    tested_steps,
)
from dpverify.conform.guard import copy_state, last_clip_length
from dpverify.conform.promise import Promise
from dpverify.conform.records import (
    ConformanceTest,
    PrivateOptimizer,
    untested_result,
    worst_test,
)
from dpverify.conform.replay.generators import Tape, solve_noise
from dpverify.conform.rounding import (
    FLOAT32_ROUNDOFF,
    SUM_ROUNDINGS,
    accumulated_error,
    max_gradient_length,
    unit_roundoff,
)

# releases that differ by at most this fraction of the sensitivity count as equal
TOLERANCE = 1e-6
# so do low-precision releases that differ by at most this many roundings
ROUNDINGS = 4.0
# lengths of the gradients of a step, in clip lengths: some are clipped, or none
LENGTHS = (1.0, 0.2)
# norm of the changed example for each of LENGTHS; 1e6 detects a state that reacts to outliers only
CHANGED_LENGTHS = (3.0, 1e6)
# first steps in which an example is changed; a middle and a late step are added
FIRST_STEPS = 3
LATER_STEPS = 8  # number of compared steps after that step
SMALL_BATCH = 3
TYPICAL_NOISE = 4.0  # assumed largest absolute noise value, in deviations
NOISE_DRAWS = 8  # further draws of the noise of a step
SEES = "a state that keeps information about an example that was not released"
CALLS = 8  # of the changed step in a case; other steps are counted separately
# density of the absolute value of a standard normal number at 0
DENSITY_AT_0 = math.sqrt(2.0 / math.pi)
NOT_REPLAYABLE = "the released vector does not follow normal numbers of numpy, PyTorch, JAX or random"


class CaseKind(NamedTuple):
    """A step, counted from 0, the size of its batch, the length of its gradients in clip lengths, and the change."""

    step: int
    size: int
    length: float  # one of LENGTHS
    is_removed: bool = False  # the example is removed; by default it is replaced


class StateCase(NamedTuple):
    """A step, counted from 0, its gradients, its gradients with one example changed, and gradients of later steps."""

    step: int
    gradients: Any
    neighbour: Any
    later_batch: Any


def state_tests(
    optimizer: PrivateOptimizer, promise: Promise, seed: int
) -> Iterator[ConformanceTest]:
    """Change an example of a step, adapt the noise so that the release is the same, and compare later releases.

    If neighbours differ by an example and batches are Poisson samples, the example is also removed: a state may
    remember the size of a batch.
    """
    steps = _changed_steps(promise)
    sizes = [
        size
        for size in sorted({SMALL_BATCH, promise.batch})
        if size in _possible_sizes(promise)
    ]
    kinds = [
        CaseKind(t, size, length) for t in steps for size in sizes for length in LENGTHS
    ]
    if promise.neighbours == "add-remove" and promise.sampling == "poisson":
        kinds += [CaseKind(t, sizes[-1], LENGTHS[0], is_removed=True) for t in steps]
    tested = kinds[:: _stride(promise, kinds)]
    results = [
        _result(optimizer, promise, seed, _case(promise, seed, kind)) for kind in tested
    ]
    text = steps_and_sizes_text(
        promise,
        sorted({kind.step for kind in tested}),
        sorted({kind.size for kind in tested}),
    )
    worst_result = worst_test(results)
    if worst_result.is_tested:
        worst_result = replace(
            worst_result,
            found=f"{worst_result.found}; tested: {text}",
            sees=_detection_text(promise, tested),
        )
    yield worst_result


def _stride(promise: Promise, kinds: list[CaseKind]) -> int:
    """Return the stride at which cases are tested within the work budget; an odd stride includes all kinds of cases."""
    calls = [
        kind.step + CALLS + 2 * len(_later_steps(promise, kind.step)) for kind in kinds
    ]
    budget = affordable_steps(STATE_SHARE, promise, promise.batch * promise.dimension)
    return min(2 * (sum(calls) // (2 * budget)) + 1, max(1, len(kinds)))


def _detection_text(promise: Promise, kinds: list[CaseKind]) -> str:
    """Return a text about the faults that the test detects and the probability of missing one.

    In the cases whose gradients are not clipped, an example of random normal numbers of deviation ``length * clip /
    sqrt(d)`` is replaced. If later releases change by the component of the difference along one direction, divided by
    the divisor, this change is normal with some mean. So it is below a tolerance with probability at most
    DENSITY_AT_0 times the tolerance over its deviation. The cases are independent.
    """
    if promise.memory is not None or any(_recurs(promise, kind.step) for kind in kinds):
        return SEES
    magnitude = TYPICAL_NOISE * promise.deviation + promise.sensitivity
    tolerance = _tolerance(promise, magnitude, 0.0)
    missed = 1.0
    for kind in kinds:
        if kind.length < 1.0:
            deviation = (
                kind.length
                * promise.clip
                / promise.divisor
                / math.sqrt(promise.dimension)
            )
            missed *= min(1.0, DENSITY_AT_0 * tolerance / deviation)
    return f"{SEES}; a state that keeps one direction of it per step is missed with probability {missed:.1g}"


def _tolerance(promise: Promise, magnitude: float, gap: float) -> float:
    """Bound what rounding adds to the difference of two later releases of numbers up to ``magnitude``.

    The releases before them are equal up to ``gap``. A state may add up earlier releases, so the gap counts once per
    later step and once for the release itself. Each of the two later releases may be a float32 sum of this many
    numbers, and is rounded once to the type of the release.
    """
    roundings = accumulated_error(LATER_STEPS + SUM_ROUNDINGS) + _roundoff(promise)
    return (1 + LATER_STEPS) * gap + 2.0 * roundings * magnitude


def _changed_steps(promise: Promise) -> list[int]:
    """Return the steps in which an example is changed."""
    last_step = min(promise.steps - 2, tested_steps(promise)[-1])
    return sorted({*range(min(FIRST_STEPS, last_step + 1)), last_step // 2, last_step})


def _recurs(promise: Promise, step: int) -> bool:
    """Test whether the promise lets later releases depend on the noise of a step."""
    return promise.covariance is not None and bool(
        np.asarray(promise.covariance, dtype=float)[step, step + 1 :].any()
    )


def _possible_sizes(promise: Promise) -> set[int]:
    """Return possible batch sizes; Poisson sampling also allows SMALL_BATCH."""
    sizes = batch_sizes(promise)
    return {*sizes, SMALL_BATCH} if len(sizes) > 2 else set(sizes)


def _case(promise: Promise, seed: int, kind: CaseKind) -> StateCase:
    step, size, length, is_removed = kind
    rng = np.random.default_rng([seed, 4, step, size, LENGTHS.index(length)])
    d = promise.dimension
    later_batch = promise.clip * rng.standard_normal((size, d)) / np.sqrt(d)
    gradients = length * later_batch
    if is_removed:
        return StateCase(step, gradients, gradients[1:], later_batch)
    neighbour = gradients.copy()
    changed_length = min(
        CHANGED_LENGTHS[LENGTHS.index(length)],
        max_gradient_length(promise.dtype, promise.clip),
    )
    neighbour[0] = -changed_length * promise.clip * np.eye(1, d)[0]
    return StateCase(step, gradients, neighbour, later_batch)


def _result(
    optimizer: PrivateOptimizer, promise: Promise, seed: int, case: StateCase
) -> ConformanceTest:
    if promise.memory is not None or _recurs(promise, case.step):
        return _memory_result(optimizer, promise, seed, case)
    state = _state_before(optimizer, seed, case)
    noise_size = promise.released_dimension
    tape = Tape([])
    optimizer.step(copy_state(state), case.gradients.copy(), tape)
    # a step may draw other numbers before or after its noise
    for offset in sorted({0, max(0, tape.position - noise_size)}):
        count = max(noise_size, tape.position)
        normals = np.random.default_rng([seed, 12]).standard_normal(count)
        result = _replay_result(optimizer, promise, seed, case, state, normals, offset)
        if result is not None:
            return result
    return _seeded_result(optimizer, promise, seed, case)


def _replay_result(
    optimizer: PrivateOptimizer,
    promise: Promise,
    seed: int,
    case: StateCase,
    state: Any,
    normals: Any,
    offset: int,
) -> ConformanceTest | None:
    """Compare later releases for two examples, with noise from ``offset`` on that makes the releases of the step equal.

    Return None if the releases of the step cannot be made equal.
    """
    noise = normals[offset : offset + promise.released_dimension]

    def take_step(batch: Any, draws: Any) -> tuple[Any, Any]:
        tape = Tape(
            np.concatenate([normals[:offset], draws, normals[offset + len(draws) :]])
        )
        next_state, released = optimizer.step(copy_state(state), batch.copy(), tape)
        return copy_state(next_state), np.asarray(released, dtype=float)

    original_state, released = take_step(case.gradients, noise)
    _, changed = take_step(case.neighbour, noise)
    if not (np.isfinite(released).all() and np.isfinite(changed).all()):
        return _untested("what is released is not finite")
    replay = solve_noise(
        lambda draws: take_step(case.neighbour, draws)[1], noise, released, changed
    )
    if not np.isfinite(replay).all():
        return _untested("what is released is not finite")
    changed_state, replayed_release = take_step(case.neighbour, replay)
    gap = float(np.abs(replayed_release - released).max())
    magnitude = float(np.abs(released).max())
    if not gap <= max(
        TOLERANCE * promise.sensitivity, ROUNDINGS * _roundoff(promise) * magnitude
    ):
        return None
    change = 0.0
    for step in _later_steps(promise, case.step):
        draws = _normal_numbers(promise, seed, 5, step)
        original_state, left = optimizer.step(
            original_state, case.later_batch * (step - case.step), Tape(draws)
        )
        changed_state, right = optimizer.step(
            changed_state, case.later_batch * (step - case.step), Tape(draws)
        )
        clip_lengths = last_clip_length(original_state), last_clip_length(changed_state)
        original_state = copy_state(original_state)
        changed_state = copy_state(changed_state)
        if not (np.isfinite(left).all() and np.isfinite(right).all()):
            return _untested(f"what is released in step {step + 1} is not finite")
        magnitude = max(magnitude, float(np.abs(left).max()))
        change = max(change, float(np.abs(np.asarray(left) - np.asarray(right)).max()))
        change = max(change, abs(clip_lengths[0] - clip_lengths[1]) / promise.divisor)
    return _comparison_result(
        promise, case, change, magnitude, gap, "although all earlier releases are equal"
    )


def _roundoff(promise: Promise) -> float:
    """Return the relative rounding of a release, at least that of float32; the "precision" test checks digits."""
    return max(unit_roundoff(promise.dtype), FLOAT32_ROUNDOFF)


def _memory_result(
    optimizer: PrivateOptimizer, promise: Promise, seed: int, case: StateCase
) -> ConformanceTest:
    """Compare runs with equal noise: later releases must change only as the promised memory implies."""
    state = _state_before(optimizer, seed, case)
    releases = _releases(optimizer, promise, seed, case, state, case.gradients)
    changed = _releases(optimizer, promise, seed, case, state, case.neighbour)
    if not (np.isfinite(releases).all() and np.isfinite(changed).all()):
        return _untested("what is released is not finite")
    changes = changed - releases
    step = case.step
    contribution = changes[0] / promise.weight(step, step)
    expected = np.array(
        [promise.weight(step + t, step) * contribution for t in range(len(changes))]
    )
    magnitude = max(float(np.abs(releases).max()), float(np.abs(changed).max()))
    weights = [abs(promise.weight(step + t, step)) for t in range(len(changes))]
    # rounding of `expected`
    gap = 2.0 * _roundoff(promise) * magnitude * max(weights) / weights[0]
    change = float(np.abs(changes - expected).max())
    return _comparison_result(
        promise, case, change, magnitude, gap, "beyond the memory that was promised"
    )


def _seeded_result(
    optimizer: PrivateOptimizer, promise: Promise, seed: int, case: StateCase
) -> ConformanceTest:
    """Compare later releases after a change of the example, if a change of the step's noise does not affect them.

    This test needs noise with a seed. If later releases do not depend on the noise of a step, and thus not on its
    release, they must not depend on its examples.
    """
    if promise.adaptive_clip or promise.statistic is not None:
        return _untested(NOT_REPLAYABLE)
    state = _state_before(optimizer, seed, case)
    releases, repeated = (
        _releases(optimizer, promise, seed, case, state, case.gradients)
        for _ in range(2)
    )
    if not np.array_equal(releases, repeated):
        return _untested(NOT_REPLAYABLE)
    changed = _releases(optimizer, promise, seed, case, state, case.neighbour)
    noisy_runs = [
        _releases(optimizer, promise, seed, case, state, case.gradients, draw)
        for draw in range(1, NOISE_DRAWS + 1)
    ]
    if not all(np.isfinite(run).all() for run in (releases, changed, *noisy_runs)):
        return _untested("what is released is not finite")
    # some number does not depend on the seed
    is_fixed = any(not np.abs(run[0] - releases[0]).all() for run in noisy_runs)
    if (
        is_fixed
        or max(np.abs(run[1:] - releases[1:]).max() for run in noisy_runs)
        > TOLERANCE * promise.sensitivity
    ):
        # later releases depend on the noise, perhaps through the release
        return _untested(NOT_REPLAYABLE)
    change = float(np.abs(changed[1:] - releases[1:]).max())
    return _comparison_result(
        promise,
        case,
        change,
        float(np.abs(releases).max()),
        0.0,
        "although other noise in that step changes none",
    )


def _state_before(optimizer: PrivateOptimizer, seed: int, case: StateCase) -> Any:
    """Return the state before the step in which an example is changed."""
    ((_, state),) = states_before(optimizer, [case.step], case.later_batch, [seed, 13])
    return state


def _releases(
    optimizer: PrivateOptimizer,
    promise: Promise,
    seed: int,
    case: StateCase,
    initial_state: Any,
    batch: Any,
    draw: int = 0,
) -> Any:
    """Return the releases of this step with ``batch`` and of later steps; ``draw`` selects the noise of this step."""
    state = copy_state(initial_state)
    releases = []
    for t in (case.step, *_later_steps(promise, case.step)):
        gradients = batch if t == case.step else case.later_batch * (t - case.step)
        rng = np.random.default_rng([seed, 14, t, draw if t == case.step else 0])
        state, released = optimizer.step(state, gradients.copy(), rng)
        releases.append(np.asarray(released, dtype=float))
    return np.array(releases)


def _comparison_result(
    promise: Promise,
    case: StateCase,
    change: float,
    magnitude: float,
    gap: float,
    condition: str,
) -> ConformanceTest:
    finding = f"an example of step {case.step + 1} changes a later release by {change:.3g}, {condition}"
    return ConformanceTest(
        "state", change <= _tolerance(promise, magnitude, gap), finding, SEES
    )


def _untested(reason: str) -> ConformanceTest:
    return untested_result("state", reason)


def _normal_numbers(promise: Promise, *seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(promise.released_dimension)


def _later_steps(promise: Promise, step: int) -> range:
    return range(step + 1, min(promise.steps, step + 1 + LATER_STEPS))
