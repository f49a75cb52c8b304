"""Randomness from outside: seeded generators, and tapes of the numbers drawn from them.

A kernel takes its noise from a tape, or draws it itself from a generator; the same seed gives the same numbers either
way, bit for bit, whether numpy draws or compiled code does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import PCG64, SFC64, Generator, SeedSequence

from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Tape, Vector

Seed: TypeAlias = int | Sequence[int] | SeedSequence
Bits: TypeAlias = Literal["sfc64", "pcg64"]

_BIT_GENERATORS = {"sfc64": SFC64, "pcg64": PCG64}


def seed_sequence(seed: Seed) -> SeedSequence:
    """Turn a seed into numpy's seed sequence. The given one, untouched, or a new one."""
    if isinstance(seed, SeedSequence):
        return seed
    parts: Sequence[int] = [seed] if np.ndim(seed) == 0 else seed  # type: ignore[list-item, assignment]  # by ndim
    return SeedSequence([check.whole(0, seed=part) for part in parts])


def generator(seed: Seed, *stream: int, bits: Bits = "sfc64") -> Generator:
    """Make a seeded generator.

    ``*stream``: which of the independent streams of this seed: numbers as in ``SeedSequence.spawn_key``. None: the
    seed's own.
    """
    if bits not in _BIT_GENERATORS:
        raise check.ArgumentError("bits", bits, f"must be one of {', '.join(_BIT_GENERATORS)}")
    base = seed_sequence(seed)
    key = (*base.spawn_key, *(check.whole(0, stream=number) for number in stream))
    return Generator(_BIT_GENERATORS[bits](SeedSequence(base.entropy, spawn_key=key, pool_size=base.pool_size)))


def normal_tape(rng: Generator, steps: int, dimension: int) -> Tape:
    """Draw a tape of standard normal numbers.

    In the order in which they were drawn; row t - 1 is what a kernel that draws for itself uses at step t.
    """
    steps = check.whole(0, steps=steps)
    dimension = check.whole(1, dimension=dimension)
    check.memory(steps * dimension, steps=steps, dimension=dimension)
    out = np.empty((steps, dimension))
    fill_normal(rng, out.reshape(-1))
    return out


@kernel
def fill_normal(rng: Generator, out: Vector) -> None:
    """Fill ``out``, shape (n,), with standard normal numbers: the ones that ``rng.standard_normal(n)`` gives."""
    for j in range(out.shape[0]):
        out[j] = rng.standard_normal()


@kernel
def shuffle(rng: Generator, order: Indices) -> None:
    """Shuffle ``order``, shape (n,), in place; uniform over all orders, whatever the order was (Fisher and Yates)."""
    for i in range(order.shape[0] - 1, 0, -1):
        j = rng.integers(0, i + 1)
        held = order[i]
        order[i] = order[j]
        order[j] = held


@kernel
def draw_batch(rng: Generator, order: Indices, size: int) -> None:
    """Bring a uniform batch of this size to the front of ``order``, shape (n,), whatever its order was."""
    for i in range(size):
        j = rng.integers(i, order.shape[0])
        held = order[i]
        order[i] = order[j]
        order[j] = held
