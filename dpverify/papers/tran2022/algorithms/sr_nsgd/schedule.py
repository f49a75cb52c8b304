"""Which example each step uses."""

from __future__ import annotations

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.dyadic import MOST_STEPS
from dpverify.kernels.tape import Seed, generator, shuffle
from dpverify.kernels.typing import Indices
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Ordering


def draw_schedule(examples: int, steps: int, ordering: Ordering, seed: Seed) -> Indices:
    """Draw the example of each step, as a run with this seed does.

    Numbers 0..N-1; each epoch of N steps has all of them.
    """
    N, steps = check.whole(1, examples=examples), check.whole(1, MOST_STEPS - 1, steps=steps)
    if ordering not in ("fresh", "once"):
        raise check.ArgumentError("ordering", ordering, "must be fresh or once")
    check.memory(N + steps, examples=examples, steps=steps)
    rng, order, out = generator(seed, 0), np.arange(N), np.empty(steps, dtype=np.int64)
    for first in range(0, steps, N):
        if first == 0 or ordering == "fresh":
            shuffle(rng, order)
        out[first : first + N] = order[: steps - first]
    return out


def check_schedule(schedule: Indices, examples: int, steps: int) -> Indices:
    """Take the example of each step, in any order: an example may come twice in an epoch, or not at all.

    Shapes: ``schedule`` (T,), returns (T,).
    """
    found = np.array(schedule)
    if found.shape != (steps,) or found.dtype.kind not in "iu":
        value = f"an array of shape {found.shape} of {found.dtype}"
        raise check.ArgumentError("schedule", value, f"must have shape ({steps},) and hold integers")
    bad = np.flatnonzero((found < 0) | (found >= examples))
    if len(bad):
        value = f"{found[bad[0]]} at [{bad[0]}]"
        raise check.ArgumentError("schedule", value, f"must hold numbers of examples, 0 to {examples - 1}")
    return found.astype(np.int64)
