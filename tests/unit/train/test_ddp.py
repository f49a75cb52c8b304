"""What a run of several parties is said to guarantee, against laws that are known exactly."""

from __future__ import annotations

import math
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from dpverify.algorithms.dp_srm import DdpSettings
from dpverify.kernels.check import ArgumentError
from dpverify.mpc.fixed_point import DEVIATIONS, Inside, Noise, encode
from dpverify.privacy import binomial_noise, ratio_noise
from dpverify.privacy.batches import BatchSteps, batch_epsilon
from dpverify.privacy.gaussian import epsilon_of
from dpverify.train import ddp
from dpverify.train.ddp import (
    check_batch,
    ddp_epsilon,
    rounding_bound,
    scales_of,
    with_inside_sigma,
)
from tests.for_each import for_each


def settings(**changes: Any) -> DdpSettings:
    usual: dict[str, Any] = {
        "steps": 1,
        "sigma": 4.0,
        "gamma": 0.25,
        "eta": 0.5,
        "lam": 0.0,
        "batch": 30,
        "parties": 3,
        "change_clip": 1.0,
    }
    return DdpSettings(**usual | changes)


def test_shares_on_all_examples_are_gaussian_releases() -> None:
    found = ddp_epsilon(settings(steps=9), [10, 10, 10], 5, 1e-5)
    assert (
        epsilon_of(math.sqrt(9) / 4.0, 1e-5)
        <= found
        == pytest.approx(epsilon_of(0.75, 1e-5), rel=2e-3)
    )


def test_a_batch_is_no_more_than_each_party_can_draw_of_it() -> None:
    check_batch(settings(batch=15), [30, 5, 20])
    for batch, holds in ((15, [30, 4, 20]), (18, [30, 5, 20]), (14, [30, 5, 20])):
        with pytest.raises(
            ArgumentError,
            match=f"a multiple of the 3 parties, at most 3 times {min(holds)}, the few",
        ):
            check_batch(settings(batch=batch), holds)


@for_each("noise", ["shares", "bits", "ratio"])
def test_the_rate_is_that_of_the_smallest_party(noise: Noise) -> None:
    """The 5 of its 10 examples are half; noise made inside costs more: its bound for samples is loose."""
    truth = batch_epsilon([BatchSteps(0.5, 4.0, 6)], 1e-5)
    found = ddp_epsilon(settings(steps=6, batch=15, noise=noise), [30, 10, 20], 5, 1e-5)
    assert truth.lower <= found <= truth.upper * (1.0 if noise == "shares" else 2.5)


@for_each(("noise", "law"), [("bits", binomial_noise), ("ratio", ratio_noise)])
def test_noise_made_inside_guarantees_what_one_coordinate_of_a_release_gives_exactly(
    noise: Inside, law: ModuleType
) -> None:
    for delta in (1e-3, 1e-6):
        epsilon = ddp_epsilon(settings(noise=noise), [10, 10, 10], 1, delta)
        assert (
            delta / 100.0
            < law.delta_of_shift(int(DEVIATIONS[noise] / 4.0), epsilon)
            <= delta
        )


@for_each(("noise", "law"), [("bits", binomial_noise), ("ratio", ratio_noise)])
def test_delta_pays_for_the_far_tails_of_noise_made_inside(
    noise: Inside, law: ModuleType
) -> None:
    """Its hundredth part does, for each number of each release, and nothing is guaranteed where they take more."""
    run = settings(noise=noise, steps=7)
    epsilon = ddp_epsilon(run, [10, 10, 10], 11, 1e-5)
    assert law.delta_spent(77.0, epsilon) < 1e-7
    least = 100.0 * law.delta_spent(77.0, 0.0)  # what they take at the least
    assert ddp_epsilon(run, [10, 10, 10], 11, least) == math.inf
    # its epsilon is small, so that they take hardly more than that
    loud = settings(noise=noise, steps=7, sigma=40.0)
    assert ddp_epsilon(loud, [10, 10, 10], 11, least) == math.inf
    assert math.isfinite(ddp_epsilon(loud, [10, 10, 10], 11, 4.0 * least))
    assert math.isfinite(ddp_epsilon(run, [10, 10, 10], 11, 1e4 * least))
    # beyond two deviations
    assert (
        ddp_epsilon(settings(noise=noise, sigma=0.4), [10, 10, 10], 1, 1e-5) == math.inf
    )


