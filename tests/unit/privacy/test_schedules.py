from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from dpverify.calibrate.guarantee import epsilon, sigma
from dpverify.kernels.typing import Vector
from dpverify.privacy import schedule_bounds
from dpverify.privacy.balls_in_bins import bins_lower, bins_upper
from dpverify.privacy.gaussian import epsilon_of
from dpverify.privacy.participation import Bounds
from tests.for_each import for_each


def ratios(spread: float, count: int) -> tuple[Vector, Vector]:
    """Likelihood ratios of one step, and their chances under Q."""
    z = np.linspace(-9.0, 9.0 + spread, count)
    chances = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * (z[1] - z[0])
    return np.exp(spread * z - 0.5 * spread**2), chances


def integrated(spread: float, steps: int, delta: float) -> float:
    """Epsilon of the pair of one epoch of 2 or 3 steps: the last step in closed form, the others by trapezes."""
    if steps == 2:
        first, chances = ratios(spread, 8001)
    else:
        one, chance = ratios(spread, 401)
        first = np.add.outer(one, one).ravel()
        chances = np.multiply.outer(chance, chance).ravel()

    def removed(epsilon: float) -> float:
        strike = steps * math.exp(epsilon) - first
        z = np.log(np.maximum(strike, 1e-300)) / spread + 0.5 * spread
        call = np.where(
            strike > 0.0, ndtr(spread - z) - strike * ndtr(-z), 1.0 - strike
        )
        return float((chances * call).sum()) / steps - delta

    def added(epsilon: float) -> float:
        strike = steps * math.exp(-epsilon) - first
        z = np.log(np.maximum(strike, 1e-300)) / spread + 0.5 * spread
        put = np.where(strike > 0.0, strike * ndtr(z) - ndtr(z - spread), 0.0)
        return float((chances * put).sum()) * math.exp(epsilon) / steps - delta

    both = (removed, added)
    return max(
        0.0 if gap(0.0) <= 0.0 else float(brentq(gap, 0.0, 60.0, xtol=1e-12))
        for gap in both
    )


def epochs_by_a_grid(spread: float, delta: float) -> float:
    """Epsilon of two epochs of two steps, from the losses of one on a fine grid."""
    one, chance = ratios(spread, 1501)
    ratio = (np.add.outer(one, one) / 2.0).ravel()
    under_q = np.multiply.outer(chance, chance).ravel()
    places = np.rint(np.log(ratio) / 2e-3).astype(np.int64)
    first = int(places.min())
    one_p = np.bincount(places - first, under_q * ratio).astype(np.float64)
    one_q = np.bincount(places - first, under_q).astype(np.float64)
    p: Vector = np.convolve(one_p, one_p)
    q: Vector = np.convolve(one_q, one_q)
    losses = np.asarray(2e-3 * (np.arange(len(p)) + 2 * first), np.float64)
    return max(
        epsilon_of_losses(losses, p, delta), epsilon_of_losses(-losses, q, delta)
    )


def epsilon_of_losses(losses: Vector, chances: Vector, delta: float) -> float:
    def excess(epsilon: float) -> float:
        return (
            float(
                (
                    chances
                    * np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0)
                ).sum()
            )
            - delta
        )

    return 0.0 if excess(0.0) <= 0.0 else float(brentq(excess, 0.0, 100.0, xtol=1e-12))


def epsilon_of_densities(p: Vector, q: Vector, delta: float) -> float:
    """Epsilon of two laws on a grid of points, in the worse order."""
    losses = np.log(np.maximum(p, 1e-300)) - np.log(np.maximum(q, 1e-300))
    return max(
        epsilon_of_losses(losses, p, delta), epsilon_of_losses(-losses, q, delta)
    )


@for_each(
    ("spread", "steps", "delta"),
    [
        (1.0, 2, 1e-3),
        (0.5, 2, 1e-5),
        (2.0, 2, 1e-5),
        (0.1, 2, 1e-4),
        (3.3, 2, 1e-4),
        (1.0, 2, 0.1),
        (1.0, 3, 1e-3),
        (0.5, 3, 1e-5),
    ],
)
def test_bounds_of_balls_in_bins_enclose_integrals_and_are_close(
    spread: float, steps: int, delta: float
) -> None:
    value = integrated(spread, steps, delta)
    lower = bins_lower(spread, steps, 1, 1, delta)
    upper = bins_upper(spread, steps, 1, delta)
    assert lower <= value <= upper
    assert upper - lower < (1e-3 if spread < 2.0 else 0.1)
    # an error of the noise of 0.2% would be seen
    assert bins_upper(spread * (1.0 - 2e-3), steps, 1, delta) < value
    assert bins_lower(spread * (1.0 + 2e-2), steps, 1, 1, delta) > value
    assert value < epsilon_of(spread, delta)
    if steps == 2 and spread <= 1.0:
        twice = epochs_by_a_grid(spread, delta)
        assert bins_lower(spread, 2, 1, 2, delta) <= twice * (1.0 + 1e-4)
        assert twice <= bins_upper(spread, 2, 2, delta) * (1.0 + 1e-4)


