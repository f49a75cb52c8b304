"""Delta of a sum of independent privacy losses on a common grid, by powers of Fourier transforms, with error bounds.

The distribution of the sum is computed after tilting by exp(theta L). The rounding
errors of the transform, and the probability that wraps around its window, are then
small compared with delta, however small delta is. With K = log E exp(theta L) and z the
tilted distribution of the sum,

    delta(epsilon) = sum over losses l above epsilon of z(l) exp(K - theta l) (1 -
    exp(epsilon - l)).

Errors: (1) losses outside the window contribute at most exp(K - theta epsilon) times their tilted probability, which
Chernoff's bound limits. (2) A transform of n numbers has an error of at most 16 u log2(n) of their norm (Higham 2002,
theorem 24.2). The transform of a distribution has an error of at most 16 u log2(n) at each frequency, because each
number reaches it along one path through log2(n) butterflies. The T-th power then has T times this error, times the
(T-1)-th power of the modulus. (3) Sums and exponentials have an error of at most 1e-9 of delta.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy.losses.grid import (
    ROUNDOFF,
    Steps,
    UnresolvedError,
    Vector,
    best_tilt,
    log_moment,
    sum_exponent,
    sum_shift,
)

TAIL_CHANCE: Final = 1e-13  # tilted probability outside the window, on each side
MOST_CELLS: Final = 1 << 21
ROUNDING: Final = 1e-9

# range of losses whose probabilities under Q are summed with one scale
BLOCK: Final = 50.0
# tried tilts, as fractions of the tilt of the best Renyi order
TILTS: Final = (0.35, 0.7, 1.0)
# Fractions of an upper bound of epsilon at which a lower bound is searched, in
# decreasing order.
FRACTIONS: Final = (
    *(1.0 - 2.0**-k for k in range(40, 0, -1)),
    *(2.0**-k for k in range(2, 40)),
)
# a tilt is good enough if its error is below this fraction of delta
GOOD_ERROR: Final = 2e-3

Transform: TypeAlias = NDArray[np.complexfloating[Any, Any]]
Precision: TypeAlias = type[np.float64] | type[np.longdouble]


class LossCurve(ABC):
    """Bounds on delta as a function of epsilon, for a sum of many losses."""

    method: ClassVar[str]
    largest: float  # upper end of the search for an epsilon
    shift: float  # amount by which the losses of the grid exceed those of the curve

    @abstractmethod
    def delta(self, epsilon: float, sign: int) -> float:
        """Return a bound on delta at an epsilon of at least 0, from above (sign 1) or below (sign -1)."""

    def epsilon(self, delta: float, sign: int) -> float:
        """Return a bound on the smallest epsilon at ``delta``, from above (sign 1) or below (sign -1).

        The upper bound has a delta of at most ``delta``. The lower bound has a larger delta, or is 0.
        """
        if sign < 0:
            return self._epsilon_below(delta)
        if self.delta(0.0, 1) <= delta:
            return 0.0
        if self.delta(self.largest, 1) > delta:
            return math.inf
        return self._bracket(0.0, self.largest, delta, 1)[1]

    def _epsilon_below(self, delta: float) -> float:
        """Search downwards from the upper bound, because the error of delta is large at small epsilon."""
        high = min(self.epsilon(delta, 1), self.largest)
        for part in FRACTIONS:
            low = high * part
            if self.delta(low, -1) > delta:
                return self._bracket(low, high, delta, -1)[0]
        return 0.0

    def _bracket(
        self, low: float, high: float, delta: float, sign: int
    ) -> tuple[float, float]:
        """Narrow an interval by bisection; the bound exceeds delta at the lower end, and not at the upper end."""
        while high - low > 1e-12 * high:
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            if self.delta(middle, sign) > delta:
                low = middle
            else:
                high = middle
        return low, high


@dataclass(frozen=True)
class LossSum(LossCurve):
    """The distribution of a sum of losses, accurate near the epsilon of one delta, with its bounds on delta."""

    method = "law of the sum of all losses"

    losses: Vector  # a grid of losses, increasing, shape (n,)
    # delta at each loss, up to the errors; it is linear in exp(epsilon) between losses
    deltas: Vector
    # minus the slope of delta in exp(epsilon) up to each loss, times exp(loss)
    decreases: Vector
    # K and the tilt theta
    exponent: float
    theta: float
    # the error of delta is at most exp(K - theta epsilon) times ``error``, plus
    # ``part`` of delta
    error: float
    part: float
    beyond: float  # probability of losses that no distribution resolves
    largest: float
    shift: float

    def delta(self, epsilon: float, sign: int) -> float:
        """Return a bound on delta at an epsilon of at least 0, from above (sign 1) or below (sign -1)."""
        epsilon += self.shift
        next_index = int(np.searchsorted(self.losses, epsilon, side="left"))
        delta_at_epsilon = 0.0
        if next_index < len(self.losses):
            partial_cell = -self.decreases[next_index] * math.expm1(
                epsilon - self.losses[next_index]
            )
            delta_at_epsilon = float(self.deltas[next_index] + partial_cell)
        bound = (
            max(delta_at_epsilon, 0.0) * (1.0 + sign * self.part)
            + max(sign, 0) * self.beyond
        )
        return bound + sign * self.error_at(epsilon)

    def error_at(self, epsilon: float) -> float:
        """Return a bound on the error of delta that is due to the transforms."""
        return math.exp(min(self.exponent - self.theta * epsilon, 600.0)) * self.error


def add_up(
    steps: Sequence[Steps],
    width: float,
    delta: float,
    most_cells: int = MOST_CELLS,
    precision: Precision = np.float64,
) -> LossSum:
    """Add up the losses of all steps, with a tilt that suits ``delta``, or raise UnresolvedError.

    The distribution of the sum may have at most ``most_cells`` cells of this width. Its transforms use the given
    ``precision``: long doubles take three times as long, and round 2000 times less on machines that support them.
    """
    exponent = partial(sum_exponent, steps, width)
    best = best_tilt(exponent, math.log(delta))
    loss_sum: LossSum | None = None
    for part in TILTS:  # the smaller the tilt, the shorter the window
        try:
            loss_sum = _tilted(
                steps, exponent, width, part * best, most_cells, precision
            )
        except UnresolvedError:
            break
        if loss_sum.error_at(loss_sum.epsilon(delta, 1)) < GOOD_ERROR * delta:
            break
    if loss_sum is None:
        raise UnresolvedError
    return loss_sum


def fitting_width(
    steps_of: Callable[[float], Sequence[Steps]], cells: int, delta: float
) -> float:
    """Return a width with which the distribution of the sum under the smallest tilt has about ``cells`` cells.

    ``steps_of`` maps a width to the steps. The window hardly depends on the width of their grid, unless that is large.
    """
    width = 1e-2
    for _ in range(3):
        steps = steps_of(width)
        exponent = partial(sum_exponent, steps, width)
        low, high = _window(
            steps, exponent, width, TILTS[0] * best_tilt(exponent, math.log(delta))
        )
        width = (high - low) / (0.95 * cells)
    return width


def _tilted(
    steps: Sequence[Steps],
    exponent_at: Callable[[float], float],
    width: float,
    theta: float,
    most_cells: int,
    precision: Precision,
) -> LossSum:
    """Add up the losses of all steps under one tilt."""
    exponent = exponent_at(theta)
    low, high = _window(steps, exponent_at, width, theta)
    cells = 1 << max(4, math.ceil(math.log2((high - low) / width + 4.0)))
    if cells > most_cells:
        raise UnresolvedError
    roundings = sum(
        s.times * (4.0 + theta * width * float(np.abs(s.law.places).max()))
        for s in steps
    )
    law, norm = _law_of_sum(steps, width, theta, cells, precision)
    first = math.floor(low / width)
    places = first + np.arange(cells)
    chances = law[places % cells]
    losses = np.asarray(places * width, np.float64)
    is_kept = losses > (exponent - 600.0) / theta
    losses = losses[is_kept]
    under_p = chances[is_kept] * np.exp(exponent - theta * losses)
    decreases = _decreases(under_p, losses)
    deltas = np.append(
        np.cumsum((decreases[1:] * -math.expm1(-width))[::-1])[::-1], 0.0
    )
    # The weights exp(-theta y) (1 - exp(-y)), y = l - epsilon, are at most 1 and at
    # most 1/theta. This is their norm.
    spread = min(
        (-math.expm1(-2.0 * theta * width)) ** -0.5,
        (-math.expm1(-theta * width)) ** -0.5 / theta,
    )
    return LossSum(
        losses=losses,
        deltas=deltas,
        decreases=decreases,
        exponent=exponent,
        theta=theta,
        error=2.0 * norm * spread + 4.0 * TAIL_CHANCE * min(1.0, 1.0 / theta),
        part=ROUNDING
        + 8.0
        * ROUNDOFF
        * (roundings + abs(exponent) + theta * max(abs(low), abs(high))),
        beyond=math.fsum(s.times * s.law.beyond for s in steps),
        largest=float(losses[-1]),
        shift=sum_shift(steps),
    )


def _decreases(under_p: Vector, losses: Vector) -> Vector:
    """Return sums of the probabilities under Q of each loss and all larger ones, times exp(loss).

    scipy.linalg can solve these equations too, but takes a tenth of a second to import.
    """
    decreases = np.empty_like(under_p)
    starts = np.flatnonzero(
        np.diff(np.floor((losses - losses[0]) / BLOCK), prepend=-1.0)
    ).tolist()
    later = 0.0  # the sum at the first loss of the next block
    end = len(losses)
    for start in reversed(starts):
        scale = np.exp(losses[start:end] - losses[start])
        sums = np.cumsum((under_p[start:end] / scale)[::-1])[::-1]
        if end < len(losses):
            sums += later * math.exp(losses[start] - losses[end])
        decreases[start:end] = sums * scale
        later = float(decreases[start])
        end = start
    return decreases


def _window(
    steps: Sequence[Steps],
    exponent_at: Callable[[float], float],
    width: float,
    theta: float,
) -> tuple[float, float]:
    """Return an interval that contains nearly all of the tilted distribution of the sum."""
    largest = width * max(int(np.abs(s.law.places).max()) for s in steps)
    largest_tilt = 16.0 / max(_deviation(steps, theta, width), 1e-12)
    least_tilt = min(1.0 / max(largest, width), largest_tilt)
    low = _end(exponent_at, theta, -1, least_tilt, largest_tilt)
    high = _end(exponent_at, theta, 1, least_tilt, largest_tilt)
    return low, high


def _law_of_sum(
    steps: Sequence[Steps], width: float, theta: float, cells: int, precision: Precision
) -> tuple[Vector, float]:
    """Return the tilted distribution of the sum modulo ``cells``, and a bound on the norm of its rounding errors."""
    unit = float(np.finfo(precision).eps)
    per_transform = 16.0 * unit * math.log2(cells)
    product: Any = 1.0
    # at least the moduli of the product, and of the true transform
    moduli = np.ones(cells // 2 + 1)
    errors = np.zeros(cells // 2 + 1)  # errors of the product, relative to these moduli
    for law, times in steps:
        tilted = law.chances * np.exp(
            theta * width * law.places - log_moment(law, theta, width)
        )
        transform = np.fft.rfft(
            np.bincount(law.places % cells, tilted, minlength=cells).astype(precision)
        )
        modulus = (
            np.abs(transform).astype(np.float64) * (1.0 + 2.0 * ROUNDOFF)
            + 2.0 * per_transform
        )
        moduli *= modulus**times
        errors += times * (per_transform / modulus + 4.0 * unit)
        product = product * whole_power(transform, times)
    norms = np.linalg.norm(
        [moduli * (per_transform + 8.0 * unit), moduli * errors], axis=1
    )
    # all frequencies but two also represent their conjugates
    return np.fft.irfft(product, cells).astype(np.float64), math.sqrt(
        2.0 / cells
    ) * float(norms.sum())


def whole_power(values: Transform, exponent: int) -> Transform:
    """Raise complex numbers to a whole power by multiplications only, whose rounding is known."""
    result = np.ones_like(values)
    base = values
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


def _deviation(steps: Sequence[Steps], theta: float, width: float) -> float:
    """Return the standard deviation of the tilted sum."""
    variance = 0.0
    for law, times in steps:
        weights = law.chances * np.exp(
            theta * width * law.places - log_moment(law, theta, width)
        )
        losses = width * law.places
        mean = float((weights * losses).sum())
        variance += times * float((weights * (losses - mean) ** 2).sum())
    return math.sqrt(variance)


def _end(
    exponent: Callable[[float], float],
    theta: float,
    sign: int,
    least: float,
    largest_rate: float,
) -> float:
    """Return a point beyond which the tilted sum has probability below TAIL_CHANCE, by Chernoff's bound."""
    ends: list[float] = []
    for rate in np.geomspace(least, largest_rate, 14).tolist():
        change = sign * rate
        ends.append(
            (exponent(theta + change) - exponent(theta) - math.log(TAIL_CHANCE))
            / change
        )
    return min(ends) if sign > 0 else max(ends)
