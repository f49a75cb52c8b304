"""Run all conformance tests of an optimizer.

The first test checks whether the noise comes from the given generator. Its result decides which tests can be run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dpverify.apart import check_timeout, packed, run_apart, unpacked
from dpverify.conform.coverage import check_memory, tested_steps
from dpverify.conform.guard import GuardedOptimizer, copy_state, guarded_tests
from dpverify.conform.noise import noise_tests
from dpverify.conform.promise import Promise
from dpverify.conform.records import (
    Conformance,
    ConformanceTest,
    PrivateOptimizer,
    untested_result,
)
from dpverify.conform.replay.generators import (
    NoiseSources,
    Tape,
    generators_restored,
    system_randomness,
    used_generators,
)
from dpverify.conform.sampling import sampling_tests
from dpverify.conform.sensitivity import sensitivity_tests
from dpverify.conform.state import state_tests
from dpverify.foreign import foreign_code, originals_watched

GENERATOR_STEPS = 2
GENERATOR_SEES = "noise that does not come from the generator that is given"


def noise_sources(
    guarded: GuardedOptimizer, promise: Promise, seed: int
) -> NoiseSources:
    """Run the first steps to detect the generators that they use, and seed the shared ones from the given generator."""
    zero_gradients = np.zeros((promise.batch, promise.dimension))
    start_state = guarded.optimizer.start()

    def run_steps(generators: list[np.random.Generator]) -> Any:
        state = copy_state(start_state)
        releases = []
        for rng in generators:
            state, released = guarded.optimizer.step(state, zero_gradients.copy(), rng)
            releases.append(released)
        return np.array(releases)

    def seeded_generators() -> list[np.random.Generator]:
        return [
            np.random.default_rng([seed, 3, step]) for step in range(GENERATOR_STEPS)
        ]

    def silent_generators() -> list[np.random.Generator]:
        return [Tape([]) for _ in range(GENERATOR_STEPS)]

    with system_randomness() as system_functions:
        shared_generators = used_generators(lambda: run_steps(seeded_generators()))
        guarded.shared_generators = shared_generators
        is_seeded = _are_equal(
            run_steps(seeded_generators()), run_steps(seeded_generators())
        )
    is_replayable = _are_equal(
        run_steps(silent_generators()), run_steps(silent_generators())
    )
    return NoiseSources(
        shared_generators, sorted(system_functions), is_seeded, is_replayable
    )


def _are_equal(left: Any, right: Any) -> bool:
    return np.array_equal(left, right, equal_nan=True)


def generator_test(sources: NoiseSources) -> ConformanceTest:
    """Return the test whether the noise follows the given generator; it names other sources of noise."""
    if sources.is_seeded:
        text = "the same seed gives the same noise"
        if sources.shared_generators:
            names = ", ".join(generator.name for generator in sources.shared_generators)
            text += f"; the tests seed the shared generator of {names} before each step"
        return ConformanceTest("generator", True, text, GENERATOR_SEES)
    text = "the same seed gives different noise"
    if sources.system:
        text += f": the optimizer uses randomness of the operating system ({', '.join(sources.system)})"
    if sources.is_replayable:
        text += "; equal noise was made by replacing the numbers it draws"
    return ConformanceTest("generator", False, text, GENERATOR_SEES)


def with_equal_noise(
    optimizer: PrivateOptimizer, sources: NoiseSources
) -> PrivateOptimizer:
    """Return an optimizer with equal noise for equal generators; if seeds do not achieve this, its noise is 0."""
    if sources.is_seeded:
        return optimizer

    def step(state: Any, gradients: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        return optimizer.step(
            state, gradients, rng if isinstance(rng, Tape) else Tape([])
        )

    return replace(optimizer, step=step)


def not_replayable_tests(name: str) -> Iterator[ConformanceTest]:
    """Yield the result of a test that cannot be run because no two runs of the optimizer have equal noise."""
    yield untested_result(name, "no two runs have equal noise")


# Ratio of the two clip lengths. A smaller second length detects a clip length that is
# not passed on (the first one is too long) and noise that is scaled by its square (too
# small). The ratio is not a power of two.
CLIP_RATIO = 0.43


def clip_length_tests(
    at_clip: Callable[[float], PrivateOptimizer],
    promise: Promise,
    sources: NoiseSources,
    alpha: float,
    seed: int,
) -> Iterator[ConformanceTest]:
    """Build the optimizer with a second clip length, and test what one example changes and the scale of the noise.

    Few steps and runs suffice, because faults that only a second length shows are factors of ``CLIP_RATIO`` or more.
    """
    second_clip = CLIP_RATIO * promise.clip
    schedule = promise.clip_schedule
    second_promise = replace(
        promise,
        clip=second_clip,
        clip_schedule=None
        if schedule is None
        else [CLIP_RATIO * clip for clip in schedule],
    )
    with foreign_code("at_clip"):
        second_optimizer = at_clip(second_clip)
    guarded = GuardedOptimizer(second_optimizer, second_promise)
    guarded.shared_generators = sources.shared_generators
    if sources.is_seeded or sources.is_replayable:
        equal_noise = with_equal_noise(guarded.optimizer, sources)
        first_and_last_step = sorted({0, tested_steps(second_promise)[-1]})
        for test in sensitivity_tests(
            equal_noise, second_promise, seed, first_and_last_step
        ):
            yield _with_clip_length(test, second_clip)
    for test in noise_tests(
        guarded.optimizer, second_promise, alpha, seed, only_scale=True
    ):
        yield _with_clip_length(test, second_clip)
    yield _with_clip_length(guarded.finite_test(), second_clip)


def _with_clip_length(test: ConformanceTest, clip_length: float) -> ConformanceTest:
    return replace(test, name=f"{test.name}, clip length {clip_length:.4g}")


MIN_OUTPUTS = 1000


def conformance(
    optimizer: PrivateOptimizer,
    promise: Promise,
    *,
    seed: int = 0,
    alpha: float = 1e-4,
    outputs: int = 0,
    timeout: float = 0.0,
) -> Conformance:
    """Test whether an optimizer keeps the assumptions of its accounting.

    Parameters
    ----------
    optimizer : PrivateOptimizer
        The step function and, optionally, the batches.
    promise : Promise
        Assumptions of the accounting about sampling, sensitivity and noise.
    seed : int
        Seed of all random draws, at least 0.
    alpha : float
        Upper bound on the false-alarm probability of all tests together, above 0 and
        below 1.
    outputs : int
        If not 0, also compute a lower bound on epsilon from this many runs of two
        steps, at least 1000, on each batch of several neighbouring pairs. 10,000 runs
        take about ten seconds.
    timeout : float
        Time limit in seconds for one call of the optimizer. By default 0: its code runs
        in this process, without a limit. Otherwise it runs in a separate process. A
        call that exceeds the limit or ends the process is a fault and ends the tests.
        The optimizer must be picklable, and the calling script needs the
        ``if __name__ == "__main__":`` guard of :mod:`multiprocessing`.

    Returns
    -------
    Conformance
        True if every test was run and passed. A test that could not be run is listed as
        not tested. Passing tests do not prove that an optimizer is private. If the
        promise is kept, an accountant bounds epsilon from above.

    Raises
    ------
    ValueError
        If ``seed``, ``alpha``, ``outputs`` or ``timeout`` is out of range, if the tests
        would need more memory than the machine has, if ``batches`` gives too few
        batches, or if there is a ``timeout`` and the optimizer cannot be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from dpverify.conform import PrivateOptimizer, Promise, conformance
    >>> def step(state, gradients, rng):
    ...     norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    ...     total = (gradients * np.minimum(1, 0.7 / np.maximum(norms, 1e-12))).sum(axis=0)
    ...     return state, (total + 2.0 * 0.7 * rng.standard_normal(total.shape)) / 8
    >>> bool(conformance(PrivateOptimizer(step), Promise(sigma=2.0, clip=0.7, divisor=8)))
    True
    """
    check_options(seed, alpha, outputs)
    check_memory(promise, outputs)
    check_timeout(timeout)
    if timeout == 0.0:
        return Conformance(list(all_tests(optimizer, promise, seed, alpha, outputs)))
    data = packed(OPTIMIZER_KIND, (optimizer, promise))
    tests = run_apart(timeout, _tests_in_separate_process, data, seed, alpha, outputs)
    return Conformance(list(guarded_tests("this optimizer", tests)))


OPTIMIZER_KIND = "optimizer"


def _tests_in_separate_process(
    data: bytes, seed: int, alpha: float, outputs: int
) -> Iterator[ConformanceTest]:
    optimizer, promise = unpacked(OPTIMIZER_KIND, data)
    yield from all_tests(optimizer, promise, seed, alpha, outputs)


def check_options(seed: int, alpha: float, outputs: int) -> None:
    """Raise ValueError if an option of the tests is out of range."""
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got seed={seed}.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be above 0 and below 1, got alpha={alpha}.")
    if outputs != 0 and outputs < MIN_OUTPUTS:
        raise ValueError(
            f"outputs must be 0 or at least {MIN_OUTPUTS}, got outputs={outputs}."
        )


class TestFamily(NamedTuple):
    """Announcement that tests of one kind begin, for a progress display."""

    number: int  # counted from 0
    total: int
    name: str


def all_tests(
    optimizer: PrivateOptimizer,
    promise: Promise,
    seed: int,
    alpha: float,
    outputs: int = 0,
) -> Iterator[ConformanceTest]:
    """Yield the results of all tests lazily, so that a caller can stop at the first fault."""
    for item in announced_tests(optimizer, promise, seed, alpha, outputs):
        if isinstance(item, ConformanceTest):
            yield item


def announced_tests(
    optimizer: PrivateOptimizer,
    promise: Promise,
    seed: int,
    alpha: float,
    outputs: int = 0,
) -> Iterator[ConformanceTest | TestFamily]:
    """Yield the results of all tests, and a TestFamily before each kind of tests."""
    family_alpha = alpha / (2 + bool(outputs) + (optimizer.at_clip is not None))
    guarded = GuardedOptimizer(optimizer, promise)
    with generators_restored(), originals_watched():
        yield from _tests_and_families(
            optimizer, guarded, promise, family_alpha, seed, outputs
        )


def _tests_and_families(
    optimizer: PrivateOptimizer,
    guarded: GuardedOptimizer,
    promise: Promise,
    family_alpha: float,
    seed: int,
    outputs: int,
) -> Iterator[ConformanceTest | TestFamily]:
    sources = NoiseSources()

    def generator_tests() -> Iterator[ConformanceTest]:
        nonlocal sources
        sources = noise_sources(guarded, promise, seed)
        yield generator_test(sources)

    yield from guarded_tests("generator", generator_tests())
    # whether releases that are not finite have been reported
    is_finiteness_reported = False
    families = list(
        _test_families(guarded.optimizer, promise, sources, family_alpha, seed, outputs)
    )
    total = len(families) + (optimizer.at_clip is not None)
    for number, (name, tests) in enumerate(families):
        yield TestFamily(number, total, name)
        if name == "outputs" and not is_finiteness_reported:
            is_finiteness_reported = True  # an audit raises for later ones
            yield guarded.finite_test()
        yield from guarded_tests(name, tests)
        if guarded.non_finite_count and not is_finiteness_reported:
            is_finiteness_reported = True
            yield guarded.finite_test()
    if not is_finiteness_reported:
        yield guarded.finite_test()
    if optimizer.at_clip is not None:
        yield TestFamily(len(families), total, "a second clip length")
        yield from guarded_tests(
            "a second clip length",
            clip_length_tests(optimizer.at_clip, promise, sources, family_alpha, seed),
        )


def _test_families(
    optimizer: PrivateOptimizer,
    promise: Promise,
    sources: NoiseSources,
    family_alpha: float,
    seed: int,
    outputs: int,
) -> Iterator[tuple[str, Iterator[ConformanceTest]]]:
    """Yield the name and the tests of each kind; all kinds run, whatever earlier kinds found."""
    equal_noise_optimizer = with_equal_noise(optimizer, sources)
    is_comparable = sources.is_seeded or sources.is_replayable
    yield (
        "sensitivity",
        sensitivity_tests(equal_noise_optimizer, promise, seed)
        if is_comparable
        else not_replayable_tests("sensitivity"),
    )
    if optimizer.batches is not None:
        yield "sampling", sampling_tests(optimizer.batches, promise, family_alpha, seed)
    yield "noise", noise_tests(optimizer, promise, family_alpha, seed)
    yield (
        "state",
        state_tests(equal_noise_optimizer, promise, seed)
        if is_comparable
        else not_replayable_tests("state"),
    )
    if outputs:
        from dpverify.conform.outputs import output_tests

        yield "outputs", output_tests(optimizer, promise, family_alpha, seed, outputs)
