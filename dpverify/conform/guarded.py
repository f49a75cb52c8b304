"""An optimizer whose calls are guarded: whatever its code does is a finding, never the end of the tests."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from itertools import islice
from typing import Any

import numpy as np

from dpverify.conform.records import ConformanceTest, PrivateOptimizer, Promise
from dpverify.foreign import ForeignError, foreign_code


class GuardedOptimizer:
    """Calls the code of an optimizer, checks the form of what it returns, and counts releases that are not finite."""

    def __init__(self, optimizer: PrivateOptimizer, promise: Promise) -> None:
        self._optimizer = optimizer
        self._shape = (promise.dimension,)
        self.releases = 0
        self.not_finite = 0
        self._first = ""
        batches = None if optimizer.batches is None else self._batches
        self.optimizer = PrivateOptimizer(self._step, self._start, batches)

    def _start(self) -> Any:
        with foreign_code("start"):
            return self._optimizer.start()

    def _step(self, state: Any, gradients: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        """Take a step; the released vector has the promised shape and is of float64."""
        size = len(gradients)
        with foreign_code("step"):
            state, out = self._optimizer.step(state, gradients, rng)
            released = np.asarray(out, dtype=float)
        if released.shape != self._shape:
            raise ForeignError("step", f"must release a vector of the shape {self._shape}, got {released.shape}")
        self.releases += 1
        if not np.isfinite(released).all():
            self.not_finite += 1
            bad = released[np.flatnonzero(~np.isfinite(released))[0]]
            self._first = self._first or f"{bad} from a batch of {size} gradients"
        return state, released

    def _batches(self, examples: int, steps: int, rng: np.random.Generator) -> Iterable[Any]:
        """Draw as many batches as there are, up to ``steps``; the optimizer's own iterator may have no end."""
        assert self._optimizer.batches is not None
        with foreign_code("batches"):
            return [np.asarray(batch) for batch in islice(self._optimizer.batches(examples, steps, rng), steps)]

    def finite_test(self) -> ConformanceTest:
        """Whether every number released so far was finite."""
        found = f"each of {self.releases} released vectors is finite"
        if self.not_finite:
            found = f"{self.not_finite} of {self.releases} released vectors are not finite; the first has {self._first}"
        sees = "NaN and infinite numbers in any vector that these tests saw"
        return ConformanceTest("finite numbers", not self.not_finite, found, sees)


def copied(state: Any) -> Any:
    """Copy a state of an optimizer."""
    with foreign_code("the copy of a state"):
        return deepcopy(state)


def failed_call(where: str, error: ForeignError) -> ConformanceTest:
    """The finding that foreign code did not return a value, so that the tests of this kind ended there."""
    sees = "a call that raises, exits or does not return"
    return ConformanceTest(f"calls in {where}", False, str(error), sees, error=str(error))
