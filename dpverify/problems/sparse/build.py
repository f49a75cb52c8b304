"""Rows put together from the parts in which a file is read: each part, and the whole, dense or sparse by one rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from dpverify.kernels.typing import Matrix
from dpverify.problems.errors import check_memory, check_needed
from dpverify.problems.sparse.rows import CsrRows, Rows, csr_rows

DENSE_PART: Final = 4

VECTORS: Final = 8  # of length d that even the smallest run keeps


def better_dense(examples: int, features: int, stored: int) -> bool:
    """Apply the rule: dense where at least a quarter of the entries are not 0.

    A stored entry takes 12 bytes and about four times as long as an entry of a dense row. At a quarter, sums over
    batches take about as long either way where rows have some hundred columns, and dense arrays are 2.7 times as large.
    """
    return DENSE_PART * stored >= examples * features


class RowBuilder:
    """Parts of a matrix, in order, and what they take.

    ``limit``: bytes of memory that may be used; more than that is refused as soon as it can be foreseen. ``first``:
    number of the first column, before which nothing is stored.
    """

    def __init__(self, source: Path | str, limit: int) -> None:
        self._source = source
        self._limit = limit
        self._parts: list[Rows] = []
        self.examples = 0
        self.stored = 0
        self.first = 0
        self._bytes = 0
        self._end = 0

    @property
    def features(self) -> int:
        """How many columns there are so far."""
        return self._end - self.first

    def add(self, part: Rows, share: float) -> None:
        """Take the next rows; ``share`` of the file, in (0, 1], was read by now. Refuse what will not fit."""
        stored = part.stored if isinstance(part, CsrRows) else int(np.count_nonzero(part))
        if not isinstance(part, CsrRows):
            part = part.copy() if better_dense(len(part), part.shape[1], stored) else _without_zeros(part)
        self._parts.append(part)
        self.examples, self._end = self.examples + len(part), max(self._end, part.shape[1])
        self.stored = self.stored + stored
        self._bytes = self._bytes + part.nbytes
        self._check(share)

    def _check(self, share: float) -> None:
        examples = round(self.examples / share)
        needed = 3 * self._bytes / share + 8 * VECTORS * self.features
        words = f"{examples} examples with {self.features} features" if share == 1.0 else f"about {examples} examples"
        estimate = "" if share == 1.0 else f", as the first {100 * share:.2g}% of the file tell,"
        check_needed(self._source, words + estimate, needed, self._limit)

    def build(self, *, dense: bool = False) -> Rows:
        """Put the parts together and forget them; ``dense``: whatever the rule says, refused where it does not fit."""
        self._check(1.0)
        n = self.examples
        d = self.features
        fits = 3 * 8 * n * d <= self._limit
        if dense:
            check_memory(self._source, n, d, self._limit)
        return self._dense() if dense or (fits and better_dense(n, d, self.stored)) else self._sparse()

    def _dense(self) -> Matrix:
        out = np.zeros((self.examples, self.features))
        at = 0
        for part in self._drain():
            rows = part.dense() if isinstance(part, CsrRows) else part
            out[at : at + len(part), : rows.shape[1] - self.first] = rows[:, self.first :]
            at += len(part)
        return out

    def _sparse(self) -> CsrRows:
        starts = np.zeros(self.examples + 1, dtype=np.int64)
        columns = np.empty(self.stored, np.uint32)
        values = np.empty(self.stored)
        at = 0
        begin = 0
        for part in self._drain():
            rows = part if isinstance(part, CsrRows) else _without_zeros(part)
            end = begin + rows.stored
            starts[at + 1 : at + 1 + len(rows)] = rows.starts[1:] + begin
            columns[begin:end], values[begin:end] = rows.columns - np.uint32(self.first), rows.values
            at = at + len(rows)
            begin = end
        return CsrRows(starts, columns, values, self.features)

    def _drain(self) -> Iterator[Rows]:
        """Give the parts in order, each of them free once it was used."""
        self._parts.reverse()
        while self._parts:
            yield self._parts.pop()


def _without_zeros(part: Matrix) -> CsrRows:
    from scipy import sparse

    return csr_rows(sparse.csr_array(part))
