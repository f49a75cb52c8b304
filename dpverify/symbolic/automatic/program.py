"""A sign as a combination of known facts: floats choose the columns of a linear program, exact numbers the weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import optimize
from scipy.sparse import csc_matrix

from dpverify.symbolic.certify.checker import Form, k, to_expr
from dpverify.symbolic.certify.columns import FactColumn, _signs, pruned
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.prove.certificate import solve

MOST_COLUMNS = 2500
MOST_MULTIPLES = 700
# a program with at most this number of entries is solved exactly at once
SMALL_PROGRAM = 1200
MOST_SUMS = 6  # products with sums in facts, to which other facts are extended
MOST_TERMS = 40  # terms of a column
SECONDS = 1.5  # time limit of one program
SMALLEST_WEIGHT = 1e-9  # smallest weight that counts
RELATION = (">=", ">")


def combined(
    goals: Goals,
    place: FactList,
    form: Form,
    strict: bool,
    facts: Sequence[FactColumn],
    divisors: Sequence[Form] = (),
    *,
    multiples: bool = True,
) -> bool:
    """Write that a form is nonnegative, if it is a combination of facts and their multiples.

    ``divisors`` are positive forms by which the form is multiplied first.
    """
    target = form
    for divisor in divisors:
        target = place.scope.product(target, place.scope.as_factor(divisor))
    columns = [*facts, FactColumn(k.ONE, True, ())]
    columns += _multiples(goals, place, target, facts) if multiples else ()
    monomials = {m: None for f in (target, *(c.form for c in columns)) for m in f}
    columns += [column for m in monomials for column in place.cached(_signs, place, m)]
    columns = pruned(columns, target)
    if len(columns) > MOST_COLUMNS or not all(
        any(m in c.form for c in columns) for m in target
    ):
        return False
    return write_combination(place, form, strict, columns, divisors, target)


def write_combination(
    place: FactList,
    form: Form,
    strict: bool,
    columns: list[FactColumn],
    divisors: Sequence[Form] = (),
    product: Form | None = None,
) -> bool:
    """Write a form, or its product with divisors, as a combination of columns, if it is one."""
    weights = _weights(columns, form if product is None else product, strict)
    if weights is None:
        return False
    used = [(w, c) for w, c in weights if w > 0]
    if not all(emit() for _, c in used for emit in c.emit):
        return False
    terms = [[str(-w if c.negated else w), list(c.factors)] for w, c in used]
    return place.fact(
        RELATION[strict],
        to_expr(form),
        "combine",
        [to_expr(d) for d in divisors],
        terms,
    )


def _multiples(
    goals: Goals, place: FactList, target: Form, facts: Sequence[FactColumn]
) -> Iterator[FactColumn]:
    """Yield facts times cofactors that turn one of their monomials into one of the target's."""
    seen = set[Any]()
    sums = {
        m: None
        for f in facts
        for m in f.form
        if len(m) > 1 and any(a[0] == "sum" for a, _ in m)
    }
    wanted = [*target, *list(sums)[:MOST_SUMS]]
    count = 0
    for _ in range(2):
        new = dict[Any, None]()
        for fact in facts:
            for m in wanted:
                for part in fact.form:
                    cofactor = _quotient(place, m, part)
                    if (
                        cofactor is None
                        or (fact.factors, fact.negated, cofactor) in seen
                    ):
                        continue
                    seen.add((fact.factors, fact.negated, cofactor))
                    if not goals.prove(place, cofactor, False, 3):
                        continue
                    product = place.cached(place.scope.product, fact.form, cofactor)
                    if not product or len(product) > MOST_TERMS:
                        continue
                    count += 1
                    if count > MOST_MULTIPLES:
                        return
                    new |= dict.fromkeys(product)
                    strict = fact.strict and place.scope.sign(cofactor) == 3
                    yield FactColumn(
                        product,
                        strict,
                        (*fact.factors, to_expr(cofactor)),
                        fact.negated,
                        fact.emit,
                    )
        wanted = [m for m in new if m not in target][:12]


def _quotient(place: FactList, m: Any, part: Any) -> Form | None:
    """Return the quotient of two monomials if the first has all powers of the second, otherwise None."""
    if not part or m == part:
        return None
    remaining = dict(m)
    for atom, exponent in part:
        if atom not in remaining:
            return None
        remaining[atom] = remaining[atom] - exponent
    for atom, exponent in m:
        value = remaining[atom].constant()
        whole = exponent.constant()
        if value is not None and whole is not None and value * whole < 0:
            return None
    form: Form = place.scope.joined(tuple((a, x) for a, x in remaining.items() if x))
    return form if len(form) == 1 and form.constant() is None else None


def _weights(
    columns: list[FactColumn], target: Form, strict: bool
) -> list[tuple[Any, FactColumn]] | None:
    rows: dict[Any, int] = {}
    for form in (target, *(c.form for c in columns)):
        for m in form:
            rows.setdefault(m, len(rows))
    chosen: list[FactColumn] | None = columns
    if len(columns) * len(rows) > SMALL_PROGRAM:
        chosen = _support(columns, target, rows, strict)
    if chosen is None:
        return None
    matrix = [{rows[m]: c for m, c in column.form.items()} for column in chosen]
    is_strict = [c.strict and strict for c in chosen]
    weights = solve(matrix, {rows[m]: c for m, c in target.items()}, is_strict)
    if weights is None or (
        strict and not any(w > 0 and s for w, s in zip(weights, is_strict, strict=True))
    ):
        return None
    return list(zip(weights, chosen, strict=True))


def _support(
    columns: list[FactColumn], target: Form, rows: dict[Any, int], strict: bool
) -> list[FactColumn] | None:
    """Return the columns that get a positive weight in floats. Cheap columns are preferred."""
    scales = [
        1 / max(abs(_float(c)) for c in column.form.values()) for column in columns
    ]
    entries = [
        (_float(c) * scale, rows[m], j)
        for j, (column, scale) in enumerate(zip(columns, scales, strict=True))
        for m, c in column.form.items()
    ]
    values, places, numbers = zip(*entries, strict=True)
    matrix = csc_matrix((values, (places, numbers)), shape=(len(rows), len(columns)))
    right = np.zeros(len(rows))
    for m, c in target.items():
        right[rows[m]] = _float(c)
    size = max(1.0, float(np.abs(right).max()))
    costs = [1.0 + len(c.form) + 2 * len(c.emit) + len(c.factors) for c in columns]
    options: dict[str, Any] = {}
    if strict:
        options = {
            "A_ub": csc_matrix([[-float(c.strict) for c in columns]]),
            "b_ub": [-1e-3],
        }
    linprog: Any = optimize.linprog  # its types do not include sparse matrices
    result = linprog(
        costs,
        A_eq=matrix,
        b_eq=right / size,
        method="highs",
        options={"time_limit": SECONDS, "presolve": True},
        **options,
    )
    if result.status != 0:
        return None
    return [
        column
        for column, weight in zip(columns, result.x, strict=True)
        if weight > SMALLEST_WEIGHT
    ]


def _float(value: Any) -> float:
    return int(value.p) / int(value.q)
