"""Divergences between two laws of one number or of several independent numbers, as balls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from flint import arb

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import (
    OO,
    ZERO,
    UnsupportedError,
    Value,
    WorkLimitError,
    charged,
    spend,
    to_ball,
    working_precision,
)
from dpverify.symbolic.exact.privacy_curves import least_epsilon, need
from dpverify.symbolic.laws import intervals, lines
from dpverify.symbolic.laws.components import Normal, same
from dpverify.symbolic.laws.intervals import RatioCell, RatioPiece, narrow_cells, pieces
from dpverify.symbolic.laws.law import Law, LineLaw, paired
from dpverify.symbolic.laws.losses import (
    MOST_POINTS,
    Atom,
    CurveBounds,
    curve_bounds,
    grid_width,
)

# working precision of every divergence, whatever the precision of the caller
BITS = 128
_REACH = 72  # at most 2**-_REACH of the law of one loss lies outside on each side
_SAMPLES = 400  # points of a piece at which the loss is evaluated to choose a grid
# (largest number of losses, grid points in a deviation of a loss)
_POINTS = ((16, 32), (256, 16), (1 << 62, 8))
Pair: TypeAlias = tuple[LineLaw, LineLaw, int]
"""Two laws, and the number of times that they are compared."""

_PARTS_OF_A_CELL = 60
_GAP = arb(2) ** -24  # relative gap at which the search for the best order ends
_MOST_ORDERS = 120


def hockey_stick(first: Law, second: Law, epsilon: Value) -> Value:
    """Return the largest ``P(S) - exp(epsilon)*Q(S)`` over all events S."""
    return _at_bits(_hockey_stick, first, second, epsilon)


def renyi(first: Law, second: Law, order: Value) -> Value:
    """Return the Renyi divergence of an order above 1. The divergences of independent numbers add up."""
    return _at_bits(_renyi, first, second, order)


def kl(first: Law, second: Law) -> Value:
    """Return the Kullback-Leibler divergence."""
    return _at_bits(_sum_over_pairs, first, second, lines.kl)


def max_divergence(first: Law, second: Law) -> Value:
    """Return the largest ``log(P(S)/Q(S))`` over all events S."""
    return _at_bits(_sum_over_pairs, first, second, lines.max_divergence)


def total_variation(first: Law, second: Law) -> Value:
    """Return the largest ``P(S) - Q(S)`` over all events S."""
    return hockey_stick(first, second, arb(0))


def zcdp(first: Law, second: Law) -> Value:
    """Return the largest ``D_z/z`` over all orders z > 1."""
    return _at_bits(_zcdp, first, second)


def privacy_delta(first: Law, second: Law, epsilon: Value) -> Value:
    """Return the smallest delta at epsilon, the larger hockey-stick divergence of both directions."""
    need("epsilon >= 0", epsilon >= 0, epsilon < 0, epsilon)
    return _larger(
        hockey_stick(first, second, epsilon), hockey_stick(second, first, epsilon)
    )


def privacy_epsilon(first: Law, second: Law, delta: Value) -> Value:
    """Return the smallest epsilon >= 0 with at most this delta in both directions."""
    need("delta > 0", delta > 0, delta <= 0, delta)
    return _larger(
        _at_bits(_epsilon, first, second, delta),
        _at_bits(_epsilon, second, first, delta),
    )


def privacy_renyi(first: Law, second: Law, order: Value) -> Value:
    """Return the larger Renyi divergence of both directions."""
    return _larger(renyi(first, second, order), renyi(second, first, order))


def privacy_zcdp(first: Law, second: Law) -> Value:
    """Return the largest ``D_z/z`` over both directions and all orders."""
    return _larger(zcdp(first, second), zcdp(second, first))


def pure_epsilon(first: Law, second: Law) -> Value:
    """Return the smallest epsilon with delta = 0, infinite if there is none."""
    return _larger(max_divergence(first, second), max_divergence(second, first))


def _larger(left: Value, right: Value) -> Value:
    return OO if OO in (left, right) else elementary.maximum(left, right)


def _at_bits(function: Callable[..., Value], *arguments: object) -> Value:
    """Compute a value with ``BITS`` bits, once for the same arguments."""
    with working_precision(BITS):
        return charged(function, *arguments)


def _hockey_stick(first: Law, second: Law, epsilon: Value) -> arb:
    pairs = paired(first, second)
    if not pairs:
        return (1 - to_ball(epsilon).exp()).max(arb(0))
    if _number(pairs) == 1:
        return lines.hockey_stick(*pairs[0][:2], epsilon)
    mu = _normal_mu(pairs)
    if mu is not None:
        return _gaussian_delta(to_ball(epsilon), mu)
    return _composed(first, second).delta(to_ball(epsilon))


def _epsilon(first: Law, second: Law, delta: Value) -> arb:
    pairs = paired(first, second)
    if not pairs:
        return arb(0)
    mu = _normal_mu(pairs)
    if mu is None and _number(pairs) > 1:
        return _composed(first, second).epsilon(to_ball(delta))

    def curve(epsilon: arb) -> arb:
        return to_ball(hockey_stick(first, second, epsilon))

    return to_ball(least_epsilon(curve, delta))


def _number(pairs: Sequence[Pair]) -> int:
    return sum(times for _, _, times in pairs)


def _normal_mu(pairs: Sequence[Pair]) -> arb | None:
    """Return the distance over deviation of two normal laws that are equivalent to a product of pairs.

    Return None if a pair does not consist of normal laws with the same deviation.
    """
    total = arb(0)
    for first, second, times in pairs:
        left = lines.single(first)
        right = lines.single(second)
        if not (
            isinstance(left, Normal)
            and isinstance(right, Normal)
            and same(left.deviation, right.deviation)
        ):
            return None
        total += (
            times * (to_ball(left.mean - right.mean) / to_ball(left.deviation)) ** 2
        )
    return total.sqrt()


def _gaussian_delta(epsilon: arb, mu: arb) -> arb:
    root = arb(2).sqrt()
    upper = ((epsilon / mu - mu / 2) / root).erfc() / 2
    return (upper - epsilon.exp() * ((epsilon / mu + mu / 2) / root).erfc() / 2).max(
        arb(0)
    )


def _renyi(first: Law, second: Law, order: Value) -> Value:
    return _sum_over_pairs(
        first, second, lambda left, right: lines.renyi(left, right, order)
    )


def _sum_over_pairs(
    first: Law, second: Law, divergence: Callable[[LineLaw, LineLaw], Value]
) -> Value:
    total: Value = ZERO
    for left, right, times in paired(first, second):
        value = divergence(left, right)
        if value == OO:
            return OO
        total += times * value
    return total


def _composed(first: Law, second: Law) -> CurveBounds:
    return charged(_compose, first, second)


def _compose(first: Law, second: Law) -> CurveBounds:
    pairs = paired(first, second)
    count = _number(pairs)
    points = next(points for most, points in _POINTS if count <= most)
    samples = [_losses(left, right) for left, right, _ in pairs]
    sampled_pairs = zip(samples, pairs, strict=True)
    widths = [
        grid_width(sample, points, is_discrete=left.is_discrete)
        for sample, (left, _, _) in sampled_pairs
    ]
    width = min(widths, key=arb.mid)
    largest = max(
        (abs(loss).mid() for sample in samples for loss, _ in sample),
        key=arb.mid,
        default=arb(0),
    )
    if largest > MOST_POINTS * width:
        raise WorkLimitError(
            "the losses of these mechanisms are too different for one grid."
        )
    parts = [(*_atoms(left, right, width), times) for left, right, times in pairs]
    return curve_bounds(parts, width)


def _losses(first: LineLaw, second: LineLaw) -> list[tuple[arb, float]]:
    """Return approximate losses of two laws with their approximate probabilities."""
    if first.is_discrete:
        atoms, _ = _atoms(first, second, arb(1))
        distinct: dict[str, tuple[arb, float]] = {}
        for atom in atoms:
            if atom.highest.is_finite() and atom.mass > 0:
                loss = atom.lowest.union(atom.highest)
                key = loss.mid().str(18, radius=False)
                distinct[key] = (
                    loss,
                    distinct.get(key, (loss, 0.0))[1] + float(atom.mass.mid()),
                )
        return list(distinct.values())
    losses = []
    for part in pieces(first, second, *first.reach(_REACH)):
        if isinstance(part, RatioPiece):
            step = (part.right - part.left) / _SAMPLES
            places = [
                (part.left + (i + arb(0.5)) * step).mid() for i in range(_SAMPLES)
            ]
            losses += [
                (part.at(x).mid(), float((part.log_density(x).exp() * step).mid()))
                for x in places
            ]
    return losses


def _atoms(first: LineLaw, second: LineLaw, width: arb) -> tuple[list[Atom], arb]:
    outside = (2 * arb(2) ** -_REACH).upper()
    if first.is_discrete:
        low, high = intervals.window(first)
        others = second.atoms(low, high)
        atoms = []
        for point, value in first.atoms(low, high).items():
            mass = to_ball(value)
            other = to_ball(others.get(point, arb(0)))
            if lines.is_zero(mass):
                continue
            ratio = OO if other == 0 else (mass / other).log()
            atoms.append(Atom(mass, other, ratio.lower(), ratio.upper()))
        return atoms, arb(0) if first.is_finite else outside
    atoms = []
    for part in pieces(first, second, *first.reach(_REACH)):
        cells = [part] if isinstance(part, RatioCell) else narrow_cells(part, width / 2)
        for cell in cells:
            spend(_PARTS_OF_A_CELL)
            mass = first.between(cell.left, cell.right)
            is_infinite = cell.lowest == OO
            other = arb(0) if is_infinite else second.between(cell.left, cell.right)
            atoms.append(Atom(mass, other, cell.lowest, cell.highest))
    return atoms, outside


def _zcdp(first: Law, second: Law) -> Value:
    total: Value = ZERO
    pairs = paired(first, second)
    for left, right, times in pairs:
        closed = lines.closed_zcdp(left, right)
        if closed is None:
            break
        total += times * closed
    else:
        return total
    return _best_order(
        lambda z: to_ball(renyi(first, second, z)),
        to_ball(max_divergence(first, second)),
    )


def _best_order(divergence: Callable[[arb], arb], largest: arb) -> arb:
    """Return the largest ``D_z/z``. Between two orders (z-1) D_z is below its chord, since it is convex."""
    if not largest.is_finite():
        raise UnsupportedError(
            "the largest D_z/z of these laws is not known: their log ratio is not bounded."
        )
    if largest == 0:
        return arb(0)
    orders = [arb(1)]
    values = [arb(0)]  # values of (z - 1) D_z
    best = arb(0)
    while not orders[-1] * best >= largest:
        z = 2 * orders[-1]
        orders.append(z)
        values.append((z - 1) * divergence(z))
        best = best.max(values[-1] / (z * (z - 1)))
        if len(orders) > _MOST_ORDERS:
            break
    beyond = largest / orders[-1]
    todo = [(_under_chord(*ends), ends) for ends in _neighbours(orders, values)]
    for _ in range(_MOST_ORDERS):
        top, (low, at_low, high, at_high) = max(todo, key=lambda entry: entry[0].mid())
        if top <= best * (1 + _GAP):
            break
        todo = [entry for entry in todo if entry[1][0] is not low]
        middle = ((low + high) / 2).mid()
        value = (middle - 1) * divergence(middle)
        best = best.max(value / (middle * (middle - 1)))
        for ends in ((low, at_low, middle, value), (middle, value, high, at_high)):
            todo.append((_under_chord(*ends), ends))
    upper = beyond
    for top, _ in todo:
        upper = upper.max(top)
    return best.union(upper.max(best))


def _neighbours(
    orders: list[arb], values: list[arb]
) -> list[tuple[arb, arb, arb, arb]]:
    return list(zip(orders, values, orders[1:], values[1:], strict=False))


def _under_chord(low: arb, at_low: arb, high: arb, at_high: arb) -> arb:
    """Return the largest ``chord(z)/(z*(z-1))`` between two orders."""
    slope = (at_high - at_low) / (high - low)
    if low == 1:
        return slope
    start = at_low - slope * low
    ends = (at_low / (low * (low - 1))).max(at_high / (high * (high - 1)))
    # where the derivative is 0: slope*z^2 + 2*start*z = start
    root = (start**2 + slope * start).max(arb(0)).sqrt()
    for candidate in ((-start + root) / slope, (-start - root) / slope):
        place = candidate.max(low).min(high)
        ends = ends.max((start + slope * place) / (place * (place - 1)))
    return ends
