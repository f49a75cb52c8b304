"""What rules say of a sum: closed forms of geometric sums, bounds by one term, and other orders of the terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpverify.symbolic.automatic.instances import instance
from dpverify.symbolic.certify.checker import UNIT, ZERO, Expr, Form, k
from dpverify.symbolic.certify.columns import Known
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.prepared import prepare
from dpverify.symbolic.certify.readback import of_atom, written


def about_sum(goals: Goals, place: FactList, atom: Any) -> Iterator[Known]:
    """Yield facts about a sum or series of one product, which begins at 0."""
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
            goals, place, "sum-at-most", {"f": terms, "lo": ZERO, "hi": hi, "c": k.put(body, {index: end})}
        )
    if len(_index_parts(body, index)) > 1 or k.letters_in(hi) & k.letters_in(body):
        yield from instance(goals, place, "sum-reverse", {"f": terms, "lo": ZERO, "hi": hi})


def _from_end(body: Expr, index: str, hi: Expr) -> Expr | None:
    """The base x of terms i*x**(hi - i)."""
    parts = _index_parts(body, index)
    powers = [part for part in parts if part[0] == "^"]
    if len(parts) != 2 or k.letter(index) not in parts or len(powers) != 1 or index in _names(powers[0][1]):
        return None
    return powers[0][1] if k.letters_in(powers[0][2]) >= k.letters_in(hi) else None


def _index_parts(body: Expr, index: str) -> list[Expr]:
    """Factors of a body that hold its index."""
    return [part for part in (body[1:] if body[0] == "*" else [body]) if index in _names(part)]


def _names(expr: Expr) -> set[str]:
    return {part[1] for part in k.parts_of(expr) if part[0] == "letter"}


def _ratio(goals: Goals, place: FactList, series: Expr) -> Expr | None:
    """The ratio of two terms of a geometric sum whose first term is 1."""
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
        step = scope.form(k.put(written(exponent), following)) - exponent
        if at[1] in k.letters_in(step) or scope.form(k.put(written(exponent), {at[1]: ZERO})):
            return None
        steps.append((atom, step))
    ratio = written(k.monomial(steps))
    prepare(goals, place, ratio)
    return ratio
