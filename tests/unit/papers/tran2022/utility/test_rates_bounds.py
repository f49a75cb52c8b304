from fractions import Fraction

import numpy as np
import pytest
import sympy

from dpverify.ledger.formula import parse
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.run_time import growth_bounds as growth
from dpverify.papers.tran2022.run_time.growth_bounds import Vector
from dpverify.papers.tran2022.utility import rates_bounds as rates
from dpverify.papers.tran2022.utility.rates_bounds import dot, exponent, rays, vector
from dpverify.symbolic.expressions.to_sympy import to_sympy

SPECS = load_specs()


READINGS = {"theorem-6": {"ordering": "fresh", "depth": "levels"}, "theorem-9": {"ordering": "fresh"}}


def terms_of(claim: str) -> set[Vector]:
    """Exponents of N, d and epsilon in a printed bound, what O~ hides put to 1."""
    statement = SPECS.claim(f"tran2022:{claim}").statement(READINGS[claim])
    assert statement.rhs is not None
    names = {name: sympy.Symbol(name, positive=True) for name in statement.domains}
    hidden = {names[name]: 1 for name in ("G", "L", "R", "K", "T", "delta") if name in names}
    logs = to_sympy(statement.rhs, names).replace(
        lambda e: e.func.__name__ in {"log", "Log2"}, lambda _: sympy.Integer(1)
    )
    found = set()
    for term in sympy.Add.make_args(sympy.expand(logs.xreplace(hidden))):
        powers = term.as_powers_dict()
        found.add(tuple(Fraction(str(powers.get(names[name], 0))) for name in ("N", "d", "epsilon")))
    return found  # type: ignore[return-value]  # three names make triples


@pytest.mark.parametrize(("claim", "terms"), [("theorem-6", rates.THEOREM_6), ("theorem-9", rates.THEOREM_9)])
def test_the_exponents_are_those_of_the_printed_bounds(claim: str, terms: tuple[Vector, ...]) -> None:
    assert terms_of(claim) == set(terms)


def test_rays_of_a_quadrant_and_a_plane() -> None:
    cone = (vector(1, 0, 0), vector(0, 1, 0), vector(0, 0, 1))
    found = rays((vector(1, 0, 0), vector(0, 1, 0)), cone)
    half = Fraction(1, 2)
    assert {(1, 0, 0), (0, 1, 0), (0, 0, 1), (half, half, 0)} <= set(found)
    assert all(dot(normal, ray) >= 0 for ray in found for normal in cone)


def test_rays_decide_what_random_directions_show() -> None:
    rng = np.random.default_rng(3)
    cone = growth.cone(SPECS.claim("tran2022:theorem-6-rate").statement(variant="amended"))
    sides = (rates.THEOREM_6, (rates.FIRST, rates.ROOT))
    decided = all(exponent(sides[0], ray) <= exponent(sides[1], ray) for ray in rays((*sides[0], *sides[1]), cone))
    directions = [vector(*(int(v) for v in row)) for row in rng.integers(-9, 9, (4000, 3))]
    inside = [u for u in directions if all(dot(normal, u) >= 0 for normal in cone)]
    assert len(inside) > 100
    assert decided == all(exponent(sides[0], u) <= exponent(sides[1], u) for u in inside)


def test_the_corrected_rate_needs_modest_epsilon() -> None:
    large = vector(1, 1, "3/2")
    (modest,) = [n for n in growth.cone(SPECS.claim("tran2022:abstract-rate").statement(variant="amended")) if n[2] < 0]
    assert dot(modest, large) < 0
    assert exponent(rates.CORRECTED_9, large) > dot(rates.SECOND, large)


def test_the_cone_is_that_of_the_records_conditions() -> None:
    claim = SPECS.claim("tran2022:theorem-9-rate")
    growing = {vector(1, 0, 0), vector(0, 1, 0), vector("7/3", "-2/3", "4/3")}  # N, d and T of Theorem 9
    printed, amended = set(growth.cone(claim.statement())), set(growth.cone(claim.statement(variant="amended")))
    assert printed == growing
    assert amended == growing | {vector(1, "-1/2", 1)}
    six = set(growth.cone(SPECS.claim("tran2022:theorem-6-rate").statement()))
    assert {vector(1, 0, 0), vector(0, 1, 0), vector(2, "-1/2", 1)} == six


def test_the_rate_is_read_from_the_words() -> None:
    assert rates.rate_of(SPECS.claim("tran2022:theorem-9-rate").statement()) == {rates.SECOND, rates.ROOT}
    assert rates.rate_of(SPECS.claim("tran2022:theorem-6-rate").statement()) == {rates.FIRST, rates.ROOT}
    assert rates.rate_of(SPECS.claim("tran2022:abstract-rate").statement(variant="amended")) == {rates.SECOND}


@pytest.mark.parametrize("text", ["N - d", "(N + d)**2", "min(N, d)", "1/(N + d)", "N**d"])
def test_what_is_no_sum_of_powers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        growth.monomials(parse(text), {"N": rates.ROOT, "d": rates.FIRST})
