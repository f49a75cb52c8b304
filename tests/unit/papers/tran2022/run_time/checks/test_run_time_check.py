"""What the check of run times says of made-up times, and the faults that it must see."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.harness import BUDGETS, Context
from dpverify.ledger import load_specs
from dpverify.ledger.check_results import CheckResult
from dpverify.papers import load
from dpverify.papers.tran2022.run_time.checks.run_time_check import (
    PLANS,
    RunTimeCheck,
    Times,
    TimingPlan,
    exponents,
    measure,
    median_below,
    median_interval,
)
from tests.for_each import for_each

RUN_TIME = load_specs().claim("tran2022:section-5-run-time").statement()


Power = tuple[float, float]


def made_up(
    literal: Power, stream: Power, noise: float = 0.02
) -> Callable[[int, int, TimingPlan], Times]:
    """Times that are a power of T (seconds at 64 N, exponent), with noise of both signs."""

    def times(examples: int, dimension: int, plan: TimingPlan) -> Times:
        del examples, dimension
        draw = np.random.default_rng(0).normal(
            0, noise, (2, plan.rounds, len(plan.epochs))
        )
        T = np.array(plan.epochs) / 64
        return np.array([seconds * T**power for seconds, power in (literal, stream)])[
            :, None, :
        ] * np.exp(draw)

    return times


def judged(
    times: Callable[[int, int, TimingPlan], Times], examples: int = 256
) -> CheckResult:
    check = RunTimeCheck(
        "section-5-run-time", "measured", measured=times, examples=examples
    )
    context = Context(RUN_TIME, BUDGETS["smoke"], 0, "measured")
    assert check.cost(context) <= 4
    return check.finish(context, [check.run_block(context, 0)])


def test_times_as_they_should_be_pass_and_all_controls_are_seen() -> None:
    result = judged(made_up((0.1, 1.95), (0.004, 1.0)))
    assert result.status == "not refuted", result.message
    assert all(control.refuted for control in result.controls)
    assert sum(control.at_declared_size for control in result.controls) == 3
    columns = result.figures["run-time"]
    assert columns["x:T"] == [2048.0, 4096.0, 8192.0, 16384.0]
    assert columns["fit"] == pytest.approx([1.95, 1.0], abs=0.03)
    assert columns["literal-adds"][-1] == 9845439
    for name in ("literal", "stream"):
        assert all(
            low < mid < high
            for low, mid, high in zip(
                *(columns[name + k] for k in ("-low", "", "-high")), strict=True
            )
        )


@for_each(
    ("literal", "stream", "said"),
    [
        ((0.1, 1.95), (0.004, 1.4), "stream's exponent"),
        ((0.1, 1.6), (0.004, 1.0), "literal exponent"),
        ((0.1, 1.95), (0.007, 1.0), "ratio above 15"),
    ],
)
def test_times_that_are_not_are_inconclusive_and_never_an_error(
    literal: Power, stream: Power, said: str
) -> None:
    result = judged(made_up(literal, stream))
    assert result.status == "inconclusive"
    assert f"not shown: {said}" in result.message
    assert not result.error


def test_one_wild_round_changes_nothing() -> None:
    def wild(examples: int, dimension: int, plan: TimingPlan) -> Times:
        times = made_up((0.1, 1.95), (0.004, 1.0))(examples, dimension, plan)
        times[1, 0, -1] *= 30
        return times

    assert judged(wild).status == "not refuted"


@for_each("name", PLANS)
def test_plans_can_pass_with_one_round_lost(name: str) -> None:
    plan = PLANS[name]
    values = np.zeros(plan.rounds)
    values[0] = 2.0
    assert median_below(values, 1.0, plan.alpha / 3)
    assert 64 in plan.epochs


def test_the_sign_test_keeps_its_level_and_the_interval_covers() -> None:
    draw = np.random.default_rng(5)
    samples = draw.lognormal(0.0, 2.0, (4000, 20))
    assert sum(
        median_below(sample, 1.0, 0.05) for sample in samples
    ) <= 4000 * 0.05 + 5 * np.sqrt(4000 * 0.05)
    missed = sum(
        not low <= 1.0 <= high for _, low, high in map(median_interval, samples)
    )
    assert missed <= 4000 * 0.01 + 5 * np.sqrt(4000 * 0.01)


@given(power=st.floats(-2, 4), scale=st.floats(1e-6, 1e3))
def test_exponents_of_a_power(power: float, scale: float) -> None:
    sizes = np.array([8.0, 16.0, 40.0])
    assert exponents(scale * sizes**power, sizes) == pytest.approx(power, abs=1e-9)


def test_measuring_takes_both_forms_at_every_size() -> None:
    times = measure(4, 2, TimingPlan((8, 64), 3, 0.1, 1.0))
    assert times.shape == (2, 3, 2)
    assert (times > 0).all()


def test_names_are_registered_once_for_each_claim() -> None:
    checks = load("tran2022")
    assert checks is not None
    names = {check.name for check in checks.of("section-5-run-time")}
    assert names == {"orders", "stream-orders", "bounds", "kernel-counters", "measured"}
    assert {"window-parts", "stream-kernel", "stream-unrolls"} <= {
        c.name for c in checks.of("algorithm-4-output")
    }
