"""Rows written around the caches, at every place of a cache line."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.kernels import vector as module
from dpverify.kernels.jit import python_of
from dpverify.kernels.numba_internals import LINE
from dpverify.kernels.vector import write_row
from tests.for_each import for_each


@for_each("length", [0, 1, 7, 8, 9, 15, 16, 23, 64, 131])
@for_each("plain", [False, True])
def test_a_row_is_copied_and_nothing_else(length: int, plain: bool) -> None:
    write, row = (
        python_of(write_row) if plain else write_row,
        np.arange(1.0, length + 1),
    )
    for begin in range(2 * LINE):
        values = np.full(begin + length + 2 * LINE, np.nan)
        write(values, begin, row)
        assert np.array_equal(values[begin : begin + length], row)
        assert np.isnan(values[:begin]).all()
        assert np.isnan(values[begin + length :]).all()


def test_whole_lines_are_written_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []
    monkeypatch.setattr(
        module,
        "put_line",
        lambda values, place, row, at: lines.append((values.ctypes.data, place, at)),
    )
    for begin in range(LINE):
        lines.clear()
        python_of(write_row)(np.zeros(40), begin, np.ones(30))
        assert len(lines) in (2, 3)
        assert all(
            (address + 8 * place) % (8 * LINE) == 0 for address, place, _ in lines
        )
        assert [at for *_, at in lines] == list(range(lines[0][2], 30 - LINE + 1, LINE))
