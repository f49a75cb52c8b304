from fractions import Fraction

import numpy as np
import pytest

from dpverify.ledger.formula import parse
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.run_time import orders_bounds as orders
from dpverify.papers.tran2022.run_time.orders_bounds import Vector, dot, exponent, rays
from tests.for_each import for_each

SPECS = load_specs()


def vector(n: str | int, d: str | int, epsilon: str | int) -> Vector:
    return Fraction(n), Fraction(d), Fraction(epsilon)


def test_rays_of_a_quadrant_and_a_plane() -> None:
    cone = (vector(1, 0, 0), vector(0, 1, 0), vector(0, 0, 1))
    found = rays((vector(1, 0, 0), vector(0, 1, 0)), cone)
    half = Fraction(1, 2)
    assert {(1, 0, 0), (0, 1, 0), (0, 0, 1), (half, half, 0)} <= set(found)
    assert all(dot(normal, ray) >= 0 for ray in found for normal in cone)


def test_rays_decide_what_random_directions_show() -> None:
    rng = np.random.default_rng(3)
    cone = orders.cone(
        SPECS.claim("tran2022:theorem-6-rate").statement(variant="amended")
    )
    record = SPECS.claim("tran2022:theorem-6-rate").statement()
    sides = tuple(orders.left_terms(record)), tuple(orders.right_terms(record))
    decided = all(
        exponent(sides[0], ray) <= exponent(sides[1], ray)
        for ray in rays((*sides[0], *sides[1]), cone)
    )
    directions = [
        vector(*(int(v) for v in row)) for row in rng.integers(-9, 9, (4000, 3))
    ]
    inside = [u for u in directions if all(dot(normal, u) >= 0 for normal in cone)]
    assert len(inside) > 100
    assert decided == all(
        exponent(sides[0], u) <= exponent(sides[1], u) for u in inside
    )


def test_the_cone_is_that_of_the_records_conditions() -> None:
    claim = SPECS.claim("tran2022:theorem-9-rate")
    # N, d and T of Theorem 9
    growing = {vector(1, 0, 0), vector(0, 1, 0), vector("7/3", "-2/3", "4/3")}
    printed, amended = (
        set(orders.cone(claim.statement())),
        set(orders.cone(claim.statement(variant="amended"))),
    )
    assert printed == growing
    assert amended == growing | {vector(1, "-1/2", 1)}
    six = set(orders.cone(SPECS.claim("tran2022:theorem-6-rate").statement()))
    assert {vector(1, 0, 0), vector(0, 1, 0), vector(2, "-1/2", 1)} == six


def test_both_sides_are_read_from_the_record() -> None:
    first, root, last = (
        vector("-2/3", "1/3", "-2/3"),
        vector("-1/2", 0, 0),
        vector(-1, "1/2", -1),
    )
    nine = SPECS.claim("tran2022:theorem-9-rate").statement()
    assert orders.right_terms(nine) == {first, root}
    assert orders.left_terms(nine) == {first, root, last}
    six = SPECS.claim("tran2022:theorem-6-rate").statement()
    assert orders.right_terms(six) == {vector("-1/2", "1/4", "-1/2"), root}
    assert orders.left_terms(six) == orders.right_terms(six) | {
        vector("-3/2", "1/4", "-1/2"),
        last,
    }


@for_each("text", ["N - d", "(N + d)**2", "min(N, d)", "1/(N + d)", "N**d"])
def test_what_is_no_sum_of_powers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        orders.monomials(parse(text), {"N": vector(1, 0, 0), "d": vector(0, 1, 0)})
