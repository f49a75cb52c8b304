"""Epsilon and noise of a sampling as it is run: fixed and shuffled epochs, truncated Poisson samples, balls in bins.

**Epochs** use each example once: batches in a fixed order, or in a shuffled one.

Each step releases the sum of its batch's gradients, clipped to length 1, with noise of deviation sigma. An example
changes the sum of one step in each epoch, by c = 1 if its gradient becomes 0, and by c = 2 if it is replaced. An epoch
has t steps; E is the number of epochs.

**From above.** Given the orders of all epochs, the example is in at most E steps, and all that is released is at most
one Gaussian mechanism with mu = c sqrt(E)/sigma (``gaussian``). This holds for each order, so that it holds for a fixed
one, and, as delta at an epsilon is jointly convex in the pair of laws, for orders drawn independently of the data.

**From below, fixed order.** The example's gradients all have length c in one direction: mu is reached.

**From below, shuffled.** Each is a data set, and each bound a fixed function of what is released.

1. All others have the gradient -1 and the example has 1, as Chua et al. (2024) have it. Up to a constant, an epoch
   releases N(2 e_b, sigma^2 I) for a uniform step b. With 0 in place of the example it is N(e_b, sigma^2 I), with -1 it
   is N(0, sigma^2 I). The largest number of an epoch is at most x with the chance F(x - m) F(x)^(t - 1), where F is the
   normal law and m the shift, 2, 1 or 0. It is mapped to cells. Epochs have independent orders, and one map each. As
   large a number as 2 tells which batch has the example, so that there is little amplification where sigma is small.
2. All others have 0, or -1 for c = 2: N(c e_b, sigma^2 I) against N(0, sigma^2 I), the pair of ``bins``.

With one order for all epochs, the step b is the same in each. The sum over epochs is then sufficient in 1 and 2: one
epoch with noise sigma/sqrt(E).

**Truncated Poisson samples** have batches that are cut to a largest size B, as physical batches of a fixed size are.

Let M be the mechanism with Poisson samples and M' the one that keeps a random part of B of each batch that is larger.
The sizes of batches do not depend on the data. Let p be the chance that Bin(n, q) is above B. M and M' on the same data
can be run together so that they differ only if one of the T batches is above B, with a chance of at most T p; with an
example less the chance is not larger. So for each event S, with P and Q the laws of M on neighbours and P', Q' of M',

    P'(S) <= P(S) + T p <= exp(epsilon) Q(S) + delta + T p <= exp(epsilon) (Q'(S) + T p) + delta + T p.

So delta' <= delta + (1 + exp(epsilon)) T p, and delta' >= delta - (1 + exp(epsilon)) T p in the same way (Chua et al.
2024, "Scalable DP-SGD", have the upper bound).

Where batches are often cut, another bound is smaller. With a chance of 1 - q the example is not drawn. Otherwise the
kept batches with and without it can be drawn together so that it is added, or takes the place of one other, or is cut.
This changes the sum by at most 2. So a step is at most one of Poisson samples with noise sigma/2, as ``batches`` shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np
from flint import arb, ctx
from scipy.special import log_ndtr

from dpverify.kernels import check
from dpverify.privacy.batches import LEAST_DELTA, MOST_STEPS, BatchSteps, poisson_epsilon
from dpverify.privacy.gaussian_safe import missed_epsilon, safe_epsilon, safe_mu
from dpverify.privacy.losses.grid import Vector
from dpverify.privacy.participation import Bounds, check_ordering
from dpverify.privacy.schedules.bins import bins_lower, bins_upper, lower_epsilon
from dpverify.shared_types import Ordering

CELLS: Final = 20_000
FAR: Final = 12.0  # deviations beyond the means at which the outermost cells begin
LOST: Final = 1e-11  # relative error of a chance that the largest number is above a point
QUOTIENT: Final = 1e-14


def gaussian_upper(change: float, sigma: float, epochs: int, delta: float) -> float:
    """Bound epsilon where the example changes so many steps, which are known."""
    return safe_epsilon(change * math.sqrt(epochs) / sigma * (1.0 + QUOTIENT), delta)


def gaussian_lower(change: float, sigma: float, epochs: int, delta: float) -> float:
    """Give the epsilon that a fixed order reaches."""
    return missed_epsilon(change * math.sqrt(epochs) / sigma * (1.0 - QUOTIENT), delta)


def largest_number_lower(change: float, sigma: float, bins: int, times: int, delta: float) -> float:
    """Bound the epsilon of shuffled epochs from below, by the largest number of each."""
    with_example = _chances(2.0, sigma, bins)
    without = _chances(2.0 - change, sigma, bins)
    removed = lower_epsilon(with_example[0], without[1], times, delta)
    added = lower_epsilon(without[0], with_example[1], times, delta)
    return max(removed, added)


def _chances(shift: float, sigma: float, bins: int) -> tuple[Vector, Vector]:
    """Bound the chances of each cell of the largest of ``bins`` numbers, one of which is shifted, from both sides."""
    ends = np.linspace(-FAR * sigma, 2.0 + FAR * sigma, CELLS)
    log_below = log_ndtr((ends - shift) / sigma) + (bins - 1) * log_ndtr(ends / sigma)
    above = -np.expm1(log_below)
    below = np.exp(log_below)
    above = np.concatenate([[1.0], above, [0.0]])
    below = np.concatenate([[0.0], below, [1.0]])
    is_high = above[:-1] < 0.5
    chances = np.where(is_high, -np.diff(above), np.diff(below))
    # The logarithm is right to a few units in its last place, and in that of x^2/2 <= 100 beside it.
    scale = np.where(is_high, 1.0, 1.0 + np.minimum(-np.append(log_below, 0.0), 700.0))
    errors = LOST * scale * np.where(is_high, above[:-1], below[1:])
    return chances - errors, np.maximum(chances, 0.0) + errors


MOST_ROUNDS: Final = 40
TAIL_BITS: Final = 256
EPSILON_FACTOR: Final = 1.0 + 1e-7


def chance_above(examples: int, rate: float, largest: int) -> float:
    """Bound P(Bin(examples, rate) > largest) from above, without rounding errors."""
    if largest >= examples:
        return 0.0
    with ctx.workprec(TAIL_BITS):
        tail = arb(rate).beta_lower(arb(largest + 1), arb(examples - largest), regularized=True)
        bound = float(tail.upper()) if tail.is_finite() else 1.0
    return min(1.0, max(bound, 0.0) * (1.0 + 1e-15) + 1e-300)


def truncated_epsilon(step: BatchSteps, delta: float, examples: int, largest: int) -> Bounds:
    """Bound the epsilon of Poisson samples of at most ``largest`` examples, for one more than ``examples`` or less."""
    lost = step.count * chance_above(examples + 1, step.rate, largest) * (1.0 + 1e-15)
    poisson = poisson_epsilon([step], delta)
    doubled = poisson_epsilon([BatchSteps(step.rate, 0.5 * step.noise, step.count)], delta)
    upper = _truncated_upper(step, delta, lost, poisson.upper)
    lower = _truncated_lower(step, delta, lost, poisson.lower)
    method = f"Poisson samples, and {lost:.3g} for the chance that a batch is cut; both bounds certified"
    if doubled.upper < upper:
        upper = doubled.upper
        method = "Poisson samples with twice the sensitivity; both bounds certified"
    return Bounds(min(lower, upper), upper, exact=False, method=method)


def _truncated_upper(step: BatchSteps, delta: float, lost: float, epsilon: float) -> float:
    """Find an epsilon at which delta less the lost chance is enough for Poisson samples."""
    for _ in range(MOST_ROUNDS):
        epsilon *= EPSILON_FACTOR
        if epsilon > 700.0:
            break
        remaining = (delta - (1.0 + math.exp(epsilon)) * lost) * (1.0 - 1e-12)
        if not remaining >= LEAST_DELTA:
            break
        needed = poisson_epsilon([step], remaining).upper
        if needed <= epsilon:
            return epsilon
        epsilon = needed
    return math.inf


def _truncated_lower(step: BatchSteps, delta: float, lost: float, epsilon: float) -> float:
    """Find an epsilon that Poisson samples miss, also with the lost chance on top of delta."""
    for _ in range(MOST_ROUNDS):
        if epsilon > 700.0:
            return 0.0
        larger = (delta + (1.0 + math.exp(epsilon)) * lost) * (1.0 + 1e-12)
        if larger >= 1.0:
            epsilon *= 0.9
            continue
        missed = poisson_epsilon([step], larger).lower
        if missed >= epsilon / EPSILON_FACTOR:
            return min(missed, epsilon / EPSILON_FACTOR)
        epsilon = max(missed, 0.5 * epsilon)
    return 0.0


Practised: TypeAlias = Literal["fixed", "shuffled", "truncated-poisson", "balls-in-bins", "random-allocation"]
PRACTISED: Final[tuple[Practised, ...]] = (
    "fixed",
    "shuffled",
    "truncated-poisson",
    "balls-in-bins",
    "random-allocation",
)
RELATIONS: Final = {
    "fixed": ("zero-out", "replace-one"),
    "shuffled": ("zero-out", "replace-one"),
    "truncated-poisson": ("add-remove",),
    "balls-in-bins": ("add-remove", "zero-out"),
    "random-allocation": ("add-remove", "zero-out"),
}
"""Neighbours for which there are bounds; the first are the default."""
CLOSE: Final = 1e-9
NARROW: Final = 1e-4  # relative distance of the noise that is found from one that is not enough
MOST_BINS: Final = 1 << 17  # more steps of an epoch have no useful grid
WITHOUT: Final = "Gaussian mechanism without sampling"


@dataclass(frozen=True)
class Schedule:
    """A sampling as it is run; ``neighbours`` is by default the first of ``RELATIONS``.

    An ArgumentError if a number is out of its range, or does not belong to the sampling.
    """

    sampling: Practised
    sigma: float
    steps: int
    rate: float
    neighbours: str | None = None
    ordering: Ordering = "fresh"
    examples: int | None = None
    largest_batch: int | None = None

    def __post_init__(self) -> None:
        check.positive(sigma=self.sigma)
        check.whole(1, MOST_STEPS, steps=self.steps)
        check.weight(rate=self.rate)
        check_ordering(self.ordering)
        if self.neighbours not in (None, *RELATIONS[self.sampling]):
            rule = f"must be {' or '.join(RELATIONS[self.sampling])} for sampling={self.sampling}"
            raise check.ArgumentError("neighbours", self.neighbours, rule)
        if self.sampling == "truncated-poisson":
            check.whole(1, MOST_STEPS, examples=self.examples or 0)
            check.whole(1, MOST_STEPS, largest_batch=self.largest_batch or 0)
        elif self.examples is not None or self.largest_batch is not None:
            name = "largest_batch" if self.examples is None else "examples"
            raise check.ArgumentError(name, getattr(self, name), "belongs to sampling=truncated-poisson")
        if self.ordering != "fresh" and self.sampling not in ("shuffled", "balls-in-bins"):
            raise check.ArgumentError("ordering", self.ordering, "belongs to sampling=shuffled and balls-in-bins")
        if self.sampling == "random-allocation":
            if not _is_whole(self.rate * self.steps):
                raise check.ArgumentError("rate", self.rate, "must be a whole number of steps over all steps")
        elif self.sampling != "truncated-poisson" and not _is_whole(1.0 / self.rate):
            raise check.ArgumentError("rate", self.rate, "must be 1 over the number of steps of an epoch")

    @property
    def change(self) -> float:
        """What an example changes in a step, at most."""
        return 2.0 if self.neighbours == "replace-one" else 1.0

    @property
    def bins(self) -> int:
        """Steps of an epoch, one of which has the example; of a block, for random allocation."""
        if self.sampling == "random-allocation":
            return self.steps // self.most
        return round(1.0 / self.rate)

    @property
    def most(self) -> int:
        """In how many steps an example is, at most."""
        if self.sampling == "random-allocation":
            return round(self.rate * self.steps)
        return -(-self.steps // round(1.0 / self.rate))

    def epsilon(self, delta: float) -> Bounds:
        """Bound the smallest epsilon from both sides."""
        if self.sampling == "truncated-poisson":
            step = BatchSteps(self.rate, self.sigma, self.steps)
            return truncated_epsilon(step, delta, self.examples or 0, self.largest_batch or 0)
        if self.sampling == "fixed" or self.rate == 1.0:
            lower = gaussian_lower(self.change, self.sigma, self.most, delta)
            upper = gaussian_upper(self.change, self.sigma, self.most, delta)
            return Bounds(lower, upper, exact=True, method=f"{WITHOUT}; both bounds certified")
        upper, how = self._upper(delta)
        lower, reached = self._lower(delta)
        return Bounds(min(lower, upper), upper, exact=False, method=f"{how}; lower: {reached}; both bounds certified")

    def upper(self, delta: float) -> float:
        """Bound the smallest epsilon from above."""
        if self.sampling == "truncated-poisson":
            return self.epsilon(delta).upper
        return self._upper(delta)[0]

    def sigma_for(self, epsilon: float, delta: float) -> float:
        """Find a noise multiplier that is certain to give an epsilon; that of the schedule does not count."""
        plain = self.change * math.sqrt(self.most) / safe_mu(epsilon, delta) * (1.0 + 3e-14)
        if self.sampling in ("fixed", "shuffled") or (self.bins == 1 and self.sampling != "truncated-poisson"):
            return math.nextafter(plain, math.inf)
        start = max(0.5, self.rate * math.sqrt(self.steps) / epsilon)

        return _least_sigma(lambda sigma: replace(self, sigma=sigma).upper(delta), epsilon, start)

    def _upper(self, delta: float) -> tuple[float, str]:
        plain = gaussian_upper(self.change, self.sigma, self.most, delta)
        if self.sampling in ("fixed", "shuffled") or not 1 < self.bins <= MOST_BINS:
            return plain, WITHOUT
        sigma, times = self._independent_epochs(self.most)
        amplified = bins_upper(1.0 / sigma, self.bins, times, delta)
        if plain <= amplified:
            return plain, WITHOUT
        blocks = "balls in bins" if self.sampling == "balls-in-bins" else "allocation in blocks"
        return amplified, f"privacy loss of {blocks}"

    def _lower(self, delta: float) -> tuple[float, str]:
        if self.sampling == "random-allocation":
            mean = gaussian_lower(math.sqrt(self.most / self.steps), self.sigma, self.most, delta)
            cells = bins_lower(1.0 / self.sigma, self.steps, self.most, 1, delta) if self.steps <= MOST_BINS else 0.0
            return max((mean, "sum over all steps"), (cells, "sum of cells of all steps"))
        complete = self.steps // self.bins
        if complete == 0:
            return 0.0, "none"
        sigma, times = self._independent_epochs(complete)
        # The sum over all steps of all epochs is normal, with its mean moved by one change for each epoch.
        change = self.change / math.sqrt(self.bins)
        bounds = [(gaussian_lower(change, self.sigma, complete, delta), "sum over all steps")]
        if self.bins <= MOST_BINS:
            bounds.append((bins_lower(self.change / sigma, self.bins, 1, times, delta), "sum of cells of each epoch"))
        if self.sampling == "shuffled":
            largest = largest_number_lower(self.change, sigma, self.bins, times, delta)
            bounds.append((largest, "largest number of each epoch, all other gradients opposed"))
        return max(bounds)

    def _independent_epochs(self, epochs: int) -> tuple[float, int]:
        """Give the noise and the number of epochs that count: one epoch stands for all with the same order."""
        return (self.sigma, epochs) if self.ordering == "fresh" else (self.sigma / math.sqrt(epochs), 1)


def _least_sigma(upper: Callable[[float], float], epsilon: float, start: float) -> float:
    """Find a noise whose bound is at most epsilon, and within ``NARROW`` of one whose bound is not."""

    def excess(log_sigma: float) -> float:
        bound = upper(math.exp(log_sigma))
        return math.log(max(bound, 1e-300) / epsilon) if bound < math.inf else 800.0

    low = high = math.log(start)
    at_low = at_high = excess(low)
    while at_high > 0.0:
        low = high
        at_low = at_high
        high += 0.8 * min(at_high, 2.0) + 2.0 * NARROW
        at_high = excess(high)
    while at_low <= 0.0:
        high = low
        at_high = at_low
        low += 0.8 * max(at_low, -2.0) - 2.0 * NARROW
        at_low = excess(low)
    while high - low > NARROW:
        # a secant, moved to the safe side, or the middle where the bound bends
        share = at_low / (at_low - at_high) if at_low < 3.0 else 0.5
        cut = low + (high - low) * min(max(share + 0.3 * NARROW / (high - low), 0.1), 0.9)
        at_cut = excess(cut)
        if at_cut > 0.0:
            low = cut
            at_low = at_cut
        else:
            high = cut
            at_high = at_cut
    return math.exp(high)


def _is_whole(value: float) -> bool:
    return value > 0.5 and abs(value - round(value)) <= CLOSE * value
