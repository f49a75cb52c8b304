"""Ways to prove a sign by the functions in a goal: their bounds and thresholds, and comparisons of their arguments.

Squares, arguments of logarithms, and exponents are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flint import fmpq

from dpverify.symbolic.automatic.program import RELATION
from dpverify.symbolic.automatic.search import DEPTH, Search, atoms_of
from dpverify.symbolic.certify.checker import UNIT, Expr, Form, k, power, to_expr
from dpverify.symbolic.certify.place import FactList


def by_logarithms(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Compare the exponential of the terms without logarithms with the arguments of the logarithms."""
    low: list[tuple[Expr, Any]] = []
    high: list[tuple[Expr, Any]] = []
    rest = form
    for m, c in form.items():
        if (
            len(m) == 1
            and m[0][0][0] == "log"
            and m[0][1] is k.ONE
            and k.letters_in(m[0][0][1])
        ):
            (high if c > 0 else low).append((to_expr(m[0][0][1]), abs(c)))
            rest -= k.monomial(m, c)
    if (
        strict
        or not low + high
        or any(a[0] == "log" and k.letters_in(a[1]) for a in atoms_of(rest))
    ):
        return False
    scale = fmpq(1)
    for _, c in low + high:
        scale *= c.q
    scale = scale / min(c * scale for _, c in low + high)
    up = k.form_of({m: c * scale for m, c in rest.items() if c > 0})
    down = k.form_of({m: -c * scale for m, c in rest.items() if c < 0})
    # the logarithm of a product with a sum is not expanded
    if len(low) + len(high) == 1:
        up, down = (up - down, k.ZERO) if low else (k.ZERO, down - up)
    a, b = (
        k.row(
            "*",
            k.row("exp", to_expr(part)),
            *(k.row("^", u, k.rational(c * scale)) for u, c in side),
        )
        for part, side in ((down, low), (up, high))
    )
    if not (
        search.search_expr(place, a, True, 1)
        and search.search_expr(place, b - a, False, depth - 1)
    ):
        return False
    gap = k.row("log", b) - k.row("log", a)
    place.fact(">=", gap, "instance", "rule", "log-monotone", {"a": a, "b": b})
    return place.fact(">=", to_expr(form), "combine", [], [[str(1 / scale), [gap]]])


