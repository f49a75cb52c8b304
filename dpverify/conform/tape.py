"""A generator that plays back normal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


class Tape(np.random.Generator):
    """A generator whose normal numbers are those that it is given; all else is drawn as usual."""

    def __init__(self, numbers: Any) -> None:
        super().__init__(np.random.PCG64(0))
        self.numbers, self.used = np.asarray(numbers, dtype=float), 0

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Hand out the next numbers; beyond the end, zeros."""
        count = out.size if out is not None else int(np.prod(size)) if size is not None else 1
        taken = np.zeros(count)
        rest = self.numbers[self.used : self.used + count]
        taken[: len(rest)] = rest
        self.used += count
        if out is not None:
            out[...] = taken.reshape(out.shape)
            return out
        return taken.reshape(size).astype(dtype) if size is not None else float(taken[0])

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Scale and move the next numbers."""
        if size is None and (shape := np.broadcast_shapes(np.shape(loc), np.shape(scale))):
            size = shape
        return loc + scale * self.standard_normal(size)
