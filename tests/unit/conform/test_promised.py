"""Sizes, steps, gradients and clip lengths that the tests try, and what a promise can express."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpverify.conform import (
    Conformance,
    PrivateOptimizer,
    Promise,
    Release,
    Statistic,
    conformance,
)
from dpverify.conform.coverage import batch_sizes, format_ranges
from dpverify.conform.coverage import tested_steps as steps_of
from dpverify.conform.noise.law import repeat_tests
from dpverify.conform.sampling import sampling_tests
from dpverify.conform.sampling_counts import followed_example
from dpverify.privacy.matrix import Cyclic, Epochs, Once, Participation, Separated
from tests.for_each import for_each

CLIP = 0.7
SIGMA = 1.1
BATCH = 16
POISSON = Promise(sigma=SIGMA, clip=CLIP, divisor=BATCH, examples=208, batch=BATCH)
FIXED = replace(POISSON, sampling="batches", neighbours="replace-one")


def clipped(gradients: Any, length: float = CLIP) -> Any:
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    return gradients * np.minimum(1, length / np.maximum(norms, 1e-12))


def noise(gradients: Any, rng: np.random.Generator, scale: float = SIGMA * CLIP) -> Any:
    return scale * rng.standard_normal(gradients.shape[1])


def failed(found: Conformance) -> set[str]:
    return {test.name.partition(",")[0] for test in found.failed}


def full_batches_unclipped(state: Any, gradients: Any, rng: np.random.Generator) -> Any:
    total = (
        gradients.sum(axis=0)
        if len(gradients) == BATCH
        else clipped(gradients).sum(axis=0)
    )
    return state, (total + noise(gradients, rng)) / BATCH


def from_step(first: int, *, layer: bool) -> Callable[..., Any]:
    """From a step on a layer is not clipped, or there is no noise."""

    def step(state: Any, gradients: Any, rng: np.random.Generator) -> Any:
        t = 1 if state is None else state + 1
        total = clipped(gradients).sum(axis=0)
        added = noise(gradients, rng)
        if t >= first and layer:
            total[-1] = gradients[:, -1].sum()
        if t >= first and not layer:
            added *= 0.0
        return t, (total + added) / BATCH

    return step


def clean_momentum_with_foreign_noise(
    state: Any, gradients: Any, rng: np.random.Generator
) -> Any:
    foreign = np.random.RandomState(int(rng.integers(2**31)))
    momentum = 0.9 * (0.0 if state is None else state) + clipped(gradients).sum(axis=0)
    return momentum, (
        momentum + SIGMA * CLIP * foreign.standard_normal(gradients.shape[1])
    ) / BATCH


def noisy_momentum_with_foreign_noise(
    state: Any, gradients: Any, rng: np.random.Generator
) -> Any:
    """Correct: the momentum is of releases."""
    foreign = np.random.RandomState(int(rng.integers(2**31)))
    released = (
        clipped(gradients).sum(axis=0)
        + SIGMA * CLIP * foreign.standard_normal(gradients.shape[1])
    ) / BATCH
    return 0.9 * (0.0 if state is None else state) + released, released


def by_drawn_batch(state: Any, gradients: Any, rng: np.random.Generator) -> Any:
    return state, (clipped(gradients).sum(axis=0) + noise(gradients, rng)) / max(
        1, len(gradients)
    )


def public_schedule(state: Any, gradients: Any, rng: np.random.Generator) -> Any:
    t = 0 if state is None else state
    length = CLIP * 0.9**t
    return t + 1, (
        clipped(gradients, length).sum(axis=0) + noise(gradients, rng, SIGMA * length)
    ) / BATCH


SCHEDULE = [CLIP * 0.9**t for t in range(POISSON.steps)]


@for_each("outputs", [0, 3000])
def test_an_optimizer_that_does_not_clip_full_batches_is_found(outputs: int) -> None:
    assert "sensitivity" in failed(
        conformance(PrivateOptimizer(full_batches_unclipped), FIXED, outputs=outputs)
    )
    assert "sensitivity" in failed(
        conformance(PrivateOptimizer(full_batches_unclipped), POISSON)
    )


@for_each(("first", "steps"), [(13, 16), (500, 1000)])
def test_late_steps_are_tested_and_named(first: int, steps: int) -> None:
    promise = replace(POISSON, steps=steps)
    layer = conformance(PrivateOptimizer(from_step(first, layer=True)), promise)
    assert failed(layer) == {"sensitivity"}
    text = (
        "steps 1 to 16, batches of 0 to 2"
        if steps == 16
        else f"1000 of {steps}, batches of 0 to 2"
    )
    assert text in layer.failed[0].found


@for_each(("first", "steps"), [(9, 16), (500, 1000)])
def test_noise_that_stops_at_a_late_step_is_found(first: int, steps: int) -> None:
    found = conformance(
        PrivateOptimizer(from_step(first, layer=False)), replace(POISSON, steps=steps)
    )
    assert "scale of noise" in failed(found)


def test_equal_seeds_of_32_bits_are_no_fault_and_more_repeats_are() -> None:
    """Whole runs whose seeds of 64 bits are equal in the 32 bits that a generator of PyTorch keeps."""
    n = 2000
    # expected repeats; two have a probability below its square
    assert n * (n - 1) / 2 / 2**32 < 1e-3
    noise = np.random.default_rng(0).standard_normal((n, 1, POISSON.dimension))
    noise[0] = noise[n - 1]
    once, _ = repeat_tests(noise, POISSON)
    noise[1] = noise[n - 2]
    twice, _ = repeat_tests(noise, POISSON)
    assert once.passed
    assert "1 of 2000 vectors" in once.sees
    assert not twice.passed


def test_a_state_is_tested_with_noise_from_a_generator_that_is_seeded() -> None:
    assert failed(
        conformance(PrivateOptimizer(clean_momentum_with_foreign_noise), POISSON)
    ) == {"state"}
    assert conformance(PrivateOptimizer(noisy_momentum_with_foreign_noise), POISSON)


@for_each("seed", range(3))
def test_a_division_by_the_drawn_batch_is_right_where_all_have_one_size(
    seed: int,
) -> None:
    found = conformance(PrivateOptimizer(by_drawn_batch), FIXED, seed=seed)
    assert found, str(found)
    uneven = replace(FIXED, sampling="epochs", examples=200)
    assert "sensitivity" in failed(
        conformance(PrivateOptimizer(by_drawn_batch), uneven, seed=seed)
    )


@for_each("seed", range(3))
def test_a_public_schedule_passes_if_it_is_promised(seed: int) -> None:
    promise = replace(POISSON, clip_schedule=SCHEDULE)
    assert conformance(PrivateOptimizer(public_schedule), promise, seed=seed)
    assert {"sensitivity", "scale of noise"} <= failed(
        conformance(
            PrivateOptimizer(public_schedule),
            replace(promise, clip_schedule=SCHEDULE[::-1]),
            seed=seed,
        )
    )


def adaptive(noise_follows: bool, clean: bool = False) -> PrivateOptimizer:
    """Clip lengths follow a noised count: the noise has that of its own step, or of the next one."""

    def step(length: float, gradients: Any, rng: np.random.Generator) -> Any:
        count = np.sum((np.linalg.norm(gradients, axis=1) <= length) - 0.5)
        noised = count + 10.0 * rng.standard_normal()
        following = length * float(np.exp(-0.3 * (count if clean else noised) / BATCH))
        scale = SIGMA * (length * 0.87 if noise_follows and count < 0 else length)
        vector = (
            clipped(gradients, length).sum(axis=0) + noise(gradients, rng, scale)
        ) / BATCH
        return following, Release(vector, clip_length=length, statistic=noised)

    return PrivateOptimizer(step, start=lambda: CLIP)


ADAPTIVE = replace(
    POISSON, adaptive_clip=True, statistic=Statistic(sensitivity=0.5, deviation=10.0)
)


@for_each("seed", range(3))
def test_adaptive_clipping_passes_and_noise_that_shrinks_where_gradients_are_clipped_is_found(
    seed: int,
) -> None:
    right = conformance(adaptive(noise_follows=False), ADAPTIVE, seed=seed)
    assert right, str(right)
    wrong = conformance(adaptive(noise_follows=True), ADAPTIVE, seed=seed)
    assert "scale of noise, clipped gradients" in {test.name for test in wrong.failed}
    assert "state" in failed(
        conformance(adaptive(noise_follows=False, clean=True), ADAPTIVE, seed=seed)
    )


def test_the_statistic_has_its_own_noise_and_sensitivity() -> None:
    quiet = replace(ADAPTIVE, statistic=Statistic(sensitivity=0.5, deviation=12.0))
    assert "scale of noise" in failed(conformance(adaptive(noise_follows=False), quiet))
    small = replace(ADAPTIVE, statistic=Statistic(sensitivity=0.4, deviation=10.0))
    assert "sensitivity" in failed(conformance(adaptive(noise_follows=False), small))
    assert ADAPTIVE.joint_multiplier == pytest.approx(
        (SIGMA**-2 + (0.5 / 10.0) ** 2) ** -0.5
    )


def test_a_clip_length_that_is_not_promised_is_refused() -> None:
    found = conformance(
        adaptive(noise_follows=False), replace(POISSON, statistic=ADAPTIVE.statistic)
    )
    assert "which a promise without adaptive_clip does not allow" in " ".join(
        str(found).split()
    )


@for_each("mistake", ["", "clip", "noise"])
def test_a_second_clip_length_shows_what_the_first_hides(mistake: str) -> None:
    def at_clip(length: float) -> PrivateOptimizer:
        def step(state: Any, gradients: Any, rng: np.random.Generator) -> Any:
            used = 1.0 if mistake == "clip" else length
            scale = SIGMA * length ** (2 if mistake == "noise" else 1)
            return state, (
                clipped(gradients, used).sum(axis=0) + noise(gradients, rng, scale)
            ) / BATCH

        return PrivateOptimizer(step, at_clip=at_clip)

    found = conformance(at_clip(1.0), replace(POISSON, clip=1.0))
    names = {"": set[str](), "clip": {"sensitivity"}, "noise": {"scale of noise"}}[
        mistake
    ]
    assert names <= failed(found)
    assert bool(found) == (not mistake)
    assert all("clip length 0.43" in test.name for test in found.failed)
    assert found.alpha <= 1e-4 * (1 + 1e-9)


def linear(memory: Any, root: Any) -> PrivateOptimizer:
    """A matrix mechanism, as Algorithms 1 and 2 of tran2022 are for fixed gradients."""

    def step(state: Any, gradients: Any, rng: np.random.Generator) -> Any:
        sums, draws = ([], []) if state is None else state
        sums = [*sums, clipped(gradients).sum(axis=0)]
        draws = [*draws, noise(gradients, rng)]
        t = len(sums)
        return (sums, draws), (
            memory[t - 1, :t] @ np.array(sums) + root[t - 1, :t] @ np.array(draws)
        ) / BATCH

    return PrivateOptimizer(step)


@for_each("seed", range(3))
def test_declared_memory_passes_and_other_memory_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    memory = np.tril(rng.uniform(0.2, 1.0, (8, 8)))
    root = np.tril(rng.uniform(0.0, 0.5, (8, 8))) + np.eye(8)
    promise = replace(POISSON, memory=memory, covariance=root @ root.T)
    found = conformance(linear(memory, root), promise, seed=seed)
    assert found, str(found)
    changed = memory.copy()
    changed[5, 1] += 0.01
    assert failed(conformance(linear(changed, root), promise, seed=seed)) == {"state"}


@for_each(
    ("changed", "message"),
    [
        ({"clip_schedule": [1.0]}, "clip_schedule must have 8 finite lengths"),
        ({"clip_schedule": SCHEDULE, "adaptive_clip": True}, "exclude each other"),
        ({"memory": np.ones((8, 8))}, "memory must be lower triangular"),
    ],
)
def test_a_promise_that_contradicts_itself_is_refused(
    changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        replace(POISSON, **changed)


def test_sizes_and_steps_follow_from_the_promise() -> None:
    assert batch_sizes(FIXED) == [16]
    assert batch_sizes(replace(FIXED, sampling="epochs", examples=200)) == [8, 16]
    assert {0, 1, 15, 16, 17, 64} <= set(batch_sizes(POISSON))
    assert steps_of(replace(POISSON, steps=16)) == list(range(16))
    late = steps_of(replace(POISSON, steps=1000))
    assert {0, 7, 999} <= set(late)
    assert len(late) < 30
    assert format_ranges([0, 1, 2, 5, 6, 9]) == "0 to 2, 5, 6, 9"


EPOCH = FIXED.examples // BATCH
STEPS = 3 * EPOCH


def in_order(
    shuffled: int, n: int, steps: int, rng: np.random.Generator
) -> Iterator[Any]:
    """Cut an order of the examples into batches; it is drawn again after so many steps."""
    order = rng.permutation(n)
    for step in range(steps):
        if step and step % shuffled == 0:
            order = rng.permutation(n)
        begin = step * BATCH % n
        yield order[begin : begin + BATCH]


@for_each(
    ("participation", "shuffled", "is_kept"),
    [
        (Cyclic(EPOCH), STEPS, True),
        (Cyclic(EPOCH), EPOCH, False),
        (Epochs(EPOCH), EPOCH, True),
        (Epochs(EPOCH + 1), EPOCH, False),
        (Separated(EPOCH), STEPS, True),
        (Separated(EPOCH), EPOCH, False),
        (Separated(1, most=2), EPOCH, False),
        (Once(), STEPS, False),
    ],
)
def test_steps_in_which_an_example_takes_part_are_tested(
    participation: Participation, shuffled: int, is_kept: bool
) -> None:
    tested = replace(FIXED, participation=participation, steps=STEPS)
    form, result = sampling_tests(partial(in_order, shuffled), tested, 1e-4, 0)
    assert (form.name, form.passed) == ("batches", True)
    assert (result.name, result.passed) == ("participation", is_kept)
    assert is_kept or " takes part in steps " in result.found


def test_runs_follow_every_example_in_turn() -> None:
    for examples in (1, 6, 7, 14, 49, 77, 208):
        assert {followed_example(run, examples) for run in range(examples)} == set(
            range(examples)
        )
