from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.scales import (
    Scales,
    printed_scales,
    proof_scales,
)
from tests.for_each import for_each

BASE = SrParameters(steps=100, alpha=0.2, gamma=0.3, eta=0.05, sigma=0.5, lipschitz=2.0)


def test_printed_constants() -> None:
    found = printed_scales(16, 160, eta=0.01, lipschitz=3.0)
    assert found == Scales(12.0, 2 * 0.01 * 16, 2 * 0.01 * 16, 12.0, 160.0)


def test_the_proofs_have_l() -> None:
    printed = printed_scales(16, 160, eta=0.01, lipschitz=3.0)
    found = proof_scales(16, 160, eta=0.01, lipschitz=3.0, smoothness=5.0)
    assert (found.delta_delta, found.delta_r) == (
        5 * printed.delta_delta,
        5 * printed.delta_r,
    )
    assert (found.delta_g, found.v_first, found.v_later) == (
        printed.delta_g,
        printed.v_first,
        printed.v_later,
    )


def test_one_example_has_no_noise_as_printed() -> None:
    assert not replace(BASE, sigma=10.0).deviations(1).any()


def test_deviations() -> None:
    scales = Scales(1.0, 2.0, 3.0, 4.0, 9.0)
    assert replace(BASE, scales=scales).deviations(7).tolist() == [1.0, 1.5, 3.0, 4.5]
    drift = 2 * 0.05 * 8
    expected = [
        8 * 0.5 * 3,
        8 * 0.5 * math.sqrt(150),
        drift * 0.5 * math.sqrt(150),
        drift * 0.5 * math.sqrt(150),
    ]
    assert BASE.deviations(8) == pytest.approx(expected, rel=1e-14)
    assert BASE.deviations(8)[0] == 12.0


@for_each(
    ("change", "text"),
    [
        ({"steps": 0}, "steps must be an integer, at least 1"),
        ({"alpha": 0.0}, r"alpha must lie in \(0, 1\]"),
        ({"gamma": -0.1}, r"gamma must lie in \[0, 1\]"),
        ({"eta": math.inf}, "eta must be finite and at least 0"),
        ({"sigma": -1.0}, "sigma must be finite and at least 0"),
        ({"lipschitz": 0.0}, "lipschitz must be finite and above 0"),
        ({"ordering": "random"}, "ordering must be fresh or once, got ordering=random"),
    ],
)
def test_bad_parameters(change: dict[str, object], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        replace(BASE, **change)  # type: ignore[arg-type]  # wrong on purpose


def test_bad_scales() -> None:
    with pytest.raises(
        ArgumentError, match="v_later must be finite and at least 0, got v_later=-1"
    ):
        Scales(1.0, 1.0, 1.0, 1.0, -1.0)
    with pytest.raises(ArgumentError, match="smoothness must be finite and at least 0"):
        proof_scales(4, 8, eta=0.1, lipschitz=1.0, smoothness=-1.0)
    with pytest.raises(ArgumentError, match="examples must be an integer, at least 1"):
        BASE.deviations(0)
