"""Large dimensions and much data: faults are found in little memory, and what does not fit is refused first."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpverify.conform import PrivateOptimizer, Promise, conformance
from dpverify.conform.replay.generators import solve_noise
from tests.for_each import for_each
from tests.unit.conform.catalogue import (
    BATCH,
    PROMISE,
    Array,
    clipped,
    dp_sgd,
    normal,
    reuses,
)

# not all pairs of coordinates are looked at, random
# batches are parts of one row, and runs are fewer
D = 6_000
LARGE = replace(PROMISE, dimension=D, steps=3)


def with_noise(change: Callable[[Array], Any]) -> Callable[..., Any]:
    def step(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        noise = normal(rng, g)
        change(noise)
        return state, (clipped(g).sum(axis=0) + noise) / BATCH

    return step


def halves_a_layer(noise: Array) -> None:
    noise[1500:1530] *= 0.5


def shares_between_layers(noise: Array) -> None:
    noise[D // 2 :] = 0.6 * noise[: D // 2] + 0.8 * noise[D // 2 :]


def leaves_out(noise: Array) -> None:
    noise[17] = 0.0


def moves_on(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """The noise of a step has that of the last one in it, moved by some places."""
    fresh = normal(rng, g)
    noise = fresh if state is None else 0.6 * np.roll(state, 77) + 0.8 * fresh
    return fresh, (clipped(g).sum(axis=0) + noise) / BATCH


def keeps_a_layer(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """The last thirty coordinates have clean momentum."""
    total = clipped(g).sum(axis=0)
    kept = 0.0 if state is None else state
    released = total.copy()
    released[-30:] += 0.1 * kept
    return total[-30:], (released + normal(rng, g)) / BATCH


def last_layer_unclipped(
    state: Any, g: Array, rng: np.random.Generator
) -> tuple[Any, Array]:
    total = clipped(g).sum(axis=0)
    total[-3:] = g[:, -3:].sum(axis=0)
    return state, (total + normal(rng, g)) / BATCH


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "test"),
    [
        (with_noise(halves_a_layer), "noise of two coordinates"),
        (with_noise(shares_between_layers), "noise of two numbers"),
        (with_noise(leaves_out), "fresh numbers"),
        (moves_on, "noise of two numbers"),
        (reuses, "noise of two steps"),
        (keeps_a_layer, "state"),
        (last_layer_unclipped, "sensitivity"),
    ],
    ids=["layer", "shared", "none", "moved", "again", "state", "unclipped"],
)
def test_mistakes_are_found_in_a_large_dimension(
    step: Callable[..., Any], test: str
) -> None:
    found = conformance(PrivateOptimizer(step), LARGE)
    assert test in {one.name for one in found.failed}, str(found)


def few_batches(n: int, steps: int, rng: np.random.Generator) -> Any:
    return (
        rng.choice(n, rng.binomial(n, BATCH / n), replace=False, shuffle=False)
        for _ in range(steps)
    )


def peak(dimension: int, examples: int, connection: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    promise = replace(LARGE, dimension=dimension, examples=examples)
    found = conformance(PrivateOptimizer(dp_sgd, batches=few_batches), promise)
    connection.send(
        (
            bool(found),
            str(found),
            (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "examples", "megabytes"), [(100_000, 64, 1500), (8, 1_000_000, 200)]
)
def test_what_is_right_passes_in_little_memory(
    dimension: int, examples: int, megabytes: int
) -> None:
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=peak, args=(dimension, examples, writer))
    child.start()
    passed, text, used = reader.recv()
    child.join()
    assert passed, text
    assert used < megabytes


def test_what_does_not_fit_is_refused_with_the_memory_that_it_takes() -> None:
    huge = Promise(sigma=1.0, clip=0.7, dimension=10**10)
    with pytest.raises(
        ValueError, match=r"must fit in memory: .* GB are needed, the machine has .* GB"
    ):
        conformance(PrivateOptimizer(dp_sgd), huge)


@for_each("layers", [1, 3])
def test_few_steps_solve_for_noise_that_has_few_scales(layers: int) -> None:
    rng = np.random.default_rng(0)
    scales = np.resize(rng.uniform(0.5, 2.0, layers), 3000)
    total = rng.standard_normal(3000)
    calls = 0

    def release(noise: Array) -> Array:
        nonlocal calls
        calls += 1
        return total + scales * noise

    noise = rng.standard_normal(3000)
    target = rng.standard_normal(3000)
    found = solve_noise(release, noise, target, release(noise))
    np.testing.assert_allclose(release(found), target, atol=1e-12)
    assert calls <= 3 * layers + 6


def test_any_mixture_of_noise_is_solved_for_in_small_dimensions_and_none_if_noise_is_missing() -> (
    None
):
    rng = np.random.default_rng(0)
    mixture = rng.standard_normal((12, 12))
    noise = rng.standard_normal(12)
    target = rng.standard_normal(12)
    found = solve_noise(lambda z: mixture @ z, noise, target, mixture @ noise)
    np.testing.assert_allclose(mixture @ found, target, atol=1e-9)
    mixture[3] = 0.0
    found = solve_noise(lambda z: mixture @ z, noise, target, mixture @ noise)
    assert np.abs(mixture @ found - target).max() > 0.1 * abs(target[3])
