"""Ways to prove a sign. Each reduces a goal to simpler goals, or combines facts and instances of rules.

Polynomials on boxes and half-lines are proved by products of distances from bounds, and by squares around their
smallest values.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from flint import fmpq

from dpverify.symbolic.automatic.function_bounds import (
    by_bounds,
    by_exponentials,
    by_logarithms,
    by_roots,
    by_square,
    by_thresholds,
)
from dpverify.symbolic.automatic.knowledge import positive, square_columns
from dpverify.symbolic.automatic.program import RELATION, combined, write_combination
from dpverify.symbolic.automatic.search import Search, Way, atoms_of
from dpverify.symbolic.certify.checker import Expr, Form, k, power, to_expr, value_of
from dpverify.symbolic.certify.columns import FactColumn
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.polynomials import (
    bounds,
    cleared,
    common_powers,
    denominators,
    factors_of,
)

MOST_LETTERS = 3
MOST_DEGREE = 10
MOST_PRODUCTS = 500
MOST_DENOMINATOR = 60  # largest denominator of a point around which squares are taken
GRIDS = (0, 400, 40, 12)  # points of a grid in each direction, by the number of letters
ZOOMS = 4
WIDTH = 8  # length of a half-line on which the smallest value is searched for


def by_box(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Combine products of distances from bounds, and their products with squares."""
    del search, depth
    degrees = [sum(x.constant() or fmpq(MOST_DEGREE) for _, x in m) for m in form]
    letters = sorted(k.letters_in(form))
    if (
        not 0 < len(letters) <= MOST_LETTERS
        or max(degrees) >= MOST_DEGREE
        or min(degrees) < 0
    ):
        return False
    limits = {
        name: dict(_sides(found))
        for name, found in bounds(place).items()
        if name in letters
    }
    if any(a[0] != "letter" or not x.whole() for m in form for a, x in m):
        return False
    distances = [
        k.row("*", k.rational(side), k.letter(name) - k.rational(bound))
        for name, sides in sorted(limits.items())
        for side, bound in sides.items()
    ]
    degree = int(max(degrees))
    roots = [
        k.letter(name) - k.rational(value)
        for name, value in _smallest(form, letters, limits)
    ]
    columns = [FactColumn(k.ONE, True, ())]
    columns += _products(place, distances, degree + 1, ())
    for root in roots:
        columns += _products(place, distances, degree - 2, (root,))
    return len(columns) <= MOST_PRODUCTS and write_combination(
        place, form, strict, columns
    )


def _sides(found: list[tuple[Any, int]]) -> Iterator[tuple[int, Any]]:
    for side in {side for _, side in found}:
        yield (
            side,
            max(
                (bound for bound, s in found if s == side),
                key=lambda bound: side * bound,
            ),
        )


def _products(
    place: FactList, distances: list[Expr], most: int, roots: tuple[Expr, ...]
) -> Iterator[FactColumn]:
    squares = tuple(k.row("*", root, root) for root in roots)
    emit = [lambda: all(place.square(root) for root in roots)] if roots else []
    for size in range(0 if roots else 1, most + 1):
        for chosen in combinations_with_replacement(distances, size):
            factors = (*squares, *chosen)
            form = reduce(place.scope.product, map(place.form, factors))
            strict = not roots and all(
                place.scope.sign(place.form(d)) == 3 for d in chosen
            )
            yield FactColumn(form, strict, factors, emit=list(emit))


