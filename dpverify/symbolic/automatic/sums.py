"""What rules say of a sum: closed forms of geometric sums, bounds by one term, and other orders of the terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpverify.symbolic.certify.checker import Expr, Form, k
from dpverify.symbolic.certify.columns import Known
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.prepared import prepare
from dpverify.symbolic.certify.readback import of_atom, written
from dpverify.symbolic.certify.rewriting import unproven

INDEX = "idx"
ZERO, UNIT = k.rational(0), k.rational(1)


def about_sum(goals: Goals, place: FactList, atom: Any) -> Iterator[Known]:
    """Yield facts about a sum or series of one product, which begins at 0."""
    series = of_atom(atom)
    _, index, _, hi, body = series
    ratio = _ratio(goals, place, series)
    if ratio is not None:
        if hi[0] == "oo":
            yield from of_rule(goals, place, "geometric-series", {"x": ratio})
            return
        yield from of_rule(goals, place, "geometric-sum-bound", {"x": ratio, "m": hi})
        yield from of_rule(goals, place, "geometric-sum", {"x": ratio, "m": hi + UNIT})
    if hi[0] == "oo":
        return
    if body == k.letter(index):
        yield from of_rule(goals, place, "sum-integers", {"m": hi})
    terms = (index, body)
    for end in (ZERO, hi):
        yield from of_rule(goals, place, "sum-at-most", {"f": terms, "lo": ZERO, "hi": hi, "c": k.put(body, {index: end})})
    if k.letters_in(hi) & k.letters_in(body):
        yield from of_rule(goals, place, "sum-reverse", {"f": terms, "lo": ZERO, "hi": hi})


def _ratio(goals: Goals, place: FactList, series: Expr) -> Expr | None:
    """The ratio of two terms of a geometric sum whose first term is 1."""
    _, index, _, hi, body = series
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
    return None if goals is None else ratio


def of_rule(goals: Goals, place: FactList, name: str, where: dict[str, Any]) -> Iterator[Known]:
    """Yield what a rule says of values, of which functions are pairs of an index and a body."""
    rule = k.Rule(place.proof.checker.rules[name])
    written_values = {
        letter: [INDEX, k.put(value[1], {value[0]: k.letter(INDEX)})] if isinstance(value, tuple) and not isinstance(value, k.Row) else value
        for letter, value in where.items()
    }
    try:
        gap = k.put(rule.gap, where)
        for side in (k.put(rule.lhs, where), k.put(rule.rhs, where)):
            prepare(goals, place, side)
        form = place.form(gap)
        if not form or unproven(goals, place, rule, where):
            return
    except k.Refused:
        return
    said = "=" if rule.relation == "=" else ">="

    def emit() -> bool:
        known = place.scope.holds(said, place.form(gap))
        return bool(known or place.fact(said, gap, "instance", "rule", name, written_values))

    yield Known(form, False, (gap,), emit=[emit])
    if said == "=":
        yield Known(-form, False, (gap,), negated=True, emit=[emit])
