"""Two-point laws: their divergence against the definition, and how sharp they are for the classic conversion."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb

from dpverify.privacy.conversions import (
    classic_epsilon,
    near_worst_laws,
    tight_epsilon,
    two_point_delta,
    two_point_divergence,
)
from tests.for_each import for_each


def test_divergence_of_order_two_is_the_chi_square() -> None:
    p, q = Fraction(1, 3), Fraction(1, 5)
    exact = p**2 / q + (1 - p) ** 2 / (1 - q)
    assert float(two_point_divergence(Fraction(2), p, q)) == pytest.approx(
        math.log(exact), rel=1e-14
    )


def test_delta_is_the_positive_part() -> None:
    assert float(two_point_delta(Fraction(1, 2), Fraction(1, 4), arb(0))) == 0.25
    assert float(two_point_delta(Fraction(1, 2), Fraction(1, 4), arb(1))) == 0


def test_laws_nearly_attain_the_classic_conversion_and_never_pass_a_valid_one() -> None:
    largest = 0.0
    for order, divergence, delta, p, q in near_worst_laws():
        assert two_point_divergence(order, p, q) <= arb(
            float(divergence) * (1 + 1e-9) + 1e-12
        )
        epsilon = classic_epsilon(float(order), float(divergence), float(delta))
        largest = max(
            largest, (float(p) - math.exp(min(epsilon, 700)) * float(q)) / float(delta)
        )
        tight = tight_epsilon(float(order), float(divergence), float(delta))
        assert float(p) - math.exp(min(tight, 700)) * float(q) <= float(delta) * (
            1 + 1e-6
        )
    assert 0.9 < largest <= 1


@for_each(("order", "p", "q"), [(1, "1/2", "1/3"), (2, "0", "1/3"), (2, "1/2", "1")])
def test_refuses_what_is_no_law(order: int, p: str, q: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        two_point_divergence(Fraction(order), Fraction(p), Fraction(q))
