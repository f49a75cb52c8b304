"""The same optimizer with another clip length: sensitivity and noise must follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from dpverify.conform.guarded import GuardedOptimizer
from dpverify.conform.noise import noise_tests
from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.replay.generator import with_equal_noise
from dpverify.conform.replay.sources import NoiseSources
from dpverify.conform.results import ConformanceTest
from dpverify.conform.sensitivity import sensitivity_tests
from dpverify.foreign import foreign_code

# Between the two clip lengths. A smaller one shows a clip length that is not passed on (the first one is too long) and
# noise that is scaled by its square (too small). It is no power of two.
FACTOR = 0.43


def clip_length_tests(
    at_clip: Callable[[float], PrivateOptimizer], promise: Promise, sources: NoiseSources, alpha: float, seed: int
) -> Iterator[ConformanceTest]:
    """Build the optimizer with a second clip length, and test what one example changes and the noise."""
    length = FACTOR * promise.clip
    schedule = promise.clip_schedule
    second = replace(
        promise, clip=length, clip_schedule=None if schedule is None else [FACTOR * clip for clip in schedule]
    )
    with foreign_code("at_clip"):
        built = at_clip(length)
    guarded = GuardedOptimizer(built, second)
    guarded.shared = sources.shared
    if sources.is_seeded or sources.is_replayable:
        for test in sensitivity_tests(with_equal_noise(guarded.optimizer, sources), second, seed):
            yield _named(test, length)
    for test in noise_tests(guarded.optimizer, second, alpha, seed):
        yield _named(test, length)
    yield _named(guarded.finite_test(), length)


def _named(test: ConformanceTest, length: float) -> ConformanceTest:
    return replace(test, name=f"{test.name}, clip length {length:.4g}")
