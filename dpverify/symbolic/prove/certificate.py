"""Certificates: a target as a nonnegative combination of nonnegative facts, by exact linear programming.

The target and the facts are expanded into monomials. Each monomial is a row of the program, and each fact is a column.
A solution is a proof: its identity holds exactly for all values of the symbols.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from math import gcd, lcm
from typing import Any, NamedTuple, TypeAlias

import sympy
from flint import fmpq

from dpverify.symbolic.exact.numbers import EvaluationError, to_ball, working_precision
from dpverify.symbolic.expressions.evaluation import compile_expr
from dpverify.symbolic.prove.canonical import expanded, squares

_MAX_PIVOTS = 300
_RHS = -1

#: Nonzero entries by column, with the right side at -1. The entries are integers: fractions are multiplied by a
#: positive number.
Row: TypeAlias = dict[int, int]


def solve(
    columns: Sequence[Mapping[int, fmpq]],
    target: Mapping[int, fmpq],
    preferred: Sequence[bool],
) -> list[fmpq] | None:
    """Find weights ``x >= 0`` with ``sum_j x_j * columns[j] = target``. Return None if 300 pivots find none.

    At least one ``preferred`` column gets a positive weight if this is possible. Arithmetic is exact, and Bland's rule
    prevents cycling.
    """
    count = len(columns)
    table, basis = _tableau(columns, target)
    finished, _ = _minimise(table, basis, dict.fromkeys(basis, 1), count + len(basis))
    if not finished or any(
        j >= count and _RHS in table[r] for r, j in enumerate(basis)
    ):
        return None
    _drop_artificial(table, basis, count)
    ray = None
    used = any(
        j < len(preferred) and preferred[j] and _RHS in table[r]
        for r, j in enumerate(basis)
    )
    if any(preferred) and not used:
        _, ray = _minimise(
            table, basis, {j: -1 for j, w in enumerate(preferred) if w}, count
        )
    weights = [fmpq(0)] * count
    if ray is not None:
        weights[ray] = fmpq(1)
    for row, j in zip(table, basis, strict=True):
        if j < count:
            weights[j] = fmpq(
                row.get(_RHS, 0) - (0 if ray is None else row.get(ray, 0)), row[j]
            )
    return weights


def _tableau(
    columns: Sequence[Mapping[int, fmpq]], target: Mapping[int, fmpq]
) -> tuple[list[Row], list[int]]:
    """Return rows with nonnegative right sides, and a basis with an artificial column for each row."""
    rows: dict[int, dict[int, fmpq]] = {}
    for j, column in enumerate(columns):
        for r, value in column.items():
            rows.setdefault(r, {})[j] = value
    for r, value in target.items():
        rows.setdefault(r, {})[_RHS] = value
    table: list[Row] = []
    for k, r in enumerate(sorted(rows)):
        scale = lcm(*(int(value.q) for value in rows[r].values()))
        sign = -1 if rows[r].get(_RHS, 0) < 0 else 1
        row = {j: sign * int((scale * value).p) for j, value in rows[r].items()}
        row[len(columns) + k] = scale
        table.append(row)
    return table, [len(columns) + k for k in range(len(table))]


def _drop_artificial(table: list[Row], basis: list[int], count: int) -> None:
    """Replace artificial columns at level 0 in the basis by real columns, if the row has any."""
    for r, j in enumerate(basis):
        if j >= count:
            entering = min((k for k in table[r] if 0 <= k < count), default=None)
            if entering is not None:
                _pivot(table, basis, r, entering)


def _minimise(
    table: list[Row], basis: list[int], cost: Row, usable: int
) -> tuple[bool, int | None]:
    """Pivot until no column improves the cost. Return whether this ended, and the column of an unbounded direction."""
    reduced = cost
    for row, j in zip(table, basis, strict=True):
        if j in reduced:
            reduced = _without(j, reduced, row)
    for _ in range(_MAX_PIVOTS):
        entering = min(
            (j for j, value in reduced.items() if value < 0 and 0 <= j < usable),
            default=None,
        )
        if entering is None:
            return True, None
        leaving = _leaving_row(table, basis, entering)
        if leaving is None:
            return True, entering
        _pivot(table, basis, leaving, entering)
        reduced = _without(entering, reduced, table[leaving])
    return False, None


def _leaving_row(table: list[Row], basis: list[int], entering: int) -> int | None:
    """Return the row with the least ratio of right side to positive entry. Ties go to the first basis column."""
    best_row = None
    best = 0
    divisor = 1
    for r, row in enumerate(table):
        if (entry := row.get(entering, 0)) > 0:
            gap = 0 if best_row is None else row.get(_RHS, 0) * divisor - best * entry
            if best_row is None or gap < 0 or (gap == 0 and basis[r] < basis[best_row]):
                best_row = r
                best = row.get(_RHS, 0)
                divisor = entry
    return best_row


def _pivot(table: list[Row], basis: list[int], leaving: int, entering: int) -> None:
    chosen = table[leaving]
    if chosen[entering] < 0:
        chosen = table[leaving] = {j: -value for j, value in chosen.items()}
    for r, row in enumerate(table):
        if r != leaving and entering in row:
            table[r] = _without(entering, row, chosen)
    basis[leaving] = entering


def _without(column: int, row: Row, pivot_row: Row) -> Row:
    """Clear a column of a row with a multiple of a row that has a positive entry there. ``row`` may be modified."""
    common = gcd(row[column], pivot_row[column])
    factor = row[column] // common
    scale = pivot_row[column] // common
    result = row if scale == 1 else {j: scale * value for j, value in row.items()}
    for j, value in pivot_row.items():
        if changed := result.get(j, 0) - factor * value:
            result[j] = changed
        else:
            del result[j]
    common = gcd(*result.values())
    return {j: value // common for j, value in result.items()} if common > 1 else result


Fact = tuple[Any, bool]
Terms: TypeAlias = Mapping[int, fmpq]

_SCALE = 2**100
_MAX_COLUMNS = 420
_MAX_FACTORS = 22


class Column(NamedTuple):
    """A nonnegative expression as coefficients of monomials, which are represented by their numbers."""

    terms: Terms
    positive: bool  # positive, not only nonnegative
    plus: frozenset[int]  # monomials with a positive coefficient
    minus: frozenset[int]


def combine(target: Any, facts: tuple[Fact, ...], strict: bool, products: bool) -> bool:
    """Test whether ``target`` is a nonnegative combination of facts.

    True is a proof; False means that none was found.
    """
    target_column = _expanded(target, False)
    if products:
        facts += tuple(
            (square, False) for square in squares(sorted(target.free_symbols, key=str))
        )
    columns = list(_columns(facts, products))
    monomials = {m for column in columns for m in column.terms} | set(
        target_column.terms
    )
    columns += (
        column for m in sorted(monomials, key=_sort_key) for column in _signs_of(m)
    )
    columns = _prune(columns, target_column)
    if (
        not target_column.terms.keys()
        <= {m for column in columns for m in column.terms}
        or len(columns) > _MAX_COLUMNS
    ):
        return False
    numbers: dict[int, int] = {}
    for column in (target_column, *columns):
        for m in column.terms:
            numbers.setdefault(m, len(numbers))
    matrix = [{numbers[m]: c for m, c in column.terms.items()} for column in columns]
    goal = {numbers[m]: c for m, c in target_column.terms.items()}
    weights = solve(matrix, goal, [strict and column.positive for column in columns])
    if weights is None or not _adds_up(weights, matrix, goal):
        return False
    return not strict or any(
        w > 0 and column.positive for w, column in zip(weights, columns, strict=True)
    )


def _adds_up(weights: list[fmpq], matrix: list[dict[int, fmpq]], goal: Terms) -> bool:
    """Test whether no weight is negative and the weighted columns add up to the target, monomial by monomial."""
    residual = dict(goal)
    for weight, column in zip(weights, matrix, strict=True):
        if weight != 0:
            for m, value in column.items():
                residual[m] = residual.get(m, 0) - weight * value
    return not any(residual.values()) and all(weight >= 0 for weight in weights)


# of all monomials so far, since hashing and comparing monomials is slow
_numbers: dict[Any, int] = {}
_monomials: list[Any] = []


def _number(monomial: Any) -> int:
    if monomial not in _numbers:
        _numbers[monomial] = len(_monomials)
        _monomials.append(monomial)
    return _numbers[monomial]


def _column(terms: Terms, positive: bool) -> Column:
    plus = frozenset(m for m, c in terms.items() if c > 0)
    return Column(terms, positive, plus, frozenset(terms.keys() - plus))


@lru_cache(maxsize=50_000)
def _expanded(expr: Any, positive: bool) -> Column:
    """Return the coefficients of an expanded expression."""
    terms: dict[int, fmpq] = {}
    for term in sympy.Add.make_args(expanded(expr)):
        coefficient, monomial = term.as_coeff_Mul(rational=True)
        number = _number(monomial)
        terms[number] = terms.get(number, 0) + fmpq(
            int(coefficient.p), int(coefficient.q)
        )
    return _column({m: c for m, c in terms.items() if c != 0}, positive)


@lru_cache(maxsize=500)
def _columns(facts: tuple[Fact, ...], products: bool) -> tuple[Column, ...]:
    all_facts = [*dict.fromkeys(facts), (sympy.Integer(1), True)]
    columns = [_expanded(expr, positive) for expr, positive in dict(all_facts).items()]
    if products:
        columns += (
            _product(a, b, first and second)
            for (a, first), (b, second) in combinations_with_replacement(
                all_facts[:_MAX_FACTORS], 2
            )
        )
    return tuple(
        {
            (frozenset(column.terms.items()), column.positive): column
            for column in columns
        }.values()
    )


def _product(a: Any, b: Any, positive: bool) -> Column:
    """Return the expanded product of two facts, monomial by monomial unless sympy may cancel powers of a sum in it."""
    (sums, opened), (second_sums, also) = _sums_in(a), _sums_in(b)
    if (opened and second_sums) or (also and sums):
        return _expanded(a * b, positive)
    terms: dict[int, fmpq] = {}
    for m, c in _expanded(a, False).terms.items():
        for n, d in _expanded(b, False).terms.items():
            for number, e in _expanded_product(min(m, n), max(m, n)).items():
                terms[number] = terms.get(number, 0) + c * d * e
    return _column({m: c for m, c in terms.items() if c != 0}, positive)


@lru_cache(maxsize=50_000)
def _sums_in(expr: Any) -> tuple[bool, bool]:
    """Test whether a factor is a sum or a power of a sum, and whether such a power does not expand."""
    factors = [
        f for f in sympy.Mul.make_args(expr) if f.is_Add or (f.is_Pow and f.base.is_Add)
    ]
    return bool(factors), any(
        f.is_Pow and not (f.exp.is_Integer and f.exp.is_positive) for f in factors
    )


@lru_cache(maxsize=100_000)
def _expanded_product(m: int, n: int) -> Terms:
    return _expanded(_monomials[m] * _monomials[n], False).terms


@lru_cache(maxsize=50_000)
def _sort_key(number: int) -> Any:
    return sympy.default_sort_key(_monomials[number])


@lru_cache(maxsize=50_000)
def _signs_of(number: int) -> tuple[Column, ...]:
    """Return columns for a monomial whose sign sympy knows. An irrational constant is enclosed between rationals."""
    m = _monomials[number]
    constant, variable_part = (
        m.as_independent(*m.free_symbols, as_Add=False)
        if m.free_symbols
        else (m, sympy.Integer(1))
    )
    if not (variable_part.is_nonnegative or variable_part.is_nonpositive):
        return ()
    sign = fmpq(1 if variable_part.is_nonnegative else -1)
    strict = bool(variable_part.is_positive or variable_part.is_negative)
    if constant == 1:
        return (_column({number: sign}, strict),)
    if (ends := _enclosure(constant)) is None:
        return ()
    lo, hi = ends
    variable_number = _number(variable_part)
    return (
        _column({number: sign, variable_number: -sign * lo}, strict),
        _column({number: -sign, variable_number: sign * hi}, strict),
    )


@lru_cache(maxsize=1000)
def _enclosure(constant: Any) -> tuple[fmpq, fmpq] | None:
    """Return rationals just below and just above a constant, or None if it has no enclosure."""
    try:
        with working_precision(256):
            ball = to_ball(compile_expr(constant)({}, 256)) * _SCALE
            lo, hi = (
                ball.lower().floor().unique_fmpz(),
                ball.upper().ceil().unique_fmpz(),
            )
    except (EvaluationError, TypeError):
        return None
    return (
        None
        if lo is None or hi is None
        else (fmpq(lo - 1, _SCALE), fmpq(hi + 1, _SCALE))
    )


def _prune(columns: list[Column], target: Column) -> list[Column]:
    """Drop columns with a monomial that nothing can cancel, until no such column is left."""
    while True:
        plus = target.minus.union(*(column.plus for column in columns))
        minus = target.plus.union(*(column.minus for column in columns))
        remaining_columns = [
            column
            for column in columns
            if column.plus <= minus and column.minus <= plus
        ]
        if len(remaining_columns) == len(columns):
            return remaining_columns
        columns = remaining_columns
