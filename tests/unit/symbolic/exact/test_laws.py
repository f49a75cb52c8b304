from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, fmpq
from scipy.integrate import quad
from scipy.stats import norm

from dpverify.ledger.formula import parse
from dpverify.privacy.gaussian_safe import delta_ball
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import DomainError, to_ball
from dpverify.symbolic.exact.privacy_curves import (
    gaussian_delta,
    normal_cdf,
    sampled_gaussian_delta,
)
from tests.for_each import for_each


def density(x: float) -> float:
    """The normal density; scipy's takes fifty times as long at one number."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def integrated(epsilon: float, q: float, mu: float) -> float:
    """The larger hockey-stick divergence of the two orders, by quadrature."""

    def mixture(x: float) -> float:
        return (1 - q) * density(x) + q * density(x - mu)

    pairs = ((mixture, density), (density, mixture))
    grid = np.linspace(-12, 12 + mu, 241)
    return max(
        sum(quad(lambda x, p=p, r=r: max(p(x) - math.exp(epsilon) * r(x), 0.0), a, b)[0]
            for a, b in pairwise(grid))
        for p, r in pairs
    )  # fmt: skip


@for_each(
    ("epsilon", "q", "mu"),
    [
        (0, "1", "1"),
        (1, "1", "1/2"),
        (1, "1/10", "1"),
        (0, "1/4", "2"),
        (2, "1/2", "3"),
    ],
)
def test_the_curve_is_the_integral_of_its_definition(
    epsilon: int, q: str, mu: str
) -> None:
    found = float(
        sampled_gaussian_delta(
            fmpq(epsilon), fmpq(*Fraction(q).as_integer_ratio()), to_fmpq(mu)
        )
    )
    assert found == pytest.approx(
        integrated(epsilon, float(Fraction(q)), float(Fraction(mu))), abs=1e-7
    )


def to_fmpq(text: str) -> fmpq:
    return fmpq(*Fraction(text).as_integer_ratio())


def test_without_sampling_it_is_the_gaussian_mechanisms() -> None:
    assert to_ball(gaussian_delta(fmpq(1), fmpq(1, 3))).overlaps(
        delta_ball(Fraction(1, 3), 1)
    )
    assert float(normal_cdf(fmpq(1))) == pytest.approx(norm.cdf(1), rel=1e-14)


@for_each(("epsilon", "q", "mu"), [(-1, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0)])
def test_a_value_outside_of_its_range_is_refused(epsilon: int, q: int, mu: int) -> None:
    with pytest.raises(DomainError, match="a privacy curve or conversion needs"):
        sampled_gaussian_delta(fmpq(epsilon), fmpq(q), fmpq(mu))


def test_a_formula_has_it() -> None:
    formula = parse("gaussian_delta(epsilon, 1/sigma) - normal_cdf(0)")
    value = evaluate(formula, {"epsilon": Fraction(0), "sigma": Fraction(10**9)})
    assert float(value) == pytest.approx(-0.5, abs=1e-8)


@for_each(
    ("text", "value"),
    [
        ("pi()", math.pi),
        ("erf(1/2)", math.erf(0.5)),
        ("erf(0)", 0.0),
        ("tanh(-2)", math.tanh(-2.0)),
        ("gamma(7/3)", math.gamma(7 / 3)),
        ("gamma(1/2)**2", math.pi),
        ("gamma(6)", 120.0),
    ],
)  # fmt: skip
def test_functions_of_analysis(text: str, value: float) -> None:
    found = evaluate(parse(text), {}, precision=128)
    assert float(found) == pytest.approx(value, rel=1e-15)
    if isinstance(found, arb):
        assert found.rel_accuracy_bits() > 100


def test_the_gamma_function_is_exact_at_integers_and_refused_below_0() -> None:
    assert evaluate(parse("gamma(n + 1)"), {"n": 30}) == math.factorial(30)
    for text in ("gamma(0)", "gamma(-1/2)"):
        with pytest.raises(DomainError, match="not positive"):
            evaluate(parse(text), {})
