"""Epsilon and noise for sampling in practice: fixed and shuffled epochs, truncated Poisson samples, balls in bins.

``schedule_bounds`` and ``balls_in_bins`` prove the bounds on epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from dpverify.kernels import check
from dpverify.privacy.balls_in_bins import bins_lower, bins_upper
from dpverify.privacy.batches import MOST_STEPS, BatchSteps
from dpverify.privacy.gaussian_safe import safe_mu
from dpverify.privacy.participation import Bounds, check_ordering
from dpverify.privacy.schedule_bounds import (
    gaussian_lower,
    gaussian_upper,
    largest_number_lower,
    truncated_epsilon,
)
from dpverify.shared_types import Ordering

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
        # The sum over all steps of all epochs is normal.
        # Each epoch shifts its mean by one change.
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
        # a secant, moved to the safe side; the
        # midpoint if the bound is not nearly linear
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
