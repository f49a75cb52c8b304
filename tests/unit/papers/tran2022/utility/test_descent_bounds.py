"""Lemma 5: its worst directions against vectors, its runs against losses that are stepped through."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.papers.tran2022.utility.theorem_bounds import (
    attained_gradient,
    attained_loss,
    worst_alignment,
)
from dpverify.symbolic.exact.evaluate import to_number
from dpverify.symbolic.exact.numbers import DomainError
from tests.for_each import for_each


@for_each(("g", "e"), [(1, "1/3"), (2, "15/8"), (1, "11/10"), (3, 0)])
def test_the_worst_direction_is_that_of_a_circle_of_errors(g: int, e: str) -> None:
    error = float(Fraction(e))
    around = np.linspace(0.0, 2.0 * math.pi, 100_001)
    momentum = g + error * np.exp(1j * around)
    largest = (-g * momentum.real / np.abs(momentum)).max()
    assert float(
        to_number(worst_alignment(Fraction(g), Fraction(e))).float
    ) == pytest.approx(largest, abs=1e-6)


def test_lengths_below_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="error_norm=-1"):
        worst_alignment(Fraction(1), Fraction(-1))


def _bowl(
    start: Fraction, eta: Fraction, steps: int, smooth: Fraction
) -> tuple[Fraction, Fraction]:
    """Drop and mean gradient of steps towards 0 on L w^2/2."""
    places = [start - eta * t for t in range(steps + 1)]
    drop = smooth * (places[0] ** 2 - places[-1] ** 2) / 2
    return drop, sum((abs(smooth * w) for w in places[:-1]), Fraction(0)) / steps


def test_a_run_down_a_bowl_has_the_mean_gradient_that_is_said() -> None:
    eta, steps, smooth = Fraction(1, 7), 5, Fraction(3)
    drop, mean = _bowl(Fraction(4, 7), eta, steps, smooth)
    assert mean == attained_gradient(drop, eta, Fraction(steps), smooth, Fraction(0))


def test_runs_that_do_not_exist_have_no_mean_gradient() -> None:
    with pytest.raises(DomainError, match="no run"):
        attained_gradient(
            Fraction(-1), Fraction(1), Fraction(1), Fraction(0), Fraction(1)
        )


def test_a_step_on_a_quadratic_reaches_the_bound_of_smoothness() -> None:
    w, eta, smooth = Fraction(2, 3), Fraction(1, 5), Fraction(7)
    after = smooth * (w - eta) ** 2 / 2
    assert after == attained_loss(smooth * w**2 / 2, smooth * w, eta, smooth)
