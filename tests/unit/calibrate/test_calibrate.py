"""Calibration: certified, sharp, honest about what is printed, and clear about what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dpverify.calibrate import run_calibrate
from dpverify.calibrate.by_name import request_for
from dpverify.calibrate.calibrate import calibrate
from dpverify.calibrate.command import summary
from dpverify.calibrate.records import CalibrateRequest, Calibration
from dpverify.kernels.check import ArgumentError
from dpverify.papers.tran2022.accounting import algorithm_2_sums as definition
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import largest_sum
from dpverify.papers.tran2022.accounting.noise import (
    AccountedRun,
    largest_weight,
    unit_noise,
)
from dpverify.papers.tran2022.algorithms.scales import printed_v
from dpverify.privacy.gaussian import delta_of
from dpverify.privacy.gaussian_safe import certify
from tests.for_each import for_each


def ask(**changes: Any) -> CalibrateRequest:
    usual: dict[str, Any] = {
        "algorithm": "dp-nsgd",
        "n": 5,
        "d": 3,
        "epsilon": 1.0,
        "delta": 1e-5,
        "steps": 12,
    }
    chosen = usual | changes
    request = request_for(chosen.pop("algorithm"), chosen)
    assert isinstance(request, CalibrateRequest)
    return request


@for_each("ordering", ["fresh", "once"])
@for_each(
    ("n", "steps", "alpha"), [(1, 4, 1.0), (3, 7, 0.5), (4, 11, 0.25), (6, 4, 0.125)]
)
def test_exact_sigma_is_that_of_all_patterns(
    n: int, steps: int, alpha: float, ordering: Any
) -> None:
    result = calibrate(ask(n=n, steps=steps, alpha=alpha, ordering=ordering))
    squares, _ = largest_sum(steps, n, Fraction(alpha), ordering)
    v = printed_v(n, steps, steps.bit_length())
    assert isinstance(result.sigma.exact, float)
    mu = math.sqrt(squares / (4 * v)) / result.sigma.exact
    assert delta_of(mu, 1.0) == pytest.approx(1e-5, rel=1e-6)
    assert certify(mu, 1.0, 1e-5)
    assert result.certified["exact"]
    assert result.bought.exact == pytest.approx(1.0, rel=1e-6)


@for_each("ordering", ["fresh", "once"])
@for_each(
    ("n", "steps", "alpha", "smoothness"),
    [(2, 7, 0.5, 1), (3, 9, 0.5, 4), (4, 3, 0.25, 1), (3, 10, 1.0, 0)],
)
def test_exact_sigma_of_algorithm_2_is_that_of_all_patterns(
    n: int, steps: int, alpha: float, smoothness: int, ordering: Any
) -> None:
    result = calibrate(
        ask(
            algorithm="sr-nsgd",
            n=n,
            steps=steps,
            alpha=alpha,
            smoothness=smoothness,
            ordering=ordering,
            eta=0.125,
        )
    )
    deviations = [node.exact for node in result.node_std.values()]
    assert all(isinstance(value, float) for value in deviations)
    variances = [Fraction(float(value)) ** 2 for value in deviations]
    squares = definition.Squares(
        Fraction(1), Fraction(smoothness), Fraction(1, 8), *variances
    )
    mu_squared, _ = definition.largest_sum(steps, n, Fraction(alpha), squares, ordering)
    assert result.certified["exact"]
    assert certify(math.sqrt(mu_squared) * (1 - 1e-12), 1.0, 1e-5)
    assert delta_of(math.sqrt(mu_squared), 1.0) > 0.5e-5, (
        "at most 2% of mu is given away"
    )
    assert isinstance(result.sigma.proof, float)
    assert isinstance(result.sigma.exact, float)
    assert result.sigma.proof >= result.sigma.exact


def test_a_box_without_noise_is_refused() -> None:
    with pytest.raises(ArgumentError, match="must leave noise on every node"):
        calibrate(ask(algorithm="sr-nsgd", n=1))


def test_the_missing_smoothness_is_bought_back() -> None:
    """The box has no L: with a large one its sigma is far from enough."""
    result = calibrate(
        ask(algorithm="sr-nsgd", n=100, steps=400, epsilon=2.0, smoothness=100.0)
    )
    assert not result.certified["printed"]
    assert result.certified["exact"]
    assert result.certified["proof"]


@for_each("n", [1, 4, 1000, 10**6])
@for_each("epsilon", [1e-6, 0.5, 50.0])
@for_each("delta", [0.3, 1e-10, 1e-300])
def test_extremes_are_certified_and_the_proof_is_above_the_exact(
    n: int, epsilon: float, delta: float
) -> None:
    result = calibrate(
        ask(n=n, steps=min(4 * n, 10**5) + 1, epsilon=epsilon, delta=delta)
    )
    sigma = result.sigma
    assert isinstance(sigma.exact, float)
    assert isinstance(sigma.proof, float)
    assert 0 < sigma.exact <= sigma.proof
    assert result.certified["exact"]
    assert result.certified["proof"]
    assert result.mu[0] <= result.mu[1]
    for node in result.node_std.values():
        assert isinstance(node.exact, float)
        assert node.exact > 0


def test_alpha_1_and_long_runs() -> None:
    assert calibrate(ask(n=1, alpha=1.0, steps=1)).certified["exact"]
    long = calibrate(ask(n=10**7, steps=10**9, epsilon=3.0))
    assert long.certified["exact"]
    assert long.mu[1] / long.mu[0] < 1.02


def test_a_printed_sigma_that_is_not_enough_is_called_so() -> None:
    """A run much shorter than an epoch: the printed V falls below 1."""
    result = calibrate(ask(n=1000, steps=1, alpha=1.0, epsilon=1.0, delta=0.3))
    assert not result.certified["printed"]
    assert result.delta_bought > 0.3
    assert isinstance(result.epsilon_bought, float)
    assert result.epsilon_bought > 1.0
    assert any("does not divide" in warning for warning in result.warnings)


def test_the_theorem_prints_its_t() -> None:
    result = calibrate(
        CalibrateRequest(algorithm="dp-nsgd", n=10_000, d=100, epsilon=1.0, delta=1e-6)
    )
    T = result.theorem.steps
    assert T * math.log2(T) == pytest.approx(
        1e8 / math.sqrt(100 * math.log(1e6)), rel=1e-9
    )
    assert result.run.steps == round(T)
    assert result.run.alpha == pytest.approx(1e-4, rel=1e-4)
    assert result.run.eta == pytest.approx(1 / math.sqrt(1e4 * result.run.steps))


@for_each("ordering", ["fresh", "once"])
def test_largest_weight_is_the_series(ordering: Any) -> None:
    beta = 0.9
    series = sum(beta ** (7 * j) for j in range(400))
    wanted = series if ordering == "once" else 1 + beta * series
    assert largest_weight(0.1, 7, ordering) == pytest.approx(wanted, rel=1e-11)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"algorithm": "sgd"}, "algorithm must be one of dp-nsgd, sr-nsgd"),
    ({"n": 0}, "n must be an integer, at least 1"),
    ({"epsilon": 0.0}, "epsilon"),
    ({"epsilon": math.nan}, "epsilon"),
    ({"delta": 1.0}, "delta must be above 0 and below 1"),
    ({"delta": -1.0}, "delta"),
    ({"epochs": 3}, "must be given, not both"),
    ({"alpha": 2.0}, "alpha"),
    ({"algorithm": "sr-nsgd", "gamma": 1.5}, "gamma must lie in"),
    ({"gamma": 0.5}, "gamma does not belong to dp-nsgd"),
    ({"ordering": "random"}, "ordering"),
    ({"lipschitz": 0.0}, "lipschitz"),
    ({"smoothness": math.inf}, "smoothness"),
    ({"eta": -0.1}, "eta"),
    ({"epsilon": 1e308}, "epsilon is out of reach"),
]


@for_each(("change", "message"), BAD)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        calibrate(ask(**change))


def test_json_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "c.json"
    assert run_calibrate(**msgspec.structs.asdict(ask()), json=str(target)) == 0
    text = capsys.readouterr().out
    assert "certified" in text
    assert "its lower bound is the same: no smaller sigma suffices" in " ".join(
        text.split()
    )
    assert "warning: N does not divide T" in text
    result = msgspec.json.decode(target.read_bytes(), type=Calibration)
    assert run_calibrate(**msgspec.structs.asdict(ask()), json="-") == 0
    assert msgspec.json.decode(capsys.readouterr().out, type=Calibration) == result
    assert {"printed", "proof", "exact"} == set(msgspec.to_builtins(result.sigma))
    assert run_calibrate(**msgspec.structs.asdict(ask()), json=str(tmp_path)) == 2
    assert "json must be a file" in capsys.readouterr().err
    assert run_calibrate(algorithm="dp-nsgd", n=1, d=1, epsilon=-1.0, delta=0.1) == 2
    assert "epsilon" in capsys.readouterr().err


def test_a_run_too_long_to_walk_through_is_bounded_and_says_how_well() -> None:
    long = calibrate(
        ask(algorithm="sr-nsgd", n=100_003, steps=100_003 * 300_000, alpha=1e-4)
    )
    low, high = long.mu
    assert low < high < 1.1 * low
    assert long.certified["exact"]
    assert "could save" in summary(long)
    assert "may reveal less" in summary(long)


BOUNDED: list[dict[str, Any]] = [
    {},
    {"n": 10_000, "d": 100, "steps": 100_000, "delta": 1e-6},
    {"n": 1025, "steps": 3000, "epsilon": 1e-6, "delta": 1e-300},
    {"algorithm": "sr-nsgd", "n": 300, "steps": 30_000, "smoothness": 2.0},
    {"epsilon": 1.0, "delta": 0.3},
]


@for_each("changes", BOUNDED)
def test_the_gap_between_the_bounds_is_told(changes: dict[str, Any]) -> None:
    """At the first sigma what is asked is certainly missed by the lower mu, and just above it is not."""
    request = ask(**changes)
    result = calibrate(request)
    least, enough = result.sigma_bounds
    low, high = result.epsilon_bounds
    assert enough == result.sigma.exact
    assert high == result.bought.exact
    assert 0.9 * enough < least < enough
    assert 0.9 * high < low <= high
    assert certify(result.mu[1], high, request.delta)
    assert not certify(result.mu[0], low, request.delta)
    mu_at_1 = result.mu[0] * enough
    assert not certify(mu_at_1 / least * (1 + 1e-14), request.epsilon, request.delta)
    assert certify(mu_at_1 / least * (1 - 1e-9), request.epsilon, request.delta), (
        "and no sigma is called so in vain"
    )
    text = summary(result)
    assert f"certifies epsilon <= {high:.6g} at sigma = {enough:.6g}" in text
    if enough > least * (1 + 1e-6):
        assert f"its lower bound there is {low:.6g}" in text
        assert f"sigma cannot be below {least:.6g}" in text
    assert ("a run may reveal less" in text) == (request.algorithm == "sr-nsgd")


@for_each("algorithm", ["dp-nsgd", "sr-nsgd"])
def test_what_is_certified_rests_on_the_upper_bound_of_mu(algorithm: str) -> None:
    """The lower bound must certify nothing; those of Algorithm 2 differ by more than any rounding in this run."""
    request = ask(algorithm=algorithm, n=300, steps=30_000, smoothness=2.0)
    result = calibrate(request)
    run = {
        name: value
        for name, value in msgspec.structs.asdict(result.run).items()
        if name not in {"n", "d"}
    }
    bounds = unit_noise(algorithm, AccountedRun(examples=request.n, **run)).mu
    assert algorithm == "dp-nsgd" or bounds.lower < bounds.upper * (1 - 5e-7)
    for name in ("printed", "proof", "exact"):
        sigma, bought = (
            float(getattr(trio, name)) for trio in (result.sigma, result.bought)
        )
        assert certify(bounds.upper / sigma * (1 - 1e-12), bought, request.delta)
        assert not certify(bounds.upper / sigma * (1 + 1e-6), bought, request.delta)
        if result.certified[name]:
            assert certify(
                bounds.upper / sigma * (1 - 1e-12), request.epsilon, request.delta
            )
    assert result.certified["exact"]
    assert result.epsilon_bought == result.bought.printed
    assert result.delta_bought >= delta_of(
        bounds.upper / float(result.sigma.printed), request.epsilon
    )
    assert result.mu[0] == pytest.approx(
        bounds.lower / float(result.sigma.exact), rel=1e-9
    )
    assert result.mu[1] == pytest.approx(
        bounds.upper / float(result.sigma.exact), rel=1e-9
    )


def test_the_bounds_of_algorithm_1_agree_and_those_of_algorithm_2_not_in_a_long_run() -> (
    None
):
    run = {"n": 10_000, "d": 100, "steps": 100_000, "delta": 1e-6}
    short, long = (
        calibrate(ask(**run)),
        calibrate(ask(algorithm="sr-nsgd", smoothness=2.0, **run)),
    )
    assert short.sigma_bounds[0] > short.sigma_bounds[1] * (1 - 1e-10)
    assert long.sigma_bounds[0] < long.sigma_bounds[1] * (1 - 1e-6)
    assert "could save" not in summary(short)
    assert "could save" in summary(long)
