"""A budget that Gaussian measurements and noisy choices share: both ends of epsilon, and what reaches the lower one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Vector
from dpverify.papers.wang2019.algorithms.baselines import AgdParameters, DpAgd
from dpverify.privacy.conversions import zcdp_epsilon
from dpverify.privacy.gaussian import epsilon_of
from dpverify.privacy.growing_budget import (
    GrowingBudget,
    _attained_epsilon,
    _measured_budgets,
    budget_epsilon,
    choice_parameters,
    classic_budget,
    largest_budget,
    shared_epsilon,
    tail,
)
from tests.for_each import for_each

N, DELTA = 10**6, 1e-5
USUAL = GrowingBudget(0.01, 1e-4, 1e-3, 0.1, 20, N, 100)


def test_the_budget_is_what_a_conversion_allows() -> None:
    assert zcdp_epsilon(classic_budget(0.2, DELTA), DELTA) == pytest.approx(0.2)
    largest = largest_budget(0.2, DELTA)
    assert 0.2 * (1 - 1e-6) < budget_epsilon(largest, DELTA) <= 0.2
    assert largest > 1.2 * classic_budget(0.2, DELTA)
    assert epsilon_of(math.sqrt(2 * largest), DELTA) < 0.2, (
        "Gaussian noise has the budget, and no more"
    )


def test_the_lower_end_is_below_the_upper_one_and_grows_with_the_budget() -> None:
    before = 0.0
    for rho in (0.002, 0.01, 0.05, 0.25, 2.0):
        found = shared_epsilon(replace(USUAL, rho=rho), DELTA)
        assert before < found.lower < found.upper < 8.0 * found.lower
        before = found.lower
    # nothing can be shown of a budget that pays for
    # no choice, of two examples, or of one length
    for nothing in ({"rho": 1e-3}, {"examples": 2}, {"candidates": 1}):
        assert shared_epsilon(replace(USUAL, **nothing), DELTA).lower == 0.0


def test_almost_only_measurements_are_a_gaussian_mechanism() -> None:
    budget = GrowingBudget(0.5, 0.5 / 7.00001, 1e-9, 0.1, 20, 10**12, 100)
    found = shared_epsilon(budget, DELTA)
    assert found.lower == pytest.approx(epsilon_of(math.sqrt(2 * 0.5), DELTA), rel=1e-3)


def test_a_choice_alone_is_a_two_point_law() -> None:
    """Epsilon by hand where delta = (1 - S) - exp(epsilon) S, no measurement showing anything."""
    budget = GrowingBudget(2.0, 1e-12, 1.999, 1e-3, 20, 10**6, 1)
    e = math.sqrt(2.0 * 1.999)
    less = math.exp(-0.5 * e) * (0.5 + e / 8.0)
    by_hand = math.log((1.0 - less - DELTA) / less)
    assert shared_epsilon(budget, DELTA).lower == pytest.approx(by_hand, rel=1e-4)


@for_each("choice", [0.5, 8.0, 50.0])
def test_the_lower_end_is_rounded_down(choice: float) -> None:
    """Beside a measurement that shows nothing, the law of one choice is known in closed form, to the last digits."""
    e = math.sqrt(2.0 * choice)
    less = math.exp(-0.5 * e) * (0.5 + e / 8.0)
    exact = math.log((1.0 - less - DELTA) / less)
    found = _attained_epsilon(replace(USUAL, choice=choice), DELTA, 1e-30, 1, 1)
    assert exact * (1.0 - 1e-8) < found < exact


def test_what_reaches_the_lower_end_is_done_by_dp_agd() -> None:
    """The optimizer on that data set: each way costs what is said, lengths win with the chances that are said."""
    chosen, offered, first = list[float](), list[float](), 3
    p = AgdParameters(200, 0.05, 1e-4, 1e-3)

    def direction(w: Vector, batch: Vector, out: Vector) -> None:
        out[:] = 1.0

    asked = 0

    def losses(w: Vector, along: Vector, lengths: Vector) -> Vector:
        nonlocal asked
        asked += 1
        found = np.full(len(lengths), 3.0)
        if asked <= first:
            found[0] = 0.0
        else:
            found[1], found[2] = 0.0, 3.0 / 1000
            offered.append(lengths[1])
        return found

    for seed in range(60):
        asked = 0
        run = DpAgd(direction, losses, 1000, np.zeros(1), p, seed=seed, keep=True)  # type: ignore[arg-type]
        run.advance()
        moved = np.abs(np.diff(run.iterates[:, 0]))
        moved = moved[moved > 0]
        budget = GrowingBudget(
            p.rho, p.rho_direction, p.rho_choice, p.growth, p.candidates, 1000, p.steps
        )
        measured, later, choices = list(_measured_budgets(budget))[first]
        assert (asked, len(moved)) == (choices, later)
        # a direction for which no choice is left may be measured
        unused = p.rho_direction * 1.1**first
        spent = measured + choices * p.rho_choice
        assert run.spent == pytest.approx(spent) or run.spent == pytest.approx(
            spent + unused
        )
        chosen += [*moved]
    multiples = np.array(chosen) / np.array(offered)
    assert np.allclose(multiples, np.round(multiples))
    assert set(np.round(multiples)) == {1.0, 2.0}
    done, wins = len(chosen), int((np.round(multiples) == 1.0).sum())
    e, less = choice_parameters(p.rho_choice)
    assert e == pytest.approx(math.sqrt(0.002))
    assert abs(wins / done - (1.0 - less)) < 5.0 * math.sqrt(0.25 / done)


def test_the_lower_end_counts_no_more_directions_than_steps_are_done() -> None:
    measured, later, choices = next(
        _measured_budgets(
            replace(USUAL, rho=100.0, direction=1e-3, choice=1e-3, steps=3)
        )
    )
    assert (later, choices) == (3, 3)
    assert measured == pytest.approx(3e-3)


def test_delta_pays_for_the_choices_that_go_another_way() -> None:
    some = 5 * 20 * tail(0.5 * (840 - 2) * math.sqrt(0.002))
    assert 0.1 * DELTA < some < 10.0 * DELTA
    paid = _attained_epsilon(replace(USUAL, examples=840), DELTA, 1e-3, 5, 5)
    assert paid == pytest.approx(
        _attained_epsilon(USUAL, DELTA + some, 1e-3, 5, 5), rel=1e-6
    )
    assert paid < 0.99 * _attained_epsilon(USUAL, DELTA, 1e-3, 5, 5)


@for_each("change", [{"rho": 0.0}, {"growth": -1.0}, {"candidates": 0}, {"steps": 0}])
def test_numbers_out_of_range_are_named(change: dict[str, float]) -> None:
    with pytest.raises(ArgumentError, match=f"^{next(iter(change))} "):
        replace(USUAL, **change)  # type: ignore[arg-type]
