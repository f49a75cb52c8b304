import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import (
    dp_nsgd_mu,
    largest_sum,
    pattern_sum,
    pattern_value,
    released_nodes,
    tree_sum_of_squares,
)
from dpverify.papers.tran2022.accounting.blocks import different_blocks
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.papers.tran2022.sensitivity.sensitivity_bounds import momentum_sensitivity
from dpverify.papers.tran2022.trees.tree_aggregation_bounds import compose_intervals
from dpverify.privacy.participation import pattern_count
from dpverify.shared_types import ORDERINGS, Ordering
from tests.for_each import for_each

ALPHAS = (Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000))


@for_each("ordering", ORDERINGS)
@for_each("alpha", ALPHAS)
def test_every_short_run_agrees_with_trying_all_patterns(
    alpha: Fraction, ordering: Ordering
) -> None:
    for T in range(1, 14):
        for N in range(1, 8):
            if pattern_count(T, N, ordering) > 300:
                continue
            want, _ = largest_sum(T, N, alpha, ordering)
            got = tree_sum_of_squares(T, N, float(alpha), ordering)
            assert got.exact
            assert got.lower <= float(want) <= got.upper <= got.lower * (1 + 1e-11), (
                T,
                N,
            )
            assert got.pattern is not None
            assert float(pattern_sum(T, alpha, got.pattern)) == pytest.approx(
                float(want), rel=1e-12
            )


def test_random_longer_runs_agree_with_trying_all_patterns() -> None:
    rng = np.random.default_rng(4)
    tried = 0
    while tried < 60:
        T, N = int(rng.integers(1, 70)), int(rng.integers(1, 40))
        alpha = Fraction(int(rng.integers(1, 101)), 100)
        for ordering in ORDERINGS:
            if pattern_count(T, N, ordering) > 700:
                continue
            want, _ = largest_sum(T, N, alpha, ordering)
            got = tree_sum_of_squares(T, N, float(alpha), ordering)
            assert got.lower <= float(want) <= got.upper <= got.lower * (1 + 1e-11), (
                T,
                N,
                alpha,
                ordering,
            )
            tried += 1


@for_each("T", [1, 2, 7, 12, 16])
def test_released_nodes_are_those_that_some_step_adds(T: int) -> None:
    assert set(released_nodes(T)) == {
        node for t in range(1, T + 1) for node in compose_intervals(1, t)
    }


@for_each(
    ("T", "N", "alpha"),
    [(5000, 70, 0.02), (4999, 313, 1e-4), (8192, 64, 0.3), (6000, 7000, 0.001)],
)
def test_merging_points_keeps_the_bounds_around_what_patterns_reach(
    T: int, N: int, alpha: float
) -> None:
    loose, tight = (
        tree_sum_of_squares(T, N, alpha, accuracy=accuracy)
        for accuracy in (1.02, 1.0003)
    )
    assert loose.ratio <= 1.02
    assert tight.ratio <= 1.0003
    assert max(loose.lower, tight.lower) <= min(loose.upper, tight.upper)
    rng = np.random.default_rng(1)
    for bounds in (loose, tight):
        assert bounds.pattern is not None
        assert pattern_value(T, alpha, bounds.pattern) == pytest.approx(
            bounds.lower, rel=1e-11
        )
    for _ in range(20):
        visits = [begin + int(rng.integers(N)) + 1 for begin in range(0, T, N)]
        assert pattern_value(T, alpha, [t for t in visits if t <= T]) <= tight.lower


