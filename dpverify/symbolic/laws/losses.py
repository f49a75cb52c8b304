r"""Bounds from both sides on the privacy loss of many independent outputs, on a grid of losses.

Let L be the log ratio of two laws. Then
``sup P(S) - exp(e) Q(S) = E_P (1 - exp(e - L))_+``. The function in the mean increases
with L and is convex in ``exp(-L)``. The losses of independent outputs add up, so the
law of their sum is a product of polynomials.

**From above**, each output whose loss is between two points of the grid is split
between them such that its probabilities under P and Q stay the same (connecting the
dots: Doroshenko et al. 2022). This does not decrease the expectation of a function that
is convex in ``exp(-L)``.

**From below**, outputs are merged until the ratio of their probabilities is a point of
the grid. The merged output is a function of the output, so no divergence increases.

Probabilities are integers over ``2**MASS_BITS``, rounded up or down.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from flint import arb, fmpz_poly

from dpverify.symbolic.exact.numbers import UnsupportedError, WorkLimitError, spend
from dpverify.symbolic.laws.discrete import whole

MASS_BITS = 96  # bits of a probability
# tails of less than 2**-TAIL_BITS are removed from a grid
TAIL_BITS = 72
# a loss within TOLERANCE*width of a point of the grid counts as that point
TOLERANCE = arb(2) ** -60
MOST_POINTS = 1 << 20
TOTAL_MASS = 1 << MASS_BITS
# up to this number of losses, LARGEST_COUNT grids are tried as a common grid, else two
FEW_LOSSES = 8
LARGEST_COUNT = 64  # largest number of points of a common grid up to the smallest loss
MOST_COMMON = 10_000  # largest number of points of a common grid up to the largest loss
# an output above LARGEST_RATIO times a pool is not added to it as a whole
LARGEST_RATIO = 4
MOST_DEVIATIONS = 2000  # largest number of deviations from 0 to the largest loss


class Atom(NamedTuple):
    """Probabilities of an event under both laws, and exact bounds on the log ratio of the laws on this event."""

    mass: arb
    other_mass: arb
    lowest: arb
    highest: arb


@dataclass(frozen=True)
class Grid:
    """Probabilities at the points ``(start + i)*width`` and at an infinite loss, over ``2**MASS_BITS``."""

    start: int
    masses: tuple[int, ...]
    infinite: int
    is_upper: bool

    def times(self, other: Grid) -> Grid:
        """Return the law of the sum of two independent losses."""
        points = len(self.masses) + len(other.masses)
        if points > MOST_POINTS:
            raise WorkLimitError(
                f"a sum of losses takes {points} points of a grid; at most {MOST_POINTS} are kept."
            )
        spend(points)
        left = fmpz_poly(list(self.masses))
        right = left if other is self else fmpz_poly(list(other.masses))
        coefficients = (left * right).coeffs()
        masses = [
            _shifted(int(coefficient), self.is_upper) for coefficient in coefficients
        ]
        finite = TOTAL_MASS * TOTAL_MASS - (
            TOTAL_MASS - min(self.infinite, TOTAL_MASS)
        ) * (TOTAL_MASS - min(other.infinite, TOTAL_MASS))
        return _trimmed(
            self.start + other.start,
            masses,
            _shifted(finite, self.is_upper),
            self.is_upper,
        )

    def power(self, times: int) -> Grid:
        """Return the law of the sum of ``times`` independent losses."""
        result: Grid | None = None
        square = self
        while True:
            if times & 1:
                result = square if result is None else result.times(square)
            times >>= 1
            if not times:
                break
            square = square.times(square)
        if result is None:
            raise ValueError("a composition has at least one part.")
        return result


def _shifted(value: int, is_upper: bool) -> int:
    return -(-value >> MASS_BITS) if is_upper else value >> MASS_BITS


def _trimmed(start: int, masses: list[int], infinite: int, is_upper: bool) -> Grid:
    """Return a grid without light tails: moved up for an upper bound, moved down or dropped for a lower bound."""
    room = 1 << (MASS_BITS - TAIL_BITS)
    low = sum(1 for total in accumulate(masses) if total < room)
    high = sum(1 for total in accumulate(reversed(masses)) if total < room)
    if low + high >= len(masses):
        low = high = 0
    below = sum(masses[:low])
    above = sum(masses[len(masses) - high :])
    kept_masses = masses[low : len(masses) - high]
    if is_upper and kept_masses:
        kept_masses[0] += below
        infinite += above
    elif kept_masses:
        kept_masses[-1] += above
    return Grid(start + low, tuple(kept_masses), infinite, is_upper)


def upper_grid(atoms: Iterable[Atom], width: arb, outside: arb) -> Grid:
    """Return an upper bound for the law of one loss. ``outside`` bounds the probability outside of all atoms."""
    points: dict[int, arb] = {}
    infinite = outside
    for mass, other, lowest, highest in atoms:
        if not highest.is_finite():
            infinite += mass
            continue
        left = whole((lowest / width + TOLERANCE).lower().floor())
        right = max(whole((highest / width - TOLERANCE).upper().ceil()), left)
        shares = {left: mass}
        if right > left:
            near = (-left * width).exp()
            far = (-right * width).exp()
            # covers losses that were moved by up to TOLERANCE
            reduced = other * (1 - 2 * TOLERANCE * width)
            share = ((near * mass - reduced) / (near - far)).max(arb(0)).min(mass)
            shares = {right: share, left: mass - share}
        for place, share in shares.items():
            points[place] = points.get(place, arb(0)) + share
    return _grid(points, infinite, is_upper=True)


def lower_grid(atoms: Iterable[Atom], width: arb) -> Grid:
    """Return a lower bound for the law of one loss."""
    infinite = arb(0)
    finite = []
    for atom in atoms:
        if atom.mass.lower() <= 0:
            continue
        if atom.other_mass == 0:
            infinite += atom.mass
        elif atom.other_mass.lower() > 0:
            finite.append(atom)
    pool = _Pool(width)
    for atom in sorted(finite, key=lambda atom: (atom.mass / atom.other_mass).mid()):
        pool.add(atom.mass, atom.other_mass)
    pool.release()
    return _grid(pool.points, infinite, is_upper=False)


class _Pool:
    """Merges outputs in the order of their losses until the log ratio of the merged output is a point of the grid."""

    def __init__(self, width: arb) -> None:
        self.width = width
        self.points: dict[int, arb] = {}
        self.mass = arb(0)
        self.other_mass = arb(0)
        self.target = 0

    def add(self, mass: arb, other: arb) -> None:
        """Add an output. A part of it lifts the pool to its target, and the remaining part starts a new pool."""
        if self.mass > 0:
            share = self._share(mass, other)
            if share is None and mass <= LARGEST_RATIO * self.mass:
                self.mass += mass
                self.other_mass += other
                return
            if share is None:
                self.release()
            else:
                self.mass += share * mass
                self.other_mass += share * other
                self.release()
                mass *= 1 - share
                other *= 1 - share
        if not mass > 0:
            return
        self.mass = mass
        self.other_mass = other
        place = self._floor()
        self.target = place + 1
        if ((mass / other).log() / self.width - place).upper() <= 2 * TOLERANCE:
            self.release()

    def _share(self, mass: arb, other: arb) -> arb | None:
        """Return the fraction of an output that lifts the pool to its target, or None if all of it is not enough."""
        ratio = (self.target * self.width).exp()
        room = mass - ratio * other
        if not room > 0:
            return None
        share = (
            ((ratio * self.other_mass - self.mass) / room).max(arb(0))
            * (1 + arb(2) ** -100)
        ).upper()
        return share if share < 1 else None

    def _floor(self) -> int:
        return whole(
            ((self.mass / self.other_mass).log() / self.width + TOLERANCE)
            .lower()
            .floor()
        )

    def release(self) -> None:
        """Assign the pool to the point of the grid at or below its loss, and empty it."""
        if self.mass > 0:
            place = self._floor()
            self.points[place] = self.points.get(place, arb(0)) + self.mass
        self.mass = arb(0)
        self.other_mass = arb(0)


def _grid(points: dict[int, arb], infinite: arb, *, is_upper: bool) -> Grid:
    if not points:
        return Grid(0, (0,), _integer(infinite, is_upper), is_upper)
    start = min(points)
    length = max(points) - start + 1
    if length > MOST_POINTS:
        raise WorkLimitError(
            f"a loss takes {length} points of a grid; at most {MOST_POINTS} are kept."
        )
    masses = [0] * length
    for place, mass in points.items():
        masses[place - start] = _integer(mass, is_upper)
    return _trimmed(start, masses, _integer(infinite, is_upper), is_upper)


def _integer(mass: arb, is_upper: bool) -> int:
    scaled = mass * arb(2) ** MASS_BITS
    return max(whole(scaled.upper().ceil() if is_upper else scaled.lower().floor()), 0)


@dataclass(frozen=True)
class Curve:
    """A bound from one side on delta as a function of epsilon, for a sum of losses."""

    grid: Grid
    width: arb
    shift: arb  # bound on how far rounding to the grid moved the sum

    def delta(self, epsilon: arb) -> arb:
        """Bound delta at an epsilon: ``E (1 - exp(epsilon - L))_+``."""
        moved = epsilon - self.shift if self.grid.is_upper else epsilon + self.shift
        place = (moved / self.width).lower().floor() - self.grid.start
        first = whole(place.max(arb(0)).min(arb(len(self.grid.masses))))
        spend(len(self.grid.masses))
        step = (-self.width).exp()
        factor = (moved - (self.grid.start + first) * self.width).exp()
        total = arb(0)
        for mass in self.grid.masses[first:]:
            gain = 1 - factor
            if mass and not gain < 0:
                total += mass * gain.max(arb(0))
            factor *= step
        return (
            ((total + self.grid.infinite) / arb(2) ** MASS_BITS).max(arb(0)).min(arb(1))
        )

    def epsilon(self, delta: arb) -> arb:
        """Bound the least epsilon >= 0 with at most this delta: from above for an upper grid, otherwise from below."""
        step = (-self.width).exp()
        level = delta * arb(2) ** MASS_BITS - self.grid.infinite
        spend(2 * len(self.grid.masses))
        above = 0
        scaled = arb(0)  # sum of the masses above a point, each times exp(point - loss)
        for i in range(len(self.grid.masses) - 1, -2, -1):
            point = (self.grid.start + i) * self.width
            if not above - scaled <= level:
                break
            if i < 0 or point < 0:
                return arb(0)
            above += self.grid.masses[i]
            scaled = (scaled + self.grid.masses[i]) * step
        else:
            return arb(0)
        if scaled <= 0 or not level >= 0:
            return arb.pos_inf()
        place = point + ((above - level) / scaled).log()
        return (place + self.shift if self.grid.is_upper else place - self.shift).max(
            arb(0)
        )


class CurveBounds(NamedTuple):
    """The lower and the upper curve of a sum of losses."""

    lower: Curve
    upper: Curve

    def delta(self, epsilon: arb) -> arb:
        """Return a ball around delta."""
        return self.lower.delta(epsilon).union(self.upper.delta(epsilon))

    def epsilon(self, delta: arb) -> arb:
        """Return a ball around epsilon."""
        return self.lower.epsilon(delta).union(self.upper.epsilon(delta))


def curve_bounds(
    parts: Sequence[tuple[Sequence[Atom], arb, int]], width: arb
) -> CurveBounds:
    """Return the curves of a sum of independent losses.

    A part has the atoms of a loss, a bound on the probability outside of all atoms, and the multiplicity of the loss.
    """
    grids: list[tuple[Grid, Grid, int]] = []
    for atoms, outside, times in parts:
        spend(60 * len(atoms))
        grids.append(
            (lower_grid(atoms, width), upper_grid(atoms, width, outside), times)
        )
    if not grids:
        raise UnsupportedError("a sum of no losses.")
    lower = _product([(low, times) for low, _, times in grids])
    upper = _product([(high, times) for _, high, times in grids])
    count = sum(times for _, _, times in grids)
    shift = 4 * TOLERANCE * width * count
    return CurveBounds(Curve(lower, width, shift), Curve(upper, width, shift))


def _product(grids: Sequence[tuple[Grid, int]]) -> Grid:
    result: Grid | None = None
    for grid, times in grids:
        power = grid.power(times)
        result = power if result is None else result.times(power)
    if result is None:
        raise UnsupportedError("a sum of no losses.")
    return result


def grid_width(
    losses: Sequence[tuple[arb, float]], points: int, *, is_discrete: bool
) -> arb:
    """Return the width of a grid for losses with probabilities.

    If all losses are found to lie on a common grid, this is its width. Otherwise it is a fraction of the standard
    deviation of the loss.
    """
    largest = max((abs(loss).mid() for loss, _ in losses), key=arb.mid, default=arb(0))
    if largest == 0:
        return arb(1)
    width = (
        _common_width(sorted((loss for loss, _ in losses), key=arb.mid), largest)
        if is_discrete
        else None
    )
    if width is not None:
        return width
    values = [(float(loss.mid()), weight) for loss, weight in losses]
    total = math.fsum(weight for _, weight in values)
    mean = math.fsum(weight * loss for loss, weight in values) / total
    variance = math.fsum(weight * (loss - mean) ** 2 for loss, weight in values) / total
    deviation = max(math.sqrt(variance), float(largest) / MOST_DEVIATIONS)
    return largest / math.ceil(float(largest) * points / deviation)


def _common_width(losses: Sequence[arb], largest: arb) -> arb | None:
    """Return a number of which all losses are multiples, or None.

    The candidates are simple fractions of the least loss or of the least difference of two losses.
    """
    gaps = [abs(loss).mid() for loss in losses] + [
        (b - a).mid() for a, b in pairwise(losses)
    ]
    least = min((gap for gap in gaps if gap > largest * TOLERANCE), key=arb.mid)
    if largest > least * MOST_COMMON:
        return None
    for count in range(1, LARGEST_COUNT + 1 if len(losses) <= FEW_LOSSES else 3):
        places = [loss * count / least for loss in losses]
        if all(
            abs(place - (place.mid() + arb(0.5)).floor().mid()) < TOLERANCE / 2
            for place in places
        ):
            return least / count
    return None