def test_the_bound_on_rounding_is_reached_where_all_parties_are_half_a_unit_off() -> (
    None
):
    """In all coordinates and one way; the first step moves the iterate by 1/(2L) times the estimate."""
    run, d, smoothness = settings(sigma=0.0), 7, 2.0
    unit = scales_of(run, d)[0].unit
    own = np.full(d, 0.4999 * unit)
    opened = 3 * encode(own, unit, 3) * unit
    apart = float(np.linalg.norm(3 * own - opened)) / 30 / (2.0 * smoothness)
    assert (
        0.999 * rounding_bound(run, d, smoothness)
        < apart
        <= rounding_bound(run, d, smoothness)
    )


def test_the_first_sum_and_the_others_are_rounded_in_units_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two steps by hand: D_1 = e_0/2, e_1 = (1 - gamma) (e_0 + D_0) + D_1 + r, and D_2 = D_1 + e_1/2."""
    units = SimpleNamespace(unit=0.5), SimpleNamespace(unit=0.125)
    monkeypatch.setattr(ddp, "scales_of", lambda *_: units)
    first, later = (math.sqrt(7) * 3 / 2 * one.unit / 30 for one in units)
    assert rounding_bound(settings(), 7, 2.0) == pytest.approx(first / 2 / 2.0)
    second = 0.75 * first + first / 2 + later
    assert rounding_bound(settings(steps=2), 7, 2.0) == pytest.approx(
        (first / 2 + second / 2) / 2.0
    )


@for_each(("noise", "law"), [("bits", binomial_noise), ("ratio", ratio_noise)])
def test_delta_is_spent_once_on_the_renyi_bounds_and_on_the_far_tails(
    noise: Inside, law: ModuleType
) -> None:
    """What the bound of each order leaves of delta at this epsilon, the best of them, is for the tails."""
    epsilon = ddp_epsilon(settings(noise=noise, steps=7), [10, 10, 10], 11, 1e-5)
    least = min(
        (order - 1) * (7 * bound - epsilon + math.log1p(-1.0 / order)) - math.log(order)
        for order, bound in enumerate(
            law.renyi_bounds(DEVIATIONS[noise] / 4.0), start=2
        )
    )
    assert 0.98e-5 < math.exp(least) <= 1e-5 - law.delta_spent(77.0, epsilon)


@for_each("noise", ["bits", "ratio"])
def test_the_least_noise_inside_is_certified_and_hardly_less_is_not(
    noise: Inside,
) -> None:
    run, holds, epsilon = settings(noise=noise, steps=3, batch=15), [30, 10, 20], 0.5
    found = with_inside_sigma(run, noise, holds, 5, epsilon, 1e-5)
    assert ddp_epsilon(found, holds, 5, 1e-5) <= epsilon
    less = msgspec.structs.replace(found, sigma=found.sigma / 1.00001)
    assert ddp_epsilon(less, holds, 5, 1e-5) > epsilon
    assert scales_of(found, 5)[0].inside == noise


def test_the_ratio_of_uniforms_costs_hardly_more_than_a_gaussian() -> None:
    """On all examples: within 4% of the exact epsilon of a Gaussian release, the loss of the way by Renyi bounds."""
    found = ddp_epsilon(settings(steps=9, noise="ratio"), [10, 10, 10], 5, 1e-5)
    assert 1.0 < found / epsilon_of(math.sqrt(9) / 4.0, 1e-5) < 1.1
