"""Columns that may prove a sign: facts, signs of monomials, and instances of rules about the goal's functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import combinations_with_replacement
from typing import Any

from flint import arb, fmpq

from dpverify.symbolic.certify.checker import Expr, Form, k, monomial, to_expr
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.exact.numbers import working_precision

_SCALE = 2**40
_MOST_FACTORS = 22
#: Which columns are multiplied in pairs: the first few, those with few other letters, or also those known to be 0.
PRODUCTS = ("first", "nearest", "zeros")


@dataclass
class FactColumn:
    """A column of the linear program."""

    form: Form
    strict: bool
    # expressions with this product, all known to be nonnegative, or one known to be 0
    factors: tuple[Expr, ...]
    negated: bool = False  # whether the weight is to be negated
    # writes the facts that this column uses
    emit: list[Callable[[], bool]] = field(default_factory=list)


def columns_for(
    goals: Any, place: FactList, form: Form, depth: int, products: str
) -> list[FactColumn]:
    """Return the columns that share letters with a form, and products of them; see `PRODUCTS`."""
    scope = place.scope
    near = k.letters_in(form)
    base_columns = list(place.cached(_facts, place, near))
    powers = {
        p: None for f in (form, *(c.form for c in base_columns)) for m in f for p in m
    }
    if depth > 1:
        for atom, exponent in powers:
            base_columns.extend(_power(goals, place, atom, exponent, depth))
        for atom in {atom: None for atom, _ in powers}:
            base_columns.extend(function_columns(goals, place, atom, depth))
    columns = [*base_columns, FactColumn(k.ONE, True, ())]
    if products:
        columns.extend(_squares(place, form))
        usable = (
            base_columns
            if products == "zeros"
            else [c for c in base_columns if not place.cached(scope.holds, "=", c.form)]
        )
        if products == "nearest":
            usable.sort(key=lambda c: len(k.letters_in(c.form) - near))
        for a, b in combinations_with_replacement(usable[:_MOST_FACTORS], 2):
            if len(a.form) * len(b.form) <= 200:
                product_form = place.cached(scope.product, a.form, b.form)
                columns.append(
                    FactColumn(
                        product_form,
                        a.strict and b.strict,
                        (*a.factors, *b.factors),
                        emit=[*a.emit, *b.emit],
                    )
                )
    for m in {m: None for f in (form, *(c.form for c in columns)) for m in f}:
        columns += place.cached(_signs, place, m)
    return columns


def pruned(columns: list[FactColumn], target: Form) -> list[FactColumn]:
    """Drop columns with a monomial that nothing can cancel, until no such column is left."""
    signed = [signed_monomials(c.form) for c in columns]
    # columns by the signed monomials that must cancel one of theirs
    against: dict[int, list[int]] = {}
    # number of columns with a signed monomial, the negated target included
    partners: dict[int, int] = {}
    for place, numbers in enumerate(signed):
        for number in numbers:
            against.setdefault(-number, []).append(place)
            partners[number] = partners.get(number, 0) + 1
    for number in signed_monomials(target):
        partners[-number] = partners.get(-number, 0) + 1
    remaining = [True] * len(columns)
    missing = [number for number in against if not partners.get(number)]
    while missing:
        for place in against.get(missing.pop(), ()):
            if remaining[place]:
                remaining[place] = False
                for number in signed[place]:
                    partners[number] -= 1
                    if not partners[number]:
                        missing.append(number)
    return [
        column for column, is_left in zip(columns, remaining, strict=True) if is_left
    ]


MONOMIAL_NUMBERS: dict[Any, int] = {}
"""Numbers of monomials, starting at 1. Hashing a monomial is slow."""


@cache
def signed_monomials(form: Form) -> tuple[int, ...]:
    """Return the numbers of a form's monomials, each with the sign of its coefficient."""
    numbers = [MONOMIAL_NUMBERS.setdefault(m, len(MONOMIAL_NUMBERS) + 1) for m in form]
    return tuple(
        n if c > 0 else -n for n, c in zip(numbers, form.values(), strict=True)
    )


