"""Balls in bins and random allocation: each example is in one uniform step of t, or in k of t steps, independently.

A step releases the sum of its batch's gradients, of length at most 1, with noise of
standard deviation sigma. Neighbours are add-remove. s = 1/sigma.

**Worst pair** (Chua et al. 2025, "Balls-and-Bins sampling for DP-SGD"). Condition on
the steps of all other examples, which do not depend on this one. Let z_b be the noise
of step b without the example, and v_b, |v_b| <= 1, what the example adds to step b if
it is there. The likelihood ratio of an epoch with and without the example is the mean L
of w_1 to w_t, where w_b = exp(<v_b, z_b>/sigma^2 - |v_b|^2/(2 sigma^2)). Here v_b may
depend on all earlier releases. Let f be convex. The expectation of f(L) given the first
steps is convex in the last of their w_b. Given the past, w_b is lognormal with mean 1,
and a martingale in |v_b|^2, so that this expectation increases with |v_b|. By induction
from the last step to the first, E f(L) is at most its value for |v_b| = 1 at each step,
where the w_b are independent. Delta at each epsilon, in both orders of the neighbours,
is such an expectation. So each epoch is dominated by P = mean over b of N(e_b, sigma^2
I) against Q = N(0, sigma^2 I), and independent epochs by the product. Constant
gradients attain this. With one allocation for all of E epochs, each w_b is a product
over epochs. L is affine in each factor, and the same argument gives one epoch with
noise sigma/sqrt(E).

**Allocation.** For k of t steps, L is the mean of the products over all sets of k
steps, which is affine in each w_b too. Draw a random partition of k m steps, m =
floor(t/k), out of t into k blocks of m, and one step of each block. This gives a
uniform set of k steps. Given the partition, which does not depend on the data, L is the
product of the means over the blocks. So k independent epochs of m steps dominate
(Feldman and Shenfeld 2025, by another proof).

**Upper bound.** w is replaced by a variable on the grid k h whose mean given w is w.
Its values are the two grid points next to w, or 0 and infinity if w exceeds the end W
of the grid. This increases the expectation of each convex function of L. Under Q the
sum S on the grid is a convolution power of one distribution. P(S) is the convolution of
one factor weighted by w and t - 1 unweighted ones, and the loss is log(S/t).
Probability of P at infinity, or beyond the window of the transform (Chernoff's bound),
counts as an infinite loss.

Under Q, -log L is at most the mean of all -log w_b (Jensen), which is normal. For large
s and small t this bounds the order (Q, P) better than the grid, which has few points
near 0.

**Lower bound.** w is mapped to the number j of its cell, and a run to the sum of all j.
The distributions of this sum under P and Q are exact up to rounding, with k weighted
factors and t - k others for k of t steps. A function of the release has at most the
delta of the release.

**Rounding.** Probabilities on the grid of the upper bound are second differences of E
(w - x)_+ or E (x - w)_+. Those of cells are first differences of a normal distribution
function. ndtr is assumed accurate to 8 + z^2 units in the last place. Errors of z
change these expectations in second order only. Transforms are bounded as in
``losses.total``, in long doubles.

**Compositions of pairs of finite distributions**, bounded from below and from above.

A pair of distributions (P, Q) on finitely many outcomes has the loss log(p/q) under P.
The delta of independent pairs is the expectation of (1 - exp(epsilon - sum of
losses))_+ under P, which increases with each loss and each probability.

- Lower bound: mapping the release to finitely many outcomes can only decrease delta. Probabilities under P are
rounded   down, those under Q up, and losses down to a grid. - Upper bound: a loss between two grid points is split
between them such that its probabilities under P and Q stay the   same. This spreads the likelihood ratio and keeps
its mean, so that it increases each   convex function of the ratio, including delta at each epsilon. The profile of
the pair   is then nowhere smaller, and composition preserves this (Zhu, Dong and Wang 2022,   theorem 10).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from dpverify.privacy.losses.grid import (
    ROUNDOFF,
    LossLaw,
    Places,
    Steps,
    UnresolvedError,
    Vector,
)
from dpverify.privacy.losses.total import add_up, whole_power

# relative rounding error of a probability or a loss, thousands of times that of floats
ERROR: Final = 1e-12
# fraction of a cell subtracted from each loss of a lower bound; the mean loss is about
# the middle of the cell
CENTRE: Final = 0.51
LARGEST_LOSS: Final = 500.0


def _widths(times: int) -> tuple[float, ...]:
    """Return grid widths for ``times`` losses: a fine one, and wider ones for sums that span too many cells."""
    width = max(5e-4 / times, 5e-5)
    return width, 8.0 * width, 64.0 * width


def lower_epsilon(p: Vector, q: Vector, times: int, delta: float) -> float:
    """Return a lower bound on the epsilon of ``times`` pairs.

    ``p`` is at most the probabilities under P; ``q`` is at least those under Q.
    """
    is_positive = (p > 0.0) & (q > 0.0)
    if not is_positive.any():
        return 0.0
    losses = np.log(p[is_positive]) - np.log(q[is_positive])
    losses = np.minimum(losses - ERROR * (1.0 + np.abs(losses)), LARGEST_LOSS)
    for width in _widths(times):
        places = np.floor(losses / width + CENTRE).astype(np.int64)
        law = _law(places, p[is_positive] * (1.0 - ERROR), 0.0, CENTRE * width)
        try:
            return add_up([Steps(law, times)], width, delta).epsilon(delta, -1)
        except UnresolvedError:
            continue
    return 0.0


def upper_epsilon(
    losses: Vector, p: Vector, beyond: float, times: int, delta: float
) -> float:
    """Return an upper bound on the epsilon of ``times`` pairs.

    ``p`` is at least the probabilities under P of the given losses, and ``beyond`` that of all others, which count as
    infinite.
    """
    is_large = losses > LARGEST_LOSS
    beyond += float(p[is_large].sum())
    losses = losses[~is_large]
    p = p[~is_large] * (1.0 + ERROR)
    losses = losses + ERROR * (1.0 + np.abs(losses))
    for width in _widths(times):
        below = np.floor(losses / width)
        share = np.clip(
            np.expm1(below * width - losses) / np.expm1(-width) + 1e-9, 0.0, 1.0
        )
        places = below.astype(np.int64)
        law = _law(
            np.append(places, places + 1),
            np.append(p * (1.0 - share + 1e-15), p * share),
            beyond,
            0.0,
        )
        try:
            return add_up([Steps(law, times)], width, delta).epsilon(delta, 1)
        except UnresolvedError:
            continue
    return math.inf


def _law(places: Places, chances: Vector, beyond: float, shift: float) -> LossLaw:
    first = int(places.min())
    sums: Vector = np.bincount(places - first, chances).astype(np.float64)
    at = np.flatnonzero(sums > 0.0)
    sign = 1.0 if shift == 0.0 else -1.0
    return LossLaw(
        at + first, sums[at] * (1.0 + sign * ERROR), beyond * (1.0 + ERROR), shift
    )


MOST_CELLS: Final = 1 << 17  # largest number of cells of the window of the sum
# smallest step of the grid, relative to the standard deviation of w
MIN_STEP: Final = 2e-3
TAIL: Final = 1e-3  # fraction of delta for infinite losses
# rates of Chernoff's bound, relative to the inverse of the end of the grid
RATES: Final = np.geomspace(1e-2, 60.0, 24)
GROUPS: Final = 20_000  # groups of cells of the sum, for the lower bound
# for larger s there is hardly any amplification, and w has no useful grid
MOST_SPREAD: Final = 6.0


class GridSum(NamedTuple):
    """Probabilities of a sum on a grid, and a bound on the norm of their errors."""

    chances: Vector
    error: float


def bins_upper(spread: float, bins: int, times: int, delta: float) -> float:
    """Return an upper bound on the epsilon of ``times`` independent epochs; ``spread`` is s, and ``bins`` is t >= 2."""
    if spread > MOST_SPREAD:
        return math.inf
    tail = TAIL * delta / times
    end = _end(spread, tail)
    window = _window(spread, end, bins, tail)
    step = max(window / MOST_CELLS, MIN_STEP * spread)
    cells = 1 << math.ceil(math.log2(window / step + 1.0))
    count = min(int(end / step) + 2, cells - 1)
    chances, infinite = _grid_law(spread, step, count)
    points = np.asarray(step * np.arange(count), np.float64)
    weighted = chances * points * (1.0 + 4.0 * ROUNDOFF)
    beyond = infinite + _window_tail(chances, weighted, points, bins, step * cells)
    under_p = _convolution(weighted, 1, chances, bins - 1, cells)
    under_q = _convolution(weighted, 0, chances, bins, cells)
    # Errors of all probabilities may count as infinite losses: the sum of their
    # absolute values is at most the root of their number times their norm.
    root = math.sqrt(cells)
    losses = np.log(step * np.arange(1, cells)) - math.log(bins)
    p = np.maximum(under_p.chances[1:], 0.0)
    q = np.maximum(under_q.chances, 0.0)
    removed = upper_epsilon(losses, p, beyond + root * under_p.error, times, delta)
    added = upper_epsilon(
        -losses, q[1:], float(q[0]) + root * under_q.error, times, delta
    )
    return max(removed, min(added, _mean_loss_bound(spread, bins, times, delta)))


def bins_lower(
    spread: float, bins: int, visits: int, times: int, delta: float
) -> float:
    """Return a lower bound on the epsilon of ``times`` independent epochs with the example in ``visits`` steps."""
    if spread > MOST_SPREAD:
        return 0.0
    tail = TAIL * delta / times
    end = _end(spread, tail)
    window = _window(spread, end, bins, tail)
    step = max(window / MOST_CELLS, MIN_STEP * spread)
    cells = 1 << math.ceil(math.log2(window / step + 1.0))
    count = min(int(end / step) + 2, cells - 1)
    points = np.asarray(step * np.arange(count + 1), np.float64)
    points[-1] = np.inf
    z = _normal(points, spread)
    bounds: list[list[Vector]] = []
    edges = np.unique(np.geomspace(1.0, cells, GROUPS).astype(np.int64)) - 1
    edges = edges[edges < cells]
    roots = np.sqrt(np.diff(np.append(edges, cells)))
    for sign in (-1.0, 1.0):
        chances = _cells(z, sign)
        weighted = _cells(z - spread, sign)
        laws = []
        for number in (visits, 0):
            law = _convolution(weighted, number, chances, bins - number, cells)
            sums = np.add.reduceat(law.chances, edges)
            laws.append(sums * (1.0 + sign * 1e-12) + sign * roots * law.error)
        bounds.append(laws)
    (p_low, q_low), (p_high, q_high) = bounds
    return max(
        lower_epsilon(p_low, q_high, times, delta),
        lower_epsilon(q_low, p_high, times, delta),
    )


def _mean_loss_bound(spread: float, bins: int, times: int, delta: float) -> float:
    """Return an upper bound for Q against P: -log L is at most the mean of -log w_b, which is normal under Q."""
    mean = 0.5 * times * spread**2
    deviation = spread * math.sqrt(times / bins)
    return max(0.0, mean - deviation * float(ndtri(delta))) * (1.0 + 1e-12)


def _normal(points: Vector, spread: float) -> Vector:
    """Return z with w = exp(s z - s^2/2)."""
    z = np.full(len(points), -np.inf)
    is_positive = points > 0.0
    z[is_positive] = np.log(points[is_positive]) / spread + 0.5 * spread
    return z


def _end(spread: float, tail: float) -> float:
    """Return a w above which P has about the probability ``tail``."""
    return math.exp(spread * (spread - float(ndtri(tail))) - 0.5 * spread**2)


def _window(spread: float, end: float, bins: int, tail: float) -> float:
    """Return a sum above which P has about the probability ``tail``."""
    z = np.linspace(-9.0, (math.log(end) / spread + 0.5 * spread), 4000)
    points = np.exp(spread * z - 0.5 * spread**2)
    chances = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * (z[1] - z[0])
    ends = [
        (
            _log_moment(chances * points, points, rate)
            + (bins - 1) * _log_moment(chances, points, rate)
            - math.log(tail)
        )
        / rate
        for rate in (RATES / end).tolist()
    ]
    return float(min(*ends, bins * end)) + 0.01 * end


def _log_moment(chances: Vector, points: Vector, rate: float) -> float:
    return math.log(float((chances * np.exp(rate * points)).sum()))


def _window_tail(
    chances: Vector, weighted: Vector, points: Vector, bins: int, window: float
) -> float:
    """Return a bound on P(S >= window) by Chernoff's bound."""
    exponents = [
        _log_moment(weighted, points, rate)
        + (bins - 1) * _log_moment(chances, points, rate)
        - rate * window
        for rate in (RATES / points[-1]).tolist()
    ]
    return math.exp(min(0.0, *exponents)) * (1.0 + 1e-9)


