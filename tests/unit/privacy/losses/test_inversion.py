"""Bounds by inversion: against the law of the sum, exact transforms, and the sizes of omitted terms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import acb, arb, ctx, fmpq

from dpverify.privacy.losses.grid import (
    ROUNDOFF,
    LossLaw,
    Side,
    Steps,
    UnresolvedError,
    step_law,
)
from dpverify.privacy.losses.inversion import _decay, _tilt, invert
from dpverify.privacy.losses.phases import BLOCK, phase_sums
from dpverify.privacy.losses.total import add_up
from tests.for_each import for_each

LAW = LossLaw(
    np.array([-3, -2, -1, 0, 1, 2, 40]),
    np.array([0.05, 0.1, 0.3, 0.25, 0.1, 0.199, 0.001]),
    0.0,
)


@for_each(
    ("rate", "noise", "count", "delta"),
    [(0.01, 1.0, 1000, 1e-5), (0.2, 2.0, 400, 1e-9)],
)
@for_each("side", ["removed", "lower", "upper"])
def test_both_ways_agree(
    rate: float, noise: float, count: int, delta: float, side: Side
) -> None:
    width = rate / noise / 16.0
    steps = [Steps(step_law(rate, noise, width, 1e-9 * delta / count, side), count)]
    summed = add_up(steps, width, delta)
    inverted = invert(steps, width, delta)
    for epsilon in (0.9 * summed.epsilon(delta, 1), summed.epsilon(delta, 1)):
        low, high = inverted.delta(epsilon, -1), inverted.delta(epsilon, 1)
        assert low <= summed.delta(epsilon, 1)
        assert summed.delta(epsilon, -1) <= high
        assert 0.0 < low <= high < 1.01 * low


def test_several_kinds_of_steps() -> None:
    width = 0.02
    steps = [
        Steps(LAW, 200),
        Steps(LossLaw(np.array([-2, -1, 0]), np.array([0.3, 0.3, 0.4]), 0.0), 300),
    ]
    summed, inverted = add_up(steps, width, 1e-6), invert(steps, width, 1e-6)
    epsilon = summed.epsilon(1e-6, 1)
    assert inverted.delta(epsilon, -1) <= summed.delta(epsilon, 1)
    assert summed.delta(epsilon, -1) <= inverted.delta(epsilon, 1)


def test_few_steps_are_refused() -> None:
    with pytest.raises(UnresolvedError):
        invert([Steps(LAW, 1)], 0.02, 1e-6)


def test_each_error_widens_the_bounds() -> None:
    inverted = invert([Steps(LAW, 500)], 0.02, 1e-6)
    epsilon = inverted.epsilon(1e-6, 1)
    plain = (inverted.delta(epsilon, -1), inverted.delta(epsilon, 1))
    for change in (
        {"omitted": 1e-3},
        {"errors": inverted.errors + 1e-3},
        {"part": 1e-3},
    ):
        wider = type(inverted)(**{**vars(inverted), **change})
        assert wider.delta(epsilon, -1) < plain[0]
        assert plain[1] < wider.delta(epsilon, 1)
    more = type(inverted)(**{**vars(inverted), "beyond": 1e-3})
    assert more.delta(epsilon, 1) == pytest.approx(plain[1] + 1e-3)
    shorter = type(inverted)(**{**vars(inverted), "period": inverted.period / 3.0})
    assert shorter._aliased(epsilon) > 1e3 * inverted._aliased(epsilon)


@for_each("theta", [0.1, 1.0, 4.0])
def test_moduli_are_below_their_bounds(theta: float) -> None:
    width = 0.02
    (law,) = _tilt([Steps(LAW, 7)], width, theta)
    for first in np.geomspace(0.5, 0.8 * math.pi / width, 25).tolist():
        last = 1.25 * first
        bound = math.exp(-_decay(law, first, last))
        for frequency in np.linspace(first, last, 40).tolist():
            assert abs(
                complex(law.weights @ np.exp(1j * frequency * law.losses))
            ) <= bound * (1.0 + 1e-12)
    assert _decay(law, 0.4 * math.pi / width, 0.5 * math.pi / width) > 1e-3


def test_phase_sums_are_in_their_rounding() -> None:
    weights = np.array([0.2, 0.5, 0.3])
    places = np.array([-7, 1, 123_456_789])
    cells, count = 1_000_000_007, 3 * BLOCK + 5
    real, imaginary, bound = phase_sums(weights, places, cells, count)
    with ctx.workprec(200):
        for n in (0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, count - 1):
            exact = acb(0)
            for weight, place in zip(weights.tolist(), places.tolist(), strict=True):
                angle = 2 * acb.pi() * arb(fmpq(n * place, cells))
                exact += weight * ((acb(0, 1) * angle).exp() - 1)
            error = abs(acb(real[n], imaginary[n]) - exact)
            assert error <= arb(16.0 * BLOCK * ROUNDOFF * bound[n])
    assert bound.max() <= 2.0
