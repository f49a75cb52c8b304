from __future__ import annotations

import math
from fractions import Fraction

from dpverify.harness import BUDGETS
from dpverify.papers.tran2022.privacy.checks.sides import tail_points


def test_epsilons_are_shares_of_the_logarithm_rounded_down() -> None:
    points = tail_points(
        [Fraction(1, 100), Fraction(3, 4)], [Fraction(1, 2), Fraction(7, 3)]
    )
    found = [
        (float(point["delta"]), float(point["epsilon"]))
        for point in points(BUDGETS["smoke"])
    ]
    assert [delta for delta, _ in found] == [0.01, 0.01, 0.75, 0.75]
    for (delta, epsilon), share in zip(found, [1 / 2, 7 / 3] * 2, strict=True):
        assert 0 <= share * math.log(1 / delta) - epsilon < 1e-6
