"""Test the sensitivity of releases: with equal noise, releases on neighbouring batches must differ by little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.conform.coverage import (
    SEARCH,
    affordable,
    batch_sizes,
    few_steps,
    states_before,
    steps_and_sizes,
    tested_steps,
)
from dpverify.conform.guarded import clip_length, copied
from dpverify.conform.neighbours import (
    NeighbouringBatches,
    all_neighbours,
    worst_neighbours,
)
from dpverify.conform.promise import Promise
from dpverify.conform.records import ConformanceTest, PrivateOptimizer, not_tested
from dpverify.conform.replay.generators import Tape
from dpverify.conform.rounding import change_rounding
from dpverify.foreign import ForeignError

# relative rounding allowed for a statistic, whose type is not promised; float32 passes
STATISTIC = 1e-5

# factor on the probability of trying the worst batches if not all batches can be tried
OFTENER = 4.0


def sensitivity_tests(
    optimizer: PrivateOptimizer,
    promise: Promise,
    seed: int,
    steps: list[int] | None = None,
) -> Iterator[ConformanceTest]:
    """Search for the largest change, over batches and what one of their examples becomes.

    ``steps``: in which steps, counted from 0; by default in all that are tested.
    """
    search = _Search(
        optimizer, promise, seed, tested_steps(promise) if steps is None else steps
    )
    search.run()
    allowed = promise.sensitivity
    finding = f"one example changes {search.what} by {search.change:.6g}; at most {search.allowed:.6g} is allowed"
    finding += (
        ""
        if promise.dtype == "float64"
        else f", and {search.rounding:.2g} for rounding to {promise.dtype}"
    )
    finding += f" ({search.where})" if search.where else ""
    if search.moved:
        finding = (
            f"one example changes the clip length of its own step ({search.moved})"
        )
    if search.not_finite:
        finding += (
            f"; what is released is not finite for some batches ({search.not_finite})"
        )
    finding += (
        f"; tested: {steps_and_sizes(promise, search.steps, sorted(search.sizes))}"
    )
    finding += (
        f", {search.tried} of {search.possible} pairs of batches"
        if search.tried < search.possible
        else ""
    )
    small = search.largest <= 1.0 and not search.moved
    because = (
        "finite numbers"
        if small and search.not_finite
        else "every batch"
        if small and search.broken
        else ""
    )
    sees = f"a change above {allowed:.6g} in the batches and steps tried"
    measured = search.change if search.finite and not search.moved else None
    if search.finite:
        passed = small and not search.not_finite
        yield ConformanceTest(
            "sensitivity", passed, finding, sees, because=because, measured=measured
        )
    else:
        yield not_tested(
            "sensitivity",
            "no release is finite" if search.not_finite else "no call returned",
        )
    sees = "a batch that raises, such as an empty one"
    broken = search.broken or "no batch raises"
    yield ConformanceTest(
        "every batch", not search.broken, broken, sees, error=search.message
    )


class _Search:
    """Search for the largest change relative to the allowed change; also records errors."""

    def __init__(
        self, optimizer: PrivateOptimizer, promise: Promise, seed: int, steps: list[int]
    ) -> None:
        self.optimizer = optimizer
        self.promise = promise
        self.seed = seed
        self.steps = steps
        self.largest = 0.0  # (change - rounding) / allowed
        self.change = 0.0
        self.rounding = 0.0
        self.sizes = set[int]()  # sizes of the batches that were tried
        self.tried = 0
        self.possible = 0
        self.allowed = promise.sensitivity
        self.what = "the released vector"
        self.where = ""
        self.finite = 0  # number of pairs of finite releases
        self.not_finite = ""
        self.broken = ""
        self.message = ""
        self.moved = ""  # first case in which the clip length depends on the batch

    def run(self) -> None:
        """Try all batches at a few steps, the worst ones at all steps; in large dimensions, a random part of both."""
        promise = self.promise
        warm = np.ones((promise.batch, promise.dimension)) * promise.clip
        few = few_steps(promise)
        every = list(all_neighbours(promise, np.random.default_rng(self.seed)))
        worst = list(worst_neighbours(promise, np.random.default_rng(self.seed)))
        share = self._share([*every * len(few), *worst * len(self.steps)])
        chosen = np.random.default_rng([self.seed, 16])
        walk = states_before(self.optimizer, self.steps, warm, [self.seed, 1])
        for step in self.steps:
            try:
                _, state = next(walk)
            except ForeignError as error:
                self._fail(f"the step before step {step + 1}", error)
                return
            pairs = worst if share < 1.0 or step not in few else []
            tried = [
                pair for pair in pairs if chosen.random() < OFTENER * share
            ] or pairs[-1:]
            tried += (
                [pair for pair in every if chosen.random() < share]
                if step in few
                else []
            )
            for neighbours in tried:
                self._try(state, step, neighbours)
            self.sizes |= {len(neighbours.others) + 1 for neighbours in tried}
            self.tried += len(tried)
            self.possible += len(every if step in few else worst)
        self.sizes = set(batch_sizes(promise)) if share >= 1.0 else self.sizes

    def _share(self, pairs: list[NeighbouringBatches]) -> float:
        """Return the fraction of these pairs of batches that the work budget allows."""
        promise = self.promise
        size = sum(len(pair.others) + 1 for pair in pairs) / len(pairs)
        return affordable(SEARCH, promise, size * promise.dimension) / (
            2 * len(self._generators()) * len(pairs)
        )

    def _generators(self) -> list[np.random.Generator]:
        """Return generators for a step. Low precision also gets noise of 0, which hides less of a change."""
        drawn = np.random.default_rng([self.seed, 2])
        return [drawn] if self.promise.dtype == "float64" else [drawn, Tape([])]

    def _try(self, state: Any, step: int, neighbours: NeighbouringBatches) -> None:
        words = neighbours.words + (f", step {step + 1}" if step else "")
        for rng, same in zip(self._generators(), self._generators(), strict=True):
            batch, neighbour = neighbours.batches()  # a step may change them
            try:
                released, length = self._released(state, batch, rng)
                without, other_length = self._released(state, neighbour, same)
            except ForeignError as error:  # any exception is a finding
                self._fail(words, error)
                return
            if length != other_length:
                self.moved = self.moved or words
            if not (np.isfinite(released).all() and np.isfinite(without).all()):
                self.not_finite = self.not_finite or words
                return
            self.finite += 1
            self._compare(step, neighbours, released, without, words)

    def _compare(
        self,
        step: int,
        neighbours: NeighbouringBatches,
        released: Any,
        without: Any,
        words: str,
    ) -> None:
        promise = self.promise
        d = promise.dimension
        allowed = abs(promise.weight(step, step)) * promise.sensitivity
        rounding = change_rounding(
            promise.dtype,
            dimension=d,
            allowed=allowed,
            clipped=neighbours.clipped * promise.clip / promise.divisor,
            terms=len(neighbours.others) + 1,
            released=released[:d],
            neighbour=without[:d],
        )
        self._note(
            released[:d] - without[:d], allowed, rounding, "the released vector", words
        )
        if promise.statistic is not None:
            allowed = promise.statistic_sensitivity
            self._note(
                released[d:] - without[d:],
                allowed,
                STATISTIC * allowed,
                "the scaled statistic",
                words,
            )

    def _note(
        self, change: Any, allowed: float, rounding: float, what: str, words: str
    ) -> None:
        size = float(np.linalg.norm(change))
        if (size - rounding) / allowed > self.largest:
            self.largest = (size - rounding) / allowed
            self.change = size
            self.rounding = rounding
            self.allowed = allowed
            self.what = what
            self.where = words

    def _fail(self, words: str, error: ForeignError) -> None:
        self.message = self.message or str(error)
        self.broken = self.broken or f"{words}: {error}"

    def _released(
        self, state: Any, batch: Any, rng: np.random.Generator
    ) -> tuple[Any, float]:
        """Return the released vector and the clip length of a step."""
        after, released = self.optimizer.step(copied(state), batch, rng)
        return np.asarray(released, dtype=float), clip_length(after)
