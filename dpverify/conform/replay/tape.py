"""A generator that plays back normal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


class Tape(np.random.Generator):
    """A generator whose normal numbers are given; all other numbers are drawn as usual.

    While `playing` runs, the normal numbers of all other generators and libraries come from it as well, in the order
    in which they are requested.
    """

    def __init__(self, numbers: Any) -> None:
        super().__init__(np.random.PCG64(0))
        self.numbers = np.asarray(numbers, dtype=float)
        self.used = 0

    def take(self, count: int) -> Any:
        """Return the next numbers; beyond the end, zeros."""
        numbers = np.zeros(count)
        available = self.numbers[self.used : self.used + count]
        numbers[: len(available)] = available
        self.used += count
        return numbers

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Return the next numbers in the shape of ``size`` or of ``out``."""
        if out is not None:
            out[...] = self.take(out.size).reshape(out.shape)
            return out
        if size is None:
            return float(self.take(1)[0])
        return self.take(int(np.prod(size))).reshape(size).astype(dtype)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Scale and move the next numbers."""
        if size is None and (shape := np.broadcast_shapes(np.shape(loc), np.shape(scale))):
            size = shape
        return loc + scale * self.standard_normal(size)

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return generators whose normal numbers come from this tape while it plays."""
        return [np.random.Generator(child) for child in self.bit_generator.spawn(n_children)]