def test_a_pattern_has_one_visit_an_epoch() -> None:
    bounds = tree_sum_of_squares(20_003, 130, 0.01)
    assert bounds.pattern is not None
    assert [(t - 1) // 130 for t in bounds.pattern] == list(range(154))


def test_the_value_of_a_pattern_is_the_exact_one() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        T = int(rng.integers(1, 60))
        pattern = sorted({int(t) for t in rng.integers(1, T + 1, size=5)})
        alpha = Fraction(int(rng.integers(1, 65)), 64)
        assert pattern_value(T, float(alpha), pattern) == pytest.approx(
            float(pattern_sum(T, alpha, pattern)), rel=1e-13
        )


@for_each("alpha", [1.0, 0.1, 1e-3, 1e-9])
def test_fresh_is_worth_at_least_as_much_as_once_and_more_steps_as_fewer(
    alpha: float,
) -> None:
    before = 0.0
    for T in (1, 10, 99, 100, 101, 250, 1000):
        fresh, once = (
            tree_sum_of_squares(T, 100, alpha, ordering)
            for ordering in ("fresh", "once")
        )
        assert once.lower <= fresh.upper
        assert before <= fresh.upper
        before = fresh.lower


def test_one_example_is_every_step() -> None:
    for alpha in (1.0, 0.25):
        every = pattern_value(300, alpha, range(1, 301))
        for ordering in ORDERINGS:
            assert tree_sum_of_squares(300, 1, alpha, ordering).lower == pytest.approx(
                every, rel=1e-11
            )


def test_without_memory_a_visit_counts_once_per_level_that_ends_with_it_or_not_at_all() -> (
    None
):
    # alpha = 1: the node [y, z] weighs a visit
    # at z only, and one node ends at each step.
    assert tree_sum_of_squares(10**9, 10**7, 1.0).upper == pytest.approx(
        100.0, rel=1e-11
    )


@for_each(
    ("T", "N", "alpha"),
    [(10**7, 10**5, 1e-5), (10**7 + 77, 10**5, 1e-7), (10**9, 10**7, 1e-7)],
)
def test_large_runs_take_few_blocks(T: int, N: int, alpha: float) -> None:
    bounds = tree_sum_of_squares(T, N, alpha)
    assert bounds.ratio <= 1.001
    assert different_blocks(T, N) < 20_000, (
        "the work does not grow with the number of steps"
    )


def test_extreme_sizes() -> None:
    assert tree_sum_of_squares(1, 1, 1.0).lower == pytest.approx(1.0)
    assert tree_sum_of_squares(10**9, 3, 1e-300).ratio <= 1.001
    assert tree_sum_of_squares(10, 10**12, 0.5, "once").lower == pytest.approx(
        1.0 + 0.25 + 0.5**6 + 0.5**14, rel=1e-11
    )
    assert tree_sum_of_squares(10**9, 10**12, 0.01, "once").ratio <= 1.001
    assert tree_sum_of_squares(5000, 5000, 0.01).exact
    with pytest.raises(ArgumentError, match="blocks"):
        tree_sum_of_squares(10**15, 10**7, 0.1)
    with pytest.raises(ArgumentError, match="alpha must lie"):
        tree_sum_of_squares(10, 3, 0.0)
    with pytest.raises(ArgumentError, match="accuracy must be above 1"):
        tree_sum_of_squares(10, 3, 0.1, accuracy=1.0)


def test_mu_is_at_least_that_of_the_worst_single_node() -> None:
    parameters = Parameters(steps=40, alpha=0.125, eta=0.1, sigma=2.0, lipschitz=3.0)
    bounds = dp_nsgd_mu(parameters, 5)
    deviation = parameters.node_deviation(5)
    worst = max(
        float(momentum_sensitivity(y, z, Fraction(1, 8), 5, Fraction(3), "fresh"))
        for y, z in released_nodes(40)
    )
    total = sum(
        float(momentum_sensitivity(y, z, Fraction(1, 8), 5, Fraction(3), "fresh")) ** 2
        for y, z in released_nodes(40)
    )
    assert (
        worst / deviation
        <= bounds.lower
        <= bounds.upper
        <= math.sqrt(total) / deviation
    )
    squares = tree_sum_of_squares(40, 5, 0.125)
    assert bounds.upper == pytest.approx(
        2 * 0.125 * 3.0 * math.sqrt(squares.upper) / deviation, rel=1e-11
    )


def test_no_noise_is_no_privacy() -> None:
    assert (
        dp_nsgd_mu(
            Parameters(steps=4, alpha=0.5, eta=0.1, sigma=0.0, lipschitz=1.0), 2
        ).lower
        == math.inf
    )


@for_each(
    "fault", ["all nodes", "decay to the next step", "visits in the first epoch only"]
)
def test_planted_mistakes_are_seen(fault: str) -> None:
    T, N, alpha = 12, 4, Fraction(1, 3)
    nodes = [(a * 2**b + 1, (a + 1) * 2**b) for b in range(4) for a in range(T >> b)]
    chosen = nodes if fault == "all nodes" else list(released_nodes(T))
    late = int(fault == "decay to the next step")

    def value(pattern: tuple[int, ...]) -> Fraction:
        if fault == "visits in the first epoch only":
            pattern = pattern[:1]
        return sum(
            (
                sum(
                    ((1 - alpha) ** (z - t + late) for t in pattern if y <= t <= z),
                    Fraction(0),
                )
                ** 2
                for y, z in chosen
            ),
            Fraction(0),
        )

    wrong = max(
        value((i, j, k)) for i in range(1, 5) for j in range(5, 9) for k in range(9, 13)
    )
    right = tree_sum_of_squares(T, N, float(alpha))
    assert not right.lower <= float(wrong) <= right.upper
