"""The parts of the momentum's error, each as enumeration or unrolling has it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt

import pytest

from dpverify.papers.tran2022.momentum.momentum_error_bounds import (
    ErrorRun,
    error_parts,
    lag_error,
)
from tests.for_each import for_each

F = Fraction


SMALL = ErrorRun(
    2, 8, F(1, 2), F(1, 4), F(1, 8), F(1), F(12), lipschitz=F(3), smoothness=F(2)
)


def test_the_lag_is_that_of_a_momentum_that_starts_right() -> None:
    alpha, eta, smoothness, momentum = F(1, 5), F(1, 7), F(3), F(0)
    for t in range(1, 20):
        gradient = -(t - 1) * eta * smoothness
        momentum = (1 - alpha) * momentum + alpha * gradient
        assert lag_error(t, alpha, eta, smoothness) == momentum - gradient


@for_each("t", range(1, 9))
def test_sampling_is_the_root_mean_square_over_all_orders(t: int) -> None:
    squares = []
    for first in product((3, -3), repeat=4):
        gradients = [sign for one in first for sign in (one, -one)]
        squares.append(
            sum(
                (F(1, 2) ** (t - i) * g / 2 for i, g in enumerate(gradients[:t], 1)),
                F(0),
            )
            ** 2
        )
    exact = sqrt(sum(squares, F(0)) / len(squares))
    assert float(error_parts(t, SMALL)["sampling"].attained) == pytest.approx(
        exact, rel=1e-12
    )


def test_the_first_step_has_a_start_up_and_noise_and_nothing_else_but_its_example() -> (
    None
):
    parts = {name: float(part.attained) for name, part in error_parts(1, SMALL).items()}
    assert parts["start-up"] == parts["sampling"] == 1.5
    assert parts["drift"] == parts["lag"] == 0
    assert parts["noise"] == pytest.approx(
        4 * 0.5 * 3 * sqrt(12) * sqrt(2 / 3.141592653589793)
    )
