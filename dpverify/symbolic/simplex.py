"""Exact linear programming, small and plain: is there a nonnegative solution, and can it use the columns we want?"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

_ZERO = fmpq(0)
_MAX_PIVOTS = 400


def solve(columns: Sequence[Sequence[fmpq]], target: Sequence[fmpq], wanted: Sequence[bool]) -> list[fmpq] | None:
    """Find weights ``x >= 0`` with ``sum_j x_j * columns[j] = target``.

    Parameters
    ----------
    columns : sequence of sequences of fmpq, shape (n, m)
        The columns.
    target : sequence of fmpq, shape (m,)
        What they must add up to.
    wanted : sequence of bool, shape (n,)
        Columns of which the total weight is made positive, if it can be.

    Returns
    -------
    list of fmpq, shape (n,), or None
        Weights, or None where there are none (or where 400 pivots do not find them). Arithmetic is exact, and Bland's
        rule keeps the search from cycling.
    """
    rows, count = len(target), len(columns)
    table = [[column[r] for column in columns] + [_ZERO] * rows + [target[r]] for r in range(rows)]
    for r, row in enumerate(table):
        if row[-1] < 0:
            table[r] = [-x for x in row]
        table[r][count + r] = fmpq(1)
    basis = [count + r for r in range(rows)]
    cost = [_ZERO] * count + [fmpq(1)] * rows
    finished, _ = _minimise(table, basis, cost, count + rows)
    if not finished or any(basis[r] >= count and table[r][-1] != 0 for r in range(rows)):
        return None
    _drop_artificial(table, basis, count)
    gain = [fmpq(-1) if w else _ZERO for w in wanted] + [_ZERO] * rows
    ray = None
    if any(wanted) and not _uses(table, basis, wanted):
        _, ray = _minimise(table, basis, gain, count)
    weights = [_ZERO] * count
    if ray is not None:
        weights[ray] = fmpq(1)
    for r, j in enumerate(basis):
        if j < count:
            weights[j] = table[r][-1] if ray is None else table[r][-1] - table[r][ray]
    return weights


def _uses(table: list[list[fmpq]], basis: list[int], wanted: Sequence[bool]) -> bool:
    return any(j < len(wanted) and wanted[j] and table[r][-1] > 0 for r, j in enumerate(basis))


def _drop_artificial(table: list[list[fmpq]], basis: list[int], count: int) -> None:
    """Swap artificial columns at level 0 for real ones, where the row has any."""
    for r, j in enumerate(basis):
        if j >= count:
            entering = next((k for k in range(count) if table[r][k] != 0), None)
            if entering is not None:
                _pivot(table, basis, r, entering)


def _minimise(table: list[list[fmpq]], basis: list[int], cost: list[fmpq], usable: int) -> tuple[bool, int | None]:
    """Pivot until no column improves the cost.

    Returns whether the search came to an end, and the column of an unbounded direction if it ended with one.
    """
    reduced = [*cost, _ZERO]
    for r, j in enumerate(basis):
        if reduced[j] != 0:
            factor = reduced[j]
            reduced = [x - factor * y for x, y in zip(reduced, table[r], strict=True)]
    for _ in range(_MAX_PIVOTS):
        entering = next((j for j in range(usable) if reduced[j] < 0), None)
        if entering is None:
            return True, None
        leaving = _leaving_row(table, basis, entering)
        if leaving is None:
            return True, entering
        _pivot(table, basis, leaving, entering)
        factor = reduced[entering]
        reduced = [x - factor * y for x, y in zip(reduced, table[leaving], strict=True)]
    return False, None


def _leaving_row(table: list[list[fmpq]], basis: list[int], entering: int) -> int | None:
    best: tuple[fmpq, int] | None = None
    row = None
    for r, entries in enumerate(table):
        if entries[entering] > 0:
            key = (entries[-1] / entries[entering], basis[r])
            if best is None or key[0] < best[0] or (key[0] == best[0] and key[1] < best[1]):
                best, row = key, r
    return row


def _pivot(table: list[list[fmpq]], basis: list[int], row: int, column: int) -> None:
    pivot = table[row][column]
    table[row] = [x / pivot for x in table[row]]
    for r, entries in enumerate(table):
        if r != row and entries[column] != 0:
            factor = entries[column]
            table[r] = [x - factor * y if y != 0 else x for x, y in zip(entries, table[row], strict=True)]
    basis[row] = column
