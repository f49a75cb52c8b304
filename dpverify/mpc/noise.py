"""Noise that is made inside the computation from shared random bits, of which no party knows any; and a party's own."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import numpy as np

from dpverify.kernels.typing import Indices
from dpverify.privacy.binomial_noise import FINE_BITS, WHOLE_BITS

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
