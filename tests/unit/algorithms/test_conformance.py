"""Each bundled optimizer that clips keeps its promise; with less noise, or another clip length, it does not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import dpverify as dv
from dpverify.algorithms import ALGORITHMS
from dpverify.algorithms.dp_srm import DP_SRM
from dpverify.algorithms.dpageem import DP_SGD
from dpverify.algorithms.tested import (
    EXAMPLES,
    descent_optimizer,
    estimate_optimizer,
    promise_of,
)
from dpverify.cli import main
from dpverify.kernels.check import ArgumentError
from tests.for_each import for_each

WITHOUT = {"dp-nsgd", "sr-nsgd", "ddp-srm", "sgd-stages", "dp-agd", "storm"}
"""A Lipschitz loss in place of clipping; several parties; no noise; a choice besides a vector."""


def test_an_optimizer_without_such_a_step_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in WITHOUT:
        with pytest.raises(ArgumentError, match="has no step to test"):
            ALGORITHMS[name].conformance()
    assert main(["conform", "storm"]) == 2
    assert "has no step to test" in capsys.readouterr().err
    assert main(["conform", "nothing"]) == 2


@pytest.mark.slow
def test_the_command_takes_the_name_of_a_bundled_optimizer() -> None:
    assert main(["conform", "rrpsgd"]) == 0


@pytest.mark.slow
@for_each("name", sorted(ALGORITHMS.keys() - WITHOUT))
def test_a_bundled_optimizer_keeps_its_promise(name: str) -> None:
    assert dv.conformance(*ALGORITHMS[name].conformance())


@for_each("change", [{"sigma": 1.5}, {"clip": 1.3}])
def test_a_step_of_descent_with_less_noise_or_longer_gradients_is_found(
    change: dict[str, Any],
) -> None:
    settings = DP_SGD.complete(
        {"steps": 2, "batch": 8, "sigma": 2.0, "eta": 1.0}, EXAMPLES
    )
    optimizer = descent_optimizer(
        DP_SGD, msgspec.structs.replace(settings, **change), 8
    )
    assert not dv.conformance(optimizer, promise_of(settings.sigma, settings.clip, 8))


@for_each("change", [{"sigma": 1.5}, {"change_clip": 0.8}])
def test_an_estimate_with_less_noise_or_longer_changes_is_found(
    change: dict[str, Any],
) -> None:
    _, promise = DP_SRM.conformance()
    request = {"steps": 2, "batch": 8, "sigma": 2.0, "gamma": 0.3, "change_clip": 0.4}
    settings = DP_SRM.complete(request | change, EXAMPLES)
    assert not dv.conformance(estimate_optimizer(DP_SRM, settings), promise)
