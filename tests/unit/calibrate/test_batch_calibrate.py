"""Calibration of DP-SRM and its baselines: certified, for replacing one example, and clear about what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from dpverify.calibrate import guarantee, run_calibrate
from dpverify.calibrate.batches import BatchRequest, SrmRequest, _row, calibrate_batches
from dpverify.calibrate.by_name import request_for
from dpverify.calibrate.records import BatchCalibration
from dpverify.calibrate.tables import batch_summary
from dpverify.kernels.check import ArgumentError
from dpverify.papers.wang2019.accounting.runs import (
    BatchRun,
    account_noise,
    largest_part,
    lemma_condition,
    printed_noise,
    printed_order,
)
from dpverify.papers.wang2019.estimator.bounds import clipped_sensitivity
from dpverify.privacy.accounting import epsilon
from dpverify.privacy.batches import BatchSteps, batch_epsilon
from dpverify.privacy.conversions import zcdp_epsilon
from dpverify.privacy.gaussian import epsilon_of, mu_of
from tests.for_each import for_each


def question(
    algorithm: str, n: int, epsilon: float, delta: float, **run: Any
) -> BatchRequest:
    request = request_for(
        algorithm, {"n": n, "epsilon": epsilon, "delta": delta, **run}
    )
    assert isinstance(request, BatchRequest)
    return request


def ask(**changes: Any) -> SrmRequest:
    usual: dict[str, Any] = {
        "algorithm": "dp-srm", "n": 2000, "epsilon": 0.5, "delta": 1e-5, "steps": 60, "batch": 40, "batch_0": 100,
        "gamma": 0.1, "zeta": 0.05, "lipschitz": 2.0,
    }  # fmt: skip
    request = request_for(**_split(usual | changes))
    assert isinstance(request, SrmRequest) or changes["algorithm"] not in {
        "dp-srm",
        "ddp-srm",
    }
    return request  # type: ignore[return-value]  # other algorithms answer the same methods here


def _split(asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "algorithm": asked["algorithm"],
        "run": {name: asked[name] for name in asked if name != "algorithm"},
    }


def test_noise_is_that_of_replacing_one_example() -> None:
    """From the deviations alone: each kind of step, its sensitivity by the estimator's own bound, its sampling rate."""
    result = calibrate_batches(ask())
    exact = result.noise["exact"]
    moved = float(
        clipped_sensitivity(
            Fraction("0.1"), Fraction(2), Fraction("0.05"), Fraction(40)
        )
    )
    later = BatchSteps(40 / 2000, float(exact.std) / moved, 60)
    first = BatchSteps(100 / 2000, float(exact.std_0) / (2 * 2.0 / 100))
    found = batch_epsilon([first, later], 1e-5)
    assert found.upper == pytest.approx(float(exact.epsilon[1]), rel=1e-9)
    assert 0.4999 < found.upper <= 0.5
    assert exact.certified


def test_printed_noise_is_that_of_the_box_and_of_the_theorem() -> None:
    result = calibrate_batches(ask())
    order = math.log(1e5) / (0.5 * 0.5) + 1.0
    for name, epsilons in (("printed", 0.25), ("proof", 0.5)):
        row = result.noise[name]
        assert float(row.std_0) ** 2 == pytest.approx(
            14 * 60 * 4 * order / (0.5 * 2000**2 * epsilons)
        )
        assert float(row.std) ** 2 == pytest.approx(
            14 * 60 * 0.245**2 * order / (0.5 * 2000**2 * epsilons)
        )
    assert sum("may not be used" in warning for warning in result.warnings) >= 2


def test_a_warning_names_each_size_of_batch_at_which_the_lemma_fails_and_no_other() -> (
    None
):
    request = ask()
    warned = calibrate_batches(request).warnings
    order = printed_order(request.epsilon, request.delta, request.beta)
    for words, box in (
        ("as the algorithm's box prints it", True),
        ("as the privacy theorem prints it", False),
    ):
        noise = printed_noise(
            request.run(), request.epsilon, request.delta, request.beta, box=box
        )
        fails = [
            size
            for size in (40, 100)
            if not lemma_condition(request.run(), size, noise, order).holds
        ]
        said = [f"for the noise {words} at batches of {size}:" for size in fails]
        assert [
            words for words in said if sum(words in warning for warning in warned) != 1
        ] == []
    assert {
        size
        for size in (40, 100)
        if any(f"batches of {size}:" in warning for warning in warned)
    } == {40, 100}


