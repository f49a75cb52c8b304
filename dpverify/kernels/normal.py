"""The normal numbers of numpy's ``Generator(SFC64).standard_normal``, bit for bit, in half the time.

The method and its tables are numpy's: the ziggurat of Marsaglia and Tsang with 256
layers. The same random words give the same numbers and leave the generator in the same
state. Two things make it faster. numpy calls a function pointer for each word of 64
random bits. Here the four words of the state stay in registers, also in kernels that
inline this code; only the rare case, one number in a hundred, stores them in memory.
The table of widths also gives the sign.

A test compares millions of numbers with numpy's. Checks also draw with numpy (``fill_normal``), so no evidence depends
on this module alone.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.random import SFC64, Generator
from numpy.typing import NDArray

from dpverify.kernels import check
from dpverify.kernels.jit import inner_kernel, kernel, step_kernel
from dpverify.kernels.numba_internals import (
    HEIGHTS,
    LAYERS,
    PER_TAIL,
    TAIL,
    WIDTHS,
    unlikely,
)
from dpverify.kernels.typing import Vector

# state of an SFC64, shape (4,): three mixed words and a counter
Words: TypeAlias = NDArray[np.uint64]

NO_WORDS: Words = np.empty(0, dtype=np.uint64)
UNIT = 1.0 / 9007199254740992.0  # 2^-53

_ONE = np.uint64(1)
_LOW_8 = np.uint64(0xFF)
_LOW_9 = np.uint64(0x1FF)
_LOW_52 = np.uint64((1 << 52) - 1)
_BY_3, _BY_8, _BY_9, _BY_11, _BY_24, _BY_40 = (
    np.uint64(k) for k in (3, 8, 9, 11, 24, 40)
)


@kernel
def next_word(
    a: np.uint64, b: np.uint64, c: np.uint64, count: np.uint64
) -> tuple[np.uint64, ...]:
    """Return 64 random bits and the next state: one round of SFC64."""
    word = a + b + count
    return (
        word,
        b ^ (b >> _BY_11),
        c + (c << _BY_3),
        ((c << _BY_24) | (c >> _BY_40)) + word,
        count + _ONE,
    )


@inner_kernel
def accept_or_reject(
    word: np.uint64,
    x: float,
    a: np.uint64,
    b: np.uint64,
    c: np.uint64,
    count: np.uint64,
) -> tuple[bool, float, np.uint64, np.uint64, np.uint64, np.uint64]:
    """Accept or reject a point outside the part of its layer that is below the density; one point in a hundred.

    Returns whether the number is accepted, the number, and the next state.
    """
    layer = np.int64(word & _LOW_8)
    if layer == 0:  # the tail, from two exponential variables
        while True:
            word_x, a, b, c, count = next_word(a, b, c, count)
            word_y, a, b, c, count = next_word(a, b, c, count)
            beyond = -PER_TAIL * math.log1p(-(np.float64(word_x >> _BY_11) * UNIT))
            height = -math.log1p(-(np.float64(word_y >> _BY_11) * UNIT))
            if height + height > beyond * beyond:
                # not the sign bit that ``point_of`` uses
                negative = ((word >> _BY_9) >> _BY_8) & _ONE
                return (
                    True,
                    -(TAIL + beyond) if negative else TAIL + beyond,
                    a,
                    b,
                    c,
                    count,
                )
    word_u, a, b, c, count = next_word(a, b, c, count)
    u = np.float64(word_u >> _BY_11) * UNIT
    below = (HEIGHTS[layer - 1] - HEIGHTS[layer]) * u + HEIGHTS[layer] < math.exp(
        -0.5 * x * x
    )
    return below, x, a, b, c, count


@step_kernel
def point_of(word: np.uint64) -> tuple[bool, float]:
    """Return whether the point of a word is in the part of its layer below the density, and its first coordinate."""
    place = np.int64((word >> _BY_9) & _LOW_52)
    return place < LAYERS[np.int64(word & _LOW_8)], place * WIDTHS[
        np.int64(word & _LOW_9)
    ]


@inner_kernel
def number_after(words: Words, word: np.uint64, x: float) -> float:
    """Return the number for a word whose point ``point_of`` did not accept, and advance the state ``words``."""
    accepted, x, a, b, c, count = accept_or_reject(
        word, x, words[0], words[1], words[2], words[3]
    )
    while not accepted:
        word, a, b, c, count = next_word(a, b, c, count)
        accepted, x = point_of(word)
        if not accepted:
            accepted, x, a, b, c, count = accept_or_reject(word, x, a, b, c, count)
    words[0] = a
    words[1] = b
    words[2] = c
    words[3] = count
    return x


@inner_kernel
def fill_normal_from(words: Words, out: Vector) -> None:
    """Fill ``out``, shape (n,), as ``Generator.standard_normal`` does from this state of SFC64; advance the state."""
    a = words[0]
    b = words[1]
    c = words[2]
    count = words[3]
    for j in range(out.shape[0]):
        word, a, b, c, count = next_word(a, b, c, count)
        accepted, x = point_of(word)
        if unlikely(not accepted):
            words[0] = a
            words[1] = b
            words[2] = c
            words[3] = count
            x = number_after(words, word, x)
            a = words[0]
            b = words[1]
            c = words[2]
            count = words[3]
        out[j] = x
    words[0] = a
    words[1] = b
    words[2] = c
    words[3] = count


def wrapping() -> np.errstate:
    """Return a context that allows overflow of integers without a warning; compiled code never warns."""
    return np.errstate(over="ignore")


def has_words(rng: Generator) -> bool:
    """Test whether a generator draws its bits from SFC64, as ``take_words`` requires.

    True for generators made by ``generator`` with the default ``bits``.
    """
    return type(rng.bit_generator) is SFC64


def take_words(rng: Generator) -> Words:
    """Return a generator's state for kernels that draw from the state; ``put_words`` writes it back.

    Shapes: returns (4,).
    """
    if not has_words(rng):
        raise check.ArgumentError("rng", rng, "must draw its bits from SFC64")
    state: dict[str, Any] = dict(rng.bit_generator.state)
    words: Words = np.array(state["state"]["state"], dtype=np.uint64)
    return words


def put_words(rng: Generator, words: Words) -> None:
    """Set the state of a generator to one that a kernel has advanced.

    ``rng``: the generator that ``take_words`` read. Its buffered 32 bits are not changed. Shapes: ``words`` (4,).
    """
    if not has_words(rng):
        raise check.ArgumentError("rng", rng, "must draw its bits from SFC64")
    rng.bit_generator.state = {
        **rng.bit_generator.state,
        "state": {"state": words.copy()},
    }
