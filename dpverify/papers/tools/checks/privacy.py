"""Check conversions of one Gaussian in balls, and many steps on random batches by lower bounds on delta.

*Lower bounds on delta*: the losses of a step are rounded down to a grid and added up exactly. With L the privacy loss
of all steps, delta at epsilon is E(1 - exp(epsilon - L))_+, which grows with L. So rounding losses down, and omitting
losses beyond the grid, can only lower it. The sum's law is a power of the step's transform.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from math import comb, inf, nextafter
from typing import Final

import numpy as np
from flint import arb
from numpy.typing import NDArray
from scipy import special

from dpverify.harness import Budget, PaperChecks, Planted, Point, RuleCheck, SearchCheck
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide
from dpverify.ledger.statements import Statement
from dpverify.privacy import gaussian_safe as safe
from dpverify.privacy.subsampling import (
    SUM_FACTOR,
    gaussian_rdp,
    poisson_gaussian_epsilon,
    poisson_gaussian_rdp,
    sampled_epsilon,
    sampled_rdp,
    sampled_std,
    without_replacement_gaussian_sharp,
    without_replacement_rdp,
)
from dpverify.symbolic.exact.numbers import Exact, ball

CELLS: Final = 1 << 17
# bound on the effect of the transforms' rounding on a probability, which is subtracted
ROUNDING: Final = 1e-12


@lru_cache(maxsize=64)
def losses(
    q: float, sigma: float, T: int, swapped: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the law of the summed loss of T steps of (1-q) N(0, s^2) + q N(1, s^2) against N(0, s^2).

    ``swapped`` exchanges the two. The result is the increasing losses and their probabilities, both of shape (n,).
    """
    spread = 12.0 * sigma
    x = np.linspace(-spread, spread + 1.0, 20_001)
    below = special.ndtr(x / sigma)
    below_shifted = special.ndtr((x - 1.0) / sigma)
    mixed = (1.0 - q) * below + q * below_shifted
    law = np.diff(below if swapped else mixed)
    at = np.logaddexp(
        np.log1p(-q) if q < 1.0 else -np.inf,
        np.log(q) + (2.0 * x - 1.0) / (2.0 * sigma**2),
    )
    # the loss is monotone: its least value in each piece
    least = -at[1:] if swapped else at[:-1]
    width = 1.5 * float(np.ptp(least)) if T == 1 else _width(least, law, T)
    step = width / CELLS
    cells = np.floor(least / step).astype(np.int64)
    first = int(cells.min())
    cells = cells - first
    inside = cells < CELLS
    table = np.bincount(cells[inside], law[inside], minlength=CELLS)
    # The power is cyclic: read the window of CELLS
    # values with the sum's mean in its middle.
    power = np.fft.irfft(np.fft.rfft(table) ** T, CELLS)
    middle = T * float((np.arange(CELLS) * table).sum())
    lowest = int(middle) - CELLS // 2
    places = np.arange(lowest, lowest + CELLS)
    chances: NDArray[np.float64] = np.maximum(power[places % CELLS] - ROUNDING, 0.0)
    values = np.asarray((places + T * first) * step, dtype=np.float64)
    return values, chances


def _width(least: NDArray[np.float64], law: NDArray[np.float64], T: int) -> float:
    """Return a window's width that the sum is far from exceeding: thirty deviations plus the range of one step."""
    mean = float((least * law).sum())
    deviation = float(np.sqrt(((least - mean) ** 2 * law).sum()))
    return 30.0 * deviation * math.sqrt(T) + 2.0 * float(np.ptp(least[law > 1e-18]))


def delta_lower_bound(q: float, sigma: float, T: int, epsilon: float) -> float:
    """Return a lower bound on delta at epsilon >= 0, for the worse direction."""
    deltas = []
    for swapped in (False, True):
        loss, law = losses(q, sigma, T, swapped)
        above = loss > epsilon
        deltas.append(float((law[above] * -np.expm1(epsilon - loss[above])).sum()))
    return max(deltas)


CHECKS = PaperChecks("tools", __name__)


def down(value: Fraction) -> float:
    """Return the largest float not above a positive number: certificates for the float hold for the number."""
    near = float(value)
    return near if Fraction(near) <= value else nextafter(near, 0.0)