def test_the_condition_is_evaluated_at_each_kind_of_step() -> None:
    run = BatchRun("recursive", 32561, 130_000, 50, 2500, 1.0, 1.0, 1.0)
    noise = printed_noise(run, 8.0, 1e-5, 0.5, box=False)
    assert lemma_condition(run, 50, noise, 3.878).holds
    assert not lemma_condition(run, 2500, noise, 3.878).holds
    assert not lemma_condition(run, 50, noise / 2, 3.878).holds


@for_each(("epsilon", "delta"), [(0.2, 1e-5), (3.0, 1e-5), (20.0, 1e-2)])
def test_the_largest_part_is_where_no_noise_satisfies_the_lemma_any_more(
    epsilon: float, delta: float
) -> None:
    order, n = 1.0 - math.log(delta) / epsilon, 10**9
    for factor, wanted in ((0.99, True), (1.01, False)):
        batch = int(n * min(largest_part(epsilon, delta) * factor, 1.0))
        run = BatchRun("recursive", n, 1, batch, batch)
        noises = np.geomspace(0.84, 100.0, 2000) * n / batch
        assert (
            any(
                lemma_condition(run, batch, float(noise), order).holds
                for noise in noises
            )
            == wanted
        )


def test_parties_of_unequal_size_count_the_smallest() -> None:
    run = BatchRun("recursive", 1003, 5, 20, 1003, 1.0, 1.0, 1.0, 10)
    first, later = run.steps_at(100.0)
    assert (first.rate, first.noise) == (1.0, 100.0)
    assert (later.rate, later.count) == (2 / 100, 5)
    assert later.noise == pytest.approx(100.0 * 20 / 1003)


def test_only_the_upper_bound_certifies() -> None:
    """An epsilon between the bounds of a noise is not certified by it."""
    request = ask()
    ends = calibrate_batches(request).noise["printed"].epsilon
    between = (float(ends[0]) + float(ends[1])) / 2
    found = account_noise(
        request.run(),
        float(calibrate_batches(request).noise["printed"].noise),
        request.delta,
    )
    assert found.epsilon.lower < between < found.epsilon.upper
    assert not _row(request.run(), found, between).certified
    assert _row(request.run(), found, found.epsilon.upper).certified


def test_whole_batches_are_dp_gd() -> None:
    result = calibrate_batches(question("dp-gd", 1000, 1.0, 1e-6, steps=50))
    std = float(result.noise["exact"].std)
    assert epsilon_of(math.sqrt(50) * 2 / 1000 / std, 1e-6) == pytest.approx(
        1.0, rel=2e-3
    )
    assert set(result.noise) == {"exact", "tracked"}


def test_baselines_have_the_noise_of_their_papers() -> None:
    """DP-GD's Renyi bound at its best order gives epsilon by the classic conversion; RRPSGD's variance is by hand."""
    full = calibrate_batches(question("dp-gd", 1000, 1.0, 1e-6, steps=50)).noise[
        "tracked"
    ]
    ratio = float(full.std) * 1000 / 2
    assert zcdp_epsilon(50 / (2 * ratio**2), 1e-6) == pytest.approx(1.0)
    assert full.certified
    one = calibrate_batches(
        question("rrpsgd", 100, 1.0, 1e-4, epochs=3, lipschitz=2.0)
    ).noise["tracked"]
    assert float(one.std) ** 2 == pytest.approx(
        32 * 4 * 300 * math.log(100 / 1e-4) * math.log(1e4) / 100**2
    )


@for_each(
    ("epsilon", "delta"), [(1e-6, 1e-5), (1e-4, 1e-12), (8.0, 1e-3), (50.0, 1e-5)]
)
def test_small_and_large_epsilons_are_reached(epsilon: float, delta: float) -> None:
    exact = calibrate_batches(ask(epsilon=epsilon, delta=delta)).noise["exact"]
    assert 0.99 * epsilon < float(exact.epsilon[1]) <= epsilon
    assert 0.0 < float(exact.epsilon[0]) < float(exact.epsilon[1])