def largest_number_pair(sigma: float, delta: float, change: float) -> Bounds:
    """The exact epsilon of an epoch of two steps whose other gradients are opposed, and its lower bound."""
    at = np.linspace(-8.0 * sigma, 2.0 + 8.0 * sigma, 1201)

    def mixture(shift: float) -> Vector:
        with_example = np.exp(-0.5 * ((at - shift) / sigma) ** 2)
        without = np.exp(-0.5 * (at / sigma) ** 2)
        both: Vector = (
            np.outer(with_example, without) + np.outer(without, with_example)
        ).ravel()
        return np.asarray(both / both.sum(), np.float64)

    value = epsilon_of_densities(mixture(2.0), mixture(2.0 - change), delta)
    return Bounds(
        schedule_bounds.largest_number_lower(change, sigma, 2, 1, delta),
        value * (1.0 + 1e-4),
        exact=False,
    )


def truncated_pair(
    noise: float,
    delta: float,
    examples: int,
    rate: float,
    most: int,
    other: float = -1.0,
) -> float:
    """The exact epsilon of one truncated sample: the example has 1, and all others ``other``."""
    at = np.linspace(-examples - 9.0 * noise, 1.0 + 9.0 * noise, 20_001)

    def law(has_example: bool) -> Vector:
        total: Vector = np.zeros(len(at))
        for others in range(examples):
            chance = (
                math.comb(examples - 1, others)
                * rate**others
                * (1.0 - rate) ** (examples - 1 - others)
            )
            without = np.exp(-0.5 * ((at - other * min(others, most)) / noise) ** 2)
            if not has_example:
                total += chance * without
                continue
            stays = min(1.0, most / (others + 1))
            together = np.exp(
                -0.5 * ((at - other * min(others, most - 1) - 1.0) / noise) ** 2
            )
            total += chance * ((1.0 - rate * stays) * without + rate * stays * together)
        return np.asarray(total / total.sum(), np.float64)

    return epsilon_of_densities(law(True), law(False), delta)


HOW: list[dict[str, Any]] = [
    {"sampling": "fixed"},
    {"sampling": "fixed", "neighbours": "replace-one"},
    {"sampling": "shuffled", "ordering": "once"},
    {"sampling": "balls-in-bins"},
    {"sampling": "balls-in-bins", "ordering": "once"},
    {"sampling": "random-allocation"},
    {"sampling": "truncated-poisson", "examples": 400, "largest_batch": 120},
]


def check_noise(how: dict[str, Any]) -> None:
    """The noise that is found is enough, and no schedule has more than all of its steps, if they are known."""
    run = {"steps": 40, "rate": 0.1, **how}
    noise = sigma(2.0, 1e-5, **run)
    bounds = epsilon(noise, 1e-5, **run)
    assert bounds.lower <= bounds.upper <= 2.0
    assert epsilon(noise * (1.0 - 2e-3), 1e-5, **run).upper > 2.0
    assert "certified" in bounds.method
    known = 2.0 if how.get("neighbours") == "replace-one" else 1.0
    if how["sampling"] != "truncated-poisson":
        assert bounds.upper <= epsilon_of(known * 2.0 / noise, 1e-5) * (1.0 + 1e-12)
        everything = epsilon(noise, 1e-5, **{**run, "rate": 1.0, "steps": 3})
        assert (
            everything.lower
            <= epsilon_of(known * math.sqrt(3.0) / noise, 1e-5)
            <= everything.upper
        )
    with pytest.raises(ValueError, match="rate must"):
        epsilon(
            noise,
            1e-5,
            **{**run, "rate": 0.37 if how["sampling"] != "truncated-poisson" else 1.5},
        )
    with pytest.raises(ValueError, match="neighbours must be"):
        epsilon(noise, 1e-5, **{**run, "neighbours": "nearly"})


def test_each_schedule_lies_between_concrete_pairs_and_what_is_known(
    subtests: pytest.Subtests,
) -> None:
    delta = 1e-4
    for noise, change in ((0.4, 1.0), (1.0, 1.0), (3.0, 2.0), (0.7, 2.0)):
        with subtests.test("largest number", noise=noise, change=change):
            pair = largest_number_pair(noise, delta, change)
            assert 0.6 * pair.upper < pair.lower <= pair.upper
            relation = "zero-out" if change == 1.0 else "replace-one"
            shuffled = epsilon(
                noise,
                delta,
                steps=2,
                rate=0.5,
                sampling="shuffled",
                neighbours=relation,
            )
            assert pair.lower <= shuffled.lower <= shuffled.upper
    for noise, examples, rate, most in (
        (0.5, 4, 0.5, 1),
        (1.0, 6, 0.5, 3),
        (2.0, 40, 0.1, 20),
        (1.0, 3, 0.2, 2),
    ):
        with subtests.test("truncated", noise=noise, most=most):
            cut = epsilon(
                noise,
                delta,
                rate=rate,
                sampling="truncated-poisson",
                examples=examples - 1,
                largest_batch=most,
            )
            alone = truncated_pair(noise, delta, examples, rate, most, 0.0)
            assert cut.lower <= alone * (1.0 + 1e-4)
            assert max(
                alone, truncated_pair(noise, delta, examples, rate, most)
            ) <= cut.upper * (1.0 + 1e-4)
    plain = epsilon(0.5, delta, rate=0.5)
    # to account as if nothing were cut is wrong
    assert plain.upper < truncated_pair(0.5, delta, 4, 0.5, 1)
    exact = [
        math.fsum(math.comb(9, k) * 0.3**k * 0.7 ** (9 - k) for k in range(b + 1, 10))
        for b in range(10)
    ]
    for largest, chance in enumerate(exact):
        assert (
            chance
            <= schedule_bounds.chance_above(9, 0.3, largest) * (1.0 + 1e-12)
            <= chance * (1.0 + 1e-9) + 1e-290
        )
    for how in HOW:
        with subtests.test("noise", **how):
            check_noise(how)
