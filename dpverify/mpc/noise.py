"""Noise that is made inside the computation from shared random bits, of which no party knows any; and a party's own.

The noise is binomial, or Gaussian by the ratio of uniforms. The numbers of the latter are those of
:mod:`dpverify.privacy.ratio_noise`. Besides the sum, two things are opened. Whether a pair was accepted: pairs are
drawn independently, so that this says nothing of the value of one that was. And secrets hidden by masks, numbers of 61
shared random bits modulo p = 2^61 - 1, of which each is as near to uniform as 2^-61 whatever it hides. Nothing that the
number itself depends on is opened.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any, Final

import numpy as np

from dpverify.kernels.typing import Indices
from dpverify.mpc.fixed_point import MODULUS
from dpverify.privacy.binomial_noise import FINE_BITS, WHOLE_BITS
from dpverify.privacy.ratio_noise import (
    CELL_BITS,
    FIRST_BITS,
    PLACE_BITS,
    SHIFT_BITS,
    SMOOTH_BITS,
    acceptance,
    tables,
)

CHUNK: Final = 256  # coordinates at a time: what it takes in memory does not grow with more


def own_noise(drawn: Random, share: float, size: int) -> Indices:
    """Draw what one party adds to its numbers, shape (size,): Gaussians of deviation ``share``, rounded to units."""
    return np.array([round(drawn.gauss(0.0, share)) for _ in range(size)], dtype=np.int64)


def binomial_noise(mpc: Any, field: Any, size: int) -> Any:
    """Share a vector of independent numbers, shape (size,), of the law in :mod:`dpverify.privacy.binomial_noise`."""
    chunks = [_chunk(mpc, field, min(CHUNK, size - start)) for start in range(0, size, CHUNK)]
    return mpc.np_concatenate(chunks) if len(chunks) > 1 else chunks[0]


def _chunk(mpc: Any, field: Any, size: int) -> Any:
    weights = [1 << FINE_BITS] * WHOLE_BITS + 2 * [1 << i for i in range(FINE_BITS)]
    bits = mpc.np_random_bits(field, size * len(weights)).reshape(size, len(weights))
    return bits @ field.array(np.array(weights, dtype=object)) - sum(weights) // 2


MASK_BITS: Final = 61
HALF: Final = pow(2, -SHIFT_BITS, MODULUS)  # 2^-37 modulo p


async def ratio_noise(mpc: Any, field: Any, size: int) -> Any:
    """Share a vector of independent numbers, shape (size,), of the law in :mod:`dpverify.privacy.ratio_noise`."""
    parts = []
    left = size
    while left:
        pairs = min(CHUNK, math.ceil(left / acceptance()) + 8)
        sizes = await _accepted(mpc, field, pairs, left)
        if len(sizes):
            parts.append(_finished(mpc, field, sizes))
            left -= len(sizes)
    return mpc.np_concatenate(parts)


async def _accepted(mpc: Any, field: Any, pairs: int, limit: int) -> Any:
    """Rounded sizes of those of so many pairs that are accepted, at most ``limit``."""
    accepted, reciprocal = tables()
    drawn = FIRST_BITS + CELL_BITS + PLACE_BITS
    bits = mpc.np_random_bits(field, pairs * drawn).reshape(pairs, drawn)
    first = first_one(mpc, bits[:, :FIRST_BITS])
    cell = unit_vector(mpc, bits[:, FIRST_BITS : FIRST_BITS + CELL_BITS])
    place = bits[:, FIRST_BITS + CELL_BITS :] @ _weights(PLACE_BITS)
    edge = mpc.np_sum(first * (cell @ accepted.T.astype(object)), axis=1)
    inside = await mpc.output(await shifted(mpc, field, edge - place + ((1 << SHIFT_BITS) - 1)))
    selected = np.flatnonzero(inside.value)[:limit]
    if not len(selected):
        return selected
    factor = (cell[selected] @ reciprocal.astype(object)) * (first[selected] @ _weights(FIRST_BITS))
    ratio = (2 * place[selected] + 1) * factor + (1 << (SHIFT_BITS - 1))
    return await shifted(mpc, field, ratio)


def _finished(mpc: Any, field: Any, sizes: Any) -> Any:
    """Give each size its sign, and smooth."""
    extra = mpc.np_random_bits(field, len(sizes) * (1 + 2 * SMOOTH_BITS)).reshape(len(sizes), 1 + 2 * SMOOTH_BITS)
    smooth = np.concatenate((_weights(SMOOTH_BITS), -_weights(SMOOTH_BITS)))
    return sizes * (1 - 2 * extra[:, 0]) + extra[:, 1:] @ smooth


def first_one(mpc: Any, bits: Any) -> Any:
    """Of each row, shape (n, w), a one where its first one stands, and zeros."""
    width = bits.shape[1]
    step = 1
    zeros = 1 - bits
    while step < width:  # zeros up to each place, by doubling
        zeros = mpc.np_concatenate((zeros[:, :step], zeros[:, step:] * zeros[:, :-step]), axis=1)
        step *= 2
    return mpc.np_concatenate((bits[:, :1], zeros[:, :-1] - zeros[:, 1:]), axis=1)


def unit_vector(mpc: Any, bits: Any) -> Any:
    """Of each row's number, lowest bit first, shape (n, k), a one at its place among 2^k."""
    vector = mpc.np_concatenate((1 - bits[:, :1], bits[:, :1]), axis=1)
    for at in range(1, bits.shape[1]):
        high = vector * bits[:, at : at + 1]
        vector = mpc.np_concatenate((vector - high, high), axis=1)
    return vector


