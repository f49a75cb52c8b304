"""Algorithm 1's noise one step at a time, for optimizers written in Python."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import (
    Words,
    fill_normal_from,
    put_words,
    take_words,
    wrapping,
)
from dpverify.kernels.tape import fill_normal
from dpverify.kernels.typing import Matrix, Vector
from dpverify.kernels.vector import copy_into
from dpverify.papers.tran2022.algorithms.tree_noise.stream import combine_rows, decays

AHEAD = 16384  # Maximum number of Gaussians that are drawn in advance


@kernel
def advance(
    rng: Generator, t: int, decay: Vector, scale: float, slots: Matrix, out: Matrix
) -> None:
    """Write NOISE_{t+1}, NOISE_{t+2}, ... into the rows of ``out``.

    ``slots`` (floor(log2 T) + 1, d): row k is NOISE_s of the last s whose lowest bit is 2^k. They always include
    NOISE_{t - lowbit(t)}, because no later step before t has the same lowest bit. Shapes: ``decay`` (LEVELS,), ``out``
    (n, d).
    """
    fill_normal(rng, out.reshape(out.size))
    combine_block(t, decay, scale, slots, out)


@kernel
def advance_from(
    words: Words, t: int, decay: Vector, scale: float, slots: Matrix, out: Matrix
) -> None:
    """Do what ``advance`` does, faster, from the state of an SFC64 generator: bit for bit the same numbers."""
    fill_normal_from(words, out.reshape(out.size))
    combine_block(t, decay, scale, slots, out)


@kernel
def combine_block(
    t: int, decay: Vector, scale: float, slots: Matrix, out: Matrix
) -> None:
    """Turn unit Gaussians in ``out`` into NOISE_{t+1}, NOISE_{t+2}, ..., in place, and update ``slots``."""
    n = out.shape[0]
    combine_rows(t + 1, t + n, decay, scale, slots, t, out)
    for k in range(slots.shape[0]):
        # the last step up to t + n whose lowest bit is 2^k
        last = (((t + n) >> k) - 1 | 1) << k
        if last > t:
            copy_into(slots[k], out[last - t - 1])


class TreeNoise:
    """NOISE_1, NOISE_2, ... of Algorithm 1, one call per step.

    Parameters
    ----------
    steps : int
        T, the maximum number of steps.
    dimension : int
        d, at least 1.
    alpha : float
        Momentum weight, in (0, 1].
    scale : float
        Standard deviation of a node, at least 0, in units of the gradient.
    rng : Generator
        Source of randomness. Do not use it elsewhere afterwards: this object draws T*d
        numbers from it, in blocks.
    fast : bool
        Draw the same numbers with ``kernels.normal``, in 0.6 of the time; ``rng`` must
        use SFC64. Off by default, as evidence for the claims must be drawn by NumPy.

    Raises
    ------
    ArgumentError
        If a number is out of range, the state does not fit in memory, or ``fast`` is
        used without SFC64.

    Notes
    -----
    The state is ``floor(log2 T) + 1`` vectors and a block of at most ``max(AHEAD, d)`` numbers. ``step`` returns
    copies, so callers cannot change the state. The numbers are those of ``noise_from_generator`` with the same
    generator, bit for bit.
    """

    def __init__(
        self,
        steps: int,
        dimension: int,
        *,
        alpha: float,
        scale: float,
        rng: Generator,
        fast: bool = False,
    ) -> None:
        self._steps = check.whole(1, MOST_STEPS - 1, steps=steps)
        dimension = check.whole(1, dimension=dimension)
        slot_count = self._steps.bit_length()
        ahead = min(self._steps, max(1, AHEAD // dimension))
        check.memory((slot_count + ahead) * dimension, steps=steps, dimension=dimension)
        self._scale = check.not_negative(scale=scale)
        self._rng = rng
        self._fast = fast
        if fast:
            take_words(rng)  # raises ArgumentError for other generators than SFC64
        self._decay = decays(check.weight(alpha=alpha))
        self._slots = np.zeros((slot_count, dimension))
        self._block = np.empty((ahead, dimension))
        self._drawn = self._row = self._rows = 0

    @property
    def t(self) -> int:
        """Number of steps taken so far."""
        return self._drawn - self._rows + self._row

    def step(self, out: Vector | None = None) -> Vector:
        """Return the noise of the next step, shape (d,), in ``out`` if given; raise ArgumentError after T steps."""
        if self._row == self._rows:
            self._refill()
        row: Vector = self._block[self._row]
        self._row += 1
        if out is None:
            return row.copy()
        out[:] = row
        return out

    def _refill(self) -> None:
        left = self._steps - self._drawn
        if left == 0:
            raise check.ArgumentError(
                "steps", self._steps, "must be at least the number of calls of step"
            )
        self._block = self._block[: min(left, len(self._block))]
        state = self._drawn, self._decay, self._scale, self._slots, self._block
        if self._fast:
            words = take_words(self._rng)
            with wrapping():
                advance_from(words, *state)
            put_words(self._rng, words)
        else:
            advance(self._rng, *state)
        self._rows = len(self._block)
        self._row = 0
        self._drawn += self._rows
