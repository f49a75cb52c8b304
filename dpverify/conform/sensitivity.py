"""Test the sensitivity of releases: with equal noise, releases on neighbouring batches must differ by little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.conform.coverage import (
    SEARCH_SHARE,
    affordable_steps,
    batch_sizes,
    representative_steps,
    states_before,
    steps_and_sizes_text,
    tested_steps,
)
from dpverify.conform.guard import copy_state, last_clip_length
from dpverify.conform.neighbours import (
    NeighbouringBatches,
    all_neighbours,
    worst_neighbours,
)
from dpverify.conform.promise import Promise
from dpverify.conform.records import ConformanceTest, PrivateOptimizer, untested_result
from dpverify.conform.replay.generators import Tape
from dpverify.conform.rounding import change_rounding
from dpverify.foreign import ForeignError

# relative rounding allowed for a statistic, whose type is not promised; float32 passes
STATISTIC_ROUNDING = 1e-5

# factor on the probability of trying the worst batches if not all batches can be tried
WORST_BATCH_FACTOR = 4.0


def sensitivity_tests(
    optimizer: PrivateOptimizer,
    promise: Promise,
    seed: int,
    steps: list[int] | None = None,
) -> Iterator[ConformanceTest]:
    """Search for the largest change, over batches and what one of their examples becomes.

    ``steps``: in which steps, counted from 0; by default in all that are tested.
    """
    search = _ChangeSearch(
        optimizer, promise, seed, tested_steps(promise) if steps is None else steps
    )
    search.run()
    allowed = promise.sensitivity
    finding = f"one example changes {search.worst_release} by {search.change:.6g}"
    finding += f"; at most {search.allowed:.6g} is allowed"
    if promise.dtype != "float64":
        finding += f", and {search.rounding:.2g} for rounding to {promise.dtype}"
    if search.worst_case:
        finding += f" ({search.worst_case})"
    if search.clip_length_case:
        finding = f"one example changes the clip length of its own step ({search.clip_length_case})"
    if search.non_finite_case:
        finding += f"; what is released is not finite for some batches ({search.non_finite_case})"
    finding += (
        f"; tested: {steps_and_sizes_text(promise, search.steps, sorted(search.sizes))}"
    )
    if search.tried_count < search.possible_count:
        finding += f", {search.tried_count} of {search.possible_count} pairs of batches"
    is_within_bound = search.largest_ratio <= 1.0 and not search.clip_length_case
    because = (
        "finite numbers"
        if is_within_bound and search.non_finite_case
        else "every batch"
        if is_within_bound and search.failed_case
        else ""
    )
    sees = f"a change above {allowed:.6g} in the batches and steps tried"
    measured = (
        search.change
        if search.finite_pair_count and not search.clip_length_case
        else None
    )
    if search.finite_pair_count:
        passed = is_within_bound and not search.non_finite_case
        yield ConformanceTest(
            "sensitivity", passed, finding, sees, because=because, measured=measured
        )
    else:
        yield untested_result(
            "sensitivity",
            "no release is finite" if search.non_finite_case else "no call returned",
        )
    sees = "a batch that raises, such as an empty one"
    failure = search.failed_case or "no batch raises"
    yield ConformanceTest(
        "every batch", not search.failed_case, failure, sees, error=search.error_text
    )


class _ChangeSearch:
    """Search for the largest change relative to the allowed change; also records errors."""

    def __init__(
        self, optimizer: PrivateOptimizer, promise: Promise, seed: int, steps: list[int]
    ) -> None:
        self.optimizer = optimizer
        self.promise = promise
        self.seed = seed
        self.steps = steps
        self.largest_ratio = 0.0  # (change - rounding) / allowed
        self.change = 0.0
        self.rounding = 0.0
        self.sizes = set[int]()  # sizes of the batches that were tried
        self.tried_count = 0
        self.possible_count = 0
        self.allowed = promise.sensitivity
        self.worst_release = "the released vector"
        self.worst_case = ""
        self.finite_pair_count = 0  # number of pairs of finite releases
        self.non_finite_case = ""
        self.failed_case = ""
        self.error_text = ""
        # first case in which the clip length depends on the batch
        self.clip_length_case = ""

    def run(self) -> None:
        """Try all batches at a few steps, the worst ones at all steps; in large dimensions, a random part of both."""
        promise = self.promise
        warm_up_gradients = np.ones((promise.batch, promise.dimension)) * promise.clip
        few_steps = representative_steps(promise)
        all_pairs = list(all_neighbours(promise, np.random.default_rng(self.seed)))
        worst_pairs = list(worst_neighbours(promise, np.random.default_rng(self.seed)))
        fraction = self._affordable_fraction(
            [*all_pairs * len(few_steps), *worst_pairs * len(self.steps)]
        )
        selection_rng = np.random.default_rng([self.seed, 16])
        states = states_before(
            self.optimizer, self.steps, warm_up_gradients, [self.seed, 1]
        )
        for step in self.steps:
            try:
                _, state = next(states)
            except ForeignError as error:
                self._record_failure(f"the step before step {step + 1}", error)
                return
            pairs = worst_pairs if fraction < 1.0 or step not in few_steps else []
            selected_pairs = [
                pair
                for pair in pairs
                if selection_rng.random() < WORST_BATCH_FACTOR * fraction
            ] or pairs[-1:]
            selected_pairs += (
                [pair for pair in all_pairs if selection_rng.random() < fraction]
                if step in few_steps
                else []
            )
            for neighbours in selected_pairs:
                self._try_pair(state, step, neighbours)
            self.sizes |= {
                len(neighbours.other_gradients) + 1 for neighbours in selected_pairs
            }
            self.tried_count += len(selected_pairs)
            self.possible_count += len(all_pairs if step in few_steps else worst_pairs)
        self.sizes = set(batch_sizes(promise)) if fraction >= 1.0 else self.sizes

    def _affordable_fraction(self, pairs: list[NeighbouringBatches]) -> float:
        """Return the fraction of these pairs of batches that the work budget allows."""
        promise = self.promise
        size = sum(len(pair.other_gradients) + 1 for pair in pairs) / len(pairs)
        return affordable_steps(SEARCH_SHARE, promise, size * promise.dimension) / (
            2 * len(self._generators()) * len(pairs)
        )

    def _generators(self) -> list[np.random.Generator]:
        """Return generators for a step. Low precision also gets noise of 0, which hides less of a change."""
        generator = np.random.default_rng([self.seed, 2])
        return [generator] if self.promise.dtype == "float64" else [generator, Tape([])]

    def _try_pair(self, state: Any, step: int, neighbours: NeighbouringBatches) -> None:
        description = neighbours.description + (f", step {step + 1}" if step else "")
        for rng, neighbour_rng in zip(
            self._generators(), self._generators(), strict=True
        ):
            batch, neighbour = neighbours.batches()  # a step may change them
            try:
                released, clip_length = self._take_step(state, batch, rng)
                neighbour_released, neighbour_clip_length = self._take_step(
                    state, neighbour, neighbour_rng
                )
            except ForeignError as error:  # any exception is a finding
                self._record_failure(description, error)
                return
            if clip_length != neighbour_clip_length:
                self.clip_length_case = self.clip_length_case or description
            if not (
                np.isfinite(released).all() and np.isfinite(neighbour_released).all()
            ):
                self.non_finite_case = self.non_finite_case or description
                return
            self.finite_pair_count += 1
            self._compare_releases(
                step, neighbours, released, neighbour_released, description
            )

    def _compare_releases(
        self,
        step: int,
        neighbours: NeighbouringBatches,
        released: Any,
        neighbour_released: Any,
        description: str,
    ) -> None:
        promise = self.promise
        d = promise.dimension
        allowed = abs(promise.weight(step, step)) * promise.sensitivity
        rounding = change_rounding(
            promise.dtype,
            dimension=d,
            allowed=allowed,
            clipped_norm_sum=neighbours.clipped_norm_sum
            * promise.clip
            / promise.divisor,
            terms=len(neighbours.other_gradients) + 1,
            released=released[:d],
            neighbour_released=neighbour_released[:d],
        )
        self._record_change(
            released[:d] - neighbour_released[:d],
            allowed,
            rounding,
            "the released vector",
            description,
        )
        if promise.statistic is not None:
            allowed = promise.statistic_sensitivity
            self._record_change(
                released[d:] - neighbour_released[d:],
                allowed,
                STATISTIC_ROUNDING * allowed,
                "the scaled statistic",
                description,
            )

    def _record_change(
        self,
        change: Any,
        allowed: float,
        rounding: float,
        release: str,
        description: str,
    ) -> None:
        change_norm = float(np.linalg.norm(change))
        if (change_norm - rounding) / allowed > self.largest_ratio:
            self.largest_ratio = (change_norm - rounding) / allowed
            self.change = change_norm
            self.rounding = rounding
            self.allowed = allowed
            self.worst_release = release
            self.worst_case = description

    def _record_failure(self, description: str, error: ForeignError) -> None:
        self.error_text = self.error_text or str(error)
        self.failed_case = self.failed_case or f"{description}: {error}"

    def _take_step(
        self, state: Any, batch: Any, rng: np.random.Generator
    ) -> tuple[Any, float]:
        """Return the released vector and the clip length of a step."""
        next_state, released = self.optimizer.step(copy_state(state), batch, rng)
        return np.asarray(released, dtype=float), last_clip_length(next_state)
