"""Neighbouring batches: batches that differ by one example, for tests of the sensitivity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dpverify.conform.coverage import batch_sizes
from dpverify.conform.promise import Promise
from dpverify.conform.rounding import max_gradient_length

# gradient norms of the changed example, in clip lengths
LENGTHS = (0.5, 1.0, 1.5, 30.0, 1e6)
# the same if all other gradients are 0
LENGTHS_AMONG_ZEROS = (0.5, 1.0, 1.02, 1.2, 1.5, 3.0, 30.0, 1e6)
# norms that are also tried with the example in other places than the last
LENGTHS_AT_OTHER_POSITIONS = (1.0, 30.0)

# random directions that are searched for excess changes by low-precision rounding
RANDOM_DIRECTIONS = 64
MAX_COPIED_ENTRIES = 2**16  # larger random batches share the entries of one array
SHORT_LENGTH = 0.1  # norms of short and long examples in one batch, in clip lengths
LONG_LENGTH = 1.0
# quantiles of norms that an optimizer may use as its clip length
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
# with at most this many other examples, every number of short ones is tried
FEW_OTHER_EXAMPLES = 24


class NeighbouringBatches(NamedTuple):
    """Two neighbouring batches: the shared examples and the example that differs. The arrays are built on request."""

    description: str
    other_gradients: Any
    clipped_norm_sum: float  # total norm of the others after clipping, in clip lengths
    length: float  # norm of the example
    direction: Any
    # the neighbour is the example times this factor; None removes the example
    factor: float | None
    position: int | None = None  # number of others before the example; by default all

    def batches(self) -> tuple[Any, Any]:
        """Return both batches."""
        example = self.length * self.direction
        changed_example = example[:0] if self.factor is None else self.factor * example
        position = len(self.other_gradients) if self.position is None else self.position
        gradients_before = self.other_gradients[:position]
        gradients_after = self.other_gradients[position:]
        return np.concatenate(
            [gradients_before, example, gradients_after]
        ), np.concatenate([gradients_before, changed_example, gradients_after])

    def at_other_positions(self) -> Iterator[NeighbouringBatches]:
        """Yield the same batches with the example first and in the middle."""
        middle = len(self.other_gradients) // 2
        for position, name in (
            {0: "first", middle: f"in place {middle + 1}"}.items()
            if len(self.other_gradients)
            else ()
        ):
            yield self._replace(
                position=position, description=f"{self.description}, {name}"
            )


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
    random_direction = _random_unit_vector(rng, d)
    diagonal = np.full((1, d), d**-0.5)
    max_length = max_gradient_length(promise.dtype, clip)
    random_numbers = clip * rng.standard_normal(d + _other_counts(promise)[-1])
    random_batches = [
        _random_gradients(clip, rng, random_numbers, size, d)
        for size in _other_counts(promise)
    ]
    for sign_index, directions in enumerate(
        [(axis, random_direction), (-axis, -diagonal)]
    ):
        other_gradient = clip * directions[0]
        gradients_by_kind = {
            "zero": np.zeros((1, d)),
            "opposite": -other_gradient,
            "alike": other_gradient,
            "huge and opposite": -max_length * other_gradient,
        }
        for batch_index, random_batch in enumerate(random_batches, sign_index):
            batches_by_kind = {
                kind: _repeated_row(other_gradient, len(random_batch))
                for kind, other_gradient in gradients_by_kind.items()
            }
            other_batches = (
                {**batches_by_kind, "random": random_batch}
                if len(random_batch)
                else {"none": random_batch}
            )
            for kind_index, (kind, other_gradients) in enumerate(
                other_batches.items(), batch_index
            ):
                is_zero = kind in ("none", "zero")
                lengths = LENGTHS_AMONG_ZEROS if is_zero else LENGTHS
                for length, direction in product(
                    lengths[kind_index % 2 :: 2], directions
                ):
                    for pair in _pairs_of_batches(
                        promise,
                        other_gradients,
                        float(not is_zero),
                        kind,
                        min(length, max_length),
                        direction,
                    ):
                        yield pair
                        yield from (
                            pair.at_other_positions()
                            if kind == "zero" and length in LENGTHS_AT_OTHER_POSITIONS
                            else ()
                        )
    yield from _quantile_neighbours(promise, axis)
    if promise.dtype != "float64":
        zero_gradients = _repeated_row(0.0 * axis, _other_counts(promise)[0])
        # the rounding error of a norm depends on all digits
        for length in rng.uniform(1.0, 2.0, RANDOM_DIRECTIONS):
            yield from _pairs_of_batches(
                promise,
                zero_gradients,
                0.0,
                "zero",
                length,
                _random_unit_vector(rng, d),
            )


def _quantile_neighbours(promise: Promise, axis: Any) -> Iterator[NeighbouringBatches]:
    """Yield batches in which one example moves a quantile of the norms from the short examples to the long ones."""
    other_count = promise.batch - 1
    if other_count not in _other_counts(promise):
        return
    lengths = np.repeat([LONG_LENGTH, SHORT_LENGTH], other_count)[:, None]
    gradients = promise.clip * lengths * axis
    counts_near_quantiles = {
        int(quantile * other_count) + shift
        for quantile in QUANTILES
        for shift in (-1, 0, 1)
    }
    for short_count in (
        range(1, other_count)
        if other_count <= FEW_OTHER_EXAMPLES
        else sorted(counts_near_quantiles)
    ):
        other_gradients = gradients[short_count : short_count + other_count]
        clipped_length = (
            SHORT_LENGTH * short_count + other_count - short_count
        ) / other_count
        for length in (SHORT_LENGTH, LONG_LENGTH):
            *_, pair = _pairs_of_batches(
                promise,
                other_gradients,
                clipped_length,
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
    random_direction = _random_unit_vector(rng, d)
    other_counts = _other_counts(promise)
    for size in sorted({other_counts[0], promise.batch - 1} & set(other_counts)):
        kinds = {
            "zero": (0.0, _repeated_row(0.0 * random_direction, size)),
            "opposite": (1.0, _repeated_row(-promise.clip * random_direction, size)),
        }
        for kind, (clipped_length, other_gradients) in kinds.items():
            for length in (1.0, max_gradient_length(promise.dtype, promise.clip)):
                for pair in _pairs_of_batches(
                    promise,
                    other_gradients,
                    clipped_length,
                    kind if size else "none",
                    length,
                    random_direction,
                ):
                    yield pair
                    yield from pair.at_other_positions() if kind == "zero" else ()


def _repeated_row(row: Any, size: int) -> Any:
    """Return ``size`` repetitions of a row, without a copy."""
    return np.broadcast_to(row, (size, row.shape[1]))


def _random_gradients(
    clip: float,
    rng: np.random.Generator,
    random_numbers: Any,
    size: int,
    dimension: int,
) -> Any:
    """Return random rows; if there are many numbers, overlapping windows of ``random_numbers`` without a copy."""
    if size * dimension <= MAX_COPIED_ENTRIES:
        return clip * rng.standard_normal((size, dimension))
    return np.lib.stride_tricks.sliding_window_view(random_numbers, dimension)[:size]


def _random_unit_vector(rng: np.random.Generator, dimension: int) -> Any:
    direction = rng.standard_normal((1, dimension))
    return direction / np.linalg.norm(direction)


def _other_counts(promise: Promise) -> list[int]:
    """Return the possible numbers of other examples in a batch."""
    sizes = {size - 1 for size in batch_sizes(promise) if size}
    return sorted(sizes)


def _pairs_of_batches(
    promise: Promise,
    other_gradients: Any,
    clipped_length: float,
    kind: str,
    length: float,
    direction: Any,
) -> Iterator[NeighbouringBatches]:
    gradient_text = f"one gradient of {length:g} clip lengths"
    description = (
        f"{gradient_text} with {len(other_gradients)} others ({kind})"
        if len(other_gradients)
        else f"{gradient_text} alone"
    )
    clipped_norm_sum = clipped_length * len(other_gradients)
    pair = NeighbouringBatches(
        description,
        other_gradients,
        clipped_norm_sum,
        length * promise.clip,
        direction,
        None,
    )
    if promise.neighbours == "add-remove" and promise.sampling != "batches":
        yield pair
        return
    if promise.neighbours == "replace-one":
        yield pair._replace(description=description + ", turned round", factor=-1.0)
    yield pair._replace(description=description + ", set to 0", factor=0.0)
