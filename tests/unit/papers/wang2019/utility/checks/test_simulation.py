"""The problems of the simulated Theorem 4.4, in words and in the letters of the claim."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpverify.papers.wang2019.utility.checks.simulation import (
    CURVATURE,
    NOISE,
    PARTIES,
    SAMPLING,
    SLOPE,
)


def test_words_name_what_a_problem_has_and_nothing_else() -> None:
    assert (
        SLOPE.words == "slope (n = 64, T = 100, b = 64, d = 3): down to 0.25 of the way"
    )
    assert CURVATURE.words.endswith("rise 1")
    assert SAMPLING.words.endswith("down to 0.1 of the way, antipodal gradients 0.7")
    assert PARTIES.words.endswith("antipodal gradients 0.7, 4 parties")
    assert replace(NOISE, rise=0.0).words.endswith("a valley")
    assert (
        SLOPE.all_words == f"{SLOPE.words}, gamma = 0.5, zeta = 0.1, variance = 0.0001"
    )


def test_the_letters_of_the_claim_are_those_of_the_problem() -> None:
    for case in (SLOPE, NOISE, SAMPLING, CURVATURE, PARTIES):
        point, problem = case.point, case.problem
        assert point["G"] == 1 + Fraction(case.offset)
        # s D + s^2 / (2 L)
        assert point["gap"] == Fraction(problem.drop) + Fraction(1, 2)
        assert problem.drop == case.reach * case.steps * case.zeta
        assert point["variance_0"] == point["variance"] == Fraction(case.variance)
        assert [point[name] for name in ("b", "b_0", "T", "n", "L")] == [
            case.batch,
            case.batch,
            case.steps,
            64,
            1,
        ]
        assert problem.slope == problem.smoothness == case.top == 1.0
