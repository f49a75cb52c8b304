from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.harness import BUDGETS
from dpverify.harness.checks import BudgetName, budget_named, fair_share, shares


def test_a_budget_reaches_itself_and_the_smaller_ones() -> None:
    names: tuple[BudgetName, ...] = ("smoke", "standard", "full")
    reached = {
        name: [least for least in names if budget.reaches(least)]
        for name, budget in BUDGETS.items()
    }
    assert reached == {
        "smoke": ["smoke"],
        "standard": ["smoke", "standard"],
        "full": ["smoke", "standard", "full"],
    }


def test_everything_fits() -> None:
    assert fair_share([1.0, 2.0, 3.0], 6.0) == math.inf
    assert fair_share([], 1.0) == math.inf


def test_cheap_checks_leave_their_rest_to_dear_ones() -> None:
    assert fair_share([1.0, 100.0, 100.0], 21.0) == 10.0


@given(st.lists(st.floats(0.01, 1e4), min_size=1, max_size=30), st.floats(0.1, 1e4))
def test_shares_never_exceed_the_total_and_waste_nothing(
    costs: list[float], total: float
) -> None:
    share = fair_share(costs, total)
    spent = sum(min(cost, share) for cost in costs)
    assert spent <= total * (1 + 1e-9)
    assert share == math.inf or spent == pytest.approx(total)


def test_searches_give_way_to_plans_that_are_run_whole_or_not_at_all() -> None:
    found = shares([8.0, 8.0], [6.0], 10.0)
    assert found.divisible == 2.0
    assert found.whole == math.inf


def test_plans_leave_a_tenth_to_searches() -> None:
    found = shares([8.0, 1.0], [20.0, 1.0], 10.0)
    assert found.divisible == 0.5
    assert found.whole == 8.0


def test_rounding_takes_nobody_their_place() -> None:
    whole = [0.1] * 7 + [5.40570879]
    assert shares([3.0] * 99, whole, sum(whole) / 0.7).whole == math.inf


@given(
    st.lists(st.floats(0.01, 1e4), max_size=30),
    st.lists(st.floats(0.01, 1e4), max_size=30),
    st.floats(0.1, 1e4),
)
def test_both_kinds_together_never_exceed_the_total(
    divisible: list[float], whole: list[float], total: float
) -> None:
    found = shares(divisible, whole, total)
    spent = sum(min(cost, found.divisible) for cost in divisible) + sum(
        min(cost, found.whole) for cost in whole
    )
    assert spent <= total * (1 + 1e-9)


def test_budgets_grow() -> None:
    smoke, standard, full = (
        budget_named(name) for name in ("smoke", "standard", "full")
    )
    assert smoke.seconds < standard.seconds < full.seconds
    assert smoke.examples < standard.examples < full.examples
    assert set(BUDGETS) == {"smoke", "standard", "full"}


def test_unknown_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="'huge'"):
        budget_named("huge")