def _smallest(
    form: Form, letters: list[str], limits: dict[str, dict[int, Any]]
) -> Iterator[tuple[str, fmpq]]:
    """Yield the letters' values where a polynomial is smallest on a grid, as simple fractions."""
    expr = to_expr(form)
    ranges = []
    for name in letters:
        sides = {
            side: int(bound.p) / int(bound.q)
            for side, bound in limits.get(name, {}).items()
        }
        low = sides.get(1, sides[-1] - WIDTH if -1 in sides else -WIDTH / 2)
        ranges.append((low, sides.get(-1, low + WIDTH)))
    best: tuple[float, ...] = ()
    for _ in range(ZOOMS):
        axes = [np.linspace(low, high, GRIDS[len(letters)] + 1) for low, high in ranges]
        points = np.stack(
            [axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1
        )
        values = [
            value_of(expr, dict(zip(letters, map(float, point), strict=True)))
            for point in points
        ]
        best = tuple(
            points[
                int(np.argmin([np.inf if value is None else value for value in values]))
            ]
        )
        steps = [axis[1] - axis[0] for axis in axes]
        ranges = [
            (max(low, b - step), min(high, b + step))
            for (low, high), b, step in zip(ranges, best, steps, strict=True)
        ]
    for name, value in zip(letters, best, strict=True):
        near = Fraction(float(value)).limit_denominator(MOST_DENOMINATOR)
        yield name, fmpq(near.numerator, near.denominator)


def by_maxima(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Split by which argument of a maximum is the largest."""
    for atom in atoms_of(form):
        if atom[0] == "max":
            return search.split(
                place, to_expr(atom[1]) - to_expr(atom[2]), form, strict, depth
            )
    return False


def by_one_value(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Substitute the value of a letter that can have only one value."""
    for name in sorted(k.letters_in(form)):
        if name.startswith(("#", "%")):
            continue
        value = _only_value(search, place, name)
        if value is not None:
            return at_value(search, place, to_expr(form), name, value, strict, depth)
    return False


def _only_value(search: Search, place: FactList, name: str) -> Expr | None:
    for known in list(place.scope.index):
        if len(known) != 2 or () not in known or k.letters_in(known) != {name}:
            continue
        gap = k.letter(name) + k.rational(known[()])
        if (
            place.form(gap) is known
            and search.prove_expr(place, gap)
            and search.prove_expr(place, -gap)
        ):
            return k.rational(-known[()])
    return None


def at_value(
    search: Search,
    place: FactList,
    expr: Expr,
    name: str,
    value: Expr,
    strict: bool,
    depth: int,
) -> bool:
    """Prove the sign of an expression by substituting the value that a letter is known to have."""
    put = k.put(expr, {name: value})
    if not search.search_expr(place, put, strict, depth - 1):
        return False
    hole = k.put(expr, {name: k.letter("HOLE")})
    place.fact("=", expr - put, "congruent", "HOLE", hole, k.letter(name), value)
    return place.fact(
        RELATION[strict], expr, "combine", [], [["1", [expr - put]], ["1", [put]]]
    )


def by_denominators(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Multiply by the denominators."""
    divisors = positive(search, place, denominators(form))
    top = cleared(place.scope, form, divisors)
    if (
        not divisors
        or top.key() is form.key()
        or not search.search_form(place, top, strict, depth - 1)
    ):
        return False
    return place.fact(
        RELATION[strict],
        to_expr(form),
        "combine",
        [to_expr(d) for d in divisors],
        [["1", [to_expr(top)]]],
    )


def by_exponents(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Divide by one of the powers whose exponents have letters."""
    powers = {
        f: None
        for m in form
        for f in m
        if f[1].constant() is None and place.scope.atom_sign(f[0]) == 3
    }
    for atom, exponent in powers:
        is_shared = sum(any(a is atom for a, _ in m) for m in form) > 1
        if not is_shared and not (
            atom[0] == "e" and all(c < 0 for c in exponent.values())
        ):
            continue
        divisor = power(atom, -exponent)
        top = place.scope.product(form, place.form(divisor))
        if len({f for m in top for f in m if f[1].constant() is None}) > len(
            powers
        ) or len(top) > len(form):
            continue
        if search.search_form(place, top, strict, depth - 1):
            return place.fact(
                RELATION[strict],
                to_expr(form),
                "combine",
                [divisor],
                [["1", [to_expr(top)]]],
            )
    return False


def by_factors(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Factor out a common factor, or factor a polynomial."""
    powers, cofactor = common_powers(place.scope, form)
    if powers and len(form) > 1:
        common = k.monomial(powers)
        for sign in (1, -1):
            if search.prove(place, common.times(sign), strict):
                rest = cofactor.times(sign)
                if search.search_form(place, rest, strict, depth - 1):
                    factors = [to_expr(common.times(sign)), to_expr(rest)]
                    return place.fact(
                        RELATION[strict], to_expr(form), "combine", [], [["1", factors]]
                    )
        return False
    coefficient, factorization = (
        factors_of(place.scope, form) if len(form) > 1 else (fmpq(1), [])
    )
    if sum(count for _, count in factorization) < 2:
        return False
    factors, total = [], 1 if coefficient > 0 else -1
    for factor, count in factorization:
        if count % 2 == 0 and not strict:
            root = to_expr(factor)
            if not place.square(root):
                return False
            factors += [k.row("*", root, root)] * (count // 2)
            continue
        sign = next(
            (s for s in (1, -1) if search.prove(place, factor.times(s), strict)), 0
        )
        sign = sign or next(
            (
                s
                for s in (1, -1)
                if search.search_form(place, factor.times(s), strict, depth - 1)
            ),
            0,
        )
        if not sign:
            return False
        total *= sign**count
        factors += [to_expr(factor.times(sign))] * count
    return total > 0 and place.fact(
        RELATION[strict],
        to_expr(form),
        "combine",
        [],
        [[str(abs(coefficient)), factors]],
    )


def by_facts(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Combine facts and instances of rules about the functions in the goal, without products."""
    return combined(
        search, place, form, strict, search.facts(place, form), multiples=False
    )


def by_rules(
    search: Search, place: FactList, form: Form, strict: bool, depth: int
) -> bool:
    """Combine facts, instances of rules about the functions in the goal, squares, and products of these."""
    return combined(
        search,
        place,
        form,
        strict,
        [*search.facts(place, form), *square_columns(place, form)],
    )


SIGN_METHODS: tuple[Way, ...] = (
    by_maxima,
    by_one_value,
    by_facts,
    by_box,
    by_denominators,
    by_factors,
    by_square,
    by_roots,
    by_exponentials,
    by_logarithms,
    by_rules,
    by_exponents,
    by_bounds,
    by_thresholds,
)