async def shifted(mpc: Any, field: Any, values: Any) -> Any:
    """Share the values, shape (n,), from 0 to p - 1, divided by 2^37 and rounded down.

    What is opened is c = value + r modulo p, r of 61 random bits. With t = [c < r], the value is c - r + t p, and its
    37 lowest bits are those of c - t - r, as p is -1 there.
    """
    count = len(values)
    mask = mpc.np_random_bits(field, count * MASK_BITS).reshape(count, MASK_BITS)
    opened = (await mpc.output(values + mask @ _weights(MASK_BITS))).value
    opened_bits = (opened[:, None] >> np.arange(MASK_BITS).astype(object)) & 1
    less = mask * (1 - opened_bits)
    same = 1 - mask - opened_bits + 2 * (mask * opened_bits)
    low = compared(mpc, less[:, :SHIFT_BITS], same[:, :SHIFT_BITS])
    high = compared(mpc, less[:, SHIFT_BITS:], same[:, SHIFT_BITS:])
    wraps = high[:, 0] + high[:, 1] * low[:, 0]
    borrows = low[:, 0] + low[:, 1] * wraps
    remainder = (opened & ((1 << SHIFT_BITS) - 1)) - mask[:, :SHIFT_BITS] @ _weights(SHIFT_BITS) - wraps
    return (values - remainder - borrows * (1 << SHIFT_BITS)) * HALF


def compared(mpc: Any, less: Any, same: Any) -> Any:
    """Whether an opened number is less than a secret one, and whether it is the same, shape (n, 2), from their bits.

    ``less``, ``same`` (n, w): for each bit from the lowest on, what it alone says.
    """
    while (width := less.shape[1]) > 1:
        odd = width % 2  # the lowest waits
        decides = same[:, odd + 1 :: 2]
        products = mpc.np_concatenate((decides, decides), axis=1) * mpc.np_concatenate(
            (less[:, odd:-1:2], same[:, odd:-1:2]), axis=1
        )
        half = width // 2
        less = mpc.np_concatenate((less[:, :odd], less[:, odd + 1 :: 2] + products[:, :half]), axis=1)
        same = mpc.np_concatenate((same[:, :odd], products[:, half:]), axis=1)
    return mpc.np_concatenate((less, same), axis=1)


def _weights(width: int) -> Any:
    """Powers of two from 1 on, of any size."""
    return np.array([1 << at for at in range(width)], dtype=object)
