"""Facts that are instances of rules. For a sum: a closed form, a bound by one term, or the terms in reverse order.

A fact is written to the certificate only if a linear combination uses it. The closed forms are those of geometric sums,
of arithmetic-geometric sums and of sums of integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpverify.symbolic.automatic.argument import INDEX
from dpverify.symbolic.certify.checker import (
    UNIT,
    ZERO,
    Expr,
    Form,
    k,
    of_atom,
    to_expr,
)
from dpverify.symbolic.certify.columns import FactColumn
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.side_conditions import prepare, unproven


def instance(
    goals: Goals,
    place: FactList,
    name: str,
    where: Mapping[str, Any],
    times: Expr | None = None,
) -> Iterator[FactColumn]:
    """Yield the instance of a rule for some values, if its conditions are proven. An equation has two columns.

    ``where`` has the values by name. The value of a function is a pair of an index and a body. ``times`` is a
    nonnegative factor of the inequality.
    """
    rule = k.Rule(place.proof.checker.rules[name])
    try:
        gap = k.put(rule.gap, where)
        for side in (rule.lhs, rule.rhs):
            prepare(goals, place, k.put(side, where))
        form = place.form(gap)
        if not form or unproven(goals, place, rule, where):
            return
        factors: tuple[Expr, ...] = (gap,)
        if times is not None:
            form = place.scope.product(form, place.form(times))
            factors = (gap, times)
    except k.Refused:
        return
    relation = "=" if rule.relation == "=" else ">="

    def emit() -> bool:
        known = place.scope.holds(relation, place.form(gap))
        return bool(
            known
            or place.fact(relation, gap, "instance", "rule", name, _written(where))
        )

    yield FactColumn(form, False, factors, emit=[emit])
    if relation == "=":
        yield FactColumn(-form, False, factors, negated=True, emit=[emit])


def _written(where: Mapping[str, Any]) -> dict[str, Any]:
    """Return values in the format of certificates."""
    functions = {
        name: value for name, value in where.items() if not isinstance(value, k.Row)
    }
    bodies = {
        name: [INDEX, k.put(body, {index: k.letter(INDEX)})]
        for name, (index, body) in functions.items()
    }
    return {**where, **bodies}


def about_sum(goals: Goals, place: FactList, atom: Any) -> Iterator[FactColumn]:
    """Yield facts about a sum or series that starts at 0 and whose summand is one product."""
    series = of_atom(atom)
    _, index, _, hi, body = series
    ratio = _ratio(goals, place, series)
    if ratio is not None:
        if hi[0] == "oo":
            yield from instance(goals, place, "geometric-series", {"x": ratio})
            return
        yield from instance(goals, place, "geometric-sum-bound", {"x": ratio, "m": hi})
        yield from instance(goals, place, "geometric-sum", {"x": ratio, "m": hi + UNIT})
    if hi[0] == "oo":
        return
    base = _from_end(body, index, hi)
    if base is not None:
        yield from instance(goals, place, "arithmetic-geometric", {"x": base, "m": hi})
    if body == k.letter(index):
        yield from instance(goals, place, "sum-integers", {"m": hi})
    terms = (index, body)
    for end in (ZERO, hi):
        yield from instance(
            goals,
            place,
            "sum-at-most",
            {"f": terms, "lo": ZERO, "hi": hi, "c": k.put(body, {index: end})},
        )
    if len(_index_parts(body, index)) > 1 or k.letters_in(hi) & k.letters_in(body):
        yield from instance(
            goals, place, "sum-reverse", {"f": terms, "lo": ZERO, "hi": hi}
        )


def _from_end(body: Expr, index: str, hi: Expr) -> Expr | None:
    """Return the base x of terms ``i*x**(hi - i)``, or None for other terms."""
    parts = _index_parts(body, index)
    powers = [part for part in parts if part[0] == "^"]
    if (
        len(parts) != 2
        or k.letter(index) not in parts
        or len(powers) != 1
        or index in _names(powers[0][1])
    ):
        return None
    return powers[0][1] if k.letters_in(powers[0][2]) >= k.letters_in(hi) else None


def _index_parts(body: Expr, index: str) -> list[Expr]:
    """Return the factors of a body that contain its index."""
    return [
        part
        for part in (body[1:] if body[0] == "*" else [body])
        if index in _names(part)
    ]


def _names(expr: Expr) -> set[str]:
    return {part[1] for part in k.parts_of(expr) if part[0] == "letter"}


def _ratio(goals: Goals, place: FactList, series: Expr) -> Expr | None:
    """Return the ratio of successive terms of a geometric sum whose first term is 1, or None."""
    term, scope = place.scope.term(*series)
    at = k.letter(f"%{place.scope.depth}")
    form: Form = scope.form(term)
    if len(form) != 1 or form[min(form)] != 1:
        return None
    following = {at[1]: at + UNIT}
    steps = []
    for atom, exponent in min(form):
        if at[1] in k.letters_in(atom):
            return None
        step = scope.form(k.put(to_expr(exponent), following)) - exponent
        if at[1] in k.letters_in(step) or scope.form(
            k.put(to_expr(exponent), {at[1]: ZERO})
        ):
            return None
        steps.append((atom, step))
    ratio = to_expr(k.monomial(steps))
    prepare(goals, place, ratio)
    return ratio
