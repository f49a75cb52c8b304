"""Which example each step uses: epochs that go through all examples in the order of a permutation, or a given schedule.

Epoch q = 0, 1, ... owns the steps qN + 1 .. (q + 1)N. A permutation is drawn at an epoch's first step, in every epoch
("fresh") or in the first alone ("once"); one of an epoch without steps is not drawn.
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
    """Where the example of the next step comes from."""

    permutation: Indices  # (N,) shuffled where an epoch begins
    last: int  # last step at which it may be shuffled
    rng: Generator  # for the permutations
    epoch: Indices  # (1,) first step of the present epoch; 0 before the first
    given: Indices  # (T,) example of each step, instead of a permutation; (0,): there is none


def new_order(examples: int, last: int, seed: Seed, given: Indices | None = None) -> ExampleOrder:
    """Make the order before the first step; permutations come from the seed's stream 0."""
    none = np.empty(0, dtype=np.int64)
    epoch = np.zeros(1, dtype=np.int64)
    return ExampleOrder(np.arange(examples), last, generator(seed, 0), epoch, none if given is None else given)


def last_shuffle(ordering: Ordering, steps: int) -> int:
    """Last step at which a permutation may be drawn."""
    return steps if check_ordering(ordering) == "fresh" else 1


def check_ordering(ordering: Ordering) -> Ordering:
    """Refuse an unknown ordering."""
    if ordering not in ("fresh", "once"):
        raise check.ArgumentError("ordering", ordering, "must be fresh or once")
    return ordering


@kernel
def begins(t: int, N: int, last: int) -> bool:
    """Tell whether a permutation is drawn at step t: at an epoch's first step, and not after step ``last``."""
    return (t - 1) % N == 0 and t <= last


@step_kernel
def example_of(t: int, order: ExampleOrder) -> int:
    """Give the example of step t, 0..N-1; steps come in order, and one that is asked for again draws nothing again."""
    if order.given.shape[0] > 0:
        return int(order.given[t - 1])
    permutation = order.permutation
    i = t - order.epoch[0]
    if i == permutation.shape[0] or order.epoch[0] == 0:
        if t <= order.last:
            shuffle(order.rng, permutation)  # "Sample a permutation pi^q of {1, ..., N} uniformly at random"
        order.epoch[0] = t
        i = 0
    return int(permutation[i])


@step_kernel
def ask_ahead(t: int, order: ExampleOrder, rows: Vector, p: np.uint64) -> None:
    """Ask for the row of the example after that of step t, which comes from far away; nothing changes.

    Shapes: ``rows`` (N * p,).
    """
    i = t + 1 - order.epoch[0]
    if i < order.permutation.shape[0] and order.given.shape[0] == 0:
        prefetch_row(rows, np.uint64(order.permutation[i]) * p, p)


def draw_schedule(examples: int, steps: int, ordering: Ordering, seed: Seed) -> Indices:
    """Draw the example of each step, as a run with this seed does.

    Numbers 0..N-1; each epoch of N steps has all of them.
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
    """Write the example of each step into ``out``, shape (T,)."""
    for t in range(1, out.shape[0] + 1):
        out[t - 1] = example_of(t, order)


def check_schedule(schedule: Indices, examples: int, steps: int) -> Indices:
    """Take the example of each step, in any order: an example may come twice in an epoch, or not at all.

    Shapes: ``schedule`` (T,), returns (T,).
    """
    examples_of_steps = np.array(schedule)
    if examples_of_steps.shape != (steps,) or examples_of_steps.dtype.kind not in "iu":
        value = f"an array of shape {examples_of_steps.shape} of {examples_of_steps.dtype}"
        raise check.ArgumentError("schedule", value, f"must have shape ({steps},) and hold integers")
    bad = np.flatnonzero((examples_of_steps < 0) | (examples_of_steps >= examples))
    if len(bad):
        value = f"{examples_of_steps[bad[0]]} at [{bad[0]}]"
        raise check.ArgumentError("schedule", value, f"must hold numbers of examples, 0 to {examples - 1}")
    return examples_of_steps.astype(np.int64)
