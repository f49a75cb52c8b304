"""Neighbouring batches: batches that differ by one example, for tests of the sensitivity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform.coverage import batch_sizes
from dpverify.conform.promise import Promise
from dpverify.conform.rounding import longest

# gradient norms of the changed example, in clip lengths
LENGTHS = (0.5, 1.0, 1.5, 30.0, 1e6)
# the same if all other gradients are 0
LENGTHS_AMONG_ZEROS = (0.5, 1.0, 1.02, 1.2, 1.5, 3.0, 30.0, 1e6)
# norms that are also tried with the example in other places than the last
LENGTHS_ELSEWHERE = (1.0, 30.0)

# random directions that are searched for excess changes by low-precision rounding
DIRECTIONS = 64
SMALL = 2**16  # larger random batches share the entries of one array
SHORT = 0.1  # norms of short and long examples in one batch, in clip lengths
LONG = 1.0
# quantiles of norms that an optimizer may use as its clip length
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
# with at most this many other examples, every number of short ones is tried
FEW_OTHERS = 24


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
