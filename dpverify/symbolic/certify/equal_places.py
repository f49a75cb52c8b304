"""Equations from equations: one function at two places that are known to be equal."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from dpverify.symbolic.certify.checker import Form, k
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.readback import power, written

_KINDS = ("log", "base", "floor", "popcount", "apply")


def by_equal_places(goals: Any, place: FactList, form: Form) -> bool:
    """Prove that a form is 0 by putting one atom for another, if their arguments are known to be equal."""
    scope = place.scope
    atoms = list(dict.fromkeys(a for m in form for a, _ in m if a[0] in _KINDS))
    for first, second in combinations(atoms, 2):
        if first[:-1] != second[:-1] or not scope.holds("=", first[-1] - second[-1]):
            continue
        for exponent in {x for m in form for at, x in m if at is second}:
            held = k.form_of({m: c for m, c in form.items() if (second, exponent) in m})
            factor = k.form_of({tuple(f for f in m if f != (second, exponent)): c for m, c in held.items()})
            moved = form - held + scope.product(factor, scope.joined(((first, exponent),)))
            if moved is form or (moved and not goals.zero(place, moved)):
                continue
            hole = k.letter("HOLE")
            context = hole if first[0] == "base" else k.row(*first[:-1], hole)
            context = context if exponent is k.ONE else k.row("^", context, written(exponent))
            gap = power(second, exponent) - power(first, exponent)
            place.fact("=", gap, "congruent", "HOLE", context, written(second[-1]), written(first[-1]))
            terms = [["1", [written(factor), gap]], *([["1", [written(moved)]]] if moved else [])]
            return place.fact("=", written(form), "combine", [], terms)
    return False
