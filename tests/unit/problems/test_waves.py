"""Constants of quadratics with a wave against a dense search, and what the constants say at places of runs."""

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import generator
from dpverify.problems.nonconvex_losses import RegionConstants, Waves, certified_shares
from tests.for_each import for_each

U = np.linspace(1e-3, 80.0, 400_001)


def shares(wave: float) -> tuple[float, float]:
    """The two least ratios among many places, and at 0."""
    slope, size = 1 + wave * np.sin(2 * U) / (2 * U), 1 + wave * (np.sin(U) / U) ** 2
    return min(1 + wave, float((slope**2 / size).min())), min(
        2.0, float((2 * slope / size).min())
    )


@for_each("wave", [0.0, 0.5, 1.0, 2.0, 3.0, 4.0])
def test_both_minima_are_bounded_from_below_and_closely(wave: float) -> None:
    for bound, found in zip(certified_shares(wave), shares(wave), strict=True):
        assert 0.0 < bound <= found
        assert bound == pytest.approx(found, abs=0.03)


def holds(problem: Waves, constants: RegionConstants, seed: int = 0) -> bool:
    """Whether all five assumptions hold at random places in the region, with these constants."""
    rng, d = generator(seed), len(problem.curvatures)
    directions = rng.standard_normal((4000, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    places = constants.radius * rng.random((4000, 1)) * directions
    places[0], places[1] = 0.0, 1e-4
    for w, other in zip(places, np.roll(places, 1, axis=0), strict=True):
        g, loss = problem.gradient(w), problem.loss(w)
        if np.linalg.norm(g + problem.offsets, axis=1).max() > constants.lipschitz:
            return False
        if np.linalg.norm(
            g - problem.gradient(other)
        ) > constants.smoothness * np.linalg.norm(w - other) * (1 + 1e-9):
            return False
        if 2 * constants.mu * loss > g @ g * (
            1 + 1e-9
        ) or constants.theta * loss > g @ w * (1 + 1e-9):
            return False
    return float((problem.offsets**2).sum(axis=1).mean()) <= constants.variance


OFFSETS = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 0.25], [0.0, -0.25]])


@for_each(
    ("wave", "curvatures", "radius"),
    [(0.0, [3.0, 0.5], 2.0), (0.9, [1.0, 1.0], 4.0), (3.0, [1.0, 2.0], 5.0)],
)
def test_the_assumptions_hold_with_the_constants_and_not_with_better_ones(
    wave: float, curvatures: list[float], radius: float
) -> None:
    problem = Waves(np.array(curvatures), wave, OFFSETS)
    right = problem.constants(radius)
    assert holds(problem, right)
    for name, factor in (
        ("lipschitz", 0.7),
        ("smoothness", 0.9),
        ("mu", 1.2),
        ("theta", 1.2),
        ("variance", 0.99),
    ):
        assert not holds(
            problem,
            RegionConstants(**{**vars(right), name: factor * getattr(right, name)}),
        ), name


def test_a_quadratic_has_the_constants_of_its_spectrum() -> None:
    found = Waves(np.array([3.0, 0.5]), 0.0, OFFSETS).constants(2.0)
    assert (found.smoothness, found.mu, found.theta) == (3.0, 0.5, 2.0)
    assert found.lipschitz == 6.5
    assert found.variance == pytest.approx(0.15625, rel=1e-15)


def test_above_one_the_loss_is_not_convex_and_up_to_four_it_has_one_minimizer() -> None:
    problem = Waves(np.ones(1), 1.5, np.zeros((1, 1)))
    slopes = problem.gradient(U[U < 3.0])
    assert np.any(np.diff(slopes) < 0.0)
    assert np.all(slopes > 0.0)


def test_a_batch_has_the_mean_of_its_examples() -> None:
    problem, w, out = (
        Waves(np.ones(2), 1.0, OFFSETS),
        np.array([0.3, -2.0]),
        np.empty(2),
    )
    problem(w, np.array([0, 2]), out)
    assert np.allclose(
        out, problem.gradient(w) + np.array([0.25, 0.125]), rtol=0, atol=1e-15
    )


@for_each(
    ("curvatures", "wave", "offsets", "name"),
    [
        ([0.0, 1.0], 1.0, OFFSETS, "curvatures"),
        ([1.0, 1.0], -1.0, OFFSETS, "wave"),
        ([1.0, 1.0], 4.7, OFFSETS, "wave"),
        ([1.0, 1.0], 1.0, OFFSETS + 1.0, "offsets"),
    ],
)
def test_what_is_out_of_range_is_named(
    curvatures: list[float], wave: float, offsets: np.ndarray, name: str
) -> None:
    with pytest.raises(ArgumentError, match=f"^{name} "):
        Waves(np.array(curvatures), wave, offsets)
