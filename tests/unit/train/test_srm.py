"""DP-SRM in ``train``: its settings, its noise, what is certified, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpverify.algorithms.algorithm import ProblemSize
from dpverify.algorithms.dp_srm import DP_SRM, SrmSettings
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import normal_tape
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.privacy.batches import BatchSteps, upper_epsilon
from dpverify.problems.data import load_dataset
from dpverify.problems.logistic import LogisticRegression, RecursiveGradient
from dpverify.problems.rows import scale_rows
from dpverify.train.command import run_train, summary
from dpverify.train.figure import subtitle, svg
from dpverify.train.records import Request
from dpverify.train.run import train
from tests.for_each import for_each


def test_defaults_are_those_of_section_6_1() -> None:
    s = DP_SRM.complete({}, 32561)
    assert (s.batch, s.gamma, s.change_clip, s.eta) == (180, 0.01, 0.01, 0.01)
    assert s.steps == 10 * 32561 // 360
    assert Request("dp-srm", epochs=1, batch=569).settle(569).steps == 1


def test_a_run_is_that_of_the_kernel_with_the_noise_of_its_sensitivity() -> None:
    result = train(
        Request(
            "dp-srm",
            sigma=2.0,
            steps=40,
            batch=10,
            eta=0.5,
            gamma=0.25,
            change_clip=0.1,
            seed=3,
        )
    )
    data = load_dataset()
    problem = LogisticRegression(scale_rows(data.dense_x), data.y, radius=1.0)
    first, later = 2.0 * 2 / 10, 2.0 * 2 * (0.25 + 0.75 * 0.1) / 10
    assert result.constants.node_std == pytest.approx({"v^0": first, "v^t": later})
    p = SrmParameters(40, 10, 10, 0.25, 0.5, problem.smoothness, first, later)
    tape = normal_tape(
        DpSrm(RecursiveGradient(problem), 569, problem.start, p, seed=3)._noise_rng,
        40,
        30,
    )
    run = DpSrm(
        RecursiveGradient(problem, 1.0, 0.1), 569, problem.start, p, seed=3, tape=tape
    )
    run.advance()
    assert np.array_equal(result.w, run.w)
    assert "sigma = 2, b = 10, C_1 = 1, C_2 = 0.1, gamma = 0.25, zeta = 0.5" in summary(
        result
    )
    assert "b = 10" in subtitle(result)
    assert svg(result).startswith(b"<?xml")


def test_sigma_is_the_least_that_is_certified() -> None:
    asked = Request("dp-srm", epsilon=2.0, delta=1e-5, steps=20, standardise=False)
    result = train(asked)
    s = result.settings
    assert isinstance(s, SrmSettings)
    assert (result.epsilon, result.delta) == (2.0, 1e-5)
    bought = [
        upper_epsilon([BatchSteps(s.batch / 569, s.sigma * factor, 20)], 1e-5)
        for factor in (1.0, 0.999)
    ]
    assert bought[0] <= 2.0 < bought[1]
    back = train(
        Request("dp-srm", sigma=s.sigma, delta=1e-5, steps=20, standardise=False)
    )
    assert back.epsilon == pytest.approx(bought[0])
    assert "not certified" in train(Request("dp-srm", steps=3)).privacy


def test_what_no_noise_could_certify_is_refused_before_it_is_looked_for() -> None:
    s = DP_SRM.complete({"steps": 1000}, 569)
    size = ProblemSize(569, 30)
    far = upper_epsilon([BatchSteps(s.batch / 569, 1e6, 1000)], 1e-9)
    with pytest.raises(
        ArgumentError,
        match=r"epsilon is out of reach at delta=1e-09: nothing could be certified",
    ):
        DP_SRM.account(s, size, far * 0.999, 1e-9)
    found, epsilon = DP_SRM.account(s, size, far * 1.001, 1e-9)
    assert epsilon == far * 1.001
    assert found.sigma <= 1e6 * (1 + 1e-6)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"alpha": 0.5}, "alpha must be left out, dp-srm has none"),
    ({"ordering": "once"}, "ordering must be left out, dp-srm has none"),
    ({"batch": 0}, "batch "),
    ({"change_clip": 0.0}, "change_clip "),
    ({"gamma": 1.5}, "gamma "),
    ({"gamma": 0.0}, "gamma must lie in (0, 1]"),
    ({"eta": 0.0}, "eta "),
    ({"algorithm": "dp-nsgd", "batch": 3}, "batch must be left out, dp-nsgd has none"),
    (
        {"algorithm": "sr-nsgd", "change_clip": 0.1},
        "change_clip must be left out, sr-nsgd has none",
    ),
]


@for_each(("changes", "message"), BAD)
def test_bad_input_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Request(**{"algorithm": "dp-srm", **changes})
    assert str(caught.value).startswith(message)


def test_what_depends_on_the_data_is_refused_in_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for changes in ({"batch": 570}, {"epsilon": 1e-9, "delta": 1e-9}):
        assert run_train(algorithm="dp-srm", **changes) == 2
        assert capsys.readouterr().err.count("\n") == 1
