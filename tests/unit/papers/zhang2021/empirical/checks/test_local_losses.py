"""Counterexamples of Theorem 3.2 meet its assumptions, and their bounds hold for simulated runs on the same losses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpverify.harness.checks import BUDGETS, as_point
from dpverify.ledger import load_specs
from dpverify.papers.zhang2021.algorithms import StagedDescent, StageSchedule, stagewise
from dpverify.papers.zhang2021.empirical.checks.assumptions import (
    PROPERTIES,
    _at_least,
    _growing,
    _local,
    escape_excess,
    excess_after_escape,
    plateau_of,
)
from dpverify.papers.zhang2021.empirical.checks.bound import noise_of
from dpverify.symbolic.exact.numbers import ball
from tests.for_each import for_each

ESCAPING = as_point(
    {
        "T_0": 20, "t_0": 0, "eta_0": "1/40", "d": 1, "c_2": 6, "epsilon": 1, "delta": "1/1000000", "a": 1, "beta": 1,
        "mu": 1, "theta": 2, "L": 1, "sigma": 0, "gap": 0, "n": 100, "K": 4, "r": "1/40",
    }
)  # fmt: skip


def test_every_point_has_every_property() -> None:
    for point in map(
        as_point, [*_local(BUDGETS["standard"]), *_growing(BUDGETS["standard"])]
    ):
        unmet = [
            name
            for name, p in PROPERTIES.items()
            if p.is_satisfied is not None and not p.is_satisfied(point)
        ]
        assert unmet == []


@for_each(
    ("letter", "value", "unmet"),
    [
        ("L", "8/10", "lipschitz"),
        ("beta", "9/10", "smooth"),
        ("mu", "11/10", "polyak-lojasiewicz"),
        ("theta", 3, "weakly-quasi-convex"),
        ("gap", "9/100", "polyak-lojasiewicz"),
        ("r", 2, "bounded-loss"),
    ],
)
def test_a_point_without_a_property_is_noticed(
    letter: str, value: int | str, unmet: str
) -> None:
    point = as_point({**next(iter(_local(BUDGETS["smoke"]))), letter: value})
    test = PROPERTIES[unmet].is_satisfied
    assert test is not None
    assert not test(point)


def test_runs_on_plateaus_lose_at_least_the_bound_of_those_that_escape() -> None:
    losses = plateau_of(ESCAPING)
    variance = float(noise_of(ESCAPING).mid())
    schedule = StageSchedule(stagewise(4, 20, 0, 1 / 40), 1, 0.0, variance**0.5)

    def oracle(w: np.ndarray, batch: np.ndarray, out: np.ndarray) -> None:
        out[0] = float(losses.slope(Fraction(float(w[0])), 1))

    ends = []
    for seed in range(40):
        run = StagedDescent(oracle, 100, np.zeros(1), schedule, seed=seed)
        run.advance()
        ends.append(abs(float(run.output[0])))
    beyond = float(np.mean(np.array(ends) >= 2 / 40))
    bound = float(ball(escape_excess(ESCAPING)).mid())
    assert 0 < bound < beyond * float(losses.bound)


def test_what_leaving_costs_grows_with_the_noise() -> None:
    point = as_point(next(iter(_local(BUDGETS["smoke"]))))
    eta = ball(Fraction(1, 380))
    small = excess_after_escape(
        point, eta, ball(Fraction(2, 5)), ball(Fraction(1, 100))
    )
    large = excess_after_escape(point, eta, ball(Fraction(2, 5)), ball(Fraction(100)))
    assert small < large
    with pytest.raises(ValueError, match="must have t_0 = 0"):
        excess_after_escape(
            as_point({**point, "t_0": 1}), eta, ball(Fraction(0)), ball(Fraction(0))
        )


def test_the_bound_on_plateaus_is_below_the_quadratic_by_what_is_lost() -> None:
    statement = (
        load_specs().claim("zhang2021:theorem-3-2").statement({"region": "ball"})
    )
    noisy = as_point({**next(iter(_local(BUDGETS["smoke"]))), "n": 100})
    quiet = as_point({**noisy, "n": 10**6})
    lhs = _at_least("start", "batches", "noise")
    assert float(ball(lhs(noisy, statement)).mid()) < float(
        ball(lhs(quiet, statement)).mid()
    )