def _grid_law(spread: float, step: float, count: int) -> tuple[Vector, float]:
    """Return upper bounds on the probabilities of w on the grid, and the probability of P at infinity."""
    points = np.asarray(step * np.arange(-1, count + 1), np.float64)
    z = _normal(points, spread)
    above = ndtr(spread - z)
    below = ndtr(z - spread)
    part_above = np.maximum(points, 0.0) * ndtr(-z)
    part_below = np.maximum(points, 0.0) * ndtr(z)
    calls = above - part_above
    calls[0] = 1.0 + step
    puts = part_below - below
    puts[0] = 0.0
    roundings = (64.0 + 8.0 * np.where(np.isfinite(z), z, 0.0) ** 2) * ROUNDOFF
    is_high = points[1:-1] > 1.0
    second = np.where(is_high, np.diff(calls, 2), np.diff(puts, 2))
    term_above = roundings[1:-1] * (above + part_above)[:-2]
    term_below = (roundings * (below + part_below))[2:]
    errors = np.where(is_high, term_above, term_below)
    errors[0] = term_below[0]
    chances = (np.maximum(second, 0.0) + errors) / step * (1.0 + 8.0 * ROUNDOFF)
    # Beyond the last point, w becomes 0 or infinity.
    chances[0] += float(ndtr(-z[-2])) * (1.0 + 1e-9)
    return chances, float(above[-2]) * (1.0 + 1e-9)


