"""The privacy records of wang2019: exact divergences, points inside the conditions, derivations."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from dpverify.harness import BUDGETS, ExhaustiveCheck
from dpverify.harness.checks import as_point
from dpverify.ledger import load_specs
from dpverify.papers import load
from dpverify.papers.wang2019.privacy.subsampling_bounds import (
    composed_moment,
    pair_divergence,
    pair_divergence_at,
)
from dpverify.privacy.subsampling import poisson_gaussian_rdp, without_replacement_rdp
from dpverify.symbolic.exact.evaluate import evaluate, requires_hold
from dpverify.symbolic.exact.numbers import to_value
from tests.for_each import for_each

CASES = [(2, "1/100", "1"), (7, "1/2", "5/6"), (30, "1/1000", "3")]

LOADED = load("wang2019")
assert LOADED is not None
CHECKS = LOADED
C_1 = load_specs().claim("wang2019:lemma-3-7-c-1").statement({}, "printed")


@for_each(("order", "tau", "sigma"), CASES)
def test_balls_agree_with_the_floats_of_the_privacy_layer(
    order: int, tau: str, sigma: str
) -> None:
    rate, variance = Fraction(tau), Fraction(sigma) ** 2
    pair = float(pair_divergence(order, rate, variance))
    assert pair == pytest.approx(
        poisson_gaussian_rdp(order, float(rate), float(variance) ** 0.5), rel=1e-12
    )
    curve = [j / (2 * float(variance)) for j in range(2, order + 1)]
    assert C_1.rhs is not None
    bound = float(
        to_value(
            evaluate(C_1.rhs, {"order": order, "tau": rate, "sigma": Fraction(sigma)})
        )
    )
    assert min(bound, curve[-1]) == pytest.approx(
        without_replacement_rdp(order, float(rate), curve), rel=1e-12
    )
    assert pair <= bound


@for_each(("order", "tau", "ratio"), CASES)
def test_the_integral_at_any_order_is_the_sum_at_whole_ones(
    order: int, tau: str, ratio: str
) -> None:
    rate, variance = Fraction(tau), Fraction(ratio)
    whole = pair_divergence(order, rate, variance)
    assert float(pair_divergence_at(Fraction(order), rate, variance)) == pytest.approx(
        float(whole), rel=1e-9
    )
    half = float(pair_divergence_at(order - Fraction(1, 2), rate, variance))
    density = norm(scale=float(variance) ** 0.5).pdf
    x = np.linspace(-40.0, 80.0, 400_001)
    base, moved = density(x), density(x - 1.0)
    likelihood = 1.0 + float(rate) * np.divide(
        moved - base, base, out=np.zeros_like(x), where=base > 1e-290
    )
    excess = base * (
        likelihood ** (order - 0.5) - 1.0 - (order - 0.5) * (likelihood - 1.0)
    )
    assert half == pytest.approx(
        np.log1p(np.trapezoid(excess, x)) / (order - 1.5), rel=1e-6
    )


def test_the_second_moment_of_three_gaussians_is_what_the_argument_at_real_orders_takes() -> (
    None
):
    """2 (e^t - e^(t/2)) for means at equal distances, tau small; never more, wherever the means are."""
    x, y = np.meshgrid(np.linspace(-9.0, 10.0, 381), np.linspace(-9.0, 10.0, 381))
    variance, area = 0.7, (19.0 / 380) ** 2
    most = 2.0 * (np.exp(1.0 / variance) - np.exp(0.5 / variance))

    def moment(means: Sequence[Sequence[float]], tau: float) -> float:
        a, b, other = (
            np.exp(-((x - u) ** 2 + (y - v) ** 2) / (2 * variance)) for u, v in means
        )
        return float(
            ((b - other) ** 2 / ((1 - tau) * a + tau * other)).sum()
            * area
            / (2 * np.pi * variance)
        )

    corners = [[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]]
    assert moment(corners, 1e-7) == pytest.approx(most, rel=1e-4)
    draws = np.random.default_rng(8).uniform(-0.5, 0.5, (60, 3, 2))
    close = [
        d
        for d in draws
        if max(np.linalg.norm(d[i] - d[i - 1]) for i in range(3)) <= 1.0
    ]
    assert len(close) > 20
    assert all(
        moment(d.tolist(), tau) <= most
        for d in [*map(np.array, [corners]), *close]
        for tau in (1e-4, 0.3, 0.9)
    )


def test_moments_of_two_steps_multiply_when_the_second_does_not_look() -> None:
    law = (Fraction(1, 3), Fraction(1, 2))
    joint, (first, *later) = composed_moment(4, law, [law, law])
    assert joint == first * later[0] == first * later[1]


def test_points_are_inside_the_conditions() -> None:
    """An exhaustive check takes its points as they are."""
    seen = 0
    for claim in load_specs().claims("wang2019"):
        for check in CHECKS.of(claim.record.id):
            if (
                isinstance(check, ExhaustiveCheck)
                and check.is_satisfied is None
                and check.variants != ("amended",)
            ):
                statement = claim.statement({}, "printed")
                for point in check.points(BUDGETS["smoke"]):
                    assert requires_hold(statement, as_point(point)) is True, (
                        claim.key,
                        point,
                    )
                    seen += 1
    assert seen > 200


@for_each("claim", ["theorem-4-1-condition", "theorem-5-1-condition"])
def test_points_are_inside_the_corrected_conditions(claim: str) -> None:
    statement = load_specs().claim(f"wang2019:{claim}").statement({}, "amended")
    (check,) = [one for one in CHECKS.of(claim) if one.variants == ("amended",)]
    assert isinstance(check, ExhaustiveCheck)
    for point in check.points(BUDGETS["smoke"]):
        assert requires_hold(statement, as_point(point)) is True, point


def test_small_units_break_the_printed_condition_of_lemma_3_7() -> None:
    tau, alpha, ratio = Fraction(1, 69), 9, Fraction(1)
    assert float(pair_divergence(alpha, tau, ratio)) > 3 * 3.5 * float(
        tau
    ) ** 2 * alpha / float(ratio)
