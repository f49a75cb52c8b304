"""Schedules at which Equation 5 is held against the exact recursion, and the runs that are drawn beside it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpverify.harness.checks import BUDGETS, as_point
from dpverify.ledger import load_specs
from dpverify.papers.zhang2021.empirical.checks.bound import (
    SHOWN,
    _eta_of_point,
    _grid,
    eta_of,
    excess_of,
    short_steps,
    simulated,
)
from dpverify.symbolic.exact.numbers import ball, nearest_float


def test_there_is_momentum_where_some_steps_have_it_and_only_there() -> None:
    for points in (_grid(BUDGETS["smoke"]), short_steps(BUDGETS["smoke"])):
        found = [as_point(point) for point in points]
        assert {point["rho"] for point in found} == {0, Fraction(1, 2), Fraction(9, 10)}
        assert all((point["rho"] == 0) == (point["t_0"] == 0) for point in found)
    assert {point["K"] for point in _grid(BUDGETS["smoke"])} == {2}
    assert {point["K"] for point in _grid(BUDGETS["standard"])} == {1, 2, 6}


def test_short_steps_are_as_many_as_a_stage_needs_to_leave_half() -> None:
    for point in map(as_point, short_steps(BUDGETS["smoke"])):
        least = 8 * (1 + point["rho"]) / (point["theta"] * point["eta_0"])
        assert least < point["T_0"] <= 30 * least + 1
        assert (
            point["eta_0"] * point["beta"] <= point["theta"] * (1 - point["rho"]) ** 2
        )


def test_the_first_step_size_counts_steps_with_momentum_by_what_they_move() -> None:
    point = as_point(
        {**SHOWN, "T_0": 40, "t_0": 20, "rho": "1/2", "c_4": "1/5", "theta": 2}
    )
    assert nearest_float(eta_of(point)) == pytest.approx(1 / (0.2 * 2 * 1 * (20 + 20)))


def test_runs_have_the_exact_excess_in_their_interval() -> None:
    statement = load_specs().claim("zhang2021:note-theorem-3-2").statement({})
    for changed in ({}, {"B": 1, "sigma": 3}):
        point = as_point({**SHOWN, "K": 2, **changed})
        exact = nearest_float(
            ball(
                excess_of("start", "batches", "noise", eta=_eta_of_point)(
                    point, statement
                )
            )
        )
        low, high = simulated(point, runs=40)
        assert low < exact < high
        assert high - low < 1.5 * exact