def _delta_at_epsilon(factor: float) -> LeftSide:
    def lhs(point: Point, statement: Statement) -> Exact:
        mu = float(point["mu"])
        epsilon = safe.safe_epsilon(mu, down(point["delta"]))
        return Fraction(0) if epsilon == inf else safe.delta_ball(mu, epsilon * factor)

    return lhs


def _delta_at_mu(factor: float) -> LeftSide:
    def lhs(point: Point, statement: Statement) -> Exact:
        epsilon = down(point["epsilon"])
        mu = safe.safe_mu(epsilon, down(point["delta"]))
        return Fraction(0) if mu == 0.0 else safe.delta_ball(mu * factor, epsilon)

    return lhs


Reported = Callable[[float, float, int, float], float]


def _delta_at_reported(reported: Reported, factor: float = 1.0) -> LeftSide:
    def lhs(point: Point, statement: Statement) -> Fraction:
        q = float(point["q"])
        sigma = float(point["sigma"])
        T = int(point["T"])
        return Fraction(
            delta_lower_bound(
                q, sigma, T, factor * reported(q, sigma, T, down(point["delta"]))
            )
        )

    return lhs


def _delta_at_noise(factor: float) -> LeftSide:
    """Return the left side: delta with the noise that is reported for an epsilon, on batches of 1000."""

    def lhs(point: Point, statement: Statement) -> Fraction:
        q = float(point["q"])
        T = int(point["T"])
        delta = down(point["delta"])
        epsilon = sampled_epsilon(q, float(point["sigma"]), T, delta)
        std = sampled_std(round(1000 / q), 1000, T, 1.0, epsilon, delta)
        return Fraction(delta_lower_bound(q, factor * std * 1000 / 2.0, T, epsilon))

    return lhs


def _sampled_points(budget: Budget) -> Iterator[PointLike]:
    for q, sigma, T, delta in (
        ("1", "1", 1, "1e-5"),
        ("1", "4", 16, "1e-5"),
        ("1", "10", 100, "1e-3"),
        ("1/100", "1", 1000, "1e-5"),
        ("1/10", "2", 100, "1e-6"),
        ("1/2", "3", 10, "1e-4"),
        ("9/10", "5", 50, "1e-3"),
        ("1/20", "7/10", 1, "1e-3"),
        ("1/4", "3", 60, "1e-4"),
        ("1/50", "1", 200, "1e-7"),
        ("1/8", "5/4", 8, "1e-5"),
        ("1/1000", "4/5", 3000, "1e-6"),
        ("1/2", "6", 100, "1e-8"),
        ("1/5", "2", 20, "1e-2"),
    ):
        yield {"q": q, "sigma": sigma, "T": T, "delta": delta}


def _fewer_sampled_points(budget: Budget) -> Iterator[PointLike]:
    return itertools.islice(_sampled_points(budget), 1, None, 2)


def _moment(order: int, q: Fraction, sigma: Fraction) -> arb:
    """Return the Renyi divergence of (1-q) N(0, s^2) + q N(1, s^2) from N(0, s^2), by its finite sum, in a ball."""
    unit = 1 / (2 * ball(sigma) ** 2)
    terms = (
        comb(order, k)
        * ball((1 - q) ** (order - k) * q**k)
        * (k * (k - 1) * unit).exp()
        for k in range(order + 1)
    )
    return sum(terms, start=arb(0)).log() / (order - 1)


def _opposite(order: int, q: Fraction, sigma: Fraction) -> arb:
    """Return a lower bound on the divergence of (1-q) N(0, s^2) + q N(1/2, s^2) from the same with -1/2.

    It is the divergence of the probabilities of 150 pieces of the line, which reveal at most as much as the outputs.
    """
    rate, width, half = ball(q), ball(sigma) * arb(2).sqrt(), ball(Fraction(1, 2))
    edges = [
        ball(sigma) * (k - 75) * 12 / 75 + half * max(0, k - 75) / 15
        for k in range(151)
    ]

    def pieces(to: arb) -> list[arb]:
        below = [
            ((1 - rate) * (-x / width).erfc() + rate * ((to - x) / width).erfc()) / 2
            for x in edges
        ]
        return [after - before for before, after in itertools.pairwise(below)]

    up = pieces(half)
    low = pieces(-half)
    return sum(
        (a**order / b ** (order - 1) for a, b in zip(up, low, strict=True)), arb(0)
    ).log() / (order - 1)


