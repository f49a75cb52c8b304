"""The example that each step uses, from permutations of all examples (one epoch each) or from a given schedule.

Epoch q = 0, 1, ... has the steps qN + 1 .. (q + 1)N. A permutation is drawn at the first step of every epoch ("fresh")
or only of the first epoch ("once"). No permutation is drawn for an epoch that does not begin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.jit import kernel, step_kernel
from dpverify.kernels.tape import Seed, generator, shuffle
from dpverify.kernels.typing import Indices, Vector
from dpverify.kernels.vector import prefetch_row
from dpverify.shared_types import Ordering


class ExampleOrder(NamedTuple):
    """The source of the example of each step."""

    permutation: Indices  # (N,) shuffled at the start of an epoch
    last: int  # last step at which it may be shuffled
    rng: Generator  # for the permutations
    epoch: Indices  # (1,) first step of the current epoch; 0 before the first epoch
    # (T,) example of each step, instead of a permutation; (0,) if permutations are used
    fixed_schedule: Indices


def new_order(
    examples: int, last: int, seed: Seed, fixed_schedule: Indices | None = None
) -> ExampleOrder:
    """Return the order before the first step; permutations come from the seed's stream 0."""
    none = np.empty(0, dtype=np.int64)
    epoch = np.zeros(1, dtype=np.int64)
    return ExampleOrder(
        np.arange(examples),
        last,
        generator(seed, 0),
        epoch,
        none if fixed_schedule is None else fixed_schedule,
    )


def last_shuffle(ordering: Ordering, steps: int) -> int:
    """Return the last step at which a permutation may be drawn."""
    return steps if check_ordering(ordering) == "fresh" else 1


def check_ordering(ordering: Ordering) -> Ordering:
    """Return the ordering, or raise an ArgumentError if it is unknown."""
    if ordering not in ("fresh", "once"):
        raise check.ArgumentError("ordering", ordering, "must be fresh or once")
    return ordering


@kernel
def begins(t: int, N: int, last: int) -> bool:
    """Test whether a permutation is drawn at step t: at the first step of an epoch, up to step ``last``."""
    return (t - 1) % N == 0 and t <= last


@step_kernel
def example_of(t: int, order: ExampleOrder) -> int:
    """Return the example of step t, 0..N-1. Steps must come in order. Repeating a step draws no new permutation."""
    if order.fixed_schedule.shape[0] > 0:
        return int(order.fixed_schedule[t - 1])
    permutation = order.permutation
    i = t - order.epoch[0]
    if i == permutation.shape[0] or order.epoch[0] == 0:
        if t <= order.last:
            # "Sample a permutation pi^q of {1, ..., N} uniformly at random"
            shuffle(order.rng, permutation)
        order.epoch[0] = t
        i = 0
    return int(permutation[i])


@step_kernel
def prefetch_next_example(
    t: int, order: ExampleOrder, rows: Vector, p: np.uint64
) -> None:
    """Prefetch the row of the example of step t + 1, if the current permutation contains it.

    ``p`` is the length of a row. Shapes: ``rows`` (N * p,).
    """
    i = t + 1 - order.epoch[0]
    if i < order.permutation.shape[0] and order.fixed_schedule.shape[0] == 0:
        prefetch_row(rows, np.uint64(order.permutation[i]) * p, p)


def draw_schedule(examples: int, steps: int, ordering: Ordering, seed: Seed) -> Indices:
    """Return the example of each step, 0..N-1, as a run with this seed draws it.

    Each complete epoch of N steps has every example once.
    """
    N = check.whole(1, examples=examples)
    steps = check.whole(1, MOST_STEPS - 1, steps=steps)
    order = new_order(N, last_shuffle(ordering, steps), seed)
    check.memory(N + steps, examples=examples, steps=steps)
    out = np.empty(steps, dtype=np.int64)
    write_schedule(order, out)
    return out


@kernel
def write_schedule(order: ExampleOrder, out: Indices) -> None:
    """Write the example of each step to ``out``, shape (T,)."""
    for t in range(1, out.shape[0] + 1):
        out[t - 1] = example_of(t, order)


def check_schedule(schedule: Indices, examples: int, steps: int) -> Indices:
    """Return a schedule, the example of each step, or raise an ArgumentError if it is invalid.

    Any order is valid: an example may occur twice in an epoch, or not at all. Shapes: ``schedule`` (T,), returns (T,).
    """
    examples_of_steps = np.array(schedule)
    if examples_of_steps.shape != (steps,) or examples_of_steps.dtype.kind not in "iu":
        value = (
            f"an array of shape {examples_of_steps.shape} of {examples_of_steps.dtype}"
        )
        raise check.ArgumentError(
            "schedule", value, f"must have shape ({steps},) and hold integers"
        )
    bad = np.flatnonzero((examples_of_steps < 0) | (examples_of_steps >= examples))
    if len(bad):
        value = f"{examples_of_steps[bad[0]]} at [{bad[0]}]"
        raise check.ArgumentError(
            "schedule", value, f"must hold numbers of examples, 0 to {examples - 1}"
        )
    return examples_of_steps.astype(np.int64)
