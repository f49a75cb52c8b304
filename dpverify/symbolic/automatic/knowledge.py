"""Instances of rules about the functions and sums in a goal, as facts that a combination may use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Any

from flint import fmpq

from dpverify.symbolic.automatic.instances import about_sum, instance
from dpverify.symbolic.certify.checker import HALF, UNIT, Expr, Form, k, power, to_expr
from dpverify.symbolic.certify.columns import FactColumn, columns_for, function_columns
from dpverify.symbolic.certify.goals import Goals
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.polynomials import cleared, denominators

ROUNDS = 3  # the last round is for sums only
MOST_ATOMS = 14  # largest number of functions in a round
CHORDS = (fmpq(1), fmpq(1, 2), fmpq(2))


def fact_columns(goals: Goals, place: FactList, form: Form) -> list[FactColumn]:
    """Return facts at a place, and instances of rules about the functions in a form and in these instances."""
    columns = [
        c
        for c in columns_for(goals, place, form, 2, "")
        if c.factors and len(c.factors) < 2
    ]
    columns += [
        whole
        for column in columns
        for whole in _without_fractions(goals, place, column)
    ]
    seen = set[Any]()
    pairs = list(_pairs(goals, place, list({p: None for m in form for p in m})))
    columns += [
        *pairs,
        *(
            whole
            for column in pairs
            for whole in _without_fractions(goals, place, column)
        ),
    ]
    todo = [form, *(c.form for c in columns)]
    for number in range(ROUNDS):
        instances = list(_instances(goals, place, todo, seen, sums_only=number > 1))
        instances += [
            whole
            for column in instances
            for whole in _without_fractions(goals, place, column)
        ]
        columns += instances
        todo = [c.form for c in instances]
    return list({c.form: c for c in reversed(columns)}.values())[::-1]


def _instances(
    goals: Goals,
    place: FactList,
    forms: Iterable[Form],
    seen: set[Any],
    *,
    sums_only: bool,
) -> Iterator[FactColumn]:
    powers = {p: None for f in forms for m in f for p in m}
    fresh = [
        p for p in powers if p not in seen and (p[0][0] == "sum" or not sums_only)
    ][:MOST_ATOMS]
    seen.update(fresh)
    for atom, exponent in fresh:
        if atom[0] == "e":
            yield from _exponential(goals, place, exponent)
        elif exponent.constant() is None:
            yield from _power(goals, place, atom, exponent)
        elif not exponent.whole() or exponent.constant() < 0:
            yield from _comparisons_with_one(
                goals, place, place.scope.joined(((atom, exponent),))
            )
    for atom in {atom: None for atom, _ in fresh if atom not in seen}:
        seen.add(atom)
        if atom[0] == "log" and k.letters_in(atom[1]):
            yield from _logarithm(goals, place, atom[1])
        elif atom[0] == "sum":
            yield from about_sum(goals, place, atom)
        elif atom[0] in ("floor", "bit", "max"):
            yield from function_columns(goals, place, atom, 2)
        elif atom[0] == "popcount":
            for name in ("popcount-log2", "popcount-width"):
                yield from instance(goals, place, name, {"n": to_expr(atom[1])})


def positive(goals: Goals, place: FactList, forms: list[Form]) -> list[Form]:
    """Return the forms with signs that make them positive, or nothing if the sign of a form is not proven."""
    signs = [
        next((s for s in (1, -1) if goals.prove(place, form.times(s), True)), 0)
        for form in forms
    ]
    return (
        [form.times(sign) for form, sign in zip(forms, signs, strict=True)]
        if all(signs)
        else []
    )


def _without_fractions(
    goals: Goals, place: FactList, column: FactColumn
) -> Iterator[FactColumn]:
    """Yield a fact times the sums in its denominators."""
    under = positive(goals, place, [d for d in denominators(column.form) if len(d) > 1])
    if not under or len(column.factors) != 1:
        return
    product = cleared(place.scope, column.form, under)
    (gap,) = column.factors
    around = [to_expr(d) for d in under]
    said = "=" if place.scope.holds("=", column.form) or column.negated else ">="
    expr = to_expr(product.times(-1) if column.negated else product)
    equation = k.row("*", gap, *around) - expr

    def emit() -> bool:
        if place.scope.holds(said, place.form(expr)):
            return True
        return place.fact("=", equation, "combine", around, []) and place.fact(
            said, expr, "combine", [], [["1", [gap, *around]], ["-1", [equation]]]
        )

    yield FactColumn(product, False, (expr,), column.negated, [*column.emit, emit])


def _exponential(goals: Goals, place: FactList, exponent: Form) -> Iterator[FactColumn]:
    u = to_expr(exponent)
    up = k.row("exp", u)
    yield from instance(goals, place, "one-minus-exp", {"x": -u})
    yield from instance(goals, place, "one-minus-exp", {"x": u}, up)
    yield from instance(goals, place, "exp-cubic", {"x": u})
    yield from instance(goals, place, "exp-cubic", {"x": -u}, up)
    if goals.prove(place, exponent):
        yield from instance(goals, place, "exp-pade", {"x": u})
        yield from _chord(goals, place, u, 1)
    elif goals.prove(place, -exponent):
        yield from instance(goals, place, "exp-pade", {"x": -u}, up)
        yield from _chord(goals, place, -u, -1)


def _chord(goals: Goals, place: FactList, u: Expr, way: int) -> Iterator[FactColumn]:
    """Yield convexity bounds on a range that ends at a number, if the exponent is known to be below this number."""
    for end in CHORDS:
        if goals.prove_expr(place, k.rational(end) - u):
            base = k.row("exp", k.rational(way))
            yield from instance(
                goals, place, "power-chord", {"x": base, "y": u, "d": k.rational(end)}
            )


def _logarithm(goals: Goals, place: FactList, inner: Form) -> Iterator[FactColumn]:
    a = to_expr(inner)
    if not goals.prove(place, inner, True):
        return
    value, under = k.row("log", a), k.row("^", a, k.rational(-1))
    divisors = positive(goals, place, denominators(inner)) if len(inner) > 1 else []
    if divisors:
        logs = [k.row("log", to_expr(d)) for d in divisors]
        whole = k.row("log", to_expr(cleared(place.scope, inner, divisors)))
        difference = k.row("+", value, *logs) - whole
        for sign in (1, -1):
            yield from instance(
                goals,
                place,
                "one-minus-exp",
                {"x": k.row("*", k.rational(sign), difference)},
            )
    yield from instance(goals, place, "log-tangent", {"x": a})
    yield from instance(goals, place, "log-tangent", {"x": under})
    yield from instance(goals, place, "exp-cubic", {"x": value})
    yield from instance(goals, place, "exp-cubic", {"x": -value})
    for x, low, high in ((value, UNIT, a), (-value, a, UNIT)):
        if goals.prove_expr(place, high - low):
            for column in instance(goals, place, "log-monotone", {"a": low, "b": high}):
                yield column
                column.emit[0]()
            yield from instance(goals, place, "exp-pade", {"x": x})


def _power(
    goals: Goals, place: FactList, atom: Any, exponent: Form
) -> Iterator[FactColumn]:
    b, x = to_expr(k.alone(atom)), to_expr(exponent)
    if not (goals.prove(place, exponent) and goals.prove_expr(place, b)):
        return
    less = b - UNIT
    below = list(instance(goals, place, "one-minus-exp", {"x": -less}))
    for column in below:
        column.emit[0]()
    yield from instance(
        goals, place, "power-monotone", {"a": b, "b": k.row("exp", less), "p": x}
    )
    yield from instance(goals, place, "bernoulli", {"x": less, "n": x})
    yield from instance(goals, place, "power-chord", {"x": b, "y": x, "d": UNIT})


def _comparisons_with_one(
    goals: Goals, place: FactList, root: Form
) -> Iterator[FactColumn]:
    """Yield that a root or reciprocal is at most 1, or at least 1."""
    for gap in (k.ONE - root, root - k.ONE):
        if goals.prove(place, gap):
            yield FactColumn(gap, False, (to_expr(gap),))


def _pairs(goals: Goals, place: FactList, powers: list[Any]) -> Iterator[FactColumn]:
    """Yield instances of rules about two functions of the same kind."""
    for (a, x), (b, y) in permutations(powers, 2):
        if a[0] == b[0] == "log" and x is y is k.ONE:
            yield from _two_logarithms(goals, place, a[1], b[1])
        elif a[0] == b[0] == "e":
            yield from _two_exponentials(goals, place, x, y)
        elif a is b and (x.constant() is None or y.constant() is None):
            below = {"x": to_expr(k.alone(a)), "p": to_expr(x), "q": to_expr(y)}
            yield from instance(goals, place, "power-increasing", below)
            yield from instance(goals, place, "power-decreasing", below)
        elif (
            a is not b
            and {x, y} <= {HALF, -HALF}
            and goals.prove(place, k.alone(b) - k.alone(a))
        ):
            low, high = to_expr(k.alone(a)), to_expr(k.alone(b))
            yield from instance(
                goals, place, "sqrt-tangent", {"x": low, "y": high - low}
            )
            yield from instance(goals, place, "sqrt-monotone", {"a": low, "b": high})


def _two_logarithms(
    goals: Goals, place: FactList, first: Form, second: Form
) -> Iterator[FactColumn]:
    if not (k.letters_in(first) and k.letters_in(second)):
        return
    if goals.prove(place, first, True) and goals.prove(place, second, True):
        ratio = k.row("*", to_expr(first), k.row("^", to_expr(second), k.rational(-1)))
        yield from instance(goals, place, "log-tangent", {"x": ratio})
        for column in instance(
            goals, place, "log-monotone", {"a": to_expr(first), "b": to_expr(second)}
        ):
            yield column
            column.emit[0]()
            difference = k.row("log", to_expr(second)) - k.row("log", to_expr(first))
            yield from instance(goals, place, "exp-pade", {"x": difference})


def _two_exponentials(
    goals: Goals, place: FactList, low: Form, high: Form
) -> Iterator[FactColumn]:
    """Yield facts about two exponents if one is below the other or a fraction of it."""
    u, v = to_expr(low), to_expr(high)
    yield from instance(goals, place, "exp-monotone", {"a": u, "b": v})
    if len(low) == len(high) == 1:
        share = k.row("*", u, k.row("^", v, k.rational(-1)))
        if goals.prove_expr(place, share) and goals.prove_expr(place, UNIT - share):
            yield from instance(
                goals,
                place,
                "power-chord",
                {"x": k.row("exp", v), "y": share, "d": UNIT},
            )


def square_columns(place: FactList, form: Form) -> Iterator[FactColumn]:
    """Yield squares of differences of roots of two positive terms, if the form subtracts their product."""
    plus = [(m, c) for m, c in form.items() if c > 0]
    for i, (m, c) in enumerate(plus):
        for n, _ in plus[i + 1 :]:
            first, second = _root(m), _root(n)
            if first is None or second is None:
                continue
            cross = place.form(k.row("*", first, second))
            for p in cross:
                taken = form.get(p, fmpq(0))
                if taken < 0:
                    share = -taken / (2 * c * cross[p])
                    for sign in (1, -1):
                        gap = first - k.row("*", k.rational(sign * share), second)
                        yield square(place, gap)


def square(place: FactList, root: Expr) -> FactColumn:
    """Return the square of an expression as a fact."""
    product = k.row("*", root, root)
    return FactColumn(
        place.form(product), False, (product,), emit=[lambda: place.square(root)]
    )


def _root(m: Any) -> Expr | None:
    """Return the root of a monomial if its exponents are numbers, otherwise None."""
    if any(x.constant() is None and a[0] != "e" for a, x in m):
        return None
    return k.row("*", k.rational(1), *(power(a, x.times(fmpq(1, 2))) for a, x in m))
