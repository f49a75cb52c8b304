from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpverify.harness import BUDGETS, Outcome
from dpverify.ledger.load import load_specs
from dpverify.papers.tran2022.privacy.checks.sides import tail_points, within_delta
from dpverify.privacy.gaussian import delta_of

STATEMENT = load_specs().claim("tran2022:theorem-4-dp").statement(None, "amended")


def test_epsilons_are_shares_of_the_logarithm_rounded_down() -> None:
    points = tail_points([Fraction(1, 100), Fraction(3, 4)], [Fraction(1, 2), Fraction(7, 3)])
    found = [(float(point["delta"]), float(point["epsilon"])) for point in points(BUDGETS["smoke"])]
    assert [delta for delta, _ in found] == [0.01, 0.01, 0.75, 0.75]
    for (delta, epsilon), share in zip(found, [1 / 2, 7 / 3] * 2, strict=True):
        assert 0 <= share * math.log(1 / delta) - epsilon < 1e-6


@pytest.mark.parametrize(("squared", "divisor"), [(Fraction(1), 2), (Fraction(7, 4), 4)])
@pytest.mark.parametrize("stretched", [Fraction(1), Fraction(5)])
def test_the_rule_is_the_exact_delta_of_a_gaussian(squared: Fraction, divisor: int, stretched: Fraction) -> None:
    delta, epsilon = Fraction(1, 1000), Fraction(9)
    said = within_delta(squared, divisor, stretched)({"delta": delta, "epsilon": epsilon}, STATEMENT)
    assert isinstance(said, Outcome)
    wide = float(epsilon * stretched)
    want = delta_of(math.sqrt(squared) * wide / (divisor * math.sqrt(math.log(1000))), wide)
    assert float(said.lhs) == pytest.approx(want, rel=1e-9)  # type: ignore[arg-type]  # a ball, which float takes
    assert said.ok is (want <= 1e-3)
    assert said.rhs is not None
