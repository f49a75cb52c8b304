import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverify.papers.tran2022.noise.noise_bounds import NodeVariances, noise_variance
from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    GradientMoments,
    constant_spread,
    mean_square,
)
from dpverify.papers.tran2022.utility.theorem_bounds import (
    coupling_bound,
    implicit_steps,
    least_spread,
    printed_steps,
    travel_bound,
)
from dpverify.symbolic.exact.numbers import to_ball, to_value
from tests.for_each import for_each

ONE = Fraction(1)


def ramp_gradient(w: float, slope: float, smoothness: float, drop: float) -> float:
    return max(0.0, min(slope, slope + smoothness * (w + drop)))


@for_each(("G", "L", "R"), [(1, "1/4", 5), (2, 3, "1/2"), (1, 1, 100)])
def test_no_walk_leaves_the_ramp_and_its_gap_is_within_r(
    G: int, L: str, R: str
) -> None:
    distance = 3.0
    slope = float(travel_bound(Fraction(G), Fraction(L), Fraction(R), arb(distance)))
    assert 0 < slope <= G
    grid = np.linspace(-distance - slope / float(Fraction(L)) - 1, 0, 200001)
    gradient = np.array(
        [ramp_gradient(w, slope, float(Fraction(L)), distance) for w in grid]
    )
    assert np.trapezoid(gradient, grid) <= float(Fraction(R)) * (1 + 1e-6)
    assert (gradient[grid >= -distance] == slope).all()


def test_nothing_is_left_without_a_gap_or_curvature() -> None:
    assert travel_bound(ONE, Fraction(0), ONE, arb(1)) == 0
    assert coupling_bound(ONE, ONE, Fraction(0), 10, arb(1), arb(1)) == 0


def test_the_noisy_walk_keeps_the_gradient_that_the_bound_says() -> None:
    rng, steps, runs, spread = np.random.default_rng(5), 400, 400, 1.0
    eta, smoothness, gap = 1 / math.sqrt(steps), Fraction(1), Fraction(1, 100)
    bound = float(coupling_bound(ONE, smoothness, gap, steps, arb(eta), arb(spread)))
    assert bound > 0
    pull = eta * steps / (spread * math.sqrt(2 * math.pi))
    slope = min(math.sqrt(float(gap) / (6 * pull)), 1.0)
    drop = float(gap) / slope - slope / 2
    place, seen = np.zeros(runs), 0.0
    for _ in range(steps):
        gradient = np.clip(slope + place + drop, 0.0, slope)
        seen += float(gradient.mean()) / steps
        place -= eta * np.sign(gradient + spread * rng.standard_normal(runs))
    assert seen >= bound


@for_each(("N", "T"), [(2, 40), (8, 160), (9, 700)])
def test_least_spread_is_below_the_exact_law(N: int, T: int) -> None:
    gamma = Fraction(math.isqrt(10**12 * N // T) + 1, 10**6)
    later = Fraction(4 * T, N) * Fraction(math.log2(N))
    nodes = NodeVariances(
        48 * Fraction(math.log2(N)), 16 * later, Fraction(0), Fraction(0)
    )
    exact = [
        float(to_ball(to_value(noise_variance(t, N, Fraction(1, N), gamma, nodes))))
        for t in range(1, T + 1)
    ]
    harmonic = T / sum(1 / math.sqrt(v) for v in exact)
    assert float(least_spread(N, T, ONE, arb(1))) <= harmonic * (1 + 1e-9)


@for_each(("N", "d", "epsilon"), [(10, 1, "1"), (1000, 7, "1/10"), (50, 3, "4")])
def test_implicit_steps_are_the_largest(N: int, d: int, epsilon: str) -> None:
    steps = implicit_steps(N, d, Fraction(epsilon), Fraction(1, 1000))
    most = float(Fraction(epsilon)) * N**2 / math.sqrt(d * math.log(1000))
    assert steps * math.log2(steps) <= most < (steps + 1) * math.log2(steps + 1)


def test_too_small_a_budget_has_no_steps() -> None:
    with pytest.raises(ValueError, match="Theorem 6 has no number of steps"):
        implicit_steps(3, 100, Fraction(1, 10), Fraction(1, 1000))


def test_printed_steps_are_the_largest() -> None:
    for N, d in ((10, 1), (100, 9), (12345, 100)):
        steps = printed_steps(N, d, Fraction(1, 2))
        assert steps**3 * d**2 <= Fraction(N) ** 7 / 16 < (steps + 1) ** 3 * d**2


@for_each("N", range(1, 12))
def test_premise_the_weighted_distance_from_the_anchors(N: int) -> None:
    beta, sawtooth, worst = 1 - 1 / N, 0.0, 0.0
    for t in range(40 * N):
        sawtooth = beta * sawtooth + t % N / N
        worst = max(worst, sawtooth)
    assert worst <= N / (math.e - 1) + 1e-12
    assert 2 / (math.e - 1) <= 7 / 6


@for_each("N", [2, 3, 8, 21])
def test_premise_the_sampling_error_of_the_momentum(N: int) -> None:
    for t in (1, N, 2 * N + 1, 7 * N):
        exact = mean_square(
            "momentum", t, N, Fraction(1, N), Fraction(1, 2), constant_spread(ONE)
        )
        assert float(to_ball(to_value(exact))) <= 1 / (2 * N - 1) + 1e-12


@for_each(("N", "T"), [(2, 8), (3, 48), (8, 200)])
def test_premise_the_sampling_error_of_the_estimate(N: int, T: int) -> None:
    x = math.sqrt(N / T)
    gamma, change = Fraction(math.isqrt(10**12 * N // T), 10**6), Fraction(1, 3)
    spreads = (
        constant_spread(ONE),
        lambda _: GradientMoments(ONE, Fraction(0), change**2),
    )
    for spread, moved in zip(spreads, (0.0, float(change)), strict=True):
        squares = (
            mean_square("estimate", t, N, Fraction(1, N), gamma, spread)
            for t in range(1, T + 1)
        )
        mean = (
            sum(math.sqrt(float(to_ball(to_value(square)))) for square in squares) / T
        )
        assert mean <= 3.5 * math.sqrt(x / N) + 1.1 * moved / math.sqrt(N * x)


def test_premise_the_count_of_theorem_6() -> None:
    for N in range(1, 70):
        for T in range(1, 200):
            low = N.bit_length() - 1
            for depth in (T.bit_length() - 1, T.bit_length()):
                count = (min(depth, low) + 1) * Fraction(T, N) + sum(
                    T >> j for j in range(low + 1, depth + 1)
                )
                assert count <= (low + 3) * Fraction(T, N)
