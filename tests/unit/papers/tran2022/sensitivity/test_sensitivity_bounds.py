import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from dpverify.papers.tran2022.sensitivity.checks.witnesses import patterns
from dpverify.papers.tran2022.sensitivity.sensitivity_bounds import (
    difference_sensitivity,
    drift_sensitivity,
    drift_visits,
    epoch_of,
    gradient_sensitivity,
    momentum_sensitivity,
)
from dpverify.shared_types import ORDERINGS, Ordering
from dpverify.symbolic.exact.numbers import Exact
from tests.for_each import for_each

ONE = Fraction(1)


def exactly(value: Exact) -> Fraction:
    assert isinstance(value, Fraction)
    return value


@for_each("ordering", ORDERINGS)
@for_each("N", [1, 2, 3, 4, 5])
def test_drift_is_the_maximum_over_all_patterns(N: int, ordering: Ordering) -> None:
    for start in range(1, 13):
        for end in range(start, 15):
            for alpha in (ONE, Fraction(1, 2), Fraction(1, 9)):

                def moved(
                    steps: list[int], alpha: Fraction = alpha, end: int = end
                ) -> Fraction:
                    return sum(
                        ((1 - alpha) ** (end - t) * ((t - 1) % N) for t in steps),
                        Fraction(0),
                    )

                largest = max(
                    moved(steps) for steps in patterns(start, end, N, ordering)
                )
                assert (
                    drift_sensitivity(start, end, alpha, N, ONE, ONE, ordering)
                    == 2 * largest
                )
                assert moved(drift_visits(start, end, alpha, N, ordering)) == largest


def by_linear_programme(
    steps: list[int],
    end: int,
    alpha: Fraction,
    N: int,
    jump: Fraction,
    lipschitz: Fraction,
) -> float:
    """Most that the difference of two gradients at the anchors can make of the visits: bounded, and slow to change."""
    first, last = epoch_of(steps[0], N) - 1, epoch_of(steps[-1], N)
    gain = np.zeros(last - first + 1)
    for t in steps:
        gain[epoch_of(t, N) - first] += float((1 - alpha) ** (end - t))
        gain[epoch_of(t, N) - first - 1] -= float((1 - alpha) ** (end - t))
    changes = np.diff(np.eye(len(gain)), axis=0)
    most = 2 * float(lipschitz)
    solved = linprog(
        -gain,
        A_ub=np.vstack([changes, -changes]),
        b_ub=np.full(2 * len(changes), float(jump)),
        bounds=[(-most, most)] * len(gain),
    )
    assert solved.fun is not None
    return -float(solved.fun)


def test_delta_nodes_with_bounded_gradients_are_the_linear_programme_over_all_patterns() -> (
    None
):
    draw = random.Random(20221010)
    bounded = 0
    for _ in range(25):
        N = draw.randint(1, 3)
        start = draw.randint(N + 1, 3 * N + 3)
        end = start + draw.randint(0, 4 * N)
        alpha, eta = Fraction(1, draw.randint(2, 9)), Fraction(1, draw.randint(1, 5))
        smoothness, lipschitz = (
            Fraction(draw.randint(1, 5)),
            Fraction(draw.randint(1, 30), draw.randint(1, 6)),
        )
        ordering = draw.choice(ORDERINGS)
        jump = 2 * smoothness * eta * N
        largest = max(
            by_linear_programme(steps, end, alpha, N, jump, lipschitz)
            for steps in patterns(start, end, N, ordering)
            if steps
        )
        node = (start, end, alpha, N, eta, smoothness, ordering)
        exact = difference_sensitivity(*node, lipschitz=lipschitz)
        bounded += exact != difference_sensitivity(*node)
        assert float(exact) == pytest.approx(largest, rel=1e-7)
    assert bounded > 5  # that gradients are bounded was seen


@for_each("ordering", ORDERINGS)
def test_scales(ordering: Ordering) -> None:
    node = (9, 16, Fraction(1, 5), 5)
    g = exactly(gradient_sensitivity(*node, Fraction(3), ordering))
    assert momentum_sensitivity(*node, Fraction(3), ordering) == Fraction(1, 5) * g
    assert (
        difference_sensitivity(*node, Fraction(1, 7), Fraction(2), ordering)
        == Fraction(10, 21) * g
    )
    assert difference_sensitivity(*node, Fraction(1, 7), Fraction(0), ordering) == 0
    assert drift_sensitivity(*node, Fraction(1, 7), Fraction(0), ordering) == 0


def test_shortest_released_nodes_at_which_the_printed_bounds_fail() -> None:
    # 4.124 alpha G
    assert momentum_sensitivity(9, 16, Fraction(1, 5), 5, ONE, "fresh") == Fraction(
        64442, 78125
    )
    assert exactly(
        momentum_sensitivity(9, 16, Fraction(1, 5), 5, ONE, "once")
    ) < Fraction(4, 5)
    # 4 eta L printed
    assert difference_sensitivity(5, 8, Fraction(1, 2), 2, ONE, ONE, "once") == 5
    for ordering in ORDERINGS:
        # 8 eta L printed
        assert (
            8.68
            < float(drift_sensitivity(1, 16, Fraction(1, 4), 4, ONE, ONE, ordering))
            < 8.7
        )


def test_a_climb_within_the_range_of_gradients_needs_no_bound() -> None:

    def bounded(lipschitz: Fraction | None) -> Fraction:
        return exactly(
            difference_sensitivity(
                7,
                18,
                Fraction(1, 3),
                3,
                Fraction(1, 4),
                ONE,
                "fresh",
                lipschitz=lipschitz,
            )
        )

    # four jumps of 2 L eta N = 3/2 each, inside 4 G = 6
    assert bounded(Fraction(3, 2)) == bounded(None)
    assert bounded(Fraction(149, 100)) < bounded(None)


@for_each(
    ("call", "message"),
    [
        (
            lambda: difference_sensitivity(3, 4, ONE, 3, ONE, ONE, "once"),
            "start must be above N",
        ),
        (lambda: drift_sensitivity(3, 2, ONE, 3, ONE, ONE, "once"), "start <= end"),
        (
            lambda: drift_sensitivity(1, 2, Fraction(2), 3, ONE, ONE, "once"),
            "alpha must lie in",
        ),
    ],
)
def test_what_is_no_node_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=message):
        call()
