"""The methods of zhang2021 in ``train``: their settings, their noise, what is certified, and bad input."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from dpverify.algorithms.dpageem import DPAGEEM, FAMILY, StageEarlyMomentum
from dpverify.kernels.check import ArgumentError
from dpverify.papers.zhang2021.algorithms import StagedDescent, StageSchedule, stagewise
from dpverify.privacy.batches import BatchSteps, upper_epsilon
from dpverify.problems.data import load_dataset
from dpverify.problems.logistic import BatchGradient, LogisticRegression
from dpverify.problems.regression import Regression
from dpverify.problems.rows import scale_rows
from dpverify.train.command import run_train, summary
from dpverify.train.figure import subtitle
from dpverify.train.records import Request
from dpverify.train.run import train
from tests.for_each import for_each


def test_stages_double_and_steps_halve() -> None:
    s = DPAGEEM.complete(
        {"steps": 100, "stages": 3, "batch": 10, "eta": 0.4, "sigma": 3.0}, 569
    )
    assert isinstance(s, StageEarlyMomentum)
    assert (s.steps, s.stage_steps, s.momentum_steps, s.rho) == (98, 7, 3, 0.9)
    stages = DPAGEEM.schedule(s).stages
    assert [(x.steps, x.momentum_steps, x.eta) for x in stages] == [
        (14, 6, 0.2),
        (28, 12, 0.1),
        (56, 24, 0.05),
    ]
    assert DPAGEEM.schedule(s).std == 2.0 / 10 * 3.0


@for_each(("eta", "told"), [(0.0024, False), (0.0026, True)])
def test_a_step_beyond_what_the_theorem_is_about_is_told(
    eta: float, told: bool
) -> None:
    """(1 - rho)^2/(2 beta) is 0.0025 at rho = 0.9 and beta = 2."""
    request = {"batch": 10, "eta": eta, "sigma": 1.0}
    problem = cast(Regression, SimpleNamespace(smoothness=2.0))
    notes = DPAGEEM.notes(request, problem, DPAGEEM.complete(request, 569))
    assert (
        any(
            "is above min(theta (1 - rho)^2/(2 beta), 1) = 0.0025" in note
            for note in notes
        )
        == told
    )


def test_each_method_has_its_steps_and_its_momentum() -> None:
    found = {}
    for algorithm in FAMILY:
        numbers = algorithm.schedule(
            algorithm.complete({"steps": 28, "batch": 10, "eta": 1.0}, 569)
        )
        etas, rhos = numbers.factors(0, 28)
        found[algorithm.name] = (
            etas[1].item(),
            etas[27].item(),
            int(np.count_nonzero(rhos)),
            numbers.std > 0,
        )
    assert found == {
        "dpageem": (0.5, 0.125, 14, True),
        "dpages": (0.5, 0.125, 0, True),
        "dpagem": (0.5, 0.125, 28, True),
        "sgd-stages": (0.5, 0.125, 0, False),
        "dp-sgd": (1.0, 1.0, 0, True),
        "dp-sgd-linear": (0.5, 1 / 28, 0, True),
        "dp-sgd-root": (pytest.approx(0.5**0.5), pytest.approx(28**-0.5), 0, True),
        "dp-sgdm": (1.0, 1.0, 28, True),
        "dp-sgdem": (1.0, 1.0, 14, True),
    }


def test_a_run_is_that_of_the_engine_and_sigma_the_least_that_is_certified() -> None:
    asked = Request(
        "dpageem",
        epsilon=2.0,
        delta=1e-5,
        steps=30,
        stages=2,
        batch=20,
        standardise=False,
        eta=0.5,
    )
    result = train(asked)
    s = result.settings
    bought = [
        upper_epsilon([BatchSteps(20 / 569, s.sigma * factor, 30)], 1e-5)
        for factor in (1.0, 0.999)
    ]
    assert bought[0] <= 2.0 < bought[1]
    data = load_dataset(standardise=False)
    problem = LogisticRegression(scale_rows(data.dense_x), data.y, radius=1.0)
    numbers = StageSchedule(stagewise(2, 5, 2, 0.5), 20, 0.9, 0.1 * s.sigma)
    run = StagedDescent(BatchGradient(problem), 569, problem.start, numbers)
    run.advance()
    assert np.array_equal(result.w, run.output)
    assert (
        "b = 20, C = 1, eta = 0.5, output = uniform, K = 2, T^0 = 5, rho = 0.9, t_Mon = 2"
        in summary(result)
    )
    assert "K = 2" in subtitle(result)


def test_what_a_user_should_know_is_noted() -> None:
    notes = " ".join(train(Request("dpages", steps=31, stages=2, eta=9.0)).notes)
    assert "30 of 31 steps" in notes
    assert "eta^0 = 9 is above" in notes
    assert not any(
        "steps" in note for note in train(Request("dp-sgd", steps=31, eta=9.0)).notes
    )
    assert (
        "there is no noise"
        in train(Request("sgd-stages", steps=6, stages=1, delta=1e-5)).privacy
    )


BAD: list[tuple[dict[str, Any], str]] = [
    ({"alpha": 0.5}, "alpha must be left out, dpageem has none"),
    ({"ordering": "once"}, "ordering must be left out, dpageem has none"),
    ({"rho": 1.0}, "rho must lie in [0, 1)"),
    ({"rho": -0.5}, "rho must lie in [0, 1]"),
    ({"stages": 0}, "stages must be an integer"),
    ({"stages": 61}, "stages must be an integer"),
    ({"momentum_steps": -1}, "momentum_steps must be an integer"),
    ({"hand_on": "best"}, "hand_on must be one of uniform, last"),
    ({"algorithm": "dpages", "rho": 0.5}, "rho must be left out, dpages has none"),
    ({"algorithm": "dpagem", "momentum_steps": 1}, "momentum_steps must be left out"),
    ({"algorithm": "dp-sgdem", "stages": 2}, "stages must be left out"),
    ({"algorithm": "sgd-stages", "sigma": 1.0}, "sigma must be left out"),
    (
        {"algorithm": "dp-nsgd", "hand_on": "last"},
        "hand_on must be left out, dp-nsgd has none",
    ),
]


@for_each(("changes", "message"), BAD)
def test_bad_input_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Request(**{"algorithm": "dpageem", **changes})
    assert str(caught.value).startswith(message)


@for_each(
    "changes",
    [
        {"batch": 570},
        {"steps": 13},
        {"momentum_steps": 3, "steps": 28},
        {"steps": 100, "stages": 50},
    ],
)
def test_what_depends_on_the_data_is_refused_in_a_line(
    changes: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_train(algorithm="dpageem", **changes) == 2
    assert capsys.readouterr().err.count("\n") == 1
