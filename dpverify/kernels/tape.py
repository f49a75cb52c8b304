"""Seeded generators, for one seed or for many seeds at once, and tapes (arrays of numbers drawn before a run).

A kernel reads its noise from a tape or draws it from a generator. The same seed gives
the same numbers, bit for bit, on both paths, and in numpy as in compiled code.

The functions for many seeds at once serve runs that take less time than making a generator.
``generator(seed, stream)`` takes tens of microseconds for each seed: numpy mixes the seed into a pool of four words
(``SeedSequence``), reads the state of the bit generator from the pool (``SFC64``), and wraps both. Here the same steps
are vectorized over the seeds, and kernels draw from the states. Numbers and states are the same as numpy's, bit for
bit. A test compares thousands of seeds and shuffles with numpy's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import PCG64, SFC64, Generator, SeedSequence
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import Words, next_word, wrapping
from dpverify.kernels.typing import Indices, Tape, Vector

Seed: TypeAlias = int | Sequence[int] | SeedSequence
Bits: TypeAlias = Literal["sfc64", "pcg64"]

_BIT_GENERATORS = {"sfc64": SFC64, "pcg64": PCG64}


def seed_sequence(seed: Seed) -> SeedSequence:
    """Return a seed as a numpy ``SeedSequence``; a ``SeedSequence`` is returned unchanged."""
    if isinstance(seed, SeedSequence):
        return seed
    parts: Sequence[int] = [seed] if np.ndim(seed) == 0 else seed  # type: ignore[list-item, assignment]  # by ndim
    return SeedSequence([check.whole(0, seed=part) for part in parts])


def generator(seed: Seed, *stream: int, bits: Bits = "sfc64") -> Generator:
    """Return a seeded generator.

    ``*stream``: the numbers of one of the seed's independent streams, as in ``SeedSequence.spawn_key``. Without
    numbers, the generator uses the seed itself.
    """
    if bits not in _BIT_GENERATORS:
        raise check.ArgumentError(
            "bits", bits, f"must be one of {', '.join(_BIT_GENERATORS)}"
        )
    base = seed_sequence(seed)
    key = (*base.spawn_key, *(check.whole(0, stream=number) for number in stream))
    return Generator(
        _BIT_GENERATORS[bits](
            SeedSequence(base.entropy, spawn_key=key, pool_size=base.pool_size)
        )
    )


def normal_tape(rng: Generator, steps: int, dimension: int) -> Tape:
    """Return a tape of standard normal numbers in the order in which they are drawn.

    Row t - 1 has the numbers that a kernel which draws its own noise uses at step t.
    """
    steps = check.whole(0, steps=steps)
    dimension = check.whole(1, dimension=dimension)
    check.memory(steps * dimension, steps=steps, dimension=dimension)
    out = np.empty((steps, dimension))
    fill_normal(rng, out.reshape(-1))
    return out


@kernel
def fill_normal(rng: Generator, out: Vector) -> None:
    """Fill ``out``, shape (n,), with the numbers of ``rng.standard_normal(n)``."""
    for j in range(out.shape[0]):
        out[j] = rng.standard_normal()


@kernel
def shuffle(rng: Generator, order: Indices) -> None:
    """Shuffle ``order``, shape (n,), in place and uniformly over all orders (Fisher and Yates)."""
    for i in range(order.shape[0] - 1, 0, -1):
        j = rng.integers(0, i + 1)
        held = order[i]
        order[i] = order[j]
        order[j] = held


@kernel
def draw_batch(rng: Generator, order: Indices, size: int) -> None:
    """Move a uniformly drawn batch of this size to the front of ``order``, shape (n,)."""
    for i in range(size):
        j = rng.integers(i, order.shape[0])
        held = order[i]
        order[i] = order[j]
        order[j] = held


Halves: TypeAlias = NDArray[np.uint32]  # shape (n,): half a word for each of n seeds

POOL, WARM_UP = 4, 12
"""Number of 32-bit words that a seed is mixed into; number of words that a generator discards at the start."""

_INIT_A = 0x43B0D7E5
_TIMES_A = 0x931E8875
_INIT_B = 0x8B51F9DD
_TIMES_B = 0x58F38DED
_LEFT = np.uint32(0xCA01F9DD)
_RIGHT = np.uint32(0x4973F715)
_BY_16 = np.uint32(16)
_LOW_32 = np.uint64(0xFFFFFFFF)
_BY_32 = np.uint64(32)
_ONE = np.uint64(1)


def words_of_seeds(seeds: NDArray[np.int64], stream: int) -> Words:
    """Return the initial state of ``generator(seed, stream)`` for each seed.

    Row k is ``take_words(generator(seeds[k], stream))``. Shapes: ``seeds`` (n,).
    """
    stream = check.whole(0, (1 << 32) - 1, stream=stream)
    least = int(seeds.min(initial=0))
    if least < 0:
        raise check.ArgumentError("seeds", least, "must be at least 0")
    numbers = seeds.astype(np.uint64)
    none = np.zeros(len(seeds), dtype=np.uint32)
    entropy = [
        (numbers & _LOW_32).astype(np.uint32),
        (numbers >> _BY_32).astype(np.uint32),
        none,
        none,
        none + stream,
    ]
    with wrapping():
        # the counter of SFC64 starts at 1
        words = np.ones((len(seeds), 4), dtype=np.uint64)
        words[:, :3] = (
            np.stack(_read(_pool([half.astype(np.uint32) for half in entropy]), 6))
            .T.copy()
            .view(np.uint64)
        )
    warm_up(words)
    return words


def _constants(first: int, times: int) -> Iterator[tuple[np.uint32, np.uint32]]:
    """Yield the two constants of each round of hashing: the one that is XORed, and the multiplier."""
    while True:
        then = first * times & 0xFFFFFFFF
        yield np.uint32(first), np.uint32(then)
        first = then


def _pool(entropy: list[Halves]) -> list[Halves]:
    """Return the pool of a ``SeedSequence``, mixed from at least four words."""
    constants = _constants(_INIT_A, _TIMES_A)
    pool = [_hashed(half, *next(constants)) for half in entropy[:POOL]]
    for source in range(POOL):
        for to in range(POOL):
            if to != source:
                pool[to] = _mixed(pool[to], _hashed(pool[source], *next(constants)))
    for half in entropy[POOL:]:
        pool = [_mixed(old, _hashed(half, *next(constants))) for old in pool]
    return pool


def _read(pool: list[Halves], n: int) -> list[Halves]:
    """Return n words of a pool, as ``SeedSequence.generate_state`` does."""
    constants = _constants(_INIT_B, _TIMES_B)
    return [_hashed(pool[k % POOL], *next(constants)) for k in range(n)]


def _hashed(half: Halves, first: np.uint32, then: np.uint32) -> Halves:
    mixed: Halves = (half ^ first) * then
    return mixed ^ (mixed >> _BY_16)


def _mixed(left: Halves, right: Halves) -> Halves:
    mixed: Halves = left * _LEFT - right * _RIGHT
    return mixed ^ (mixed >> _BY_16)


@kernel
def warm_up(words: Words) -> None:
    """Advance each state in ``words``, shape (n, 4), past the words that SFC64 discards at the start."""
    for k in range(words.shape[0]):
        a = words[k, 0]
        b = words[k, 1]
        c = words[k, 2]
        count = words[k, 3]
        for _ in range(WARM_UP):
            _, a, b, c, count = next_word(a, b, c, count)
        words[k, 0] = a
        words[k, 1] = b
        words[k, 2] = c
        words[k, 3] = count


@kernel
def next_half(words: Words, held: Words) -> np.uint64:
    """Return 32 random bits as ``next_uint32`` of SFC64 does: the lower half of a word, then its upper half.

    Shapes: ``words`` (4,), ``held`` (2,).
    """
    if held[0] == _ONE:
        held[0] = np.uint64(0)
        return np.uint64(held[1])
    word, words[0], words[1], words[2], words[3] = next_word(
        words[0], words[1], words[2], words[3]
    )
    held[0] = _ONE
    held[1] = word >> _BY_32
    return word & _LOW_32


@kernel
def shuffle_from(words: Words, held: Words, order: Indices) -> None:
    """Shuffle ``order``, shape (n,), as ``shuffle`` does with a generator in this state; n is at most 2^32 - 1.

    Shapes: ``words``, ``held`` (4,) and (2,), ``order`` (n,).
    """
    for i in range(order.shape[0] - 1, 0, -1):
        choices = np.uint64(i) + _ONE
        scaled = next_half(words, held) * choices
        if scaled & _LOW_32 < choices:
            rejected = (_LOW_32 - np.uint64(i)) % choices
            while scaled & _LOW_32 < rejected:
                scaled = next_half(words, held) * choices
        j = np.int64(scaled >> _BY_32)
        order[i], order[j] = order[j], order[i]
