"""What a state remembers beside what was released: released vectors held fixed, an old example must not show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.conform.guarded import copied
from dpverify.conform.records import ConformanceTest, PrivateOptimizer, Promise

TOLERANCE = 1e-6  # of the sensitivity
SIZES = (1.0, 0.2)  # of the gradients of a step, in clip lengths: some are clipped, or none
STEPS = 3  # first ones, of each of which an example is changed


class Tape(np.random.Generator):
    """A generator whose normal numbers are those that it is given; all else is drawn as usual."""

    def __init__(self, numbers: Any) -> None:
        super().__init__(np.random.PCG64(0))
        self.numbers, self.used = np.asarray(numbers, dtype=float), 0

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Hand out the next numbers; beyond the end, zeros."""
        count = out.size if out is not None else int(np.prod(size)) if size is not None else 1
        taken = np.zeros(count)
        rest = self.numbers[self.used : self.used + count]
        taken[: len(rest)] = rest
        self.used += count
        if out is not None:
            out[...] = taken.reshape(out.shape)
            return out
        return taken.reshape(size).astype(dtype) if size is not None else float(taken[0])

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Scale and move the next numbers."""
        if size is None and (shape := np.broadcast_shapes(np.shape(loc), np.shape(scale))):
            size = shape
        return loc + scale * self.standard_normal(size)


def state_tests(optimizer: PrivateOptimizer, promise: Promise, seed: int) -> Iterator[ConformanceTest]:
    """Change an example of a step, move its noise so that the same is released, and look at later steps."""
    steps = range(min(STEPS, promise.steps - 1))
    noise = np.eye(promise.steps) if promise.covariance is None else np.asarray(promise.covariance, dtype=float)
    own = [at for at in steps if not noise[at, at + 1 :].any()]  # steps whose noise does not come back
    tests = [_state_test(optimizer, promise, seed, size, at) for at in own for size in SIZES]
    none = ConformanceTest("state", True, "not tested: the noise of early steps comes back later", "nothing")
    yield next((test for test in tests if not test.passed), tests[0] if tests else none)


def _state_test(optimizer: PrivateOptimizer, promise: Promise, seed: int, size: float, at: int) -> ConformanceTest:
    """The same with gradients of about ``size`` times the clip length, after ``at`` steps."""
    name, sees = "state", "a state that keeps something of an example beside what was released"
    rng, d = np.random.default_rng([seed, 4]), promise.dimension
    noise = rng.standard_normal(d)
    later = promise.clip * rng.standard_normal((3, d)) / np.sqrt(d)
    gradients = size * later
    other = gradients.copy()
    other[0] = -3.0 * promise.clip * np.eye(1, d)[0]

    def first(batch: Any, numbers: Any) -> tuple[Any, Any]:
        state = optimizer.start()
        for t in range(at):
            state, _ = optimizer.step(state, later.copy(), Tape(np.random.default_rng([seed, 6, t]).standard_normal(d)))
        state, released = optimizer.step(state, batch.copy(), Tape(numbers))
        return copied(state), np.asarray(released, dtype=float)

    state, released = first(gradients, noise)
    _, without = first(other, noise)
    if not (np.isfinite(released).all() and np.isfinite(without).all()):
        return ConformanceTest(name, True, "not tested: what is released is not finite", sees)
    rate = np.array([first(other, noise + row)[1] - without for row in np.eye(d)]).T  # what a unit of noise moves
    if not np.isfinite(rate).all():
        return ConformanceTest(name, True, "not tested: what is released is not finite", sees)
    if np.linalg.matrix_rank(rate) < d:
        return ConformanceTest(
            name, True, "not tested: the noise is not a normal number from the given generator", sees
        )
    moved, again = first(other, noise + np.linalg.solve(rate, released - without))
    if np.abs(again - released).max() > TOLERANCE * promise.sensitivity:
        return ConformanceTest(name, True, "not tested: what is released is not linear in the noise", sees)
    change = 0.0
    for t in range(at + 1, promise.steps):
        numbers = np.random.default_rng([seed, 5, t]).standard_normal(d)
        state, one = optimizer.step(state, later * t, Tape(numbers))
        moved, two = optimizer.step(moved, later * t, Tape(numbers))
        state, moved = copied(state), copied(moved)
        if not (np.isfinite(one).all() and np.isfinite(two).all()):
            return ConformanceTest(name, True, f"not tested: what is released in step {t + 1} is not finite", sees)
        change = max(change, float(np.abs(np.asarray(one) - np.asarray(two)).max()))
    found = (
        f"an example of step {at + 1} changes a later release by {change:.3g}, although all earlier releases are equal"
    )
    return ConformanceTest(name, change <= 100 * TOLERANCE * promise.sensitivity, found, sees)
