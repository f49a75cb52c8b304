"""MPyC's part for one party that holds everything in the clear: nothing is sent; and a sampler's twin."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpverify.kernels.typing import Indices
from dpverify.mpc.fixed_point import MODULUS
from dpverify.privacy.ratio_noise import (
    CELL_BITS,
    FIRST_BITS,
    PLACE_BITS,
    SMOOTH_BITS,
    smoothed_noise,
    uniform_ratio,
)

DRAWN = FIRST_BITS + CELL_BITS + PLACE_BITS


class PlainMpc:
    """Gives the bits that it is told, then bits of a generator; keeps all of them."""

    np_concatenate = staticmethod(np.concatenate)
    np_sum = staticmethod(np.sum)

    def __init__(self, rng: np.random.Generator, told: Sequence[Indices] = ()) -> None:
        self.rng, self.told = rng, iter(told)
        self.given: list[Indices] = []
        self.opened: list[Indices] = []

    def np_random_bits(self, field: object, count: int) -> Any:
        bits = next(self.told, None)
        bits = self.rng.integers(0, 2, count) if bits is None else bits.reshape(-1)
        assert len(bits) == count
        self.given.append(bits)
        return bits.astype(object)

    async def output(self, values: Any) -> SimpleNamespace:
        self.opened.append(values % MODULUS)
        return SimpleNamespace(value=self.opened[-1])


def signed(values: Any) -> Indices:
    """Integers modulo p, those in its upper half as negative ones."""
    whole: Indices = np.array(
        [v - MODULUS if v > MODULUS // 2 else v for v in values % MODULUS],
        dtype=np.int64,
    )
    return whole


def run(work: Any) -> Any:
    """What a coroutine returns that waits for nobody."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


def twin(given: list[Indices], size: int) -> list[int]:
    """The numbers that the bits give, in the order in which they were drawn: of pairs, of two masks, and the rest."""
    found: list[int] = []
    for at in range(0, len(given), 4):
        pairs = given[at].reshape(-1, DRAWN)
        cut = (FIRST_BITS, FIRST_BITS + CELL_BITS)
        sizes = [
            s for row in pairs if (s := uniform_ratio(*np.split(row, cut))) is not None
        ][: size - len(found)]
        rest = given[at + 3].reshape(-1, 1 + 2 * SMOOTH_BITS)
        for s, row in zip(sizes, rest, strict=True):
            found.append(
                smoothed_noise(s, int(row[0]), row[1:].reshape(2, SMOOTH_BITS))
            )
    return found
