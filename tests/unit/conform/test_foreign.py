"""Optimizers that raise, exit, hang or release NaN: each is a finding, and all other findings are kept."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverify.conform import PrivateOptimizer, conformance
from dpverify.foreign import interrupts_recorded
from tests.for_each import for_each
from tests.unit.conform.catalogue import dp_sgd, promise

PROMISE = promise(steps=2, dimension=2)


def raising(error: BaseException, large: int = 0) -> Callable[..., Any]:
    def step(state: Any, g: Any, rng: np.random.Generator) -> Any:
        if len(g) >= large:
            raise error
        return dp_sgd(state, g, rng)

    return step


ERRORS = (
    SystemExit(0),
    SystemExit(),
    KeyboardInterrupt(),
    GeneratorExit(),
    StopIteration(),
    ZeroDivisionError("x"),
)


@for_each("error", ERRORS, ids=repr)
def test_whatever_a_step_raises_is_a_finding(error: BaseException) -> None:
    with interrupts_recorded():
        found = conformance(PrivateOptimizer(raising(error)), PROMISE)
    assert not found
    assert f"step raised {type(error).__name__}" in str(found)
    assert {"every batch", "calls in state"} <= {test.name for test in found.failed}


@for_each("error", ERRORS, ids=repr)
def test_whatever_batches_and_start_raise_is_a_finding(error: BaseException) -> None:
    def fail(*_: object) -> Any:
        raise error

    with interrupts_recorded():
        batches = conformance(PrivateOptimizer(dp_sgd, batches=fail), PROMISE)
        start = conformance(PrivateOptimizer(dp_sgd, start=fail), PROMISE)
    (sampling,) = batches.failed
    assert (sampling.name, sampling.found.partition(":")[0]) == (
        "calls in sampling",
        f"batches raised {type(error).__name__}",
    )
    assert all(
        "start raised" in test.found for test in start.failed if "calls" in test.name
    )
    assert not start


def test_findings_about_other_batches_are_kept() -> None:
    found = conformance(
        PrivateOptimizer(raising(SystemExit(0), large=4 * PROMISE.batch)), PROMISE
    )
    assert {test.name for test in found.failed} == {
        "every batch",
        f"calls in noise, batches of {4 * PROMISE.batch}",
        "calls in scale of noise, mixed gradients, other batches",
    }
    assert {"state", "shape of noise", "sensitivity"} <= {
        test.name for test in found.tests if test.passed
    }


@for_each("value", [np.nan, np.inf, -np.inf])
def test_releases_that_are_not_finite_are_a_named_finding_and_others_are_kept(
    value: float,
) -> None:
    def step(state: Any, g: Any, rng: np.random.Generator) -> Any:
        state, released = dp_sgd(state, g, rng)
        return state, np.full_like(released, value) if which(len(g)) else released

    def unclipped(state: Any, g: Any, rng: np.random.Generator) -> Any:
        return state, np.full(2, value) if len(g) == 0 else g.sum(axis=0)

    which: Callable[[int], bool] = lambda size: True  # noqa: E731
    everywhere = conformance(PrivateOptimizer(step), PROMISE)
    assert "finite numbers" in {test.name for test in everywhere.failed}
    which = lambda size: size == 4 * PROMISE.batch  # noqa: E731
    somewhere = conformance(PrivateOptimizer(step), PROMISE)
    assert {"sensitivity", "finite numbers"} <= {test.name for test in somewhere.failed}
    assert {"shape of noise", "state", "precision"} <= {
        test.name for test in somewhere.tests if test.passed
    }
    both = {
        test.name for test in conformance(PrivateOptimizer(unclipped), PROMISE).failed
    }
    assert {"finite numbers", "sensitivity", "fresh numbers"} <= both


@for_each("shape", [(), (1,), (3,), (2, 2)])
def test_a_released_vector_of_another_shape_is_a_finding(
    shape: tuple[int, ...],
) -> None:
    found = conformance(
        PrivateOptimizer(lambda state, g, rng: (state, np.zeros(shape))), PROMISE
    )
    assert f"must release a vector of the shape (2,), got {shape}" in str(found)


@for_each("error", [SystemExit(0), GeneratorExit()], ids=repr)
def test_a_state_that_cannot_be_copied_is_a_finding(error: BaseException) -> None:
    class State:
        def __deepcopy__(self, memo: object) -> object:
            raise error

    found = conformance(PrivateOptimizer(dp_sgd, start=State), PROMISE)
    assert f"the copy of a state raised {type(error).__name__}" in str(found)


def test_ctrl_c_of_a_person_is_no_finding() -> None:
    import os
    import signal

    def step(state: Any, g: Any, rng: np.random.Generator) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return dp_sgd(state, g, rng)

    with interrupts_recorded(), pytest.raises(KeyboardInterrupt):
        conformance(PrivateOptimizer(step), PROMISE)
    assert sys.exc_info() == (None, None, None)
