"""A block of replications that is drawn piece by piece, so that it is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# floats of a piece, 0.5 MB: a piece is still in a near cache when it is summed
PIECE = 1 << 16


@dataclass(frozen=True)
class Pieces:
    """A sample whose parts are drawn on demand, once."""

    size: int  # number of replications of all parts together
    # replications along the first axis; valid until the next part is drawn
    parts: Iterator[NDArray[Any]]

    def __len__(self) -> int:
        """Return the number of replications."""
        return self.size

    def changed(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Pieces:
        """Return the same sample with a change in every part. This uses up the original parts."""
        return Pieces(self.size, (change(part) for part in self.parts))


def replications_of_a_piece(values: int) -> int:
    """Return the number of replications that fit into a piece, at least 1."""
    return max(1, PIECE // values)


def drawn_in_pieces(
    size: int, shape: tuple[int, int], fill: Callable[[Floats], None]
) -> Pieces:
    """Return a sample whose parts are drawn into the same small array."""

    def parts() -> Iterator[Floats]:
        piece_size = min(size, replications_of_a_piece(shape[0] * shape[1]))
        room = np.empty((piece_size, *shape))
        for done in range(0, size, piece_size):
            part = room[: size - done]
            fill(part)
            yield part

    return Pieces(size, parts())


def parts_of(sample: NDArray[Any] | Pieces) -> Iterator[NDArray[Any]]:
    """Yield a sample in pieces, whether it is in memory or drawn on demand."""
    if isinstance(sample, Pieces):
        total = 0
        for part in sample.parts:
            total += len(part)
            yield part
        if total != sample.size:
            raise ValueError(
                f"the pieces of a sample must hold size={sample.size} replications, got {total}."
            )
        return
    piece_size = replications_of_a_piece(max(1, sample[:1].size))
    for begin in range(0, len(sample), piece_size):
        yield sample[begin : begin + piece_size]
