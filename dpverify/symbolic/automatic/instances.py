"""Instances of rules as facts that are written down only where a combination uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dpverify.symbolic.automatic.argument import INDEX
from dpverify.symbolic.certify.checker import Expr, k
from dpverify.symbolic.certify.columns import Known
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.prepared import prepare
from dpverify.symbolic.certify.rewriting import unproven


def instance(
    goals: Goals, place: FactList, name: str, where: Mapping[str, Any], times: Expr | None = None
) -> Iterator[Known]:
    """Yield what a rule says of some values, if its conditions are proven.

    A function is given as a pair of an index and a body. ``times``: a factor that is not negative.
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
    said = "=" if rule.relation == "=" else ">="

    def emit() -> bool:
        known = place.scope.holds(said, place.form(gap))
        return bool(known or place.fact(said, gap, "instance", "rule", name, _written(where)))

    yield Known(form, False, factors, emit=[emit])
    if said == "=":
        yield Known(-form, False, factors, negated=True, emit=[emit])


def _written(where: Mapping[str, Any]) -> dict[str, Any]:
    """Values as certificates have them."""
    functions = {name: value for name, value in where.items() if not isinstance(value, k.Row)}
    bodies = {name: [INDEX, k.put(body, {index: k.letter(INDEX)})] for name, (index, body) in functions.items()}
    return {**where, **bodies}
