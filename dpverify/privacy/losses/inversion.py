r"""Delta of a sum of independent privacy losses by inversion of a Fourier transform, with error bounds.

``total`` stores the distribution of the sum on the grid of one step. If the losses of a
step are small compared with those of the sum, as at a small sampling rate, that grid is
too long to store. This module needs no grid for the sum.

Let M(z) = E exp(z L) for the loss L of one of T steps, and theta > 0. Then f(e) =
exp(theta e) delta(e) has the Fourier transform F(t) = M(theta + it)^T / ((theta +
it)(theta + 1 + it)), which is absolutely integrable. By Poisson's summation formula,
with D = 2 pi/B,

    sum over k of f(e + k B) = (1/B) sum over n of F(n D) exp(-i n D e).

All terms on the left are at least 0, so that the right side is at least f(e). Let M_0 =
M(theta), and phi = M(theta + it)/M_0, the transform of the tilted distribution of one
step. Errors:

1. Terms with k != 0. For k < 0 they are bounded by delta <= 1, for k > 0 by Chernoff's bound.
2. Terms with |n| > N. On a grid of width w the modulus of phi has the period P = 2 pi/w, and B is a multiple of w. Up
   to P/2 each modulus is bounded (``_decay``), and |z (z + 1)| >= t^2. The terms of
   period m, for |m| >= 1, are at most those of the first period, divided by ((|m| -
   1/2) P)^2, and sum 2/(m - 1/2)^2 = pi^2.
3. Rounding. The computed weights of the tilted distribution are the exact weights of a distribution whose probabilities
   differ by a bounded factor. phi - 1 is a sum of terms that are small if t is small,
   so that the power T does not magnify the rounding of 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from dpverify.kernels.typing import Vector
from dpverify.privacy.losses.grid import (
    ROUNDOFF,
    Places,
    Steps,
    UnresolvedError,
    best_tilt,
    log_moment,
    sum_exponent,
    sum_shift,
)
from dpverify.privacy.losses.total import ROUNDING, LossCurve, Transform

# tried tilts, as fractions of the tilt of the best Renyi order
TILTS: Final = (1.0, 0.5, 0.25)
# largest contribution of the terms with |n| > N, in units of M_0^T exp(-theta e)
MAX_OMITTED: Final = 3e-13
# largest contribution of the terms with k < 0, as a fraction of delta
MAX_ALIASED: Final = 1e-9
MOST_CELLS: Final = 1 << 40  # so that products with frequencies fit in 64-bit integers
MOST_WORK: Final = 1e8  # losses of a step times frequencies: about half a second
MOST_FREQUENCIES: Final = 1e5  # each value of delta is a sum over the frequencies
# largest phase difference inside one window of ``_decay``, below 2 pi
LONGEST_PHASE: Final = 4.0
RATIO: Final = 1.25  # ratio of consecutive frequencies at which the modulus is bounded
# squared modulus below which a term is bounded instead of evaluated
MIN_SQUARE: Final = 1e-14
GOOD_ERROR: Final = 1e-3  # relative error of delta below which no other tilt is tried
MAX_ERROR: Final = 0.3  # relative error of delta above which the result is rejected


@dataclass(frozen=True)
class LossInversion(LossCurve):
    """The transform of the tilted sum at the frequencies n D, with its bounds on delta."""

    method = "inverted transform of the sum of all losses"

    theta: float
    exponent: float  # T log M_0
    period: float  # B
    logarithms: Transform  # logarithms of F(n D)/M_0^T, n = 0, 1, .., N
    sizes: Vector  # moduli |F(n D)|/M_0^T
    errors: Vector  # bounds on their relative rounding errors, without the phase n D e
    omitted: float  # bound on the sum of the terms with |n| > N
    # (theta', T log M(theta')) for theta' > theta
    chernoff: tuple[tuple[float, float], ...]
    part: float
    beyond: float
    largest: float
    shift: float

    def delta(self, epsilon: float, sign: int) -> float:
        """Return a bound on delta at an epsilon of at least 0, from above (sign 1) or below (sign -1)."""
        epsilon += self.shift
        frequencies = np.arange(len(self.sizes)) * (2.0 * math.pi / self.period)
        terms = np.exp(self.logarithms - 1j * frequencies * epsilon).real
        terms[1:] *= 2.0
        inside = float(terms.sum()) / self.period * self._unit(epsilon)
        unaliased = (
            max(inside, 0.0) * (1.0 + sign * self.part) + max(sign, 0) * self.beyond
        )
        return (
            unaliased
            + sign * self.error_at(epsilon)
            + min(sign, 0) * self._aliased(epsilon)
        )

    def error_at(self, epsilon: float) -> float:
        """Return a bound on rounding errors and on the terms with |n| > N."""
        frequencies = np.arange(len(self.sizes)) * (2.0 * math.pi / self.period)
        rounded = self.sizes * np.expm1(
            self.errors + 4.0 * ROUNDOFF * epsilon * frequencies
        )
        error = 2.0 * float(rounded.sum()) / self.period + self.omitted
        return float(error * self._unit(epsilon))

    def _unit(self, epsilon: float) -> float:
        return math.exp(min(self.exponent - self.theta * epsilon, 600.0))

    def _aliased(self, epsilon: float) -> float:
        """Return a bound on the terms with k != 0."""
        ratio = math.exp(-self.theta * self.period)
        left = 1.01 * ratio / (1.0 - ratio)
        right = math.inf
        for theta, exponent in self.chernoff:
            drop = math.exp(-(theta - self.theta) * self.period)
            right = min(
                right,
                math.exp(min(exponent - theta * epsilon, 600.0)) * drop / (1.0 - drop),
            )
        return left + right


class _Tilted(NamedTuple):
    """The tilted distribution of one kind of step, with the number of its steps."""

    places: Places
    losses: Vector
    weights: Vector
    times: int


class _Plan(NamedTuple):
    """Parameters and cost of the inversion under one tilt."""

    theta: float
    cells: int  # B over the width of the grid
    last: int  # N
    omitted: float  # bound on the terms with N < |n| <= cells/2
    valley: float  # bound on their moduli, not divided by t^2
    work: float


def invert(steps: Sequence[Steps], width: float, delta: float) -> LossInversion:
    """Invert the transform of the sum of all losses, with the tilt that needs the least work.

    Raises UnresolvedError if the transform does not decrease fast enough, as for few steps.
    """
    best = best_tilt(lambda theta: sum_exponent(steps, width, theta), math.log(delta))
    plans = [
        plan
        for part in TILTS
        if (plan := _plan(steps, width, delta, part * best)) is not None
    ]
    best_result: LossInversion | None = None
    least_error = MAX_ERROR * delta
    for plan in sorted(plans, key=lambda plan: plan.work):
        result = _inverted(steps, width, delta, plan)
        error = result.error_at(min(result.epsilon(delta, 1), result.largest))
        if error < least_error:
            best_result = result
            least_error = error
        if error < GOOD_ERROR * delta:
            break
    if best_result is None:
        raise UnresolvedError
    return best_result


def _tilt(steps: Sequence[Steps], width: float, theta: float) -> list[_Tilted]:
    tilted = []
    for law, times in steps:
        losses = np.asarray(law.places * width, np.float64)
        weights = law.chances * np.exp(theta * losses - log_moment(law, theta, width))
        is_positive = weights > 0.0
        tilted.append(
            _Tilted(
                law.places[is_positive],
                losses[is_positive],
                weights[is_positive],
                times,
            )
        )
    return tilted


def _plan(
    steps: Sequence[Steps], width: float, delta: float, theta: float
) -> _Plan | None:
    """Choose B and N; return None if a modulus is not bounded well enough, or the work is too much."""
    high = _upper_end(steps, width, theta)
    cells = math.ceil(max(high, math.log(1.0 / (MAX_ALIASED * delta)) / theta) / width)
    spacing = 2.0 * math.pi / (cells * width)
    tilted = _tilt(steps, width, theta)
    last = cells // 2
    omitted = 0.0
    valley = 0.0
    while last > 16:
        before = int(last / RATIO)
        decay = math.fsum(
            law.times * _decay(law, before * spacing, last * spacing) for law in tilted
        )
        modulus = math.exp(-decay)
        omitted_here = modulus * (1.0 / before - 1.0 / last) / (math.pi * spacing)
        if omitted + omitted_here > MAX_OMITTED:
            break
        omitted += omitted_here
        valley += modulus * (last - before) * 2.0 / (cells * width)
        last = before
    work = float(last) * sum(len(law.weights) for law in tilted)
    if (
        last == cells // 2
        or work > MOST_WORK
        or last > MOST_FREQUENCIES
        or cells > MOST_CELLS
    ):
        return None
    return _Plan(theta, cells, last, omitted, valley, work)


def _decay(law: _Tilted, first: float, last: float) -> float:
    """Return a d with |phi(t)| <= exp(-d) for t from ``first`` to ``last``.

    Split the losses into windows of length at most LONGEST_PHASE/t. Inside a window, 1 - cos(u) >= c u^2 for each
    difference u = t (x - y). So its part of phi is at most m sqrt(1 - 2 c t^2 v), with weight m and variance v.
    """
    curvature = (1.0 - math.cos(LONGEST_PHASE)) / LONGEST_PHASE**2
    length = LONGEST_PHASE / last * (1.0 - 1e-9)
    window = np.floor((law.losses - law.losses[0]) / length)
    starts = np.flatnonzero(np.diff(window, prepend=-1.0))
    mass = np.add.reduceat(law.weights, starts)
    mean = np.add.reduceat(law.weights * law.losses, starts) / mass
    counts = np.diff(starts, append=len(law.losses))
    deviations = law.losses - np.repeat(mean, counts)
    variance = np.add.reduceat(law.weights * deviations**2, starts) / mass
    decrease = np.minimum(2.0 * curvature * first**2 * variance * (1.0 - 1e-6), 1.0)
    missing = float((mass * (decrease / (1.0 + np.sqrt(1.0 - decrease)))).sum())
    return max(missing * (1.0 - 1e-9) - 1e-15, 0.0)


def _upper_end(steps: Sequence[Steps], width: float, theta: float) -> float:
    """Return a point above which the tilted sum has probability at most 1e-13, by Chernoff's bound at some rates."""
    exponent = sum_exponent(steps, width, theta)
    rates: list[float] = (theta * np.geomspace(0.01, 16.0, 18)).tolist()
    return min(
        (sum_exponent(steps, width, theta + rate) - exponent - math.log(1e-13)) / rate
        for rate in rates
    )


