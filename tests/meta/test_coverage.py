"""Every confidence limit has its stated coverage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpverify.harness import Bounded, SubGaussian
from dpverify.harness.statistics.effects import Tail
from tests.for_each import for_each

Floats = NDArray[np.float64]
SEEDS, ALPHA, CERTAIN = 3000, 0.05, 1e-4


Draw = Callable[[np.random.Generator, int], Floats]


@for_each("n", [5, 50])
@for_each(
    ("tail", "draw", "mean"),
    [
        (SubGaussian(2.0), lambda rng, n: rng.normal(1.0, 2.0, n), 1.0),
        (
            SubGaussian(1.0),
            lambda rng, n: np.linalg.norm(rng.standard_normal((n, 3)), axis=1),
            1.5957691,
        ),
        (
            SubGaussian(0.5),
            lambda rng, n: (rng.random(n) < 0.1).astype(np.float64),
            0.1,
        ),
        (
            Bounded(0.0, 1.0),
            lambda rng, n: (rng.random(n) < 0.02).astype(np.float64),
            0.02,
        ),
        (Bounded(-1.0, 3.0), lambda rng, n: 4.0 * rng.beta(0.3, 0.3, n) - 1.0, 1.0),
    ],
    ids=["normal", "norm of a normal vector", "coin", "rare coin", "arcsine-like"],
)
def test_one_sided_limits_cover_the_mean(
    tail: Tail, draw: Draw, mean: float, n: int
) -> None:
    rng = np.random.default_rng(n)
    too_high = too_low = 0
    for _ in range(SEEDS):
        sample = draw(rng, n)
        radius = tail.radius(n, float(sample.var(ddof=1)), ALPHA)
        too_high += sample.mean() - radius > mean
        too_low += sample.mean() + radius < mean
    most = stats.binom.isf(CERTAIN, SEEDS, ALPHA)
    assert too_high <= most
    assert too_low <= most


@for_each(
    "tail", [SubGaussian(0.5), Bounded(0.0, 1.0)], ids=["sub-Gaussian", "bounded"]
)
def test_the_deviation_used_in_planning_is_one(tail: Tail) -> None:
    rng = np.random.default_rng(0)
    strays = sum(
        rng.binomial(1, 0.5, 30).mean() > 0.5 + tail.deviation(30, ALPHA)
        for _ in range(SEEDS)
    )
    assert strays <= stats.binom.isf(CERTAIN, SEEDS, ALPHA)
    assert all(
        tail.worst_radius(30, ALPHA) >= tail.radius(30, v, ALPHA)
        for v in (0.0, 0.1, 0.2586)
    )


def test_limits_shrink_with_the_sample_and_use_the_variance() -> None:
    bounded = Bounded(0.0, 1.0)
    assert (
        bounded.radius(10**6, 1e-4, 1e-6)
        < SubGaussian(0.5).radius(10**6, 1e-4, 1e-6) / 10
    )
    assert bounded.radius(10**4, 0.25, 1e-6) < bounded.radius(10**3, 0.25, 1e-6)
