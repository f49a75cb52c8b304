"""Optimizers and mechanisms that do not return, from Python: a limit ends their calls."""

from __future__ import annotations

import math
import os
import signal
import time
from typing import Any

import numpy as np
import pytest

import dpverify as dv
from dpverify.conform import PrivateOptimizer, conformance
from dpverify.foreign import interrupts_recorded
from tests.for_each import for_each
from tests.unit.conform.catalogue import dp_sgd, promise

LIMIT = 2.0
PROMISE = promise(steps=2, dimension=2)


def hanging(state: Any, g: Any, rng: np.random.Generator) -> Any:
    del state, g, rng
    time.sleep(600)


def leaving(state: Any, g: Any, rng: np.random.Generator) -> Any:
    del state, g, rng
    os._exit(0)


@for_each(
    ("step", "message"),
    [
        (hanging, "step did not return within 2 s"),
        (leaving, "step ended its process with exit code 0"),
    ],
)
def test_a_step_that_does_not_return_is_a_finding(step: Any, message: str) -> None:
    found = conformance(PrivateOptimizer(step), PROMISE, timeout=LIMIT)
    assert not found
    assert found.failed[-1].found == message


def test_a_limit_changes_nothing_for_an_optimizer_that_returns() -> None:
    optimizer = PrivateOptimizer(dp_sgd)
    assert str(conformance(optimizer, PROMISE, timeout=60.0)) == str(
        conformance(optimizer, PROMISE)
    )


def slow(dataset: Any, rng: np.random.Generator, size: int) -> Any:
    del dataset, rng, size
    time.sleep(600)


def quick(dataset: Any, rng: np.random.Generator, size: int) -> Any:
    return dataset.sum() + 2.0 * rng.normal(size=size)


def test_a_mechanism_that_does_not_return_is_refused() -> None:
    with pytest.raises(dv.AuditError, match="mechanism did not return within 2 s"):
        dv.audit(slow, n=1000, timeout=LIMIT)
    options: dict[str, Any] = {"epsilon": 1.0, "n": 1000, "law": "gaussian"}
    assert dv.audit(quick, timeout=60.0, **options) == dv.audit(quick, **options)


@for_each("timeout", [-1.0, float("nan"), float("inf")])
def test_a_limit_must_be_a_number_of_seconds(timeout: float) -> None:
    with pytest.raises(ValueError, match=r"timeout must be at least 0 and finite"):
        conformance(PrivateOptimizer(dp_sgd), PROMISE, timeout=timeout)
    with pytest.raises(ValueError, match=r"timeout must be at least 0 and finite"):
        dv.audit(quick, timeout=timeout)


def test_code_that_another_process_cannot_find_is_refused() -> None:
    with pytest.raises(ValueError, match="the optimizer must be picklable"):
        conformance(
            PrivateOptimizer(dp_sgd, batches=lambda examples, steps, rng: ()),
            PROMISE,
            timeout=LIMIT,
        )
    with pytest.raises(ValueError, match="the mechanism must be picklable"):
        dv.audit(lambda dataset, rng: 0.0, timeout=LIMIT)


def test_ctrl_c_in_the_outputs_test_ends_the_tests() -> None:
    runs = 0
    last: float = math.inf

    def step(state: Any, g: Any, rng: np.random.Generator) -> Any:
        nonlocal runs
        runs += 1
        if runs == last:
            os.kill(os.getpid(), signal.SIGINT)
        return dp_sgd(state, g, rng)

    assert conformance(PrivateOptimizer(step), PROMISE)
    # the outputs test is the last one, and takes more than so many steps
    last = 2 * runs + 10_000
    with interrupts_recorded(), pytest.raises(KeyboardInterrupt):
        conformance(PrivateOptimizer(step), PROMISE, outputs=10_000)
    assert runs >= last