def by_exponentials(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Compare the logarithms of two products."""
    plus = [(m, c) for m, c in form.items() if c > 0]
    minus = [(m, -c) for m, c in form.items() if c < 0]
    if strict or len(plus) != 1 or len(minus) != 1:
        return False
    if all(
        x.constant() is not None and a[0] != "e" for m, _ in plus + minus for a, x in m
    ):
        return False
    b, a = (to_expr(k.monomial(*side[0])) for side in (plus, minus))
    if not (search.prove_expr(place, a, True) and search.prove_expr(place, b, True)):
        return False
    logs = [k.row("log", side) for side in (a, b)]
    if not search.search_expr(place, logs[1] - logs[0], False, depth - 1):
        return False
    where = {"a": logs[0], "b": logs[1]}
    gap = k.row("exp", logs[1]) - k.row("exp", logs[0])
    return place.fact(">=", gap, "instance", "rule", "exp-monotone", where) and bool(
        place.scope.holds(">=", form)
        or place.fact(">=", to_expr(form), "combine", [], [["1", [gap]]])
    )


def by_square(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Complete the square in a letter or root with a positive leading coefficient and a nonpositive discriminant."""
    for atom in dict.fromkeys(a for m in form for a, _ in m):
        if atom[0] not in ("letter", "base", "log", "e", "apply"):
            continue
        parts = _quadratic(form, atom)
        if parts is None:
            continue
        (a, b, c), root = parts
        product = place.scope.product
        if not search.prove(place, a, True):
            continue
        rest = product(a, c).times(4) - product(b, b)
        if not search.search_form(place, rest, strict, depth - 1):
            continue
        double = k.row("+", k.row("*", k.rational(2), to_expr(a), root), to_expr(b))
        place.square(double)
        terms = [["1", [k.row("*", double, double)]], ["1", [to_expr(rest)]]]
        divisor = to_expr(a.times(4))
        return place.fact(RELATION[strict], to_expr(form), "combine", [divisor], terms)
    return False


def _quadratic(form: Form, atom: Any) -> tuple[tuple[Form, Form, Form], Expr] | None:
    """Return the coefficients of a form as a polynomial of degree 2 in an atom or its root, or None."""
    exponents = {dict(m).get(atom, k.ZERO) for m in form}
    values = {x.constant() for x in exponents}
    if None in values:
        return None
    unit = max(values) / 2
    if (
        unit <= 0
        or not values <= {fmpq(0), unit, 2 * unit}
        or unit not in (fmpq(1), fmpq(1, 2), fmpq(2))
    ):
        return None
    parts = []
    for n in (2, 1, 0):
        held = {
            tuple(f for f in m if f[0] is not atom): c
            for m, c in form.items()
            if dict(m).get(atom, k.ZERO).constant() == n * unit
        }
        parts.append(k.form_of(held))
    return (parts[0], parts[1], parts[2]), power(atom, k.constant(unit))


def by_roots(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Compare squares: a sum with a square root is a difference of two squares divided by another sum."""
    roots = {
        a: None
        for m in form
        for a, x in m
        if x.constant() is not None and x.constant().q == 2
    }
    for atom in roots:
        parts = _linear(form, atom)
        if parts is None:
            continue
        (outside, beside), root = parts
        product = place.scope.product
        squares = product(outside, outside) - product(
            product(beside, beside), place.form(to_expr(k.alone(atom)))
        )
        for sign in (1, -1):  # sign of the terms without the root
            other = outside.times(sign) - product(beside.times(sign), place.form(root))
            if not search.prove(place, other, True):
                continue
            if search.search_form(place, squares.times(sign), strict, depth - 1):
                terms = [["1", [to_expr(squares.times(sign))]]]
                return place.fact(
                    RELATION[strict], to_expr(form), "combine", [to_expr(other)], terms
                )
        signs = place.scope.sign(outside) | place.scope.sign(-outside)
        if (
            depth >= DEPTH - 1
            and outside
            and not signs & 1
            and search.prove(place, beside)
        ):
            return search.split(place, to_expr(outside), form, strict, depth)
    return False


def _linear(form: Form, atom: Any) -> tuple[tuple[Form, Form], Expr] | None:
    """Return the terms without a square root, the cofactor of the root, and the root, or None."""
    parts: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
    for m, c in form.items():
        exponent = dict(m).get(atom, k.ZERO).constant()
        if exponent is None or exponent < 0:
            return None
        odd = exponent.q == 2
        left = exponent - fmpq(1, 2) if odd else exponent
        key = tuple(
            (a, x if a is not atom else k.constant(left))
            for a, x in m
            if a is not atom or left
        )
        parts[odd][key] = parts[odd].get(key, fmpq(0)) + c
    return (k.form_of(parts[0]), k.form_of(parts[1])), power(
        atom, k.constant(fmpq(1, 2))
    )


FUNCTIONS = ("e", "log", "sum")


def by_bounds(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Replace a function by a bound: times a positive factor, the goal is a fact plus a goal without the function."""
    product = place.scope.product
    ours = {
        f: None for m in form for f in m if f[0][0] in FUNCTIONS or not f[1].whole()
    }
    tried = set[Any]()
    for function in ours:
        beside, outside = _parts(form, function)
        for fact in search.facts(place, form):
            slope, other = _parts(fact.form, function)
            if not slope or any(
                f[0][0] in FUNCTIONS and f not in ours for m in fact.form for f in m
            ):
                continue
            sign = next(
                (s for s in (1, -1) if search.prove(place, slope.times(s), True)), 0
            )
            if not sign or not search.prove(place, beside.times(sign)):
                continue
            rest = (product(outside, slope) - product(other, beside)).times(sign)
            if rest.key() in tried:
                continue
            tried.add(rest.key())
            if search.search_form(place, rest, strict, depth - 2) and all(
                emit() for emit in fact.emit
            ):
                weight = "-1" if fact.negated else "1"
                terms = [
                    [weight, [to_expr(beside.times(sign)), *fact.factors]],
                    ["1", [to_expr(rest)]],
                ]
                divisor = to_expr(slope.times(sign))
                return place.fact(
                    RELATION[strict], to_expr(form), "combine", [divisor], terms
                )
    return False


def _parts(form: Form, function: Any) -> tuple[Form, Form]:
    """Return the cofactor of a function and the terms without it.

    The cofactor is 0 if the function has other powers.
    """
    held = {m: c for m, c in form.items() if any(a is function[0] for a, _ in m)}
    if any(function not in m for m in held):
        return k.ZERO, form
    beside = k.form_of(
        {tuple(f for f in m if f != function): c for m, c in held.items()}
    )
    return beside, form - k.form_of(held)


def by_thresholds(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Split where a function's argument passes a threshold of its rules."""
    if depth < DEPTH - 1:
        return False
    for gap in _thresholds(place, form):
        at = place.form(gap)
        if place.scope.sign(at) & 1 or place.scope.sign(-at) & 1:
            continue
        if search.split(place, gap, form, strict, depth):
            return True
    return False


def _thresholds(place: FactList, form: Form) -> Iterator[Expr]:
    seen = set[Any]()
    for atom, exponent in {f: None for m in form for f in m}:
        gaps = []
        if atom[0] == "e":
            gaps = [to_expr(exponent), UNIT - to_expr(exponent)]
        elif atom[0] == "log":
            gaps = [to_expr(atom[1]) - UNIT]
        elif exponent.constant() is None:
            gaps = [to_expr(k.alone(atom)) - UNIT, to_expr(exponent) - UNIT]
        elif atom[0] == "letter":
            least = 2 if place.scope.integer(k.alone(atom)) else 1
            gaps = [to_expr(k.alone(atom)) - k.rational(least)]
        for gap in gaps:
            if gap not in seen:
                seen.add(gap)
                yield gap
