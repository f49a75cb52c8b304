from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.harness.statistics.pieces import (
    PIECE,
    Pieces,
    drawn_in_pieces,
    parts_of,
    replications_of_a_piece,
)
from tests.for_each import for_each

Floats = NDArray[np.float64]


def drawn(seed: int, size: int, shape: tuple[int, int]) -> Pieces:
    rng = np.random.default_rng(seed)

    def fill(room: Floats) -> None:
        room[:] = rng.standard_normal(room.shape)

    return drawn_in_pieces(size, shape, fill)


@for_each("size", [1, 5, 6, 7, 20])
def test_pieces_are_the_numbers_of_the_whole(size: int) -> None:
    shape = (100, PIECE // 600)
    assert replications_of_a_piece(shape[0] * shape[1]) == 6
    sample = drawn(0, size, shape)
    assert len(sample) == size
    parts = [part.copy() for part in parts_of(sample)]
    assert [len(part) for part in parts] == [6] * (size // 6) + [size % 6] * (
        size % 6 > 0
    )
    assert np.array_equal(
        np.concatenate(parts), np.random.default_rng(0).standard_normal((size, *shape))
    )


def test_the_same_small_array_is_filled_again_and_again() -> None:
    addresses = {
        part.ctypes.data for part in parts_of(drawn(0, 50, (100, PIECE // 600)))
    }
    assert len(addresses) == 1


def test_a_replication_larger_than_a_piece_comes_alone() -> None:
    assert replications_of_a_piece(PIECE + 1) == 1
    assert [len(part) for part in parts_of(drawn(0, 3, (2, PIECE)))] == [1, 1, 1]


def test_an_array_is_gone_through_in_views() -> None:
    sample = np.arange(float(PIECE + 4)).reshape(-1, 4)
    parts = list(parts_of(sample))
    assert [len(part) for part in parts] == [PIECE // 4, 1]
    assert all(np.shares_memory(part, sample) for part in parts)
    assert list(parts_of(np.empty((0, 3, 2)))) == []


def test_a_change_is_made_in_every_piece() -> None:
    changed = drawn(1, 20, (100, PIECE // 600)).changed(lambda part: 2.0 * part)
    assert len(changed) == 20
    whole = np.concatenate([part.copy() for part in parts_of(changed)])
    assert np.array_equal(
        whole, 2.0 * np.random.default_rng(1).standard_normal(whole.shape)
    )


def test_pieces_that_are_not_as_many_as_they_should_be_are_refused() -> None:
    with pytest.raises(ValueError, match="size=3 replications, got 2"):
        list(parts_of(Pieces(3, iter([np.zeros((2, 1))]))))