def _bounds(order: int, q: float, sigma: float) -> tuple[float, ...]:
    """Return the reported divergences for batches without replacement."""
    generic = without_replacement_rdp(
        order, q, [gaussian_rdp(j, 1 / sigma) for j in range(2, order + 1)]
    )
    return (
        sampled_rdp(order, q, sigma),
        without_replacement_gaussian_sharp(order, q, sigma),
        generic,
    )


def _ratio_to_bounds(factor: float, *, opposite: bool) -> LeftSide:
    def lhs(point: Point, statement: Statement) -> Exact:
        order = int(point["z"])
        q = Fraction(float(point["q"]))
        sigma = Fraction(float(point["sigma"]))
        bounds = _bounds(order, float(q), float(sigma))
        if opposite:
            return _opposite(order, q, sigma) / arb(min(bounds) * factor * SUM_FACTOR)
        return _moment(order, q, sigma) / arb(
            min(*bounds, poisson_gaussian_rdp(order, float(q), float(sigma)))
            * factor
            * SUM_FACTOR
        )

    return lhs


def _orders(budget: Budget) -> Iterator[PointLike]:
    rates = [
        ("1/10000", "1"),
        ("1/100", "3/5"),
        ("1/10", "1"),
        ("2/5", "10"),
        ("1/2", "3/2"),
        ("9/10", "3"),
        ("1", "2"),
    ]
    for z, (q, sigma) in itertools.product((2, 3, 5, 16, 40), rates):
        yield {"z": z, "q": q, "sigma": sigma}


def _few_orders(budget: Budget) -> Iterator[PointLike]:
    return (point for point in _orders(budget) if int(point["z"]) in {2, 5})


def _planted(lhs: LeftSide, name: str) -> list[Planted]:
    return [Planted(name, lhs=lhs, at_declared_size=True)]


DELTAS = ("1e-30", "1/2")
CHECKS.add(
    SearchCheck(
        "gaussian-epsilon",
        "balls",
        lhs=_delta_at_epsilon(1.0),
        region={"mu": ("1/1000", 50), "delta": DELTAS},
        planted=_planted(_delta_at_epsilon(1.0 - 1e-9), "1e-9 less epsilon"),
    ),
    SearchCheck(
        "gaussian-mu",
        "balls",
        lhs=_delta_at_mu(1.0),
        region={"epsilon": ("1/1000", 500), "delta": DELTAS},
        planted=_planted(_delta_at_mu(1.0 + 1e-9), "1e-9 more mu"),
    ),
    RuleCheck(
        "sampling-poisson",
        "many-steps",
        points=_sampled_points,
        lhs=_delta_at_reported(poisson_gaussian_epsilon),
        seconds=0.2,
        planted=_planted(
            _delta_at_reported(poisson_gaussian_epsilon, 0.9), "a tenth less epsilon"
        ),
    ),
    RuleCheck(
        "sampling-batches",
        "many-steps",
        points=_sampled_points,
        lhs=_delta_at_reported(sampled_epsilon),
        seconds=0.2,
        planted=_planted(
            _delta_at_reported(sampled_epsilon, 0.9), "a tenth less epsilon"
        ),
    ),
    RuleCheck(
        "sampling-batches",
        "noise",
        points=_fewer_sampled_points,
        lhs=_delta_at_noise(1.0),
        seconds=0.6,
        planted=_planted(_delta_at_noise(0.9), "a tenth less noise"),
    ),
    RuleCheck(
        "sampling-moments",
        "one-against-none",
        points=_orders,
        lhs=_ratio_to_bounds(1.0, opposite=False),
        seconds=0.05,
        planted=_planted(_ratio_to_bounds(1.0 - 1e-8, opposite=False), "1e-8 less"),
    ),
    RuleCheck(
        "sampling-moments",
        "opposite",
        points=_few_orders,
        lhs=_ratio_to_bounds(1.0, opposite=True),
        seconds=0.5,
        planted=_planted(_ratio_to_bounds(0.98, opposite=True), "a fiftieth less"),
    ),
)
