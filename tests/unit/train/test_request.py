"""What may be asked of a run, and the settings that follow."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpverify.algorithms.nsgd import DP_NSGD
from dpverify.kernels.check import ArgumentError
from dpverify.train.records import Request
from tests.for_each import for_each


def test_defaults_are_the_printed_choices() -> None:
    settings = DP_NSGD.complete({}, 569)
    assert settings.steps == 5690
    assert settings.alpha == 1 / 569
    assert settings.eta == 1 / math.sqrt(569 * 5690)
    assert settings.sigma == 1
    assert settings.ordering == "fresh"


@for_each(("steps", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11)])
def test_depth_counts_the_levels_that_the_steps_need(steps: int, levels: int) -> None:
    assert DP_NSGD.complete({"steps": steps}, 4).depth == levels
    assert 2 ** (levels - 1) <= steps < 2**levels


def test_given_numbers_are_kept_and_epochs_count_examples() -> None:
    chosen = {
        "epochs": 3,
        "sigma": 0,
        "alpha": 0.5,
        "eta": 0.1,
        "lam": 0,
        "ordering": "once",
        "scale": "clip",
        "seed": 7,
    }
    settings = DP_NSGD.complete(DP_NSGD.take(chosen), 100)
    assert (settings.steps, settings.sigma, settings.alpha, settings.eta) == (
        300,
        0.0,
        0.5,
        0.1,
    )
    assert (settings.lam, settings.ordering, settings.scale, settings.seed) == (
        0.0,
        "once",
        "clip",
        7,
    )


BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"algorithm": "sgd"},
        "algorithm must be one of dp-nsgd, sr-nsgd, dp-srm, ddp-srm, dpageem, ",
    ),
    (
        {"ordering": "random"},
        "ordering must be one of fresh, once, got ordering=random.",
    ),
    ({"scale": "l1"}, "scale must be one of unit, clip, none"),
    ({"epsilon": 1.0}, "delta must be given with epsilon, got delta=None."),
    (
        {"epsilon": 1.0, "delta": 1e-5, "sigma": 1.0},
        "sigma must be left out where epsilon=1.0 is asked for",
    ),
    ({"epsilon": -1.0, "delta": 1e-5}, "epsilon must be"),
    ({"delta": 1.5}, "delta must be above 0 and below 1"),
    ({"steps": 5, "epochs": 2}, "steps or epochs must be given, not both"),
    ({"steps": 0}, "steps must be an integer, at least 1"),
    ({"epochs": -1}, "epochs must be an integer, at least 1"),
    ({"n": 0}, "n must be an integer, at least 1"),
    ({"sigma": -1.0}, "sigma must be finite and at least 0, got sigma=-1.0."),
    ({"sigma": math.nan}, "sigma must be finite"),
    ({"alpha": 0.0}, "alpha must lie in"),
    ({"alpha": 1.5}, "alpha must lie in"),
    ({"eta": 0.0}, "eta must be finite and above 0"),
    ({"eta": math.inf}, "eta must be finite"),
    ({"lam": -0.1}, "lam must be finite and at least 0"),
    ({"seed": -1}, "seed must be an integer, at least 0"),
]


@for_each(("change", "message"), BAD)
def test_bad_arguments_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Request(**change)
    assert message in str(caught.value)


def test_alpha_below_one_over_n_is_refused_only_where_the_noise_rests_on_it() -> None:
    with pytest.raises(ArgumentError, match=r"alpha must be at least 1/N = 0\.01"):
        Request(alpha=0.009).settle(100)
    assert DP_NSGD.complete({"alpha": 0.009, "sigma": 0.0}, 100).alpha == 0.009
    assert DP_NSGD.complete({"alpha": 0.01}, 100).alpha == 0.01


def test_epochs_that_make_too_many_steps_are_refused() -> None:
    with pytest.raises(ArgumentError, match="steps must be an integer"):
        Request(epochs=2**50).settle(1000)
