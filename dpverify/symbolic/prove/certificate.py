"""Certificates: a target as a nonnegative combination of things known to be nonnegative, by exact linear programming.

The target and the facts are expanded into monomials; each monomial is a row of the program, each fact a column. A
solution is a proof: its identity holds exactly, whatever the letters stand for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, TypeAlias

import sympy
from flint import fmpq

from dpverify.symbolic.exact.numbers import EvaluationError, to_ball, working_precision
from dpverify.symbolic.expressions.from_sympy import compile_expr
from dpverify.symbolic.prove.canonical import expanded, squares

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
    used = any(j < len(wanted) and wanted[j] and _RHS in table[r] for r, j in enumerate(basis))
    if any(wanted) and not used:
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


Fact = tuple[Any, bool]

_SCALE = 2**100
_MAX_COLUMNS = 420
_MAX_FACTORS = 22


def combine(target: Any, facts: tuple[Fact, ...], strict: bool, products: bool) -> bool:
    """Whether ``target`` is a nonnegative combination of facts: True is a proof, False means nothing."""
    wanted = monomials(target)
    if products:
        facts += tuple((square, False) for square in squares(sorted(target.free_symbols, key=str)))
    columns = list(_columns(facts, products))
    known = {m for column, _ in columns for m in column} | set(wanted)
    columns += (column for m in sorted(known, key=_sort_key) for column in _signs_of(m))
    columns = _prune(columns, wanted)
    if not all(any(m in column for column, _ in columns) for m in wanted) or len(columns) > _MAX_COLUMNS:
        return False
    numbers: dict[Any, int] = {}
    for column in (wanted, *(column for column, _ in columns)):
        for m in column:
            numbers.setdefault(m, len(numbers))
    matrix = [{numbers[m]: c for m, c in column.items()} for column, _ in columns]
    goal = {numbers[m]: c for m, c in wanted.items()}
    positive = [flag for _, flag in columns]
    weights = solve(matrix, goal, positive if strict else [False] * len(columns))
    if weights is None or not _adds_up(weights, matrix, goal):
        return False
    return not strict or any(w > 0 and flag for w, flag in zip(weights, positive, strict=True))


def _adds_up(weights: list[fmpq], matrix: list[dict[int, fmpq]], goal: Mapping[int, fmpq]) -> bool:
    """Whether no weight is negative and the weighted columns are the target, monomial by monomial."""
    rest = dict(goal)
    for weight, column in zip(weights, matrix, strict=True):
        if weight != 0:
            _subtract(rest, weight, column)
    return not rest and all(weight >= 0 for weight in weights)


Column = tuple[Mapping[Any, fmpq], bool]


@lru_cache(maxsize=20_000)
def _monomials(expr: Any) -> tuple[tuple[Any, fmpq], ...]:
    terms: dict[Any, fmpq] = {}
    for term in sympy.Add.make_args(expanded(expr)):
        coefficient, rest = term.as_coeff_Mul(rational=True)
        terms[rest] = terms.get(rest, fmpq(0)) + fmpq(int(coefficient.p), int(coefficient.q))
    return tuple((m, c) for m, c in terms.items() if c != 0)


def monomials(expr: Any) -> dict[Any, fmpq]:
    """Coefficients of an expanded expression, by monomial."""
    return dict(_monomials(expr))


@lru_cache(maxsize=500)
def _columns(facts: tuple[Fact, ...], products: bool) -> tuple[Column, ...]:
    known = [*dict.fromkeys(facts), (sympy.Integer(1), True)]
    columns: dict[Any, bool] = dict(known)
    if products:
        for (a, first), (b, second) in combinations_with_replacement(known[:_MAX_FACTORS], 2):
            columns.setdefault(a * b, first and second)
    return tuple((monomials(expr), flag) for expr, flag in columns.items())


_sort_key = lru_cache(maxsize=20_000)(sympy.default_sort_key)


@lru_cache(maxsize=20_000)
def _signs_of(m: Any) -> tuple[Column, ...]:
    """Columns of a monomial whose sign sympy knows, an irrational constant in it enclosed between rationals."""
    constant, rest = m.as_independent(*m.free_symbols, as_Add=False) if m.free_symbols else (m, sympy.Integer(1))
    if not (rest.is_nonnegative or rest.is_nonpositive):
        return ()
    sign = fmpq(1 if rest.is_nonnegative else -1)
    strict = bool(rest.is_positive or rest.is_negative)
    if constant == 1:
        return (({m: sign}, strict),)
    if (ends := _enclosure(constant)) is None:
        return ()
    lo, hi = ends
    return ({m: sign, rest: -sign * lo}, strict), ({m: -sign, rest: sign * hi}, strict)


@lru_cache(maxsize=1000)
def _enclosure(constant: Any) -> tuple[fmpq, fmpq] | None:
    """Rationals just below and just above a constant."""
    try:
        with working_precision(256):
            ball = to_ball(compile_expr(constant)({}, 256)) * _SCALE
            lo, hi = ball.lower().floor().unique_fmpz(), ball.upper().ceil().unique_fmpz()
    except (EvaluationError, TypeError):
        return None
    return None if lo is None or hi is None else (fmpq(lo - 1, _SCALE), fmpq(hi + 1, _SCALE))


def _prune(columns: list[Column], wanted: Mapping[Any, fmpq]) -> list[Column]:
    """Drop columns that hold a monomial which nothing can cancel, until there is none."""
    while True:
        plus = {m for column, _ in columns for m, c in column.items() if c > 0}
        minus = {m for column, _ in columns for m, c in column.items() if c < 0}
        plus |= {m for m, c in wanted.items() if c < 0}
        minus |= {m for m, c in wanted.items() if c > 0}
        kept = [
            (column, flag)
            for column, flag in columns
            if all(m in (minus if c > 0 else plus) for m, c in column.items())
        ]
        if len(kept) == len(columns):
            return kept
        columns = kept
