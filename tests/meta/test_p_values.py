"""p-values are valid: under the null hypothesis, at most a share u of them is at most u, for all u simultaneously.

The Dvoretzky-Kiefer-Wolfowitz inequality bounds the excess of the counts, so a correct test fails here with probability
at most CERTAIN for any law of the p-values.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpverify.harness.simulation.runs_check import log_capital
from dpverify.harness.statistics.effects import Bounded, SubGaussian
from dpverify.harness.statistics.exact_tests import (
    distribution_test,
    normal_test,
    opposite_signs_test,
    pair_scores,
    scale_test,
)
from tests.for_each import for_each

Floats = NDArray[np.float64]
RUNS, CERTAIN = 4000, 1e-6
BAND = math.sqrt(math.log(1.0 / CERTAIN) / (2.0 * RUNS))
GRID = np.linspace(-2.0, 2.0, 41)


def scale(rng: np.random.Generator, fault: float) -> float:
    return scale_test(
        "", ((1.0 + fault) * rng.standard_normal((3, 4)) ** 2).sum(axis=1), 4, 0.05
    ).p_value


def normal(rng: np.random.Generator, fault: float) -> float:
    return normal_test("", rng.standard_normal(3) + 2.0 * fault, 0.05).p_value


def pair(rng: np.random.Generator, fault: float) -> float:
    rows = rng.standard_normal((3, 5))
    rows[1] += fault * rows[0]
    return normal_test("", pair_scores(rows @ rows.T)[0], 0.05).p_value


def signs(rng: np.random.Generator, fault: float) -> float:
    return opposite_signs_test(
        "", rng.binomial(17, 0.5 + 0.2 * fault, 3), 17, 0.05
    ).p_value


def distribution(rng: np.random.Generator, fault: float) -> float:
    places = np.searchsorted(GRID, rng.standard_normal(50) + fault)
    counts = np.bincount(places, minlength=GRID.size + 1).astype(np.int64)
    return distribution_test("", counts, special.ndtr(GRID), 0.05).p_value


def betting(rng: np.random.Generator, fault: float) -> float:
    return min(
        1.0,
        math.exp(
            -log_capital(
                (rng.random(20) < 0.3 + 0.4 * fault).astype(float).tolist(), 0.3
            )
        ),
    )


TESTS = [scale, normal, pair, signs, distribution, betting]


def excess(p_values: Floats) -> float:
    """Return the largest excess over u of the share of p-values that are at most u."""
    ordered = np.sort(p_values)
    return float(
        (np.arange(1, len(ordered) + 1) / len(ordered) - ordered)[ordered < 1.0].max(
            initial=0.0
        )
    )


@for_each("test", TESTS, ids=lambda test: test.__name__)
def test_under_the_null_small_p_values_are_no_more_often_than_they_say(
    test: Callable[[np.random.Generator, float], float],
) -> None:
    null, fault = (
        np.array([test(np.random.default_rng([7, i]), size) for i in range(RUNS)])
        for size in (0.0, 1.0)
    )
    assert excess(null) <= BAND
    assert excess(fault) > BAND, "and at a fault they are: the comparison could fail"


LAWS: dict[
    str,
    tuple[
        SubGaussian | Bounded,
        Callable[[np.random.Generator, int], NDArray[np.floating]],
        float,
    ],
] = {
    "skewed": (Bounded(0.0, 1.0), lambda rng, n: rng.beta(0.1, 3.0, n), 0.1 / 3.1),
    "discrete": (
        Bounded(0.0, 4.0),
        lambda rng, n: rng.binomial(4, 0.03, n).astype(float),
        0.12,
    ),
    "rare and large": (
        Bounded(0.0, 100.0),
        lambda rng, n: np.where(rng.random(n) < 0.01, 100.0, 0.0),
        1.0,
    ),
    "heavy, cut off": (
        Bounded(0.0, 50.0),
        lambda rng, n: rng.pareto(1.5, n).clip(0.0, 50.0),
        2.0 - 2.0 * 51.0**-0.5,
    ),
    "two points": (
        SubGaussian(1.0),
        lambda rng, n: np.where(rng.random(n) < 0.5, -1.0, 1.0),
        0.0,
    ),
}


@for_each("n", [5, 60])
@for_each("law", LAWS)
def test_limits_of_a_mean_cover_it_where_the_assumption_holds(law: str, n: int) -> None:
    tail, draw, mean = LAWS[law]
    samples = np.array([draw(np.random.default_rng([11, i]), n) for i in range(RUNS)])
    means, variances = samples.mean(axis=1), samples.var(axis=1, ddof=1)
    radii = np.array([tail.radius(n, float(variance), 0.05) for variance in variances])
    for misses in (means - radii > mean, means + radii < mean):
        assert float(misses.mean()) <= 0.05 + BAND


def test_outside_its_assumption_a_limit_misses_far_more_often() -> None:
    """The limit is not valid for a heavy tail declared as sub-Gaussian, so a plan must state its assumption."""
    rng, mean = np.random.default_rng(13), 2.0
    samples = rng.pareto(1.5, (RUNS, 60))
    misses = samples.mean(axis=1) + SubGaussian(1.0).radius(60, 0.0, 0.05) < mean
    assert float(misses.mean()) > 0.3
