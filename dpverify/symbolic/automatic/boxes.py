"""Polynomials on boxes and half-lines: products of distances from bounds, and squares around their smallest values."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from flint import fmpq

from dpverify.symbolic.automatic.program import written_down
from dpverify.symbolic.automatic.search import Search
from dpverify.symbolic.certify.checker import Expr, Form, k
from dpverify.symbolic.certify.columns import Known
from dpverify.symbolic.certify.numeric import value_of
from dpverify.symbolic.certify.place import FactList
from dpverify.symbolic.certify.polynomials import bounds
from dpverify.symbolic.certify.readback import written

MOST_LETTERS = 3
MOST_DEGREE = 10
MOST_PRODUCTS = 500
MOST_DENOMINATOR = 60  # of a point around which squares are taken
GRIDS = (0, 400, 40, 12)  # points of a grid in each direction, by the number of letters
ZOOMS = 4
WIDTH = 8  # of a half-line on which the smallest value is looked for


def by_box(search: Search, place: FactList, form: Form, strict: bool, depth: int) -> bool:
    """Combine products of distances from bounds, and their products with squares."""
    del search, depth
    degrees = [sum(x.constant() or fmpq(MOST_DEGREE) for _, x in m) for m in form]
    letters = sorted(k.letters_in(form))
    if not 0 < len(letters) <= MOST_LETTERS or max(degrees) >= MOST_DEGREE or min(degrees) < 0:
        return False
    limits = {name: dict(_sides(found)) for name, found in bounds(place).items() if name in letters}
    if any(a[0] != "letter" or not x.whole() for m in form for a, x in m):
        return False
    distances = [
        k.row("*", k.rational(side), k.letter(name) - k.rational(bound))
        for name, sides in sorted(limits.items())
        for side, bound in sides.items()
    ]
    degree = int(max(degrees))
    roots = [k.letter(name) - k.rational(value) for name, value in _smallest(form, letters, limits)]
    columns = [Known(k.ONE, True, ())]
    columns += _products(place, distances, degree + 1, ())
    for root in roots:
        columns += _products(place, distances, degree - 2, (root,))
    return len(columns) <= MOST_PRODUCTS and written_down(place, form, strict, columns)


def _sides(found: list[tuple[Any, int]]) -> Iterator[tuple[int, Any]]:
    for side in {side for _, side in found}:
        yield side, max((bound for bound, s in found if s == side), key=lambda bound: side * bound)


def _products(place: FactList, distances: list[Expr], most: int, roots: tuple[Expr, ...]) -> Iterator[Known]:
    squares = tuple(k.row("*", root, root) for root in roots)
    emit = [lambda: all(place.square(root) for root in roots)] if roots else []
    for size in range(0 if roots else 1, most + 1):
        for chosen in combinations_with_replacement(distances, size):
            factors = (*squares, *chosen)
            form = reduce(place.scope.product, map(place.form, factors))
            strict = not roots and all(place.scope.sign(place.form(d)) == 3 for d in chosen)
            yield Known(form, strict, factors, emit=list(emit))


def _smallest(form: Form, letters: list[str], limits: dict[str, dict[int, Any]]) -> Iterator[tuple[str, fmpq]]:
    """Yield the letters' values where a polynomial is smallest on a grid, as simple fractions."""
    expr = written(form)
    ranges = []
    for name in letters:
        sides = {side: int(bound.p) / int(bound.q) for side, bound in limits.get(name, {}).items()}
        low = sides.get(1, sides[-1] - WIDTH if -1 in sides else -WIDTH / 2)
        ranges.append((low, sides.get(-1, low + WIDTH)))
    best: tuple[float, ...] = ()
    for _ in range(ZOOMS):
        axes = [np.linspace(low, high, GRIDS[len(letters)] + 1) for low, high in ranges]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        values = [value_of(expr, dict(zip(letters, map(float, point), strict=True))) for point in points]
        best = tuple(points[int(np.argmin([np.inf if value is None else value for value in values]))])
        steps = [axis[1] - axis[0] for axis in axes]
        ranges = [
            (max(low, b - step), min(high, b + step)) for (low, high), b, step in zip(ranges, best, steps, strict=True)
        ]
    for name, value in zip(letters, best, strict=True):
        near = Fraction(float(value)).limit_denominator(MOST_DENOMINATOR)
        yield name, fmpq(near.numerator, near.denominator)
