"""What one example changes in a released vector: with the same generator noise cancels, and the rest must be small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform.coverage import batch_sizes, few_steps, states_before, steps_and_sizes, tested_steps
from dpverify.conform.guarded import clip_length, copied
from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.results import ConformanceTest, not_tested
from dpverify.foreign import ForeignError

LENGTHS = (0.5, 1.0, 1.5, 30.0, 1e6)  # of gradients, in clip lengths
ROUNDING = 1e-5  # relative; float32 passes, and the noise has a test of its own


class NeighbouringBatches(NamedTuple):
    """Two neighbouring batches: what they share, and what one example is in each."""

    words: str
    others: Any
    example: Any
    neighbour: Any


def sensitivity_tests(optimizer: PrivateOptimizer, promise: Promise, seed: int) -> Iterator[ConformanceTest]:
    """Search for the largest change, over batches and what one of their examples becomes."""
    search = _Search(optimizer, promise, seed)
    search.run()
    allowed = promise.sensitivity
    found = f"one example changes {search.what} by {search.change:.6g}; at most {search.allowed:.6g} is allowed"
    found += f" ({search.where})" if search.where else ""
    if search.moved:
        found = f"one example changes the clip length of its own step ({search.moved})"
    if search.not_finite:
        found += f"; what is released is not finite for some batches ({search.not_finite})"
    found += f"; tested: {steps_and_sizes(promise, search.steps, batch_sizes(promise))}"
    small = search.largest <= 1 + ROUNDING and not search.moved
    because = "finite numbers" if small and search.not_finite else "every batch" if small and search.broken else ""
    sees = f"a change above {allowed:.6g} in the batches and steps tried"
    measured = search.change if search.finite and not search.moved else None
    if search.finite:
        passed = small and not search.not_finite
        yield ConformanceTest("sensitivity", passed, found, sees, because=because, measured=measured)
    else:
        yield not_tested("sensitivity", "no release is finite" if search.not_finite else "no call returned")
    sees = "a batch that raises, such as an empty one"
    broken = search.broken or "no batch raises"
    yield ConformanceTest("every batch", not search.broken, broken, sees, error=search.message)


class _Search:
    """The largest change so far, relative to what is allowed, and what went wrong."""

    def __init__(self, optimizer: PrivateOptimizer, promise: Promise, seed: int) -> None:
        self.optimizer = optimizer
        self.promise = promise
        self.seed = seed
        self.steps = tested_steps(promise)
        self.largest = 0.0
        self.change = 0.0
        self.allowed = promise.sensitivity
        self.what = "the released vector"
        self.where = ""
        self.finite = 0  # pairs of releases
        self.not_finite = ""
        self.broken = ""
        self.message = ""
        self.moved = ""  # where a clip length depends on the batch

    def run(self) -> None:
        """Try all kinds of batches at a few steps, and the worst ones at all steps."""
        d = self.promise.dimension
        warm = np.ones((self.promise.batch, d)) * self.promise.clip
        few = few_steps(self.promise)
        every = list(all_neighbours(self.promise, np.random.default_rng(self.seed)))
        worst = list(worst_neighbours(self.promise, np.random.default_rng(self.seed)))
        walk = states_before(self.optimizer, self.steps, warm, [self.seed, 1])
        for step in self.steps:
            try:
                _, state = next(walk)
            except ForeignError as error:
                self._fail(f"the step before step {step + 1}", error)
                return
            for neighbours in every if step in few else worst:
                self._try(state, step, neighbours)

    def _try(self, state: Any, step: int, neighbours: NeighbouringBatches) -> None:
        words = neighbours.words + (f", step {step + 1}" if step else "")
        try:
            released, length = self._released(state, neighbours.others, neighbours.example)
            without, other_length = self._released(state, neighbours.others, neighbours.neighbour)
        except ForeignError as error:  # whatever it raises is the finding
            self._fail(words, error)
            return
        if length != other_length:
            self.moved = self.moved or words
        if not (np.isfinite(released).all() and np.isfinite(without).all()):
            self.not_finite = self.not_finite or words
            return
        self.finite += 1
        d = self.promise.dimension
        weight = abs(self.promise.weight(step, step))
        change = released - without
        self._note(change[:d], weight * self.promise.sensitivity, "the released vector", words)
        if self.promise.statistic is not None:
            self._note(change[d:], self.promise.statistic_sensitivity, "the scaled statistic", words)

    def _note(self, change: Any, allowed: float, what: str, words: str) -> None:
        size = float(np.linalg.norm(change))
        if size / allowed > self.largest:
            self.largest = size / allowed
            self.change = size
            self.allowed = allowed
            self.what = what
            self.where = words

    def _fail(self, words: str, error: ForeignError) -> None:
        self.message = self.message or str(error)
        self.broken = self.broken or f"{words}: {error}"

    def _released(self, state: Any, others: Any, example: Any) -> tuple[Any, float]:
        """Return the released vector of a step, and its clip length."""
        rng = np.random.default_rng([self.seed, 2])
        after, released = self.optimizer.step(copied(state), np.concatenate([others, example]), rng)
        return np.asarray(released, dtype=float), clip_length(after)


def all_neighbours(promise: Promise, rng: np.random.Generator) -> Iterator[NeighbouringBatches]:
    """Yield neighbouring batches of all sizes that the promised sampling draws."""
    d = promise.dimension
    clip = promise.clip
    axis = np.eye(1, d)
    slant = _unit(rng, d)
    for size in _others(promise):
        others = {
            "zero": np.zeros((size, d)), "opposite": np.tile(-clip * axis, (size, 1)),
            "alike": np.tile(clip * axis, (size, 1)), "huge and opposite": np.tile(-1e6 * clip * axis, (size, 1)),
            "random": clip * rng.standard_normal((size, d)),
        }  # fmt: skip
        for kind, batch in others.items() if size else [("none", np.zeros((0, d)))]:
            for length in LENGTHS:
                for direction in (axis, slant):
                    yield from _changes(promise, batch, kind, length, direction)


def worst_neighbours(promise: Promise, rng: np.random.Generator) -> Iterator[NeighbouringBatches]:
    """Yield those neighbouring batches that show most mistakes, of the smallest and of the usual size."""
    d = promise.dimension
    slant = _unit(rng, d)
    others = _others(promise)
    for size in sorted({others[0], promise.batch - 1} & set(others)):
        for kind, batch in {"zero": np.zeros((size, d)), "opposite": np.tile(-promise.clip * slant, (size, 1))}.items():
            for length in (1.0, 1e6):
                yield from _changes(promise, batch, kind if size else "none", length, slant)


def _unit(rng: np.random.Generator, dimension: int) -> Any:
    slant = rng.standard_normal((1, dimension))
    return slant / np.linalg.norm(slant)


def _others(promise: Promise) -> list[int]:
    """Return how many other examples there are in a batch."""
    sizes = {size - 1 for size in batch_sizes(promise) if size}
    return sorted(sizes)


def _changes(promise: Promise, others: Any, kind: str, length: float, direction: Any) -> Iterator[NeighbouringBatches]:
    alone = f"one gradient of {length:g} clip lengths"
    words = f"{alone} with {len(others)} others ({kind})" if len(others) else f"{alone} alone"
    example = length * promise.clip * direction
    if promise.neighbours == "add-remove" and promise.sampling != "batches":
        yield NeighbouringBatches(words, others, example, example[:0])
    elif promise.neighbours == "add-remove":
        yield NeighbouringBatches(words + ", set to 0", others, example, np.zeros_like(example))
    else:
        yield NeighbouringBatches(words + ", turned round", others, example, -example)
        yield NeighbouringBatches(words + ", set to 0", others, example, np.zeros_like(example))
