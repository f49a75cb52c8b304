"""Comparisons of two values of a function by its arguments.

Equal arguments give equations. The arguments of floors, logarithms and square roots give signs of differences.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from flint import fmpq

from dpverify.symbolic.certify.checker import Expr, Form, k, power, to_expr
from dpverify.symbolic.certify.place import FactList

_KINDS = ("log", "base", "floor", "popcount", "apply")


def by_equal_places(goals: Any, place: FactList, form: Form) -> bool:
    """Prove that a form is 0 by replacing an atom by another one, if their arguments are known to be equal."""
    scope = place.scope
    atoms = list(dict.fromkeys(a for m in form for a, _ in m if a[0] in _KINDS))
    for first, second in combinations(atoms, 2):
        if first[:-1] != second[:-1] or not scope.holds("=", first[-1] - second[-1]):
            continue
        for exponent in {x for m in form for at, x in m if at is second}:
            held = k.form_of({m: c for m, c in form.items() if (second, exponent) in m})
            factor = k.form_of(
                {
                    tuple(f for f in m if f != (second, exponent)): c
                    for m, c in held.items()
                }
            )
            moved = (
                form - held + scope.product(factor, scope.joined(((first, exponent),)))
            )
            if moved is form or (moved and not goals.prove_zero(place, moved)):
                continue
            hole = k.letter("HOLE")
            context = hole if first[0] == "base" else k.row(*first[:-1], hole)
            context = (
                context if exponent is k.ONE else k.row("^", context, to_expr(exponent))
            )
            gap = power(second, exponent) - power(first, exponent)
            place.fact(
                "=",
                gap,
                "congruent",
                "HOLE",
                context,
                to_expr(second[-1]),
                to_expr(first[-1]),
            )
            terms = [
                ["1", [to_expr(factor), gap]],
                *([["1", [to_expr(moved)]]] if moved else []),
            ]
            return place.fact("=", to_expr(form), "combine", [], terms)
    return False


def by_one_root(goals: Any, place: FactList, form: Form) -> bool:
    """Prove that a difference of two products with roots is 0, since they are roots of equal expressions."""
    values = [x.constant() for m in form for a, x in m if a[0] == "base"]
    degree = max((v.q for v in values if v is not None), default=1)
    if len(form) != 2 or degree == 1:
        return False
    (minus, _), (plus, _) = sorted(form.items(), key=lambda one: one[1])
    parts = [
        [
            k.rational(abs(form[m]) ** int(degree)),
            *(power(a, x.times(degree)) for a, x in m),
        ]
        for m in (plus, minus)
    ]
    if not all(goals.prove_expr(place, part) for side in parts for part in side):
        return False
    first, second = (k.row("*", *side) for side in parts)
    if not goals.prove_zero(place, place.form(first - second)):
        return False
    root = k.rational(fmpq(1, degree))
    context = k.row("^", k.letter("HOLE"), root)
    gap = k.row("^", first, root) - k.row("^", second, root)
    return place.fact(
        "=", gap, "congruent", "HOLE", context, first, second
    ) and place.scope.holds("=", form)


def by_value(goals: Any, place: FactList, form: Form) -> bool:
    """Prove that a form is 0 by replacing a floor of a number by its value."""
    expr = to_expr(form)
    hole = k.letter("HOLE")
    for floor in _floors_of_numbers(expr):
        value = k.ball(place.form(floor)).unique_fmpz()
        if value is None:
            continue
        context = _replaced(expr, floor, hole)
        number = k.rational(value)
        moved = k.put(context, {"HOLE": number})
        if moved is not expr and goals.prove_zero(place, place.form(moved)):
            gap = expr - moved
            place.fact("=", gap, "congruent", "HOLE", context, floor, number)
            return place.fact("=", expr, "combine", [], [["1", [gap]], ["1", [moved]]])
    return False


def _floors_of_numbers(expr: Expr) -> list[Expr]:
    inner = [
        floor
        for arg in expr
        if isinstance(arg, k.Row)
        for floor in _floors_of_numbers(arg)
    ]
    return [*inner, expr] if expr[0] == "floor" and not k.letters_in(expr) else inner


def _replaced(expr: Expr, old: Expr, new: Expr) -> Expr:
    if expr is old:
        return new
    return k.row(
        *(_replaced(arg, old, new) if isinstance(arg, k.Row) else arg for arg in expr)
    )


_RELATION = (">=", ">")


def by_floors(
    goals: Any, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Replace each added floor by a lower bound, and each subtracted floor by an upper bound."""
    remainder = form
    gaps = []
    for (m, c), u in _alone(form, "floor"):
        floor_form = k.alone(m[0][0])
        gap = floor_form + k.ONE - u if c > 0 else u - floor_form
        remainder -= gap.times(abs(c))
        gaps.append((c, to_expr(gap), to_expr(u)))
    has_strict_gap = any(c > 0 for c, *_ in gaps)
    if not gaps or not goals.prove(
        place, remainder, strict and not has_strict_gap, depth - 1
    ):
        return False
    for c, gap, u in gaps:
        if c > 0:
            place.fact(">", gap, "fraction", u)
        else:
            place.fact(">=", gap, "instance", "rule", "floor-below", {"x": u})
    return _added(
        place,
        form,
        strict,
        [(to_expr(remainder), 1), *((gap, abs(c)) for c, gap, _ in gaps)],
    )


def by_logarithms(
    goals: Any, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Compare the arguments of two logarithms."""
    logarithms = _alone(form, "log")
    if strict or len(logarithms) != 2 or sum(form.values()) != 0:
        return False
    (_, low), (_, high) = sorted(logarithms, key=lambda one: one[0][1])
    if not (
        goals.prove(place, low, True, depth - 1)
        and goals.prove(place, high - low, False, depth - 1)
    ):
        return False
    where = {"a": to_expr(low), "b": to_expr(high)}
    gap = k.row("log", where["b"]) - k.row("log", where["a"])
    place.fact(">=", gap, "instance", "rule", "log-monotone", where)
    return len(form) == 2 and _added(place, form, False, [(gap, max(form.values()))])


def by_squares(
    goals: Any, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Multiply a difference of two square roots by their sum."""
    halves = [x.constant() for m in form for _, x in m]
    total = k.form_of({m: abs(c) for m, c in form.items()})
    if (
        len(form) != 2
        or total in (form, -form)
        or not any(x is not None and x.q == 2 for x in halves)
    ):
        return False
    product = place.scope.product(form, total)
    if not (
        goals.prove(place, total, True, depth - 1)
        and goals.prove(place, product, strict, depth - 1)
    ):
        return False
    by = ["combine", [to_expr(total)], [["1", [to_expr(product)]]]]
    return place.fact(_RELATION[strict], to_expr(form), *by)


def _alone(form: Form, kind: str) -> list[tuple[tuple[Any, Any], Form]]:
    """Return the terms that are a number times one function, with the argument of the function."""
    return [
        ((m, c), m[0][0][1])
        for m, c in form.items()
        if len(m) == 1 and m[0][0][0] == kind and m[0][1] is k.ONE
    ]


def _added(
    place: FactList, form: Form, strict: bool, parts: list[tuple[Expr, Any]]
) -> bool:
    terms = [[str(c), [gap]] for gap, c in parts]
    return place.fact(_RELATION[strict], to_expr(form), "combine", [], terms)
