r"""Bounds of epsilon for Gaussian steps on batches without replacement, from the distribution of the privacy loss.

A step releases the mean, over a batch, of one vector per example, with Gaussian noise.
The batch is uniform among the sets of b of the n examples. The vectors lie in a ball of
radius C and may depend on all earlier releases. Neighbours are replace-one. Let q =
b/n, and let s be the standard deviation of the noise over the sensitivity 2C/b.

**Upper bound.**

1. Let P and Q be the output distributions of a step on neighbours. They share the component R in which the example is
   not in the batch: P = (1-q) R + q P_1 and Q = (1-q) R + q Q_1. By advanced joint
   convexity (Balle, Barthe and Gaboardi 2018, theorem 2), for c = 1 + q (c' - 1) and
   c' >= 1 there is a beta in [0, 1] with H_c(P, Q) = q H_c'(P_1, (1-beta) R + beta
   Q_1). This is at most the larger of q H_c'(P_1, R) and q H_c'(P_1, Q_1).
2. P_1 and Q_1 are mixtures of Gaussians, over the other examples of the batch, and paired means are at most 2C/b apart.
   The same holds for P_1 and R: exchange the example for a uniform one outside of the
   batch. By joint convexity both terms are at most q H_c'(N(1, s^2), N(0, s^2)), which
   is H_c(A, B) = h(c) with A = (1-q) N(0, s^2) + q N(1, s^2) and B = N(0, s^2). The
   neighbours may be exchanged. So H_c <= h(c) for c >= 1, and for c < 1 H_c(P, Q) = 1 -
   c + c H_(1/c)(Q, P) <= 1 - c + c h(1/c) (Zhu, Dong and Wang 2022, theorem 11).
3. This bound is convex in c (``losses.grid``), and so it is the profile of a pair of distributions. That pair is
   neither (A, B) nor (B, A): (A, B) alone bounds a single step, but not a composition
   (Lebeda, Regehr, Kamath and Steinke 2024). If a pair dominates each step given all
   earlier releases, the product of the pairs dominates the composition (Zhu, Dong and
   Wang 2022, theorem 10).

**Lower bound.** At each step let the example have a vector of length C in a direction,
and let all other examples and the replacement have the opposite vector. The losses of
the steps are then independent, and each step has the pair (A, B). The likelihood ratio
is the test.

**The gap.** The profile of step 3 uses (A, B) for losses above 0 and (B, A) for losses below 0. Consider data that
choose one of the two pairs at each step, optimally for the losses so far (by a recursion from the last step). They
reach an epsilon at most 0.4% above the lower bound at (q, s, steps) = (0.3, 1, 100), (0.1, 2, 1000) and
(0.1, 0.5, 100), where the upper bound is 10, 14 and 8% above it. So adaptive choices of the pair do not explain the
gap. A sharper upper bound needs the worst pair for a sum of losses. By joint convexity, given the other examples of the
batch, that pair is determined by three points in a ball of diameter 1: the means of R, P_1 and Q_1 in units of the
sensitivity. There is no proof here that (A, B) and (B, A) are the worst pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Matrix, Vector
from dpverify.privacy.losses.curves import (
    UpperBound,
    loss_curves,
    lower_epsilon,
    upper_bound,
)
from dpverify.privacy.participation import Bounds

# smaller tail probabilities of single steps would underflow
LEAST_DELTA: Final = 1e-200
LEAST_EPSILON: Final = 1e-6  # smallest epsilon for which noise is calibrated
MOST_EPSILON: Final = 300.0
# the gap is explained if the lower bound is below this fraction of the upper bound
WIDE_FRACTION: Final = 0.99
GAP: Final = (
    "one data set reaches the lower bound; none is known to reach the upper one, "
    "which takes the worse order of the neighbours at each loss"
)
"""Reason for the gap between the bounds for batches."""
MOST_STEPS: Final = 1 << 40


@dataclass(frozen=True)
class BatchSteps:
    """Steps of one kind.

    Attributes
    ----------
    rate : float
        q, in (0, 1].
    noise : float
        s, above 0: standard deviation of the noise over the sensitivity 2C/b.
    count : int
        Number of steps, at least 1.

    Raises
    ------
    ArgumentError
        If a number is out of range.
    """

    rate: float
    noise: float
    count: int = 1

    def __post_init__(self) -> None:
        check.weight(rate=self.rate)
        check.positive(noise=self.noise)
        check.whole(1, MOST_STEPS, count=self.count)


def batch_epsilon(steps: Sequence[BatchSteps], delta: float) -> Bounds:
    """Bound the smallest epsilon of Gaussian steps on batches without replacement, for replace-one neighbours.

    Parameters
    ----------
    steps : sequence of BatchSteps
        For each kind of step the fraction of the data in a batch, the noise and the
        number of steps, in any order.
    delta : float
        Privacy parameter in (0, 1).

    Returns
    -------
    Bounds
        ``upper`` holds for all data; ``lower`` is reached by the data set of this
        module's head. ``method`` says how ``upper`` was computed, and explains a gap of
        more than 1%.

    Raises
    ------
    ValueError
        If a number is out of its range.
    """
    check_delta(delta)
    _check_steps(steps)
    return _bounds(steps, delta, upper_bound(steps, delta, "upper"), f"; {GAP}")


def batch_delta(
    steps: Sequence[BatchSteps], epsilon: float, near: float = 1e-5
) -> Bounds:
    """Bound the smallest delta at an epsilon of at least 0; the bounds are sharpest for a delta near ``near``."""
    check.not_negative(epsilon=epsilon)
    check_delta(near)
    _check_steps(steps)
    high = min(
        [
            1.0,
            *(
                bound.curve.delta(epsilon, 1)
                for bound in loss_curves(steps, near, "upper")
            ),
        ]
    )
    low = max(
        [
            0.0,
            *(
                bound.curve.delta(epsilon, -1)
                for bound in loss_curves(steps, near, "lower")
            ),
        ]
    )
    return Bounds(min(low, high), high, exact=False)


def poisson_epsilon(steps: Sequence[BatchSteps], delta: float) -> Bounds:
    """Bound the smallest epsilon with Poisson sampling at rate q, for add-remove neighbours.

    The pair of a step is (A, B) or (B, A), in units of the clip length. Without the example the output distribution of
    a step is R, and the argument in the docstring of this module gives H_c(B, A) <= h(c) for c >= 1. Both orders are
    attained by a fixed example.
    """
    check_delta(delta)
    return _bounds(steps, delta, _poisson_bound(steps, delta))


def poisson_upper(steps: Sequence[BatchSteps], delta: float) -> float:
    """Return only the upper bound of :func:`poisson_epsilon`: the larger one of both orders."""
    return _poisson_bound(steps, delta).epsilon


def removed_upper(steps: Sequence[BatchSteps], delta: float) -> float:
    """Return the upper bound for the order (A, B) only, which is not a bound for both orders."""
    return upper_bound(steps, delta, "removed").epsilon


def upper_epsilon(steps: Sequence[BatchSteps], delta: float) -> float:
    """Return only the upper bound of :func:`batch_epsilon`."""
    check_delta(delta)
    _check_steps(steps)
    return upper_bound(steps, delta, "upper").epsilon


def least_factor(
    steps: Callable[[float], Sequence[BatchSteps]],
    epsilon: float,
    delta: float,
    upper: Callable[[Sequence[BatchSteps], float], float] = upper_epsilon,
) -> float:
    """Return the smallest noise factor, to six digits, whose upper bound on epsilon is at most ``epsilon``.

    ``steps`` maps a factor to steps whose epsilon decreases with the factor. A search that starts near the result takes
    at most 25 evaluations.
    """
    check_epsilon(epsilon)

    def excess(log_factor: float) -> float:
        upper_epsilon = upper(steps(math.exp(log_factor)), delta)
        return (
            math.log(max(upper_epsilon, 1e-300) / epsilon)
            if upper_epsilon < math.inf
            else 800.0
        )

    low = high = 0.0
    at_low = at_high = excess(0.0)
    while at_high > 0.0:
        low = high
        at_low = at_high
        high += 0.7 * min(at_high, 3.0) + 0.2
        at_high = excess(high)
    while at_low <= 0.0:
        high = low
        at_high = at_low
        low += 0.7 * max(at_low, -3.0) - 0.2
        at_low = excess(low)
    while high - low > 1e-6:
        # the secant, moved slightly to the safe side and into the interval; the
        # midpoint if it is unreliable
        cut = (
            low + (high - low) * at_low / (at_low - at_high)
            if at_low < 100.0
            else 0.5 * (low + high)
        )
        slack = max(0.02 * (high - low), 2e-7)
        cut = min(max(cut + 3e-7, low + slack), high - slack)
        at_cut = excess(cut)
        if at_cut > 0.0:
            low = cut
            at_low = at_cut
        else:
            high = cut
            at_high = at_cut
    return math.exp(high)


def opposed(examples: int) -> tuple[Vector, Vector]:
    """Return the neighbours that attain the lower bound, as signs: all equal, and one against all others."""
    signs = -np.ones(examples)
    signs[0] = 1.0
    return -np.ones(examples), signs


def log_ratio_of(released: Matrix, steps: BatchSteps) -> Vector:
    """Return the log likelihood ratio of the second of the neighbours of ``opposed`` over the first, summed over steps.

    ``released`` has a row per run, in units of the sensitivity; 0 is the mean without a deviating example.
    """
    ratios: Matrix = np.log1p(steps.rate * np.expm1((released - 0.5) / steps.noise**2))
    return np.asarray(ratios.sum(axis=1), np.float64)


def check_epsilon(epsilon: float) -> None:
    """Raise an ArgumentError if noise cannot be calibrated to this epsilon."""
    if not LEAST_EPSILON <= check.positive(epsilon=epsilon) <= MOST_EPSILON:
        raise check.ArgumentError(
            "epsilon", epsilon, f"must be from {LEAST_EPSILON} to {MOST_EPSILON:g} here"
        )


def check_delta(delta: float) -> float:
    """Return a delta below 1 whose tail probabilities do not underflow, or raise an ArgumentError."""
    if not LEAST_DELTA <= check.positive(delta=delta) < 1.0:
        raise check.ArgumentError(
            "delta", delta, f"must be from {LEAST_DELTA} to below 1 here"
        )
    return delta


def _check_steps(steps: Sequence[BatchSteps]) -> None:
    if not steps:
        raise check.ArgumentError("steps", 0, "must be at least one")


def _poisson_bound(steps: Sequence[BatchSteps], delta: float) -> UpperBound:
    _check_steps(steps)
    removed = upper_bound(steps, delta, "removed")
    # No loss of (B, A) is above -log(1 - q).
    largest = math.fsum(
        -s.count * math.log1p(-s.rate) if s.rate < 1.0 else math.inf for s in steps
    )
    return (
        removed
        if largest * (1.0 + 1e-12) <= removed.epsilon
        else max(removed, upper_bound(steps, delta, "added"))
    )


def _bounds(
    steps: Sequence[BatchSteps], delta: float, upper: UpperBound, gap: str = ""
) -> Bounds:
    """Combine a lower bound with an upper bound; ``gap`` explains the difference if it is large."""
    lower = (
        min(lower_epsilon(steps, delta), upper.epsilon) if upper.epsilon > 0.0 else 0.0
    )
    method = (
        upper.method + gap if lower < WIDE_FRACTION * upper.epsilon else upper.method
    )
    return Bounds(lower, upper.epsilon, exact=False, method=method)