def _facts(place: FactList, near: Iterable[str]) -> list[FactColumn]:
    """Return the facts that share letters with ``near``, directly or through other facts."""
    scope = place.scope
    letters = set(near)
    chosen: list[tuple[str, Expr, Form]] = []
    usable = [
        fact
        for fact in scope.facts
        if fact[0] in (">=", ">", "=") and fact[1] not in place.unused
    ]
    left = [(r, e, scope.form(e)) for r, e in dict.fromkeys(usable)]
    grown = True
    while grown:
        new_facts = [fact for fact in left if k.letters_in(fact[2]) & letters]
        left = [fact for fact in left if fact not in new_facts]
        chosen += new_facts
        before = len(letters)
        letters.update(*(k.letters_in(fact[2]) for fact in new_facts))
        grown = len(letters) > before
    keys = set()
    columns = list[FactColumn]()
    for relation, e, f in sorted(chosen, key=lambda fact: len(fact[2])):
        if not f or f.key() in keys:
            continue
        keys.add(f.key())
        columns.append(FactColumn(f, relation != "=" and scope.sign(f) == 3, (e,)))
        if relation == "=":
            columns.append(FactColumn(-f, False, (e,), negated=True))
    return columns


def _signs(place: FactList, m: Any) -> list[FactColumn]:
    """Return columns for a monomial of known sign. An irrational constant in it is enclosed between rationals."""
    scope = place.scope
    closed = tuple(f for f in m if not k.letters_in(k.monomial([f])))
    open_factors = tuple(f for f in m if f not in closed)
    if not m:
        return []
    open_form = k.monomial(open_factors)
    turned = 1
    strength = scope.sign(open_form)
    if not strength & 1:
        turned = -1
        strength = scope.sign(-open_form)
    if not strength & 1:
        return []
    around = (monomial(open_factors, turned),) if open_factors else ()
    if not closed:
        return [FactColumn(k.monomial(m, turned), strength == 3, around)]
    constant = k.monomial(closed)
    columns = []
    for gap in _enclosure(constant):
        if scope.sign(gap) & 1:
            product_form = scope.product(gap, open_form.times(turned))
            columns.append(
                FactColumn(product_form, strength == 3, (to_expr(gap), *around))
            )
    return columns


def _enclosure(constant: Form) -> tuple[Form, ...]:
    """Return the distances of a number from a rational below it and from a rational above it."""
    with working_precision(k.BITS):
        ball: arb = k.ball(constant) * _SCALE
        lo = ball.lower().floor().unique_fmpz()
        hi = ball.upper().ceil().unique_fmpz()
    if lo is None or hi is None:
        return ()
    return constant - k.constant(fmpq(lo - 1, _SCALE)), k.constant(
        fmpq(hi + 1, _SCALE)
    ) - constant


def _squares(place: FactList, form: Form) -> Iterator[FactColumn]:
    """Yield squares of differences of letters, and of letters and 1."""
    names = sorted(
        n
        for n in k.letters_in(form)
        if not n.startswith("#") and place.scope.kinds.get(n) in k.NUMBERS
    )
    letters = [k.letter(n) for n in names[:6]]
    for i, a in enumerate(letters):
        for b in (*letters[i + 1 :], k.rational(1)):
            gap = a - b
            square = k.row("*", gap, gap)
            emit: list[Callable[[], bool]] = [partial(place.square, gap)]
            yield FactColumn(place.form(square), False, (square,), emit=emit)


