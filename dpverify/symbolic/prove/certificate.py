"""Certificates: a target as a nonnegative combination of things known to be nonnegative.

They are found by exact linear programming. The target and the facts are expanded into monomials; each monomial is a row
of the program, each fact a column. A solution is a proof: its identity holds exactly, whatever the letters stand for.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import sympy
from flint import fmpq

from dpverify.symbolic.exact.numbers import EvaluationError, to_ball, working_precision
from dpverify.symbolic.expressions.from_sympy import compile_expr
from dpverify.symbolic.prove.canonical import expanded, squares
from dpverify.symbolic.prove.simplex import solve

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
    columns += _signs(known)
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
    if weights is None:
        return False
    return not strict or any(w > 0 and flag for w, flag in zip(weights, positive, strict=True))


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


def _signs(known: set[Any]) -> list[Column]:
    """Columns for monomials whose sign sympy knows, and for irrational constants, enclosed between rationals."""
    return [column for m in sorted(known, key=_sort_key) for column in _signs_of(m)]


_sort_key = lru_cache(maxsize=20_000)(sympy.default_sort_key)


@lru_cache(maxsize=20_000)
def _signs_of(m: Any) -> tuple[Column, ...]:
    """Columns of one monomial; nobody changes them. The same few stand in the certificates of a whole derivation."""
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
