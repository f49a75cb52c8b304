"""A block of replications that is drawn piece by piece, so that it never lies in memory as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PIECE = 1 << 16  # floats of a piece, 0.5 MB: what is drawn is still in a near cache when it is summed up


@dataclass(frozen=True)
class Pieces:
    """A sample whose parts are drawn as they are asked for, once."""

    size: int  # replications of all parts together
    parts: Iterator[NDArray[Any]]  # samples, replications along the first axis; good until the next is asked for

    def __len__(self) -> int:
        """Replications."""
        return self.size

    def changed(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Pieces:
        """Give the same sample with a change in every part. These are used up by it."""
        return Pieces(self.size, (change(part) for part in self.parts))


def replications_of_a_piece(values: int) -> int:
    """Replications that are drawn at once. As many as fit into a piece, at least 1."""
    return max(1, PIECE // values)


def drawn_in_pieces(size: int, shape: tuple[int, int], fill: Callable[[Floats], None]) -> Pieces:
    """Draw replications into one small array, again and again."""

    def parts() -> Iterator[Floats]:
        piece_size = min(size, replications_of_a_piece(shape[0] * shape[1]))
        room = np.empty((piece_size, *shape))
        for done in range(0, size, piece_size):
            part = room[: size - done]
            fill(part)
            yield part

    return Pieces(size, parts())


def parts_of(sample: NDArray[Any] | Pieces) -> Iterator[NDArray[Any]]:
    """Go through a sample in pieces, whether it lies in memory or is drawn. Part after part."""
    if isinstance(sample, Pieces):
        total = 0
        for part in sample.parts:
            total += len(part)
            yield part
        if total != sample.size:
            raise ValueError(f"the pieces of a sample must hold size={sample.size} replications, got {total}.")
        return
    piece_size = replications_of_a_piece(max(1, sample[:1].size))
    for begin in range(0, len(sample), piece_size):
        yield sample[begin : begin + piece_size]
