"""Test the sensitivity of releases: with equal noise, releases on neighbouring batches must differ by little."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

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
from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.replay.generators import Tape
from dpverify.conform.results import ConformanceTest, not_tested
from dpverify.conform.rounding import change_rounding, longest
from dpverify.foreign import ForeignError

# gradient norms of the changed example, in clip lengths
LENGTHS = (0.5, 1.0, 1.5, 30.0, 1e6)
# the same if all other gradients are 0
LENGTHS_AMONG_ZEROS = (0.5, 1.0, 1.02, 1.2, 1.5, 3.0, 30.0, 1e6)
# norms that are also tried with the example in other places than the last
LENGTHS_ELSEWHERE = (1.0, 30.0)
# relative rounding allowed for a statistic, whose type is not promised; float32 passes
STATISTIC = 1e-5
# random directions that are searched for excess changes by low-precision rounding
DIRECTIONS = 64
SMALL = 2**16  # larger random batches share the entries of one array
SHORT = 0.1  # norms of short and long examples in one batch, in clip lengths
LONG = 1.0
# quantiles of norms that an optimizer may use as its clip length
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
# with at most this many other examples, every number of short ones is tried
FEW_OTHERS = 24
# factor on the probability of trying the worst batches if not all batches can be tried
OFTENER = 4.0


class NeighbouringBatches(NamedTuple):
    """Two neighbouring batches: the shared examples and the example that differs. The arrays are built on request."""

    words: str
    others: Any
    clipped: float  # total norm of the others after clipping, in clip lengths
    length: float  # norm of the example
    direction: Any
    # the neighbour is the example times this factor; None removes the example
    factor: float | None
    place: int | None = None  # number of others before the example; by default all

    def batches(self) -> tuple[Any, Any]:
        """Return both batches."""
        example = self.length * self.direction
        neighbour = example[:0] if self.factor is None else self.factor * example
        place = len(self.others) if self.place is None else self.place
        before = self.others[:place]
        after = self.others[place:]
        return np.concatenate([before, example, after]), np.concatenate(
            [before, neighbour, after]
        )

    def at_other_places(self) -> Iterator[NeighbouringBatches]:
        """Yield the same batches with the example first and in the middle."""
        middle = len(self.others) // 2
        for place, name in (
            {0: "first", middle: f"in place {middle + 1}"}.items()
            if len(self.others)
            else ()
        ):
            yield self._replace(place=place, words=f"{self.words}, {name}")


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


def all_neighbours(
    promise: Promise, rng: np.random.Generator
) -> Iterator[NeighbouringBatches]:
    """Yield neighbouring batches of all sizes that the promised sampling draws.

    The changed example is on an axis or has many coordinates. Every second length has both directions reversed, so that
    each length is tried with each sign among the kinds of other gradients.
    """
    d = promise.dimension
    clip = promise.clip
    axis = np.eye(1, d)
    slant = _unit(rng, d)
    equal = np.full((1, d), d**-0.5)
    huge = longest(promise.dtype, clip)
    pool = clip * rng.standard_normal(d + _others(promise)[-1])
    random_rows = [_random_rows(clip, rng, pool, size, d) for size in _others(promise)]
    for sign, directions in enumerate([(axis, slant), (-axis, -equal)]):
        row = clip * directions[0]
        rows = {
            "zero": np.zeros((1, d)),
            "opposite": -row,
            "alike": row,
            "huge and opposite": -huge * row,
        }
        for number, random_batch in enumerate(random_rows, sign):
            repeated = {
                kind: _rows(row, len(random_batch)) for kind, row in rows.items()
            }
            kinds = (
                {**repeated, "random": random_batch}
                if len(random_batch)
                else {"none": random_batch}
            )
            for place, (kind, batch) in enumerate(kinds.items(), number):
                is_zero = kind in ("none", "zero")
                lengths = LENGTHS_AMONG_ZEROS if is_zero else LENGTHS
                for length, direction in product(lengths[place % 2 :: 2], directions):
                    for pair in _changes(
                        promise,
                        batch,
                        float(not is_zero),
                        kind,
                        min(length, huge),
                        direction,
                    ):
                        yield pair
                        yield from (
                            pair.at_other_places()
                            if kind == "zero" and length in LENGTHS_ELSEWHERE
                            else ()
                        )
    yield from _at_quantiles(promise, axis)
    if promise.dtype != "float64":
        other_rows = _rows(0.0 * axis, _others(promise)[0])
        # the rounding error of a norm depends on all digits
        for length in rng.uniform(1.0, 2.0, DIRECTIONS):
            yield from _changes(promise, other_rows, 0.0, "zero", length, _unit(rng, d))


def _at_quantiles(promise: Promise, axis: Any) -> Iterator[NeighbouringBatches]:
    """Yield batches in which one example moves a quantile of the norms from the short examples to the long ones."""
    count = promise.batch - 1
    if count not in _others(promise):
        return
    lengths = np.repeat([LONG, SHORT], count)[:, None]
    rows = promise.clip * lengths * axis
    near = {int(share * count) + shift for share in QUANTILES for shift in (-1, 0, 1)}
    for short_count in range(1, count) if count <= FEW_OTHERS else sorted(near):
        others = rows[short_count : short_count + count]
        clipped = (SHORT * short_count + count - short_count) / count
        for length in (SHORT, LONG):
            *_, pair = _changes(
                promise,
                others,
                clipped,
                f"{short_count} short, the rest long",
                length,
                axis,
            )
            yield pair


def worst_neighbours(
    promise: Promise, rng: np.random.Generator
) -> Iterator[NeighbouringBatches]:
    """Yield the neighbouring batches that reveal most mistakes, of the smallest and the promised size."""
    d = promise.dimension
    slant = _unit(rng, d)
    counts_of_others = _others(promise)
    for size in sorted(
        {counts_of_others[0], promise.batch - 1} & set(counts_of_others)
    ):
        kinds = {
            "zero": (0.0, _rows(0.0 * slant, size)),
            "opposite": (1.0, _rows(-promise.clip * slant, size)),
        }
        for kind, (length_of_each, batch) in kinds.items():
            for length in (1.0, longest(promise.dtype, promise.clip)):
                for pair in _changes(
                    promise,
                    batch,
                    length_of_each,
                    kind if size else "none",
                    length,
                    slant,
                ):
                    yield pair
                    yield from pair.at_other_places() if kind == "zero" else ()


def _rows(row: Any, size: int) -> Any:
    """Return ``size`` repetitions of a row, without a copy."""
    return np.broadcast_to(row, (size, row.shape[1]))


def _random_rows(
    clip: float, rng: np.random.Generator, pool: Any, size: int, dimension: int
) -> Any:
    """Return random rows; if there are many numbers, overlapping windows of ``pool`` without a copy."""
    if size * dimension <= SMALL:
        return clip * rng.standard_normal((size, dimension))
    return np.lib.stride_tricks.sliding_window_view(pool, dimension)[:size]


def _unit(rng: np.random.Generator, dimension: int) -> Any:
    slant = rng.standard_normal((1, dimension))
    return slant / np.linalg.norm(slant)


def _others(promise: Promise) -> list[int]:
    """Return the possible numbers of other examples in a batch."""
    sizes = {size - 1 for size in batch_sizes(promise) if size}
    return sorted(sizes)


def _changes(
    promise: Promise,
    other_rows: Any,
    length_of_each: float,
    kind: str,
    length: float,
    direction: Any,
) -> Iterator[NeighbouringBatches]:
    alone = f"one gradient of {length:g} clip lengths"
    words = (
        f"{alone} with {len(other_rows)} others ({kind})"
        if len(other_rows)
        else f"{alone} alone"
    )
    clipped = length_of_each * len(other_rows)
    pair = NeighbouringBatches(
        words, other_rows, clipped, length * promise.clip, direction, None
    )
    if promise.neighbours == "add-remove" and promise.sampling != "batches":
        yield pair
        return
    if promise.neighbours == "replace-one":
        yield pair._replace(words=words + ", turned round", factor=-1.0)
    yield pair._replace(words=words + ", set to 0", factor=0.0)
