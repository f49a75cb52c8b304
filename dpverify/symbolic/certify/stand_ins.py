"""Signs of differences of like functions, by their arguments: of floors, logarithms and square roots."""

from __future__ import annotations

from typing import Any

from dpverify.symbolic.certify.checker import Expr, Form, k
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.readback import written

_RELATION = (">=", ">")


def by_floors(goals: Any, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Put what is below it for each floor that is added, and what is above it for each that is taken away."""
    remainder = form
    gaps = []
    for (m, c), u in _alone(form, "floor"):
        floor_form = k.alone(m[0][0])
        gap = floor_form + k.ONE - u if c > 0 else u - floor_form
        remainder -= gap.times(abs(c))
        gaps.append((c, written(gap), written(u)))
    has_strict_gap = any(c > 0 for c, *_ in gaps)
    if not gaps or not goals.prove(place, remainder, strict and not has_strict_gap, depth - 1):
        return False
    for c, gap, u in gaps:
        if c > 0:
            place.fact(">", gap, "fraction", u)
        else:
            place.fact(">=", gap, "instance", "rule", "floor-below", {"x": u})
    return _added(place, form, strict, [(written(remainder), 1), *((gap, abs(c)) for c, gap, _ in gaps)])


def by_logarithms(goals: Any, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Compare the arguments of two logarithms."""
    logarithms = _alone(form, "log")
    if strict or len(logarithms) != 2 or sum(form.values()) != 0:
        return False
    (_, low), (_, high) = sorted(logarithms, key=lambda one: one[0][1])
    if not (goals.prove(place, low, True, depth - 1) and goals.prove(place, high - low, False, depth - 1)):
        return False
    where = {"a": written(low), "b": written(high)}
    gap = k.row("log", where["b"]) - k.row("log", where["a"])
    place.fact(">=", gap, "instance", "rule", "log-monotone", where)
    return len(form) == 2 and _added(place, form, False, [(gap, max(form.values()))])


def by_squares(goals: Any, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Multiply a difference of two square roots by their sum."""
    halves = [x.constant() for m in form for _, x in m]
    total = k.form_of({m: abs(c) for m, c in form.items()})
    if len(form) != 2 or total in (form, -form) or not any(x is not None and x.q == 2 for x in halves):
        return False
    product = place.scope.product(form, total)
    if not (goals.prove(place, total, True, depth - 1) and goals.prove(place, product, strict, depth - 1)):
        return False
    by = ["combine", [written(total)], [["1", [written(product)]]]]
    return place.fact(_RELATION[strict], written(form), *by)


def _alone(form: Form, kind: str) -> list[tuple[tuple[Any, Any], Form]]:
    """Terms that are a number times one function, with its argument."""
    return [((m, c), m[0][0][1]) for m, c in form.items() if len(m) == 1 and m[0][0][0] == kind and m[0][1] is k.ONE]


def _added(place: FactList, form: Form, strict: bool, parts: list[tuple[Expr, Any]]) -> bool:
    terms = [[str(c), [gap]] for gap, c in parts]
    return place.fact(_RELATION[strict], written(form), "combine", [], terms)
