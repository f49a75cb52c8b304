"""A catalogue of mistakes that private optimizers make: each is found, and none in what is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpverify.conform import PrivateOptimizer, conformance
from tests.unit.conform.catalogue import (
    BATCH,
    BATCHES,
    PROMISE,
    SETTINGS,
    SHARED,
    STEPS,
    Array,
    clipped,
    dp_sgd,
    normal,
    promise,
    tree,
)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_right_passes(name: str, seed: int) -> None:
    optimizer, changed = SETTINGS[name]
    found = conformance(optimizer, promise(**changed), seed=seed)
    assert found, str(found)
    assert found.alpha <= 1e-4 * (1 + 1e-9)


@pytest.mark.parametrize("name", STEPS)
def test_a_mistake_of_a_step_is_found(name: str) -> None:
    assert not conformance(PrivateOptimizer(STEPS[name]), PROMISE, seed=0)


def loud_batches(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """Right in the batches that other tests draw, and with a fifth of the noise in larger ones."""
    return state, (clipped(g).sum(axis=0) + normal(rng, g) * (1.0 if len(g) <= 5 * BATCH else 0.2)) / BATCH


@pytest.mark.slow
@pytest.mark.parametrize(("neighbours", "outputs"), [("add-remove", 3000), ("replace-one", 12_000)])
def test_what_only_outputs_show_is_found_in_them_and_nothing_else_is(neighbours: str, outputs: int) -> None:
    promised = promise(neighbours=neighbours)
    right = conformance(PrivateOptimizer(dp_sgd), promised, outputs=outputs)
    assert right, str(right)
    assert right.tests[-1].name == "outputs"
    assert right.alpha <= 1e-4 * (1 + 1e-9)
    assert conformance(PrivateOptimizer(loud_batches), promised)
    (found,) = conformance(PrivateOptimizer(loud_batches), promised, outputs=outputs).failed
    assert found.name == "outputs"
    assert "many others alike" in found.found


def test_what_outputs_cannot_tell_is_said_not_to_be_tested() -> None:
    last = conformance(PrivateOptimizer(dp_sgd), promise(neighbours="replace-one"), outputs=1000).tests[-1]
    assert (last.name, last.sees) == ("outputs", "nothing")
    assert last.found.startswith("not tested: so few outputs show no epsilon above")
    last = conformance(PrivateOptimizer(tree), promise(covariance=SHARED), outputs=1000).tests[-1]
    assert last.found.startswith("not tested: the noise of a step may depend")


def test_too_few_outputs_are_refused() -> None:
    with pytest.raises(ValueError, match="outputs must be 0 or at least 1000, got outputs=10"):
        conformance(PrivateOptimizer(dp_sgd), PROMISE, outputs=10)


@pytest.mark.parametrize("name", BATCHES)
def test_a_mistake_of_the_batches_is_found(name: str) -> None:
    batches, sampling = BATCHES[name]
    found = conformance(PrivateOptimizer(dp_sgd, batches=batches), promise(sampling=sampling), seed=0)
    failed = {test.name.partition(", beyond")[0] for test in found.failed}
    assert failed
    assert failed <= {
        "batches", "seeds of batches", "inclusion", "pairs", "each pair", "small batches", "large batches", "next step",
        "any two steps", "next epoch",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("two examples come together", "each pair"),
        ("the seed is set again after three steps", "any two steps"),
        ("large batches are cut off", "large batches, beyond 2%"),
        ("one order for all epochs", "next epoch"),
    ],
)
def test_some_mistakes_of_the_batches_show_in_one_test_alone(name: str, test: str) -> None:
    batches, sampling = BATCHES[name]
    found = conformance(PrivateOptimizer(dp_sgd, batches=batches), promise(sampling=sampling), seed=0)
    assert [one.name for one in found.failed] == [test]


def test_an_epoch_that_is_too_long_to_be_drawn_twice_is_left_out() -> None:
    long = promise(sampling="epochs", examples=30_000, batch=10_000, steps=2)
    orders = PrivateOptimizer(dp_sgd, batches=lambda n, steps, rng: iter(rng.permutation(n).reshape(-1, 10_000)))
    found = conformance(orders, long)
    assert found, str(found)
    assert "next epoch" not in {test.name for test in found.tests}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sigma": 0.0}, "sigma must be finite and above 0, got sigma=0.0"),
        ({"batch": 65}, "batch must be at most examples=64, got batch=65"),
        ({"sampling": "shuffle"}, "sampling must be one of poisson, batches, epochs, got 'shuffle'"),
        ({"steps": 1}, "steps must be at least 2"),
    ],
)
def test_a_promise_that_cannot_be_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        promise(**changed)


def test_the_text_has_a_line_per_test_and_says_how_sure_it_is() -> None:
    found = conformance(PrivateOptimizer(STEPS["no noise"]), PROMISE)
    lines = str(found).splitlines()
    assert len(lines) == len(found.tests) + 1
    assert sum(line.startswith("FAULT") for line in lines) == len(found.failed) > 0
    assert "a correct optimizer fails with chance at most" in lines[-1]