def _power(
    goals: Any, place: FactList, atom: Any, exponent: Form, depth: int
) -> Iterator[FactColumn]:
    """Yield instances of rules about an exponential or a power."""
    scope = place.scope
    unit = k.rational(1)
    if atom[0] == "e":
        u = to_expr(exponent)
        yield from _rule(place, "one-minus-exp", {"x": -u})
        for column in _rule(place, "one-minus-exp", {"x": u}):
            power = k.row("exp", u)
            yield FactColumn(
                scope.product(column.form, place.form(power)),
                False,
                (*column.factors, power),
                emit=column.emit,
            )
        if goals.prove(place, -exponent, False, depth - 1):
            yield from _rule(place, "exp-monotone", {"a": u, "b": k.rational(0)})
        return
    value = exponent.constant()
    if value is not None and (value.q == 1 or atom[0] == "prime"):
        return
    base = k.alone(atom)
    b = to_expr(base)
    x = to_expr(exponent)
    if atom == k.row("prime", "2") and scope.integer(exponent):
        yield from _rule(place, "power-of-two-grows", {"k": x})
    if not goals.prove(place, exponent, False, depth - 1):
        return
    if goals.prove(place, k.ONE - base, False, depth - 1):
        if goals.prove(place, base, False, depth - 1):
            if value is None and goals.prove(place, exponent - k.ONE, False, depth - 1):
                yield from _rule(place, "power-decreasing", {"x": b, "p": x, "q": unit})
            yield from _rule(place, "power-at-most-one", {"x": b, "p": x})
    elif goals.prove(place, base - k.ONE, False, depth - 1):
        yield from _rule(
            place, "power-increasing", {"x": b, "p": k.rational(0), "q": x}
        )


def function_columns(
    goals: Any, place: FactList, atom: Any, depth: int
) -> Iterator[FactColumn]:
    """Yield instances of rules about a logarithm, floor, bit or maximum."""
    kind, *arguments = atom
    if (
        kind == "log"
        and k.letters_in(arguments[0])
        and goals.prove(place, arguments[0], True, depth - 1)
    ):
        u = to_expr(arguments[0])
        yield from _rule(place, "log-tangent", {"x": u})
        for least in (1, 2):
            if goals.prove(place, arguments[0] - k.constant(least), False, depth - 1):
                yield from _rule(
                    place, "log-monotone", {"a": k.rational(least), "b": u}
                )
        if goals.prove(place, k.ONE - arguments[0], False, depth - 1):
            yield from _rule(place, "log-monotone", {"a": u, "b": k.rational(1)})
    elif kind == "floor":
        u = to_expr(arguments[0])
        yield from _rule(place, "floor-below", {"x": u})
        gap = k.row("+", k.row("floor", u), k.rational(1)) - u
        yield FactColumn(
            place.form(gap),
            True,
            (gap,),
            emit=[lambda: place.fact(">", gap, "fraction", u)],
        )
        for least in (0, 1):
            if goals.prove(place, arguments[0] - k.constant(least), False, depth - 1):
                at_least = k.row("+", k.row("floor", u), k.rational(-least))
                if goals.prove(place, place.form(at_least), False, depth - 2):
                    yield FactColumn(place.form(at_least), False, (at_least,))
    elif kind == "bit":
        s, i = map(to_expr, arguments)
        yield from _rule(place, "bit-times", {"s": s, "k": i, "x": k.rational(1)})
    elif kind == "max":
        for argument in arguments:
            gap = to_expr(k.alone(atom)) - to_expr(argument)
            if goals.prove(place, place.form(gap), False, depth - 1):
                yield FactColumn(place.form(gap), False, (gap,))


def _rule(place: FactList, name: str, where: dict[str, Expr]) -> Iterator[FactColumn]:
    """Yield the inequality of a rule's instance, which is written only if it is used."""
    gap = instance_gap(place, name, where)
    try:
        form = k.ZERO if gap is None else place.form(gap)
    except k.Refused:
        return
    if form:
        yield FactColumn(
            form,
            False,
            (gap,),
            emit=[lambda: place.fact(">=", gap, "instance", "rule", name, where)],
        )


def instance_gap(place: FactList, name: str, where: dict[str, Any]) -> Expr | None:
    """Return the larger side of a rule's instance minus the smaller one, or None for an unknown rule."""
    data = place.proof.checker.rules.get(name)
    return None if data is None else k.put(k.Rule(data).gap, where)
