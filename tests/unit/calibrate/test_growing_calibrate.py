"""Calibration of DP-AGD's budget: as converted, as certified, and in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from dpverify.algorithms.baselines import DP_AGD
from dpverify.calibrate import growing, run_calibrate
from dpverify.calibrate.growing import (
    GrowingCalibration,
    GrowingRequest,
    budget_summary,
    calibrate_budget,
)
from dpverify.compare.experiments.experiment import DELTA
from dpverify.compare.experiments.table_methods import trial_of
from dpverify.kernels.check import ArgumentError
from dpverify.papers.wang2019.accounting.runs import agd_parameters
from dpverify.papers.wang2019.algorithms.baselines import DpAgd
from dpverify.privacy.growing_budget import budget_epsilon
from dpverify.privacy.participation import Bounds
from dpverify.problems.logistic import LogisticRegression
from tests.for_each import for_each

ASKED: dict[str, Any] = {
    "algorithm": "dp-agd",
    "n": 32561,
    "epsilon": 0.5,
    "delta": DELTA,
}


def test_the_certified_budget_is_larger_and_buys_what_is_asked() -> None:
    found = calibrate_budget(GrowingRequest(**ASKED))
    printed, exact = found.budget["printed"], found.budget["exact"]
    assert float(printed.rho) < float(exact.rho)
    assert float(printed.epsilon[1]) < 0.4 < float(exact.epsilon[1]) <= 0.5
    assert 0.0 < float(printed.epsilon[0]) < float(exact.epsilon[0])
    assert printed.certified
    assert exact.certified
    assert budget_epsilon(float(exact.rho), DELTA) == float(exact.epsilon[1])


def test_a_budget_between_the_bounds_is_not_certified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for upper, certified in ((0.6, False), (0.5, True)):
        monkeypatch.setattr(
            growing,
            "shared_epsilon",
            lambda *_, upper=upper: Bounds(0.4, upper, exact=False),
        )
        assert {
            row.certified
            for row in calibrate_budget(GrowingRequest(**ASKED)).budget.values()
        } == {certified}


def test_a_comparison_spends_the_same() -> None:
    rng = np.random.default_rng(1)
    problem = LogisticRegression(
        rng.normal(size=(50, 3)), (rng.random(50) < 0.5).astype(float)
    )
    found = calibrate_budget(GrowingRequest(**{**ASKED, "n": 50}))
    for noise, name in (("printed", "printed"), ("needed", "exact")):
        one = trial_of(DP_AGD, problem, noise, 0.5, 360, 0, 8.0)  # type: ignore[arg-type]
        assert one.epsilon is not None
        assert (one.setting["ratio"], one.epsilon.upper) == (
            float(found.budget[name].rho),
            float(found.budget[name].epsilon[1]),
        )


@for_each(
    ("change", "message"),
    [
        ({"parts": 0.0}, "parts must be finite and above 0"),
        ({"parts": 1e9}, "parts must be from 1 to 1000"),
        ({"n": 0}, "n must be an integer"),
        ({"steps": 0}, "steps must be an integer"),
        ({"loss_clip": -1.0}, "loss_clip must be finite and above 0"),
        ({"epsilon": 1e300}, "epsilon must be from 1e-06 to 300 here"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        calibrate_budget(GrowingRequest(**{**ASKED, **change}))


def test_json_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "c.json"
    assert run_calibrate(**ASKED, json=str(target)) == 0
    result = msgspec.json.decode(target.read_bytes(), type=GrowingCalibration)
    assert " ".join(budget_summary(result).split()) in " ".join(
        capsys.readouterr().out.split()
    )
    assert run_calibrate(**ASKED, batch=3) == 2
    assert "batch does not belong to dp-agd" in capsys.readouterr().err


def test_the_noise_that_is_told_is_that_of_the_run() -> None:
    """By the optimizer itself: what a unit of noise makes of a first direction, and the scale of its first choice."""
    n, lipschitz, loss_clip = 50, 2.5, 4.0
    found = calibrate_budget(
        GrowingRequest(
            **{**ASKED, "n": n, "lipschitz": lipschitz, "loss_clip": loss_clip}
        )
    )
    p = agd_parameters(
        0.5, DELTA, GrowingRequest(**ASKED).parts, 1, lipschitz, printed=False
    )
    asked = list[float]()

    def laplace(mean: float, scale: float, size: int) -> Any:
        asked.append(scale)
        return np.zeros(size)

    def nothing(w: Any, batch: Any, out: Any) -> None:
        out[:] = 0.0

    run = DpAgd(
        nothing,
        lambda w, along, lengths: -lengths,
        n,
        np.zeros(1),
        replace(p, loss_clip=loss_clip),
    )
    run._noise_rng = SimpleNamespace(standard_normal=np.ones)  # type: ignore[assignment]  # stands for a generator
    run._choices = SimpleNamespace(laplace=laplace)  # type: ignore[assignment]  # likewise
    assert run._measured(p.rho_direction) == pytest.approx([float(found.direction_std)])
    run.advance()
    assert asked == pytest.approx([float(found.choice_scale)])
