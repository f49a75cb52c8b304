import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from flint import arb

from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.utility import utility_rates_bounds as rates
from dpverify.papers.tran2022.utility.utility_rates_bounds import Vector, dot, exponent, rays, vector
from dpverify.papers.tran2022.utility.utility_uphill_bounds import (
    MEAN,
    SMALL,
    Ordering,
    noise_variance_1,
    noise_variance_2,
    signs,
    uphill_bound,
)
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
    cone = (*rates.GROWING, rates.PRIVATE)
    sides = (rates.THEOREM_6, (rates.FIRST, rates.ROOT))
    decided = all(exponent(sides[0], ray) <= exponent(sides[1], ray) for ray in rays((*sides[0], *sides[1]), cone))
    directions = [vector(*(int(v) for v in row)) for row in rng.integers(-9, 9, (4000, 3))]
    inside = [u for u in directions if all(dot(normal, u) >= 0 for normal in cone)]
    assert len(inside) > 100
    assert decided == all(exponent(sides[0], u) <= exponent(sides[1], u) for u in inside)


def test_the_corrected_rate_needs_modest_epsilon() -> None:
    large = vector(1, 1, "3/2")
    assert dot(rates.MODEST, large) < 0
    assert exponent(rates.CORRECTED_9, large) > dot(rates.SECOND, large)


@pytest.mark.parametrize("ordering", ["fresh", "once"])
def test_the_signs_of_the_momentum(ordering: Ordering) -> None:
    rng, epochs = np.random.default_rng(11), 60000
    places = rng.integers(0, 3, epochs) if ordering == "fresh" else np.full(epochs, 1)
    gradients = np.full((epochs, 3), float(SMALL))
    gradients[np.arange(epochs), places] = 1.0
    momentum, uphill, least = 0.0, 0, 1.0
    for step, gradient in enumerate(gradients.ravel()):
        momentum += (gradient - momentum) / 3
        if step >= 18:
            uphill += 1 if momentum < 0 else -1
            least = min(least, abs(momentum))
    found = signs(ordering)
    assert uphill / epochs == pytest.approx(float(found.drift), abs=0.03)
    assert least >= float(found.margin) > 0


def test_a_mean_far_from_zero_is_followed() -> None:
    assert signs("once", Fraction(3)).drift < 0
    assert uphill_bound("once", 2**200, arb(0), Fraction(3)) == 0


def test_the_walk_keeps_its_gradient_as_the_noise_vanishes() -> None:
    for steps in (2**100, 2**140):
        left = uphill_bound("fresh", steps, noise_variance_1(steps))
        again = uphill_bound("once", steps, noise_variance_2(steps, Fraction(1), Fraction(1, 100)))
        assert float(MEAN) * 0.99 < float(left) < float(MEAN)
        assert float(MEAN) * 0.99 < float(again) < float(MEAN)
    assert uphill_bound("fresh", 100, noise_variance_1(100)) == 0


def test_the_noise_bound_of_algorithm_1_falls_like_one_over_t() -> None:
    small, large = float(noise_variance_1(2**40)), float(noise_variance_1(2**41))
    assert small / large == pytest.approx(2.0, rel=0.05)
    assert math.isfinite(small)