def test_baselines_and_passes() -> None:
    one = calibrate_batches(question("rrpsgd", 100, 1.0, 1e-4, epochs=3))
    assert (one.batch, one.steps) == (1, 300)
    some = calibrate_batches(question("dp-sgd", 1000, 1.0, 1e-4, epochs=3, batch=50))
    assert (some.steps, some.rate) == (60, 0.05)
    assert ask(steps=None, epochs=4).run().steps == round(4 * 2000 / 80)
    assert np.isfinite(
        [float(one.noise["exact"].std), float(some.noise["exact"].std)]
    ).all()


def test_dpageem_has_the_steps_of_all_stages_and_the_noise_of_equation_4() -> None:
    found = calibrate_batches(
        question(
            "dpageem", 2000, 0.5, 1e-5, steps=50, batch=100, stages=3, lipschitz=2.0
        )
    )
    assert found.steps == 100 + 200 + 400
    row, exact = found.noise["constant"], found.noise["exact"]
    assert float(row.std) ** 2 == pytest.approx(
        5.8**2 * 700 * 4 * math.log(1e5) / (2000 * 0.5) ** 2
    )
    assert row.certified
    assert float(exact.std) < float(row.std)
    plain = calibrate_batches(
        question("dp-sgd", 2000, 0.5, 1e-5, steps=700, batch=100, lipschitz=2.0)
    )
    assert plain.noise["exact"] == exact
    assert not found.warnings


def test_dpageem_says_where_its_constant_is_not_proved() -> None:
    found = calibrate_batches(
        question("dpageem", 2000, 2.0, 1e-5, steps=50, batch=100, stages=3)
    )
    assert "is for epsilon below 1.75 here" in found.warnings[0]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"batch": 2001}, "batch must be an integer, at least 1 and at most 2000"),
    ({"batch_0": 2001}, "batch_0 must be an integer, at least 1 and at most 2000"),
    ({"gamma": 1.5}, "gamma must lie in"),
    ({"gamma": None}, "gamma must be given for dp-srm"),
    ({"zeta": 0.0}, "zeta must be finite and above 0"),
    ({"beta": 1.0}, "beta must be above 0 and below 1"),
    ({"delta": 0.0}, "delta must be finite and above 0"),
    ({"parties": 3}, "parties does not belong to dp-srm"),
    ({"algorithm": "ddp-srm", "parties": 3}, "parties must divide the batches"),
    ({"algorithm": "ddp-srm"}, "parties must be given for ddp-srm"),
    ({"epochs": 2}, "steps or epochs must be given, and not both"),
    ({"algorithm": "dp-gd"}, "batch does not belong to dp-gd"),
    ({"stages": 2}, "stages does not belong to dp-srm"),
    (
        {"algorithm": "dpageem", "batch_0": None, "gamma": None, "zeta": None},
        "stages must be given for dpageem",
    ),
    (
        {
            "algorithm": "dpageem",
            "batch_0": None,
            "gamma": None,
            "zeta": None,
            "stages": 0,
        },
        "stages must be an integer",
    ),
    (
        {
            "algorithm": "dpageem",
            "batch_0": None,
            "gamma": None,
            "zeta": None,
            "stages": 40,
        },
        "steps must be an integer",
    ),
    ({"epsilon": 1e-300}, "epsilon must be from 1e-06 to 300 here"),
    ({"epsilon": 1e300}, "epsilon must be from 1e-06 to 300 here"),
    ({"epsilon": math.nan}, "epsilon must be finite"),
]


@for_each(("change", "message"), BAD)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        calibrate_batches(ask(**change))


