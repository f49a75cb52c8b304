"""Whether the noise comes from the given generator, and what can be tested if it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpverify.conform.guarded import GuardedOptimizer, copied
from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.replay.sources import NoiseSources, system_randomness, used_generators
from dpverify.conform.replay.tape import Tape
from dpverify.conform.results import ConformanceTest, not_tested

FIRST_STEPS = 2
SEES = "noise that does not come from the generator that is given"


def noise_sources(guarded: GuardedOptimizer, promise: Promise, seed: int) -> NoiseSources:
    """Run the first steps to find out which generators they use; let the shared ones follow the given generator."""
    zero = np.zeros((promise.batch, promise.dimension))
    start = guarded.optimizer.start()

    def releases(generators: list[np.random.Generator]) -> Any:
        state = copied(start)
        released_values = []
        for rng in generators:
            state, released = guarded.optimizer.step(state, zero.copy(), rng)
            released_values.append(released)
        return np.array(released_values)

    def seeded() -> list[np.random.Generator]:
        return [np.random.default_rng([seed, 3, step]) for step in range(FIRST_STEPS)]

    def silent() -> list[np.random.Generator]:
        return [Tape([]) for _ in range(FIRST_STEPS)]

    with system_randomness() as system:
        shared = used_generators(lambda: releases(seeded()))
        guarded.shared = shared
        is_seeded = _are_equal(releases(seeded()), releases(seeded()))
    is_replayable = _are_equal(releases(silent()), releases(silent()))
    return NoiseSources(shared, sorted(system), is_seeded, is_replayable)


def _are_equal(left: Any, right: Any) -> bool:
    return np.array_equal(left, right, equal_nan=True)


def generator_test(sources: NoiseSources) -> ConformanceTest:
    """State whether the noise follows the given generator, and which other sources it has."""
    if sources.is_seeded:
        text = "the same seed gives the same noise"
        if sources.shared:
            names = ", ".join(generator.name for generator in sources.shared)
            text += f"; the tests seed the shared generator of {names} before each step"
        return ConformanceTest("generator", True, text, SEES)
    text = "the same seed gives different noise"
    if sources.system:
        text += f": the optimizer uses randomness of the operating system ({', '.join(sources.system)})"
    text += "; equal noise was made by replacing the numbers it draws" if sources.is_replayable else ""
    return ConformanceTest("generator", False, text, SEES)


def with_equal_noise(optimizer: PrivateOptimizer, sources: NoiseSources) -> PrivateOptimizer:
    """Return an optimizer whose noise is the same for the same generator: if no seed does that, without any noise."""
    if sources.is_seeded:
        return optimizer

    def step(state: Any, gradients: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        return optimizer.step(state, gradients, rng if isinstance(rng, Tape) else Tape([]))

    return replace(optimizer, step=step)


def untested(name: str) -> Iterator[ConformanceTest]:
    """Yield that a test needs two runs with equal noise, which this optimizer does not have."""
    yield not_tested(name, "no two runs have equal noise")
