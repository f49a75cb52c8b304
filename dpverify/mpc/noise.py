"""Noise made inside the computation, from shared random bits that no party knows, and noise that one party adds.

Noise made inside is binomial, or Gaussian by the ratio of uniforms, with the constants of
:mod:`dpverify.privacy.ratio_noise`. The ratio of uniforms opens two things besides the sum. The first is whether each
pair was accepted. Pairs are drawn independently, so this reveals nothing about the value of an accepted pair. The
second are masked secrets. A mask is a number of 61 shared random bits modulo p = 2^61 - 1, so that a masked secret is
within 2^-61 of uniform, whatever the secret is. Nothing on which an accepted number depends is opened unmasked.
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

CHUNK: Final = 256  # coordinates at a time; this bounds the memory


def own_noise(drawn: Random, share: float, size: int) -> Indices:
    """Return the noise that one party adds, shape (size,): Gaussians of deviation ``share``, rounded to whole units."""
    return np.array(
        [round(drawn.gauss(0.0, share)) for _ in range(size)], dtype=np.int64
    )


def binomial_noise(mpc: Any, field: Any, size: int) -> Any:
    """Return shares of independent numbers, shape (size,), with the law of :mod:`dpverify.privacy.binomial_noise`."""
    chunks = [
        _chunk(mpc, field, min(CHUNK, size - start)) for start in range(0, size, CHUNK)
    ]
    return mpc.np_concatenate(chunks) if len(chunks) > 1 else chunks[0]


def _chunk(mpc: Any, field: Any, size: int) -> Any:
    weights = [1 << FINE_BITS] * WHOLE_BITS + 2 * [1 << i for i in range(FINE_BITS)]
    bits = mpc.np_random_bits(field, size * len(weights)).reshape(size, len(weights))
    return bits @ field.array(np.array(weights, dtype=object)) - sum(weights) // 2


MASK_BITS: Final = 61
HALF: Final = pow(2, -SHIFT_BITS, MODULUS)  # 2^-37 modulo p


async def ratio_noise(mpc: Any, field: Any, size: int) -> Any:
    """Return shares of independent numbers, shape (size,), with the law of :mod:`dpverify.privacy.ratio_noise`."""
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
    """Draw pairs, and return the rounded absolute values of at most ``limit`` accepted pairs."""
    accepted, reciprocal = tables()
    drawn = FIRST_BITS + CELL_BITS + PLACE_BITS
    bits = mpc.np_random_bits(field, pairs * drawn).reshape(pairs, drawn)
    first = first_one(mpc, bits[:, :FIRST_BITS])
    cell = unit_vector(mpc, bits[:, FIRST_BITS : FIRST_BITS + CELL_BITS])
    place = bits[:, FIRST_BITS + CELL_BITS :] @ _weights(PLACE_BITS)
    edge = mpc.np_sum(first * (cell @ accepted.T.astype(object)), axis=1)
    inside = await mpc.output(
        await shifted(mpc, field, edge - place + ((1 << SHIFT_BITS) - 1))
    )
    selected = np.flatnonzero(inside.value)[:limit]
    if not len(selected):
        return selected
    factor = (cell[selected] @ reciprocal.astype(object)) * (
        first[selected] @ _weights(FIRST_BITS)
    )
    ratio = (2 * place[selected] + 1) * factor + (1 << (SHIFT_BITS - 1))
    return await shifted(mpc, field, ratio)


def _finished(mpc: Any, field: Any, sizes: Any) -> Any:
    """Return the numbers with random signs and with smoothing noise."""
    extra = mpc.np_random_bits(field, len(sizes) * (1 + 2 * SMOOTH_BITS)).reshape(
        len(sizes), 1 + 2 * SMOOTH_BITS
    )
    smooth = np.concatenate((_weights(SMOOTH_BITS), -_weights(SMOOTH_BITS)))
    return sizes * (1 - 2 * extra[:, 0]) + extra[:, 1:] @ smooth


def first_one(mpc: Any, bits: Any) -> Any:
    """Return for each row of bits, shape (n, w), the indicator vector of its first one."""
    width = bits.shape[1]
    step = 1
    zeros = 1 - bits
    while step < width:  # whether all bits up to each position are 0, by doubling
        zeros = mpc.np_concatenate(
            (zeros[:, :step], zeros[:, step:] * zeros[:, :-step]), axis=1
        )
        step *= 2
    return mpc.np_concatenate((bits[:, :1], zeros[:, :-1] - zeros[:, 1:]), axis=1)


def unit_vector(mpc: Any, bits: Any) -> Any:
    """Return the unit vector of length 2^k for each row's number, given as k bits, lowest first; shape (n, k)."""
    vector = mpc.np_concatenate((1 - bits[:, :1], bits[:, :1]), axis=1)
    for at in range(1, bits.shape[1]):
        high = vector * bits[:, at : at + 1]
        vector = mpc.np_concatenate((vector - high, high), axis=1)
    return vector


async def shifted(mpc: Any, field: Any, values: Any) -> Any:
    """Return shares of the values, shape (n,), from 0 to p - 1, divided by 2^37 and rounded down.

    The computation opens c = value + r modulo p, where r has 61 random bits. With t = [c < r], the value is
    c - r + t p. Its 37 lowest bits are those of c - t - r, because p = -1 modulo 2^37.
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
    remainder = (
        (opened & ((1 << SHIFT_BITS) - 1))
        - mask[:, :SHIFT_BITS] @ _weights(SHIFT_BITS)
        - wraps
    )
    return (values - remainder - borrows * (1 << SHIFT_BITS)) * HALF


def compared(mpc: Any, less: Any, same: Any) -> Any:
    """Return whether an opened number is less than a secret number, and whether they are equal, shape (n, 2).

    ``less``, ``same`` (n, w): the same comparisons for each pair of bits, from the lowest bit on.
    """
    while (width := less.shape[1]) > 1:
        odd = width % 2  # the lowest bit waits for the next round
        decides = same[:, odd + 1 :: 2]
        products = mpc.np_concatenate((decides, decides), axis=1) * mpc.np_concatenate(
            (less[:, odd:-1:2], same[:, odd:-1:2]), axis=1
        )
        half = width // 2
        less = mpc.np_concatenate(
            (less[:, :odd], less[:, odd + 1 :: 2] + products[:, :half]), axis=1
        )
        same = mpc.np_concatenate((same[:, :odd], products[:, half:]), axis=1)
    return mpc.np_concatenate((less, same), axis=1)


def _weights(width: int) -> Any:
    """Return the first powers of two, from 1 on, as Python integers."""
    return np.array([1 << at for at in range(width)], dtype=object)