def test_json_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "c.json"
    asked = {
        name: value
        for name, value in msgspec.structs.asdict(ask()).items()
        if value is not None
    }
    assert run_calibrate(**asked, json=str(target)) == 0
    text = capsys.readouterr().out
    assert "as the accountant certifies it" in text
    result = msgspec.json.decode(target.read_bytes(), type=BatchCalibration)
    assert " ".join(batch_summary(result).split()) in " ".join(text.split())
    assert run_calibrate(**asked, alpha=0.5) == 2
    assert "alpha does not belong to dp-srm" in capsys.readouterr().err
    assert (
        run_calibrate(algorithm="dp-nsgd", n=5, d=2, epsilon=1.0, delta=0.1, batch=3)
        == 2
    )
    assert "batch does not belong to dp-nsgd" in capsys.readouterr().err
    assert run_calibrate(algorithm="dp-nsgd", n=5, epsilon=1.0, delta=0.1) == 2
    assert "d must be given for dp-nsgd" in capsys.readouterr().err


def test_the_summary_fits_in_80_columns_and_ends_with_what_to_implement() -> None:
    result = calibrate_batches(
        question("dp-sgd", 1000, 1.0, 1e-4, epochs=3, batch=50, lipschitz=2.0)
    )
    *table, advice, multiplier = batch_summary(result).splitlines()
    assert all(len(line) <= 80 for line in table if not line.endswith("."))
    std = float(result.noise["exact"].std)
    assert (
        f"standard deviation {std:.5g} to each coordinate of the mean gradient"
        in advice
    )
    assert "clipped to norm 2" in advice
    assert f"noise multiplier {std * 50 / 2.0:.5g}, with Poisson samples " in multiplier


def test_poisson_samples_are_calibrated_for_one_example_more_or_less() -> None:
    result = calibrate_batches(
        question("dp-sgd", 1000, 1.0, 1e-4, epochs=3, batch=50, lipschitz=2.0)
    )
    multiplier = float(result.noise["poisson"].std) * 50 / 2.0
    bounds = epsilon(multiplier, 1e-4, steps=60, rate=0.05, sampling="poisson")
    assert 0.999 < bounds.upper <= 1.0
    assert result.noise["poisson"].certified
    assert float(result.noise["poisson"].std) < float(result.noise["exact"].std)
    stds: dict[str, float] = {}
    for sampling in ("fixed", "shuffled", "balls-in-bins"):
        practised = calibrate_batches(
            question("dp-sgd", 1000, 2.0, 1e-4, steps=60, batch=50, sampling=sampling)
        )
        row = practised.noise[sampling]
        assert row.certified
        stds[sampling] = float(row.std)
        assert f"with sampling {sampling}" in batch_summary(practised)
    # Three epochs of 20 steps: without amplification replacing one example counts 2
    # sqrt(3), times the clip length.
    assert (
        stds["fixed"]
        == stds["shuffled"]
        == pytest.approx(2.0 * math.sqrt(3.0) / mu_of(2.0, 1e-4) / 50, rel=1e-9)
    )
    assert stds["balls-in-bins"] < stds["fixed"] / 2.0
    with pytest.raises(ValueError, match="sampling must be given without algorithm"):
        guarantee.epsilon(
            0.1,
            1e-4,
            algorithm="dp-sgd",
            n=1000,
            batch=50,
            steps=60,
            sampling="shuffled",
        )


def test_an_epsilon_with_a_simple_bound_is_explained() -> None:
    result = calibrate_batches(question("rrpsgd", 100, 100.0, 1e-5, steps=10))
    lower, upper = result.noise["tracked"].epsilon
    assert lower == 0.0
    assert isinstance(upper, float)
    assert 100.0 < upper < math.inf
    assert (
        "epsilon >= 0: only the upper bound of epsilon is known there."
        in batch_summary(result)
    )
    assert "epsilon >= 0:" not in batch_summary(
        calibrate_batches(question("rrpsgd", 100, 1.0, 1e-4, epochs=3))
    )


def test_the_space_between_both_bounds_is_explained_where_there_is_some() -> None:
    apart = calibrate_batches(question("dp-sgd", 1000, 8.0, 1e-5, batch=100, steps=200))
    lower, upper = map(float, apart.noise["exact"].epsilon)
    assert 0.0 < lower < 0.99 * upper
    assert "none is known to reach the upper one" in batch_summary(apart)
    assert "known to reach" not in batch_summary(
        calibrate_batches(question("dp-gd", 100, 1.0, 1e-4, steps=10))
    )
