"""Epsilon and noise for sampling in practice: fixed and shuffled epochs, truncated Poisson samples, balls in bins.

**Epochs** use each example once, in batches of a fixed order or of a shuffled one.

Each step releases the sum of its batch's gradients, clipped to length 1, with noise of
standard deviation sigma. An example changes the sum of one step in each epoch, by c = 1
if its gradient becomes 0, and by c = 2 if it is replaced. An epoch has t steps; E is
the number of epochs.

**Upper bound.** Given the orders of all epochs, the example is in at most E steps, and
all releases together are dominated by one Gaussian mechanism with mu = c sqrt(E)/sigma
(``gaussian``). This holds for each fixed order. It also holds for orders drawn
independently of the data, because delta at an epsilon is jointly convex in the pair of
distributions.

**Lower bound, fixed order.** If the example's gradients all have length c in one
direction, mu is attained.

**Lower bounds, shuffled.** Each bound uses one data set and a fixed function of the
releases.

1. All other examples have the gradient -1 and the example has 1, as in Chua et al. (2024). Up to a constant, an epoch
   releases N(2 e_b, sigma^2 I) for a uniform step b. If the example's gradient is 0
   instead, it releases N(e_b, sigma^2 I), and if it is -1, N(0, sigma^2 I). The largest
   number of an epoch is at most x with probability F(x - m) F(x)^(t - 1), where F is
   the normal distribution function and m is 2, 1 or 0. It is mapped to cells. Epochs
   have independent orders, and a map for each epoch. A number as large as 2 reveals the
   batch of the example, so that there is little amplification if sigma is small.
2. All other examples have gradient 0, or -1 for c = 2: N(c e_b, sigma^2 I) against N(0, sigma^2 I), the pair of
   ``bins``.

With one order for all epochs, the step b is the same in each epoch. The sum over epochs
is then sufficient in 1 and 2, which gives one epoch with noise sigma/sqrt(E).

**Truncated Poisson samples** are cut to a largest size B, as for physical batches of a
fixed size.

Let M be the mechanism with Poisson samples, and M' the one that keeps a random subset
of size B of each larger batch. The sizes of batches do not depend on the data. Let p be
the probability that Bin(n, q) exceeds B. On the same data, M and M' can be coupled so
that they differ only if one of the T batches exceeds B, with probability at most T p.
With one example less that probability is not larger. So for each event S, with P and Q
the output distributions of M on neighbours and P', Q' those of M',

    P'(S) <= P(S) + T p <= exp(epsilon) Q(S) + delta + T p <= exp(epsilon) (Q'(S) + T p)
    + delta + T p.

So delta' <= delta + (1 + exp(epsilon)) T p, and delta' >= delta - (1 + exp(epsilon)) T
p in the same way (Chua et al. 2024, "Scalable DP-SGD", have the upper bound).

If batches are often cut, another bound is smaller. With probability 1 - q the example is not drawn. Otherwise the kept
batches with and without it can be coupled so that it is added, or replaces one other example, or is cut. This changes
the sum by at most 2. So a step is dominated by one with Poisson samples and noise sigma/2; see ``batches``.
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
from dpverify.privacy.batches import (
    LEAST_DELTA,
    MOST_STEPS,
    BatchSteps,
    poisson_epsilon,
)
from dpverify.privacy.gaussian_safe import safe_epsilon, safe_mu, violated_epsilon
from dpverify.privacy.losses.grid import Vector
from dpverify.privacy.participation import Bounds, check_ordering
from dpverify.privacy.schedules.bins import bins_lower, bins_upper, lower_epsilon
from dpverify.shared_types import Ordering

CELLS: Final = 20_000
# standard deviations beyond the means at which the outermost cells start
TAIL: Final = 12.0
# relative error of the probability that the largest number exceeds a point
ERROR: Final = 1e-11
QUOTIENT_ERROR: Final = 1e-14


def gaussian_upper(change: float, sigma: float, epochs: int, delta: float) -> float:
    """Return an upper bound on epsilon if the example changes ``epochs`` steps, which are known."""
    return safe_epsilon(
        change * math.sqrt(epochs) / sigma * (1.0 + QUOTIENT_ERROR), delta
    )


def gaussian_lower(change: float, sigma: float, epochs: int, delta: float) -> float:
    """Return a lower bound on the epsilon that a fixed order attains."""
    return violated_epsilon(
        change * math.sqrt(epochs) / sigma * (1.0 - QUOTIENT_ERROR), delta
    )


def largest_number_lower(
    change: float, sigma: float, bins: int, times: int, delta: float
) -> float:
    """Return a lower bound on the epsilon of shuffled epochs, by the largest number of each epoch."""
    with_example = _chances(2.0, sigma, bins)
    without = _chances(2.0 - change, sigma, bins)
    removed = lower_epsilon(with_example[0], without[1], times, delta)
    added = lower_epsilon(without[0], with_example[1], times, delta)
    return max(removed, added)


def _chances(shift: float, sigma: float, bins: int) -> tuple[Vector, Vector]:
    """Return lower and upper bounds on cell probabilities of the largest of ``bins`` numbers, one of them shifted."""
    ends = np.linspace(-TAIL * sigma, 2.0 + TAIL * sigma, CELLS)
    log_below = log_ndtr((ends - shift) / sigma) + (bins - 1) * log_ndtr(ends / sigma)
    above = -np.expm1(log_below)
    below = np.exp(log_below)
    above = np.concatenate([[1.0], above, [0.0]])
    below = np.concatenate([[0.0], below, [1.0]])
    is_high = above[:-1] < 0.5
    chances = np.where(is_high, -np.diff(above), np.diff(below))
    # The logarithm is accurate to a few units in the last place of itself and of x^2/2
    # <= 100.
    scale = np.where(is_high, 1.0, 1.0 + np.minimum(-np.append(log_below, 0.0), 700.0))
    errors = ERROR * scale * np.where(is_high, above[:-1], below[1:])
    return chances - errors, np.maximum(chances, 0.0) + errors


MOST_ROUNDS: Final = 40
TAIL_BITS: Final = 256
EPSILON_FACTOR: Final = 1.0 + 1e-7


def chance_above(examples: int, rate: float, largest: int) -> float:
    """Return an upper bound on P(Bin(examples, rate) > largest), including rounding errors."""
    if largest >= examples:
        return 0.0
    with ctx.workprec(TAIL_BITS):
        tail = arb(rate).beta_lower(
            arb(largest + 1), arb(examples - largest), regularized=True
        )
        bound = float(tail.upper()) if tail.is_finite() else 1.0
    return min(1.0, max(bound, 0.0) * (1.0 + 1e-15) + 1e-300)


def truncated_epsilon(
    step: BatchSteps, delta: float, examples: int, largest: int
) -> Bounds:
    """Bound the epsilon of Poisson samples of ``examples`` examples, cut to ``largest``, for add-remove neighbours."""
    cut_chance = (
        step.count * chance_above(examples + 1, step.rate, largest) * (1.0 + 1e-15)
    )
    poisson = poisson_epsilon([step], delta)
    doubled = poisson_epsilon(
        [BatchSteps(step.rate, 0.5 * step.noise, step.count)], delta
    )
    upper = _truncated_upper(step, delta, cut_chance, poisson.upper)
    lower = _truncated_lower(step, delta, cut_chance, poisson.lower)
    method = f"Poisson samples, and {cut_chance:.3g} for the chance that a batch is cut; both bounds certified"
    if doubled.upper < upper:
        upper = doubled.upper
        method = "Poisson samples with twice the sensitivity; both bounds certified"
    return Bounds(min(lower, upper), upper, exact=False, method=method)


def _truncated_upper(
    step: BatchSteps, delta: float, cut_chance: float, epsilon: float
) -> float:
    """Return an epsilon for which delta minus the probability of a cut suffices for Poisson samples."""
    for _ in range(MOST_ROUNDS):
        epsilon *= EPSILON_FACTOR
        if epsilon > 700.0:
            break
        remaining = (delta - (1.0 + math.exp(epsilon)) * cut_chance) * (1.0 - 1e-12)
        if not remaining >= LEAST_DELTA:
            break
        needed = poisson_epsilon([step], remaining).upper
        if needed <= epsilon:
            return epsilon
        epsilon = needed
    return math.inf


def _truncated_lower(
    step: BatchSteps, delta: float, cut_chance: float, epsilon: float
) -> float:
    """Return an epsilon that Poisson samples do not satisfy even with the probability of a cut added to delta."""
    for _ in range(MOST_ROUNDS):
        if epsilon > 700.0:
            return 0.0
        larger = (delta + (1.0 + math.exp(epsilon)) * cut_chance) * (1.0 + 1e-12)
        if larger >= 1.0:
            epsilon *= 0.9
            continue
        violated = poisson_epsilon([step], larger).lower
        if violated >= epsilon / EPSILON_FACTOR:
            return min(violated, epsilon / EPSILON_FACTOR)
        epsilon = max(violated, 0.5 * epsilon)
    return 0.0


Scheme: TypeAlias = Literal[
    "fixed", "shuffled", "truncated-poisson", "balls-in-bins", "random-allocation"
]
PRACTISED: Final[tuple[Scheme, ...]] = (
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
"""Neighbouring relations for which bounds exist; the first is the default."""
WHOLE_TOLERANCE: Final = 1e-9
# relative distance of the returned noise from one that is not sufficient
TOLERANCE: Final = 1e-4
MOST_BINS: Final = 1 << 17  # epochs with more steps have no useful grid
UNSAMPLED: Final = "Gaussian mechanism without sampling"


@dataclass(frozen=True)
class Schedule:
    """A sampling scheme as in practice; the default of ``neighbours`` is the first entry of ``RELATIONS``.

    Raises ArgumentError if a number is out of its range, or does not belong to the sampling scheme.
    """

    sampling: Scheme
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
            raise check.ArgumentError(
                name, getattr(self, name), "belongs to sampling=truncated-poisson"
            )
        if self.ordering != "fresh" and self.sampling not in (
            "shuffled",
            "balls-in-bins",
        ):
            raise check.ArgumentError(
                "ordering",
                self.ordering,
                "belongs to sampling=shuffled and balls-in-bins",
            )
        if self.sampling == "random-allocation":
            if not _is_whole(self.rate * self.steps):
                raise check.ArgumentError(
                    "rate", self.rate, "must be a whole number of steps over all steps"
                )
        elif self.sampling != "truncated-poisson" and not _is_whole(1.0 / self.rate):
            raise check.ArgumentError(
                "rate", self.rate, "must be 1 over the number of steps of an epoch"
            )

    @property
    def change(self) -> float:
        """Largest change by an example in a step."""
        return 2.0 if self.neighbours == "replace-one" else 1.0

    @property
    def bins(self) -> int:
        """Number of steps of an epoch, one of which has the example; for random allocation, of a block."""
        if self.sampling == "random-allocation":
            return self.steps // self.most
        return round(1.0 / self.rate)

    @property
    def most(self) -> int:
        """Largest number of steps that have an example."""
        if self.sampling == "random-allocation":
            return round(self.rate * self.steps)
        return -(-self.steps // round(1.0 / self.rate))

    def epsilon(self, delta: float) -> Bounds:
        """Bound the smallest epsilon from above and below."""
        if self.sampling == "truncated-poisson":
            step = BatchSteps(self.rate, self.sigma, self.steps)
            return truncated_epsilon(
                step, delta, self.examples or 0, self.largest_batch or 0
            )
        if self.sampling == "fixed" or self.rate == 1.0:
            lower = gaussian_lower(self.change, self.sigma, self.most, delta)
            upper = gaussian_upper(self.change, self.sigma, self.most, delta)
            return Bounds(
                lower, upper, exact=True, method=f"{UNSAMPLED}; both bounds certified"
            )
        upper, method = self._upper(delta)
        lower, basis = self._lower(delta)
        return Bounds(
            min(lower, upper),
            upper,
            exact=False,
            method=f"{method}; lower: {basis}; both bounds certified",
        )

    def upper(self, delta: float) -> float:
        """Return an upper bound on the smallest epsilon."""
        if self.sampling == "truncated-poisson":
            return self.epsilon(delta).upper
        return self._upper(delta)[0]

    def sigma_for(self, epsilon: float, delta: float) -> float:
        """Return a noise multiplier that certainly gives an epsilon; the ``sigma`` of the schedule is not used."""
        plain = (
            self.change * math.sqrt(self.most) / safe_mu(epsilon, delta) * (1.0 + 3e-14)
        )
        if self.sampling in ("fixed", "shuffled") or (
            self.bins == 1 and self.sampling != "truncated-poisson"
        ):
            return math.nextafter(plain, math.inf)
        start = max(0.5, self.rate * math.sqrt(self.steps) / epsilon)

        return _least_sigma(
            lambda sigma: replace(self, sigma=sigma).upper(delta), epsilon, start
        )

    def _upper(self, delta: float) -> tuple[float, str]:
        unamplified = gaussian_upper(self.change, self.sigma, self.most, delta)
        if self.sampling in ("fixed", "shuffled") or not 1 < self.bins <= MOST_BINS:
            return unamplified, UNSAMPLED
        sigma, times = self._independent_epochs(self.most)
        amplified = bins_upper(1.0 / sigma, self.bins, times, delta)
        if unamplified <= amplified:
            return unamplified, UNSAMPLED
        blocks = (
            "balls in bins"
            if self.sampling == "balls-in-bins"
            else "allocation in blocks"
        )
        return amplified, f"privacy loss of {blocks}"

    def _lower(self, delta: float) -> tuple[float, str]:
        if self.sampling == "random-allocation":
            mean = gaussian_lower(
                math.sqrt(self.most / self.steps), self.sigma, self.most, delta
            )
            cells = (
                bins_lower(1.0 / self.sigma, self.steps, self.most, 1, delta)
                if self.steps <= MOST_BINS
                else 0.0
            )
            return max(
                (mean, "sum over all steps"), (cells, "sum of cells of all steps")
            )
        complete = self.steps // self.bins
        if complete == 0:
            return 0.0, "none"
        sigma, times = self._independent_epochs(complete)
        # The sum over all steps of all epochs is normal. Each epoch shifts its mean by
        # one change.
        change = self.change / math.sqrt(self.bins)
        bounds = [
            (gaussian_lower(change, self.sigma, complete, delta), "sum over all steps")
        ]
        if self.bins <= MOST_BINS:
            bounds.append(
                (
                    bins_lower(self.change / sigma, self.bins, 1, times, delta),
                    "sum of cells of each epoch",
                )
            )
        if self.sampling == "shuffled":
            largest = largest_number_lower(self.change, sigma, self.bins, times, delta)
            bounds.append(
                (largest, "largest number of each epoch, all other gradients opposed")
            )
        return max(bounds)

    def _independent_epochs(self, epochs: int) -> tuple[float, int]:
        """Return the noise and the number of independent epochs; epochs with the same order count as one."""
        return (
            (self.sigma, epochs)
            if self.ordering == "fresh"
            else (self.sigma / math.sqrt(epochs), 1)
        )


def _least_sigma(
    upper: Callable[[float], float], epsilon: float, start: float
) -> float:
    """Return a noise whose bound is at most epsilon, within ``TOLERANCE`` of a noise whose bound exceeds epsilon."""

    def excess(log_sigma: float) -> float:
        bound = upper(math.exp(log_sigma))
        return math.log(max(bound, 1e-300) / epsilon) if bound < math.inf else 800.0

    low = high = math.log(start)
    at_low = at_high = excess(low)
    while at_high > 0.0:
        low = high
        at_low = at_high
        high += 0.8 * min(at_high, 2.0) + 2.0 * TOLERANCE
        at_high = excess(high)
    while at_low <= 0.0:
        high = low
        at_high = at_low
        low += 0.8 * max(at_low, -2.0) - 2.0 * TOLERANCE
        at_low = excess(low)
    while high - low > TOLERANCE:
        # a secant, moved to the safe side; the midpoint if the bound is not nearly
        # linear
        share = at_low / (at_low - at_high) if at_low < 3.0 else 0.5
        cut = low + (high - low) * min(
            max(share + 0.3 * TOLERANCE / (high - low), 0.1), 0.9
        )
        at_cut = excess(cut)
        if at_cut > 0.0:
            low = cut
            at_low = at_cut
        else:
            high = cut
            at_high = at_cut
    return math.exp(high)


def _is_whole(value: float) -> bool:
    return value > 0.5 and abs(value - round(value)) <= WHOLE_TOLERANCE * value
