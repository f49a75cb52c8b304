from __future__ import annotations

from fractions import Fraction

from dpverify.papers.tran2022.momentum.momentum_error_bounds import (
    anchor_distance,
    antipodes_error,
    attained_drift,
    ramp_error,
    slope_error,
)
from tests.for_each import for_each

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def _stepped(gradients: list[Fraction], alpha: Fraction) -> Fraction:
    """Error of the momentum of these gradients against the last one."""
    m = Fraction(0)
    for gradient in gradients:
        m = (1 - alpha) * m + alpha * gradient
    return abs(m - gradients[-1])


@for_each("t", [1, 2, 5])
def test_slope_and_ramp_are_what_steps_give(t: int) -> None:
    assert slope_error(t, THIRD, Fraction(2)) == _stepped([Fraction(2)] * t, THIRD)
    eta, smooth = Fraction(1, 9), Fraction(3)
    ramp = [smooth * eta * (t - 1 - step) for step in range(t)]
    assert ramp_error(t, THIRD, eta, smooth, Fraction(9)) == _stepped(ramp, THIRD)


def test_antipodes_add_up_under_one_permutation_only() -> None:
    assert antipodes_error(1, THIRD, Fraction(1), "fresh") == THIRD
    fresh, once = (
        antipodes_error(6, THIRD, Fraction(1), ordering)
        for ordering in ("fresh", "once")
    )
    assert fresh < once


@for_each(("epochs", "most"), [("one-based", 4), ("quotient", 4), ("shifted", 5)])
def test_the_farthest_iterate_of_an_epoch(epochs: str, most: int) -> None:
    assert max(anchor_distance(i, 5, epochs) for i in range(1, 40)) == most  # type: ignore[arg-type]  # parametrized
    drift = attained_drift(40, 5, Fraction(1), HALF, Fraction(2), epochs)  # type: ignore[arg-type]  # parametrized
    assert drift <= most


@for_each("n", [1, 2, 5])
def test_an_anchor_is_the_first_step_of_its_epoch(n: int) -> None:
    for i in range(1, 4 * n + 1):
        assert anchor_distance(i, n, "one-based") == i - max(
            k for k in range(1, i + 1, n)
        )
