"""Devices: what is refused, what is released from them, and the generators of graphics cards.

Without a card, a generator on the CPU takes the place of its generator, and PyTorch's "meta" that of another device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpverify.conform import PrivateOptimizer, conformance
from dpverify.conform.guard import (
    card_name,
    replay_normals,
    tf32_note,
    to_numpy,
)
from dpverify.conform.replay.generators import Tape, generators_restored
from dpverify.kernels.check import ArgumentError
from tests.for_each import for_each
from tests.unit.conform.backends import mistakes_torch, right_torch
from tests.unit.conform.catalogue import BATCH, CLIP, SIGMA, clipped, promise

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
SHORT = promise(steps=3, dimension=3)
needs_card = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="NOT RUN ON A GPU: there is no graphics card"
)


def test_a_device_without_numbers_and_one_that_is_not_there_are_refused() -> None:
    assert card_name("cpu") == ""
    for device in ("meta", "no device", "cuda:99"):
        with pytest.raises(
            ArgumentError, match="must be a device of this machine"
        ) as error:
            card_name(device)
        assert "\n" not in str(error.value)


def test_tensors_of_any_type_are_converted_without_loss() -> None:
    values = [0.5, -1.0, 3.0]
    weights = torch.nn.Parameter(torch.tensor(values, dtype=torch.bfloat16))
    assert to_numpy(weights).tolist() == values
    assert to_numpy(torch.tensor([3, 2**60 + 1])).tolist() == [3, 2**60 + 1]
    assert to_numpy(values) is values


@pytest.mark.slow  # it loads how PyTorch computes on "meta"
@for_each("name", ["randn", "normal_", "normal of tensors"])
def test_numbers_of_a_tape_go_to_the_device_of_the_draw(name: str) -> None:
    tape = Tape([1.0, 2.0, 4.0])
    zero = torch.zeros(3, dtype=torch.float64, device="meta")
    with replay_normals(tape):
        drawn = {
            "randn": lambda: torch.randn(3, device="meta"),
            "normal_": lambda: torch.empty(3, device="meta").normal_(),
            "normal of tensors": lambda: torch.normal(zero, zero),
        }[name]()
    assert drawn.device.type == "meta"
    assert tape.position == 3


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A generator in the place of the one that a graphics card has."""
    generator = torch.Generator().manual_seed(5)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(
        torch.cuda, "get_rng_state_all", lambda: [generator.get_state()]
    )
    monkeypatch.setattr(
        torch.cuda, "set_rng_state_all", lambda states: generator.set_state(states[0])
    )
    monkeypatch.setattr(torch.cuda, "manual_seed_all", generator.manual_seed)
    return generator


def shared(generator: Any, clip: float = CLIP) -> PrivateOptimizer:
    """Draw from a generator that a whole process shares, without a seed."""

    def step(state: Any, gradients: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        noise = torch.randn(
            gradients.shape[1], dtype=torch.float64, generator=generator
        )
        return state, (
            torch.from_numpy(clipped(gradients, clip).sum(axis=0))
            + SIGMA * CLIP * noise
        ) / BATCH

    return PrivateOptimizer(step)


def test_the_generator_of_a_card_is_seeded_before_each_step_and_left_as_it_was(
    card: Any,
) -> None:
    before = card.get_state()
    found = conformance(shared(card), SHORT)
    assert found, str(found)
    assert "the shared generator of torch.cuda" in found.tests[0].found
    assert torch.equal(card.get_state(), before)
    assert [
        test.name for test in conformance(shared(card, 1.1 * CLIP), SHORT).failed
    ] == ["sensitivity"]


def test_a_generator_of_a_card_is_restored_after_other_draws(card: Any) -> None:
    before = card.get_state()
    with generators_restored():
        torch.randn(2, generator=card)
        assert not torch.equal(card.get_state(), before)
    assert torch.equal(card.get_state(), before)


def test_the_note_on_tf32_follows_the_setting(
    card: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    low = promise(dtype="float32")
    assert list(tf32_note(promise())) == []
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    assert [test.found for test in tf32_note(low)] == ["note: TF32 is off"]
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)
    (test,) = tf32_note(low)
    assert test.passed
    assert "on for matrix products: " in test.found
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert list(tf32_note(low)) == []


@needs_card
@for_each("name", right_torch())
def test_a_correct_optimizer_passes_on_a_card(name: str) -> None:
    found = conformance(*right_torch("cuda")[name])
    assert found, str(found)


@needs_card
@for_each("name", mistakes_torch())
def test_a_mistake_is_found_on_a_card(name: str) -> None:
    assert conformance(*mistakes_torch("cuda")[name]).failed


@needs_card
def test_the_shared_generator_of_a_card_is_found_and_replayed() -> None:
    def step(state: Any, gradients: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        noise = torch.randn(gradients.shape[1], dtype=torch.float64, device="cuda")
        total = torch.from_numpy(clipped(gradients).sum(axis=0)).to("cuda")
        old = 0.0 if state is None else state
        return 0.5 * old + total, (total + 0.5 * old + SIGMA * CLIP * noise) / BATCH

    assert [
        test.name for test in conformance(PrivateOptimizer(step), SHORT).failed
    ] == ["state"]
