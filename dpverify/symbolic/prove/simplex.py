"""Exact linear programming, small and plain: is there a nonnegative solution, and can it use the columns we want?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from flint import fmpq

_ZERO = fmpq(0)
_ONE = fmpq(1)
_MAX_PIVOTS = 300
_RHS = -1

#: Nonzero entries by column; the right side has the number -1.
Row: TypeAlias = dict[int, fmpq]


def solve(
    columns: Sequence[Mapping[int, fmpq]], target: Mapping[int, fmpq], wanted: Sequence[bool]
) -> list[fmpq] | None:
    """Find weights ``x >= 0`` with ``sum_j x_j * columns[j] = target``; None where 300 pivots find none.

    Columns that are ``wanted`` get a positive weight if they can. Arithmetic is exact, and Bland's rule keeps the
    search from cycling.
    """
    count = len(columns)
    table, basis = _tableau(columns, target)
    cost = dict.fromkeys(basis, _ONE)
    finished, _ = _minimise(table, basis, cost, count + len(basis))
    if not finished or any(j >= count and _RHS in table[r] for r, j in enumerate(basis)):
        return None
    _drop_artificial(table, basis, count)
    ray = None
    if any(wanted) and not _uses(table, basis, wanted):
        _, ray = _minimise(table, basis, {j: -_ONE for j, w in enumerate(wanted) if w}, count)
    weights = [_ZERO] * count
    if ray is not None:
        weights[ray] = _ONE
    for row, j in zip(table, basis, strict=True):
        if j < count:
            weights[j] = row.get(_RHS, _ZERO) - (_ZERO if ray is None else row.get(ray, _ZERO))
    return weights


def _tableau(columns: Sequence[Mapping[int, fmpq]], target: Mapping[int, fmpq]) -> tuple[list[Row], list[int]]:
    """Rows with right sides that are not negative, each with an artificial column of its own in the basis."""
    rows: dict[int, Row] = {}
    for j, column in enumerate(columns):
        for r, value in column.items():
            rows.setdefault(r, {})[j] = value
    for r, value in target.items():
        rows.setdefault(r, {})[_RHS] = value
    table: list[Row] = []
    for k, r in enumerate(sorted(rows)):
        row = rows[r]
        if row.get(_RHS, _ZERO) < 0:
            row = {j: -value for j, value in row.items()}
        row[len(columns) + k] = _ONE
        table.append(row)
    return table, [len(columns) + k for k in range(len(table))]


def _uses(table: list[Row], basis: list[int], wanted: Sequence[bool]) -> bool:
    return any(j < len(wanted) and wanted[j] and _RHS in table[r] for r, j in enumerate(basis))


def _drop_artificial(table: list[Row], basis: list[int], count: int) -> None:
    """Swap artificial columns at level 0 for real ones, where the row has any."""
    for r, j in enumerate(basis):
        if j >= count:
            entering = min((k for k in table[r] if 0 <= k < count), default=None)
            if entering is not None:
                _pivot(table, basis, r, entering)


def _minimise(table: list[Row], basis: list[int], cost: Row, usable: int) -> tuple[bool, int | None]:
    """Pivot until no column improves the cost: whether that ended, and the column of an unbounded direction."""
    reduced = dict(cost)
    for row, j in zip(table, basis, strict=True):
        if j in reduced:
            _subtract(reduced, reduced[j], row)
    for _ in range(_MAX_PIVOTS):
        entering = min((j for j, value in reduced.items() if value < 0 and 0 <= j < usable), default=None)
        if entering is None:
            return True, None
        leaving = _leaving_row(table, basis, entering)
        if leaving is None:
            return True, entering
        _pivot(table, basis, leaving, entering)
        _subtract(reduced, reduced[entering], table[leaving])
    return False, None


def _leaving_row(table: list[Row], basis: list[int], entering: int) -> int | None:
    best: tuple[fmpq, int] | None = None
    found = None
    for r, row in enumerate(table):
        entry = row.get(entering)
        if entry is not None and entry > 0:
            key = (row.get(_RHS, _ZERO) / entry, basis[r])
            if best is None or key[0] < best[0] or (key[0] == best[0] and key[1] < best[1]):
                best, found = key, r
    return found


def _pivot(table: list[Row], basis: list[int], leaving: int, entering: int) -> None:
    pivot = table[leaving][entering]
    chosen = table[leaving] = {j: value / pivot for j, value in table[leaving].items()}
    for r, row in enumerate(table):
        if r != leaving and entering in row:
            _subtract(row, row[entering], chosen)
    basis[leaving] = entering


def _subtract(row: Row, factor: fmpq, other: Row) -> None:
    """Subtract a multiple of another row in place; entries that become 0 are removed."""
    for j, value in other.items():
        changed = row.get(j, _ZERO) - factor * value
        if changed == 0:
            row.pop(j, None)
        else:
            row[j] = changed
