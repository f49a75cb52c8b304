"""Both bounds of epsilon of each object; and DP-AGD, whose budgets follow from epsilon."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpverify.algorithms import ALGORITHMS, ProblemSize
from dpverify.algorithms.baselines import DP_AGD
from dpverify.cli import main
from dpverify.kernels.check import ArgumentError
from dpverify.privacy.conversions import zcdp_epsilon
from dpverify.train import Request, train
from tests.for_each import for_each

PRIVATE = sorted(
    name for name, one in ALGORITHMS.items() if one.is_private and name != "dp-agd"
)
SIZE = ProblemSize(examples=500, dimension=10)


@for_each("name", PRIVATE)
def test_the_lower_bound_is_below_the_upper_one_which_is_the_certified_epsilon(
    name: str,
) -> None:
    method = ALGORITHMS[name]
    settings = method.complete({"epochs": 1, "sigma": 2.0}, SIZE.examples)
    bounds = method.epsilon_bounds(settings, SIZE, 1e-5)
    assert bounds.upper == method.epsilon(settings, SIZE, 1e-5)
    assert 0.3 * bounds.upper < bounds.lower <= bounds.upper


def test_budgets_of_dp_agd_follow_from_epsilon_and_are_certified() -> None:
    settings, upper = DP_AGD.account(DP_AGD.complete({}, 500), SIZE, 1.0, 1e-5)
    assert settings.steps == 100
    assert 0.99 < upper <= 1.0
    assert zcdp_epsilon(settings.rho, 1e-5) >= upper
    assert DP_AGD.epsilon_bounds(settings, SIZE, 1e-5).lower <= upper


def test_dp_agd_trains_for_an_epsilon_and_asks_for_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = train(Request(DP_AGD, epsilon=4.0, delta=1e-5, steps=20))
    assert result.path[-1].loss < result.path[0].loss
    assert result.constants.node_std.keys() == {"first direction", "choice"}
    assert train(Request(DP_AGD, epsilon=4.0, delta=1e-5, steps=20)).w == result.w
    with pytest.raises(ArgumentError, match="epsilon"):
        train(Request(DP_AGD, steps=20))
    assert main(["train", "dp-agd", "--no-figure"]) == 2
    assert "epsilon must be given" in capsys.readouterr().err.replace("None ", "")


def test_dp_agd_spends_no_more_than_its_budget(tmp_path: Path) -> None:
    del tmp_path
    request = Request(DP_AGD, epsilon=1.0, delta=1e-5, steps=300)
    result = train(request)
    assert np.isfinite(result.w).all()
    assert result.epsilon is None or result.epsilon <= 1.0
