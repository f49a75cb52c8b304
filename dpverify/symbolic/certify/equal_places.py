"""Equations from equations: one function at two places that are known to be equal."""

from __future__ import annotations

from typing import Any

from flint import fmpq

from dpverify.symbolic.certify.checker import checker
from dpverify.symbolic.certify.place import FactList

Form = Any

_KINDS = ("log", "base", "floor", "popcount", "apply")


def by_equal_places(goals: Any, place: FactList, form: Form) -> bool:
    """Prove that a form is 0 by putting one atom for another, if their arguments are known to be equal."""
    scope, e = place.scope, place.e
    atoms = list(dict.fromkeys(a for m in form for a, _ in m if scope.forms.atoms[a][0] in _KINDS))
    for i, first in enumerate(atoms):
        for second in atoms[i + 1 :]:
            one, other = scope.forms.atoms[first], scope.forms.atoms[second]
            if one[:-1] != other[:-1]:
                continue
            a, b = scope.forms.forms[one[-1]], scope.forms.forms[other[-1]]
            if not scope.holds("=", checker().added(a, checker().scaled(b, -1))):
                continue
            for power in {x for m in form for at, x in m if at == second}:
                moved, factor = _moved(scope, form, (first, second, power))
                if moved != form and (not moved or goals.zero(place, moved)):
                    places = [goals.read.form(x) for x in (a, b)]
                    old, new = (goals.read.power(at, scope.forms.forms[power]) for at in (second, first))
                    hole = e.letter("HOLE")
                    context = e.put(new, {}) if one[0] == "base" else e.make(one[0], hole)
                    if one[0] == "base":
                        context = e.make("^", hole, goals.read.form(scope.forms.forms[power]))
                    elif checker().as_constant(scope.forms.forms[power]) != 1:
                        context = e.make("^", context, goals.read.form(scope.forms.forms[power]))
                    gap = e.minus(old, new)
                    place.fact("=", gap, "congruent", "HOLE", context, places[1], places[0])
                    terms: list[Any] = [["1", [goals.read.form(factor)], gap]]
                    terms += [["1", [], goals.read.form(moved)]] if moved else []
                    return place.fact("=", goals.read.form(form), "combine", [], terms)
    return False


def _moved(scope: Any, form: Form, atoms: tuple[int, int, int]) -> tuple[Form, Form]:
    """The form with one atom's power for another's, and the factor of the second one in it."""
    first, second, power = atoms
    factor: Form = {}
    rest: Form = {}
    for m, c in form.items():
        if (second, power) in m:
            left = tuple(f for f in m if f != (second, power))
            factor = checker().added(factor, {left: c})
        else:
            rest[m] = c
    changed = scope.product(factor, scope.joined(((first, power),))) if factor else {}
    return checker().added(rest, changed), factor or {(): fmpq(0)}
