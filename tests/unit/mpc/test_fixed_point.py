"""What sums of parties rest on, without any connection: ranges, rounding, and what each shared bit weighs."""

from __future__ import annotations

import math
from random import Random
from types import SimpleNamespace
from typing import cast, get_args

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Indices
from dpverify.mpc.fixed_point import (
    DEVIATIONS,
    MODULUS,
    RANGE,
    Inside,
    choose_scale,
    encode,
    largest_sigma,
)
from dpverify.mpc.noise import CHUNK, binomial_noise, own_noise
from dpverify.mpc.session import Session
from dpverify.privacy.binomial_noise import FINE_BITS, WHOLE_BITS
from tests.for_each import for_each

BITS = WHOLE_BITS + 2 * FINE_BITS


def noise_of(bits: Indices) -> Indices:
    """Noise of coordinates whose shared bits are known, shape (size, BITS)."""
    taken = iter(
        np.split(bits.reshape(-1), range(CHUNK * BITS, bits.size, CHUNK * BITS))
    )
    mpc = SimpleNamespace(
        np_random_bits=lambda field, count: next(taken)[:count],
        np_concatenate=np.concatenate,
    )
    found: Indices = binomial_noise(
        mpc, SimpleNamespace(array=lambda weights: weights), len(bits)
    ).astype(np.int64)
    return found


def test_a_partys_own_noise_is_rounded_to_the_nearest_unit() -> None:
    """Cut towards 0, a sum of such noise would no longer be a rounded Gaussian: 0 would be twice as likely."""
    drawn = iter([-1.6, -0.6, -0.4, 0.4, 0.6, 1.6])
    told = SimpleNamespace(gauss=lambda mean, deviation: next(drawn) * deviation + mean)
    assert own_noise(cast(Random, told), 1.0, 6).tolist() == [-2, -1, 0, 0, 1, 2]


def test_each_shared_bit_weighs_what_the_law_says() -> None:
    """Without any bit the noise is the least; each single bit adds its weight, and all of them give the largest."""
    whole, fine = 1 << FINE_BITS, [1 << i for i in range(FINE_BITS)]
    found = noise_of(
        np.vstack(
            [
                np.zeros((1, BITS), np.int64),
                np.ones((1, BITS), np.int64),
                np.eye(BITS, dtype=int),
            ]
        )
    )
    most = whole * WHOLE_BITS // 2 + whole - 1
    assert (found[0], found[1]) == (-most, most)
    assert sorted(found[2:] + most) == sorted([whole] * WHOLE_BITS + 2 * fine)


@for_each("parties", [3, 16])
def test_values_up_to_the_range_are_taken_and_sums_of_all_stay_below_it(
    parties: int,
) -> None:
    most = RANGE // (2 * parties)
    near = most - most % 64  # a float holds it
    assert encode(np.array([float(near), -float(near)]), 1.0, parties).tolist() == [
        near,
        -near,
    ]
    with pytest.raises(ArgumentError, match="fixed-point range"):
        encode(np.array([0.0, -1.001 * most]), 1.0, parties)
    session = object.__new__(Session)
    session.parties = parties
    assert session._checked(np.array([0, -most])).tolist() == [0, -most]
    for beyond in (most + 1, -most - 1):
        with pytest.raises(ArgumentError, match=f"must be at most {most} in size"):
            session._checked(np.array([0, beyond]))
    noise = (1 << FINE_BITS) * (WHOLE_BITS // 2 + 1)
    assert parties * most + noise < RANGE < MODULUS // 2


@for_each("noise", get_args(Inside))
@for_each("dimension", [1, 7, 123])
def test_the_largest_sigma_is_taken_and_more_is_refused(
    noise: Inside, dimension: int
) -> None:
    most = largest_sigma(noise, dimension)
    assert choose_scale(noise, 2.0, most, 3, dimension, 20).inside == noise
    with pytest.raises(ArgumentError, match=f"must be at most .* for noise={noise}"):
        choose_scale(noise, 2.0, most * (1.0 + 1e-9), 3, dimension, 20)


def test_values_are_rounded_to_the_nearest_unit() -> None:
    assert encode(np.array([0.26, -0.26, 0.24, 1.0]), 0.5, 3).tolist() == [1, -1, 0, 2]


def test_values_beyond_the_range_and_noise_below_the_resolution_are_refused() -> None:
    with pytest.raises(ArgumentError, match="within the fixed-point range"):
        encode(np.array([1e30]), 2.0**-24, 3)
    with pytest.raises(ArgumentError, match="must be finite"):
        encode(np.array([np.nan]), 2.0**-24, 3)
    with pytest.raises(ArgumentError, match="below the resolution"):
        choose_scale("shares", 1.0, 1.0, 3, 4, 2)
    with pytest.raises(ArgumentError, match="beyond the fixed-point range"):
        choose_scale("shares", 1.0, 1e12, 3, 4, 24)
    for noise in DEVIATIONS:
        with pytest.raises(
            ArgumentError, match=rf"must be at most .* for noise={noise}"
        ):
            choose_scale(noise, 1.0, 4000.0, 3, 4, 24)


@for_each("parties", [3, 4, 5])
def test_shares_of_noise_reach_sigma_without_those_of_colluders(parties: int) -> None:
    scale = choose_scale("shares", 2.0, 1.5, parties, 9, 20)
    honest = parties - (parties - 1) // 2
    assert scale.share * np.sqrt(honest) == pytest.approx(1.5 * (2.0 * 2**20 + 3.0))
    assert scale.deviation == pytest.approx(scale.share * np.sqrt(parties) / 2**20)
    for noise, deviation in DEVIATIONS.items():
        inside = choose_scale(noise, 2.0, 1.5, parties, 9, 20)
        assert pytest.approx(1.5 * (2.0 / inside.unit + 3.0)) == deviation
        assert (inside.inside, inside.share) == (noise, 0.0)
        assert inside.deviation == pytest.approx(deviation * inside.unit)


@for_each("parties", [3, 16])
def test_noise_of_64_deviations_fits_into_a_partys_range(parties: int) -> None:
    """And what is refused says so: the largest share is that of 64 deviations in half of what a party may add."""
    honest = parties - (parties - 1) // 2
    most = RANGE // (2 * parties) / 64.0 * math.sqrt(honest) / (2.0**20 + 2.0)
    share = choose_scale("shares", 1.0, most * (1.0 - 1e-9), parties, 4, 20).share
    assert 64.0 * share == pytest.approx(RANGE // (2 * parties))
    with pytest.raises(ArgumentError, match="beyond the fixed-point range"):
        choose_scale("shares", 1.0, most * (1.0 + 1e-9), parties, 4, 20)
