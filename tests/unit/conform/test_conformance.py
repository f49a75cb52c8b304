"""A catalogue of mistakes that private optimizers make: each is found, and none in what is right."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
import pytest

from dpverify.conform import Conformance, PrivateOptimizer, conformance
from dpverify.conform.report import CORRELATION_SUBJECTS, faults, subject
from tests.for_each import for_each
from tests.unit.conform.catalogue import (
    BATCH,
    BATCHES,
    CLIP,
    PROMISE,
    SETTINGS,
    SHARED,
    SIGMA,
    STEPS,
    Array,
    clipped,
    dp_sgd,
    normal,
    promise,
    tree,
)


@cache
def of_steps(name: str) -> Conformance:
    return conformance(PrivateOptimizer(STEPS[name]), PROMISE, seed=0)


@cache
def of_batches(name: str) -> Conformance:
    batches, sampling = BATCHES[name]
    return conformance(
        PrivateOptimizer(dp_sgd, batches=batches), promise(sampling=sampling), seed=0
    )


@for_each("name", SETTINGS)
@for_each("seed", [0, 1])
def test_what_is_right_passes(name: str, seed: int) -> None:
    optimizer, changed = SETTINGS[name]
    found = conformance(optimizer, promise(**changed), seed=seed)
    assert found, str(found)
    assert found.alpha <= 1e-4 * (1 + 1e-9)


@for_each("name", STEPS)
def test_a_mistake_of_a_step_is_found(name: str) -> None:
    found = of_steps(name)
    assert not found
    assert 1 <= len(faults(found.tests)) <= 2
    assert len(str(found).splitlines()) <= 15


def loud_batches(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """Right in the batches that other tests draw, and with a fifth of the noise in larger ones."""
    return state, (
        clipped(g).sum(axis=0) + normal(rng, g) * (1.0 if len(g) <= 5 * BATCH else 0.2)
    ) / BATCH


@pytest.mark.slow
@pytest.mark.parametrize(
    ("neighbours", "outputs"), [("add-remove", 3000), ("replace-one", 12_000)]
)
def test_what_only_outputs_show_is_found_in_them_and_nothing_else_is(
    neighbours: str, outputs: int
) -> None:
    promised = promise(neighbours=neighbours)
    right = conformance(PrivateOptimizer(dp_sgd), promised, outputs=outputs)
    assert right, str(right)
    assert right.tests[-1].name == "outputs"
    assert right.alpha <= 1e-4 * (1 + 1e-9)
    assert conformance(PrivateOptimizer(loud_batches), promised)
    (found,) = conformance(
        PrivateOptimizer(loud_batches), promised, outputs=outputs
    ).failed
    assert found.name == "outputs"
    assert "many equal gradients" in found.found


def test_what_outputs_cannot_tell_is_said_not_to_be_tested() -> None:
    last = conformance(
        PrivateOptimizer(dp_sgd), promise(neighbours="replace-one"), outputs=1000
    ).tests[-1]
    assert (last.name, last.status, last.sees) == ("outputs", "not tested", "nothing")
    assert last.found.startswith("so few outputs can show at most epsilon")
    result = conformance(
        PrivateOptimizer(tree), promise(covariance=SHARED), outputs=1000
    )
    assert not result
    assert not result.failed
    (last,) = result.not_tested
    assert last.found.startswith("the noise of a step may depend")


def test_too_few_outputs_are_refused() -> None:
    with pytest.raises(
        ValueError, match="outputs must be 0 or at least 1000, got outputs=10"
    ):
        conformance(PrivateOptimizer(dp_sgd), PROMISE, outputs=10)


@for_each("name", BATCHES)
def test_a_mistake_of_the_batches_is_found(name: str) -> None:
    found = of_batches(name)
    failed = {test.name.partition(",")[0].partition(" in ")[0] for test in found.failed}
    assert failed
    assert len(faults(found.tests)) == 1
    assert failed <= {
        "batches", "seeds of batches", "inclusion", "pairs", "each pair", "small batches", "large batches", "next step",
        "any two steps", "common", "parts of the data", "next epoch", "pairs of the next epoch",
    }  # fmt: skip


@for_each(
    ("name", "test"),
    [
        ("one order for all epochs", "next epoch, pairs of the next epoch"),
        ("two examples come together", "each pair"),
        ("the seed is set again after three steps", "any two steps"),
        (
            "large batches are cut off",
            "large batches, beyond 2%, large batches, beyond 0.56%",
        ),
        (
            "batches are made once and drawn again",
            "common, common, at most 0, common in 6 steps, none",
        ),
        ("batches are made once and come in a new order", "pairs of the next epoch"),
    ],
)
def test_some_mistakes_of_the_batches_show_in_one_test_alone(
    name: str, test: str
) -> None:
    assert ", ".join(one.name for one in of_batches(name).failed) == test


@for_each(
    ("name", "test", "words"),
    [
        ("float32, scaled afterwards", "precision", "all noise is float32"),
        (
            "the clip length of later steps follows the data",
            "state",
            "an example of step 1",
        ),
        (
            "gradients are centred on earlier ones, from the third step on",
            "state",
            "an example of step 2",
        ),
        ("the fourth step does not clip", "sensitivity", "clip lengths alone"),
        ("examples beyond the 24th are not clipped", "sensitivity", "with 31 others"),
        ("noise follows the learning rate", "noise of two steps", "variance off by"),
        (
            "one layer has 15% less noise, and the others more",
            "noise of two coordinates",
            "1: variance off by -",
        ),
    ],
)
def test_some_mistakes_of_a_step_show_in_one_test_alone(
    name: str, test: str, words: str
) -> None:
    found = of_steps(name)
    assert [one.name for one in found.failed] == [test]
    assert words in found.failed[0].found


def turned(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """Every second noise is a moved and negated one of the step before; no coordinate depends on its own past."""
    t, old = (0, np.zeros(g.shape[1])) if state is None else state
    noise = (
        -np.roll(old, 1)
        if t % 2
        else SIGMA * CLIP * rng.normal(size=(1, g.shape[1]))[0]
    )
    return (t + 1, noise), (clipped(g).sum(axis=0) + noise) / BATCH


def test_noise_that_depends_on_that_of_another_step_and_coordinate_is_found() -> None:
    found = {
        one.name: one
        for one in conformance(PrivateOptimizer(turned), PROMISE, seed=0).failed
    }
    assert "noise of two numbers" in found
    assert "correlation about -1.0" in found["noise of two numbers"].found
    assert "noise of two steps" not in found
    assert "noise of two coordinates" not in found


def remembers(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
    """Noise that adds up as promised, and a tenth of the last clean sum."""
    noise, old = (0.0, 0.0) if state is None else state
    total = clipped(g).sum(axis=0)
    noise = noise + normal(rng, g)
    return (noise, total), (total + 0.1 * old + noise) / BATCH


def seeded_once(
    state: Any, g: Array, rng: np.random.Generator, factor: float = 1.0
) -> tuple[Any, Array]:
    """Keep a generator in the state; where there are gradients, the noise has ``factor`` times its deviation."""
    own = np.random.default_rng(int(rng.integers(2**62))) if state is None else state
    noise = normal(own, g) * (factor if g.any() else 1.0)
    return own, (clipped(g).sum(axis=0) + noise) / BATCH


def test_a_generator_in_the_state_is_right_and_its_noise_is_measured_at_gradients() -> (
    None
):
    found = conformance(PrivateOptimizer(seeded_once), PROMISE, seed=0)
    assert found, str(found)
    smaller = PrivateOptimizer(lambda state, g, rng: seeded_once(state, g, rng, 0.9))
    names = {test.name for test in conformance(smaller, PROMISE, seed=0).failed}
    assert "scale of noise, mixed gradients" in names
    assert "scale of noise, batches of 1" not in names


def remembers_short(
    state: Any, g: Array, rng: np.random.Generator
) -> tuple[Any, Array]:
    """Remember the last gradients that are shorter than half of the clip length."""
    old = 0.0 if state is None else state
    released = (clipped(g).sum(axis=0) + 0.1 * old + normal(rng, g)) / BATCH
    return g[np.linalg.norm(g, axis=1) < 0.5 * CLIP].sum(axis=0), released


def test_a_state_that_keeps_only_short_gradients_is_found() -> None:
    found = conformance(PrivateOptimizer(remembers_short), PROMISE, seed=0)
    assert "state" in {test.name for test in found.failed}


def test_a_state_is_tested_where_noise_comes_back_as_promised() -> None:
    optimizer, changed = SETTINGS["noise that adds up"]
    results = [
        conformance(one, promise(**changed))
        for one in (optimizer, PrivateOptimizer(remembers))
    ]
    right, wrong = (
        next(test for test in result.tests if test.name == "state")
        for result in results
    )
    assert right.status == "ok"
    assert "tested: steps 1 to 3" in right.found
    assert wrong.status == "fault"


def test_an_epoch_that_is_too_long_to_be_drawn_twice_is_left_out() -> None:
    long = promise(sampling="epochs", examples=25_500, batch=500, steps=2)

    def batches(n: int, steps: int, rng: np.random.Generator) -> Iterator[Array]:
        return (
            batch
            for epoch in repeat(n)
            for batch in rng.permutation(epoch).reshape(-1, 500)
        )

    found = conformance(PrivateOptimizer(dp_sgd, batches=batches), long)
    assert found, str(found)
    assert "next epoch" not in {test.name for test in found.tests}


@for_each(
    ("changed", "message"),
    [
        ({"sigma": 0.0}, "sigma must be a finite number above 0, got sigma=0.0"),
        ({"batch": 65}, "batch must be at most examples=64, got batch=65"),
        (
            {"sampling": "shuffle"},
            "sampling must be one of poisson, batches, epochs, got 'shuffle'",
        ),
        ({"sigma": "1"}, "sigma must be a finite number above 0, got sigma='1'"),
        ({"clip": None}, "clip must be a finite number above 0, got clip=None"),
        ({"steps": 1}, "steps must be an integer of at least 2"),
        ({"batch": 16.5}, r"batch must be an integer of at least 1, got batch=16\.5"),
        (
            {"examples": "64"},
            "examples must be an integer of at least 4, got examples='64'",
        ),
        (
            {"covariance": [[1.0, 2.0], [3.0, 4.0]]},
            "covariance must be symmetric and positive definite, 6 by 6, got",
        ),
        (
            {"covariance": -np.eye(6)},
            "covariance must be symmetric and positive definite",
        ),
        (
            {"covariance": np.tril(np.ones((6, 6)))},
            "covariance must be symmetric and positive definite",
        ),
    ],
)
def test_a_promise_that_cannot_be_is_refused(
    changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        promise(**changed)


def test_the_text_has_the_fault_once_and_says_how_sure_it_is() -> None:
    found = of_steps("no noise")
    lines = str(found).splitlines()
    assert lines[0] == "FAULT  fresh numbers: there is no noise."
    assert sum(line.startswith("FAULT") for line in lines) == 1
    assert "scale of noise (7 tests)" in str(found)
    assert (
        "correct optimizer fails any test with probability at most 5e-05"
        in " ".join(str(found).split())
    )
    assert "1 could not be run" in str(found)
    assert (
        "Not tested: state (the released vector does not follow normal numbers"
        in str(found)
    )


def test_the_verbose_text_has_a_line_per_test() -> None:
    found = of_steps("no noise")
    lines = found.text(verbose=True, width=10**4).splitlines()
    assert sum(line.startswith("FAULT       ") for line in lines) == len(found.failed)
    assert sum(line.startswith("not tested  ") for line in lines) == 1
    assert (
        sum(line.startswith("ok          ") for line in lines)
        == len(found.tests) - len(found.failed) - 1
    )
    assert "It detects: NaN and infinite numbers" in found.text(
        verbose=True, width=10**4
    )


def scaled_noise(factor: float) -> PrivateOptimizer:
    return PrivateOptimizer(
        lambda state, g, rng: (
            state,
            (clipped(g).sum(axis=0) + factor * normal(rng, g)) / BATCH,
        )
    )


@for_each("factor", [0.5, 0.8, 0.96, 1.2])
def test_noise_of_a_wrong_scale_is_one_fault_and_no_correlation(factor: float) -> None:
    (fault,) = faults(conformance(scaled_noise(factor), PROMISE, seed=0).tests)
    assert fault.test.name.startswith("scale of noise")
    assert {subject(test) for test in fault.consequences} <= {
        "scale of noise",
        *CORRELATION_SUBJECTS,
        "shape of noise",
    }


def test_a_correlation_is_a_fault_of_its_own_beside_a_wrong_scale() -> None:
    def step(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        noise = 0.5 * normal(rng, g)
        noise[1] = 0.8 * noise[0] + 0.6 * noise[1]
        return state, (clipped(g).sum(axis=0) + noise) / BATCH

    scale, correlation = faults(
        conformance(PrivateOptimizer(step), PROMISE, seed=0).tests
    )
    assert scale.test.name.startswith("scale of noise")
    assert correlation.test.name == "noise of two coordinates"


def test_noise_that_is_not_around_0_is_one_fault() -> None:
    (fault,) = faults(of_steps("noise is not around 0").tests)
    assert fault.test.name == "mean of noise"


def test_what_raises_alike_in_several_tests_is_one_fault() -> None:
    def step(state: Any, g: Array, rng: np.random.Generator) -> tuple[Any, Array]:
        raise RuntimeError("out of order")

    found = conformance(PrivateOptimizer(step), PROMISE, seed=0)
    (fault,) = faults(found.tests)
    assert "step raised RuntimeError: out of order" in fault.test.found
    assert len(found.failed) > 2