def _inverted(
    steps: Sequence[Steps], width: float, delta: float, plan: _Plan
) -> LossInversion:
    """Evaluate the transform at the plan's frequencies."""
    # loads numba, which most bounds do not need
    from dpverify.privacy.losses.phases import BLOCK, phase_sums

    theta = plan.theta
    exponent = sum_exponent(steps, width, theta)
    period = plan.cells * width
    frequencies = np.arange(plan.last + 1) * (2.0 * math.pi / period)
    logarithms = np.zeros(plan.last + 1, np.complex128)
    errors = np.full(plan.last + 1, 64.0 * ROUNDOFF)
    part = 0.0
    for law in _tilt(steps, width, theta):
        real, imaginary, largest = phase_sums(
            law.weights, law.places, plan.cells, plan.last + 1
        )
        real += math.fsum([*law.weights.tolist(), -1.0])
        squared = 2.0 * real + real**2 + imaginary**2  # |phi|^2 - 1
        # too small for its phase to be accurate
        is_negligible = squared < MIN_SQUARE - 1.0
        squared = np.where(is_negligible, MIN_SQUARE - 1.0, squared)
        logarithm = 0.5 * np.log1p(squared) + 1j * np.arctan2(imaginary, 1.0 + real)
        rounding = 2.0 * (
            16.0 * BLOCK + len(law.weights)
        ) * ROUNDOFF * largest + 4.0 * ROUNDOFF * np.abs(squared)
        logarithms += law.times * logarithm
        errors += law.times * (
            np.log1p(rounding / np.sqrt(1.0 + squared))
            + 8.0 * ROUNDOFF * np.abs(logarithm)
        )
        errors[is_negligible] += math.log(3.0)
        part += law.times * (8.0 + 2.0 * theta * float(np.abs(law.losses).max()))
    z = theta + 1j * frequencies
    logarithms -= np.log(z) + np.log1p(z)
    sizes = np.exp(logarithms.real)
    moduli = sizes * np.abs(z * (1.0 + z))
    one_period = (2.0 * float((moduli * np.exp(errors)).sum())) / period + plan.valley
    return LossInversion(
        theta=theta,
        exponent=exponent,
        period=period,
        logarithms=logarithms,
        sizes=sizes,
        errors=errors,
        omitted=plan.omitted + one_period * (0.5 * width) ** 2,
        chernoff=tuple(
            (theta * multiple, sum_exponent(steps, width, theta * multiple))
            for multiple in (1.1, 1.3, 2.0, 4.0)
        ),
        part=ROUNDING + 8.0 * ROUNDOFF * (part + abs(exponent)),
        beyond=math.fsum(times * law.beyond for law, times in steps),
        largest=max((exponent - math.log(delta)) / theta, 0.0),
        shift=sum_shift(steps),
    )
