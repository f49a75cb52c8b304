"""The mechanisms that the privacy records of zhang2021 are tried on, against the definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb

from dpverify.papers.zhang2021.privacy.subsampling_bounds import (
    half_way_delta,
    opposite_divergence,
    pure_amplification,
)
from dpverify.privacy.gaussian import delta_of
from tests.for_each import for_each
from tests.unit.privacy.oracle import mixture, renyi_by_integration

ENDS = [-40, -10, -3, 0, 3, 10, 40]


@for_each(("q", "shift"), [(0.5, 1.0), (0.125, 0.5), (1, 1.5)])
def test_opposite_gradients_are_the_definition(q: float, shift: float) -> None:
    up, down = mixture([1 - q, q], [0, shift], 1), mixture([1 - q, q], [0, -shift], 1)
    exact = float(renyi_by_integration(2, up, down, ENDS))
    ours = opposite_divergence(Fraction(q), arb(shift))
    assert float(ours.lower()) <= exact * (1 + 1e-12)
    assert float(ours.lower()) == pytest.approx(exact, rel=1e-9)


def test_half_way_delta_is_the_trade_off() -> None:
    for mu in (0.5, 2.0, 6.0):
        assert float(half_way_delta(arb(mu))) == pytest.approx(
            delta_of(mu, mu * mu / 2), rel=1e-12
        )


def test_half_way_delta_grows() -> None:
    values = [float(half_way_delta(arb(mu))) for mu in (1, 2, 3, 10)]
    assert values == sorted(values)


def test_randomized_response_attains_the_amplified_epsilon() -> None:
    loss = float(pure_amplification(Fraction(1, 10), Fraction(2)))
    assert loss == pytest.approx(math.log1p(0.1 * math.expm1(2)), rel=1e-14)
