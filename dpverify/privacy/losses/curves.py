"""Bounds on epsilon and delta for subsampled Gaussian steps, by the first method that gives sharp bounds.

A step has rate q, noise s (standard deviation over sensitivity), and the pair A = (1-q) N(0, s^2) + q N(1, s^2) and
B = N(0, s^2). All methods here give valid bounds, but need different conditions. The distribution of the sum on the
grid of one step is long if a step's loss is small compared with the sum. The inversion of the transform needs many
steps. A wider grid, chosen for the sum, is accurate if steps that miss the example have a negligible loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol

import numpy as np

from dpverify.privacy.conversions import improved_epsilon
from dpverify.privacy.gaussian_safe import safe_epsilon
from dpverify.privacy.losses.grid import FINE, Side, Steps, UnresolvedError, step_law
from dpverify.privacy.losses.inversion import invert
from dpverify.privacy.losses.total import LossCurve, add_up, fitting_width
from dpverify.privacy.subsampling import poisson_gaussian_rdp

LEAST_NOISE: Final = 0.02  # less noise gives losses of a thousand and more
TAIL: Final = 1e-5  # fraction of delta for losses that are not resolved
# fraction of epsilon by which transform errors
# may change it, for a bound to count as sharp
SHARP: Final = 3e-3
RENYI_ORDERS: Final = (2, 3, 4, 5, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256)


class SampledSteps(Protocol):
    """Steps of one kind."""

    @property
    def rate(self) -> float:
        """Part of the data in a batch, in (0, 1]."""

    @property
    def noise(self) -> float:
        """Standard deviation over sensitivity, above 0."""

    @property
    def count(self) -> int:
        """Number of steps."""


class UpperBound(NamedTuple):
    """An upper bound on epsilon, and the method that gave it."""

    epsilon: float
    method: str


class _Grid(NamedTuple):
    """A grid of losses, and the method that adds them up."""

    add: Callable[[Sequence[Steps], float, float], LossCurve]
    cells: float | None = None  # cells per scale of a step's loss
    width: float = 0.0  # width, if it does not depend on that scale
    # number of cells of the distribution of the sum, if the width is chosen for it
    fitting: int = 0
    fine: int = FINE
    least_steps: int = 1


def _fitting(cells: int) -> _Grid:
    """Return a grid fitted to the sum, with room for twice as many cells: a law from below may need a longer window."""
    return _Grid(
        partial(add_up, most_cells=2 * cells, precision=np.longdouble), fitting=cells
    )


# The bounds on each grid are valid. Grids are tried in order until one gives a sharp
# bound, or two fitted grids nearly agree. The second grid is for a delta due to a rare
# large loss, for which rounding errors of doubles matter. The fitted grids are for
# examples that are rarely drawn.
GRIDS: Final = (
    _Grid(partial(add_up, most_cells=1 << 17), cells=16.0),
    _Grid(partial(add_up, most_cells=1 << 19, precision=np.longdouble), cells=16.0),
    _Grid(invert, cells=16.0, fine=128, least_steps=30),
    _Grid(partial(add_up, most_cells=1 << 20, precision=np.longdouble), cells=8.0),
    _fitting(1 << 15),
    _fitting(1 << 17),
    _fitting(1 << 19),
    _Grid(invert, cells=2.0, fine=64, least_steps=30),
    _Grid(add_up, width=0.1),
    _Grid(add_up, cells=1.0),
)


class EpsilonBound(NamedTuple):
    """A curve, and its bound on the epsilon of one delta, from the requested side."""

    curve: LossCurve
    epsilon: float


def loss_curves(
    steps: Sequence[SampledSteps], delta: float, side: Side
) -> list[EpsilonBound]:
    """Add up the losses on each grid of ``GRIDS`` in turn until a bound is sharp; all returned bounds are valid."""
    if min(s.noise for s in steps) < LEAST_NOISE:
        return []
    tail = TAIL * delta / sum(s.count for s in steps)
    sign = -1 if side == "lower" else 1
    bounds: list[EpsilonBound] = []
    fitting: list[float] = []
    for grid in GRIDS:
        curve = _curve(steps, delta, side, grid, tail)
        if curve is None:
            continue
        bound = EpsilonBound(curve, curve.epsilon(delta, sign))
        bounds.append(bound)
        if not _is_sharp(bound, delta, sign):
            continue
        if not grid.fitting:
            break
        fitting.append(bound.epsilon)
        if len(fitting) > 1 and abs(fitting[-1] - fitting[-2]) <= SHARP * fitting[-1]:
            break
    return bounds


def _is_sharp(bound: EpsilonBound, delta: float, sign: int) -> bool:
    """Return whether the errors of a curve change its bound on epsilon only slightly."""
    if not 0.0 < bound.epsilon < math.inf:
        return sign > 0 and bound.epsilon == 0.0
    # errors grow with the distance from epsilon, so
    # that they may be small at a small distance only
    for part in (SHARP, 0.1 * SHARP, 1e-2 * SHARP, 1e-4 * SHARP, 1e-6 * SHARP):
        other_side = bound.curve.delta(bound.epsilon * (1.0 - sign * part), -sign)
        if other_side <= delta if sign < 0 else other_side > delta:
            return True
    return False


def _curve(
    steps: Sequence[SampledSteps], delta: float, side: Side, grid: _Grid, tail: float
) -> LossCurve | None:
    scale = min(s.rate / max(1.0, s.noise) for s in steps)
    width = grid.width if grid.cells is None else scale / grid.cells
    if (width < scale / 16.0 and not grid.fitting) or sum(
        s.count for s in steps
    ) < grid.least_steps:
        return None

    def steps_on(width: float, side: Side) -> list[Steps]:
        return [
            Steps(step_law(s.rate, s.noise, width, tail, side, grid.fine), s.count)
            for s in steps
        ]

    try:
        if grid.fitting:  # on a wide grid, a law from below has hardly any losses
            law_side: Side = "removed" if side == "lower" else side
            width = fitting_width(
                lambda width: steps_on(width, law_side), grid.fitting, delta
            )
        return grid.add(steps_on(width, side), width, delta)
    except UnresolvedError:
        return None


def upper_bound(steps: Sequence[SampledSteps], delta: float, side: Side) -> UpperBound:
    """Return an upper bound on the smallest epsilon, for the profile that ``side`` names in ``step_law``."""
    bounds = [
        UpperBound(epsilon, curve.method)
        for curve, epsilon in loss_curves(steps, delta, side)
    ]
    finite_bounds = [bound for bound in bounds if bound.epsilon < math.inf]
    return min(finite_bounds or simple_bounds(steps, delta, side))


def lower_epsilon(steps: Sequence[SampledSteps], delta: float) -> float:
    """Return a lower bound on the smallest epsilon of the composed pairs (A, B); 0 if no method gives more."""
    return max(
        (bound.epsilon for bound in loss_curves(steps, delta, "lower")), default=0.0
    )


def simple_bounds(
    steps: Sequence[SampledSteps], delta: float, side: Side
) -> list[UpperBound]:
    """Return bounds on epsilon without sampling, with a limited number of sampled steps, and by Renyi divergences.

    The divergence of (A, B) is the larger one of both orders. The profile "upper" has no Renyi bound here.
    """
    mu = math.sqrt(math.fsum(s.count / s.noise**2 for s in steps))
    bounds = [
        UpperBound(
            safe_epsilon(mu * (1.0 + 1e-14), delta),
            "Gaussian mechanism without sampling",
        )
    ]
    bounds.extend(_bounds_by_number(steps, delta))
    if side == "upper":
        return bounds
    for order in RENYI_ORDERS:
        divergence = math.fsum(
            s.count * poisson_gaussian_rdp(order, s.rate, s.noise) for s in steps
        )
        epsilon = improved_epsilon(order, divergence, delta) * (1.0 + 1e-9)
        bounds.append(UpperBound(epsilon, f"Renyi divergence of order {order}"))
    return bounds


def _bounds_by_number(
    steps: Sequence[SampledSteps], delta: float
) -> Iterator[UpperBound]:
    """Yield bounds on epsilon for an adversary who knows which steps have the example.

    Those steps are one Gaussian mechanism whose mu^2 is the sum of 1/s^2 over them. By Chernoff's bound, this sum
    exceeds m with probability at most exp(sum of log(1 + q (exp(t/s^2) - 1)) - t m) for each t > 0. This probability is
    charged to delta.
    """
    least = min(s.noise for s in steps)
    for part in (0.5, 0.1, 0.01):
        budget = math.log(1.0 / (part * delta))
        square = math.inf
        # t, in units of the smallest s^2
        for exponent in np.geomspace(1e-4, 60.0, 60).tolist():
            total = math.fsum(
                s.count
                * math.log1p(s.rate * math.expm1(exponent * (least / s.noise) ** 2))
                for s in steps
            )
            square = min(square, (total + budget) / exponent)
        if len(steps) == 1:  # the number of steps is an integer
            square = min(math.floor(square * (1.0 + 1e-9)), steps[0].count)
        mu = math.sqrt(square * (1.0 + 1e-9)) / least
        epsilon = safe_epsilon(mu, (1.0 - part) * delta * (1.0 - 1e-12))
        yield UpperBound(
            epsilon, "Gaussian mechanism in the steps that have the example"
        )