def _cells(z: Vector, sign: float) -> Vector:
    """Return one-sided bounds on the probabilities of cells between normal quantiles."""
    above = ndtr(-z)
    below = ndtr(z)
    is_high = z[:-1] > 0.0
    chances = np.where(is_high, above[:-1] - above[1:], below[1:] - below[:-1])
    largest = np.where(np.isfinite(z), np.abs(z), 0.0)
    size = np.maximum(largest[:-1], largest[1:])
    errors = (
        (16.0 + 8.0 * size**2) * ROUNDOFF * np.where(is_high, above[:-1], below[1:])
    )
    result: Vector = np.maximum(chances + sign * errors, 0.0)
    return result


def _convolution(
    first: Vector, first_times: int, second: Vector, second_times: int, cells: int
) -> GridSum:
    """Convolve powers of two distributions modulo ``cells``, with a bound on the norm of the rounding errors."""
    unit = float(np.finfo(np.longdouble).eps)
    per_transform = 16.0 * unit * math.log2(cells)
    product = np.ones(cells // 2 + 1, np.clongdouble)
    moduli = np.ones(cells // 2 + 1)
    errors = np.zeros(cells // 2 + 1)
    for law, times in ((first, first_times), (second, second_times)):
        if times == 0:
            continue
        padded = np.zeros(cells, np.longdouble)
        padded[: len(law)] = law
        transform = np.fft.rfft(padded)
        size = max(1.0, float(law.sum()))
        modulus = (
            np.abs(transform).astype(np.float64) * (1.0 + 2.0 * ROUNDOFF)
            + 2.0 * per_transform * size
        )
        moduli *= modulus**times
        errors += times * (per_transform * size / modulus + 4.0 * unit)
        product = product * whole_power(transform, times)
    norms = np.linalg.norm(
        [moduli * (per_transform + 8.0 * unit), moduli * errors], axis=1
    )
    chances = np.fft.irfft(product, cells).astype(np.float64)
    return GridSum(chances, 1.01 * math.sqrt(2.0 / cells) * float(norms.sum()))
