"""Algorithm 1's noise one step at a time, for optimizers that live in Python."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.jit import kernel
from dpverify.kernels.normal import Words, fill_normal_from, put_words, take_words, wrapping
from dpverify.kernels.tape import fill_normal
from dpverify.kernels.typing import Matrix, Vector
from dpverify.kernels.vector import copy_into
from dpverify.papers.tran2022.algorithms.tree_noise.stream import combine_rows, decays

AHEAD = 16384  # Numbers drawn ahead of the step that needs them


@kernel
def advance(rng: Generator, t: int, decay: Vector, scale: float, slots: Matrix, out: Matrix) -> None:
    """Write NOISE_{t+1}, NOISE_{t+2}, ... into the rows of ``out``.

    ``slots`` (floor(log2 T) + 1, d): row k is NOISE_s of the last s whose lowest bit is 2^k. NOISE_{t - lowbit(t)} is
    always among them, because no step between shares its lowest bit. Shapes: ``decay`` (LEVELS,), ``out`` (n, d).
    """
    fill_normal(rng, out.reshape(out.size))
    combine_block(t, decay, scale, slots, out)


@kernel
def advance_from(words: Words, t: int, decay: Vector, scale: float, slots: Matrix, out: Matrix) -> None:
    """Do what ``advance`` does, faster, from the state of an SFC64: the same numbers, bit for bit."""
    fill_normal_from(words, out.reshape(out.size))
    combine_block(t, decay, scale, slots, out)


@kernel
def combine_block(t: int, decay: Vector, scale: float, slots: Matrix, out: Matrix) -> None:
    """Turn unit Gaussians in ``out`` into NOISE_{t+1}, NOISE_{t+2}, ..., in place, and keep in ``slots`` what lasts."""
    n = out.shape[0]
    combine_rows(t + 1, t + n, decay, scale, slots, t, out)
    for k in range(slots.shape[0]):
        last = (((t + n) >> k) - 1 | 1) << k  # the last step up to t + n whose lowest bit is 2^k
        if last > t:
            copy_into(slots[k], out[last - t - 1])


class TreeNoise:
    """NOISE_1, NOISE_2, ... of Algorithm 1, one call a step.

    Parameters
    ----------
    steps : int
        T: how many steps there will be at most.
    dimension : int
        d, at least 1.
    alpha : float
        Momentum weight, in (0, 1].
    scale : float
        Standard deviation of a node, at least 0, in units of the gradient.
    rng : Generator
        Source of randomness. It belongs to this object from here on: numbers are drawn a block ahead, T*d in all.
    fast : bool
        Draw the same numbers by ``kernels.normal``, at 0.6 of the time; ``rng`` must be on SFC64. Evidence
        is drawn by the library, so this is off unless it is asked for.

    Raises
    ------
    ArgumentError
        If a number is out of range, the state does not fit in memory, or ``fast`` has another source than SFC64.

    Notes
    -----
    The state is ``floor(log2 T) + 1`` vectors and a block of at most ``max(AHEAD, d)`` numbers. It is never handed out:
    what ``step`` returns is a copy, so nobody can change the noise to come. The same generator gives the same numbers
    as ``noise_from_generator``, bit for bit.
    """

    def __init__(
        self, steps: int, dimension: int, *, alpha: float, scale: float, rng: Generator, fast: bool = False
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
            take_words(rng)  # refuses other sources
        self._decay = decays(check.weight(alpha=alpha))
        self._slots = np.zeros((slot_count, dimension))
        self._block = np.empty((ahead, dimension))
        self._drawn = self._row = self._rows = 0

    @property
    def t(self) -> int:
        """How many steps were taken."""
        return self._drawn - self._rows + self._row

    def step(self, out: Vector | None = None) -> Vector:
        """Return the noise of the next step, shape (d,), in ``out`` if that is given; an ArgumentError after T steps."""
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
            raise check.ArgumentError("steps", self._steps, "must be at least the number of calls of step")
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
