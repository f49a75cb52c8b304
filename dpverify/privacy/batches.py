r"""Privacy of many Gaussian steps on batches drawn without replacement, from both sides, by the whole privacy loss.

A step releases the mean over a batch, uniform among those of b of the n examples, of one vector of each example, with
Gaussian noise. Vectors lie in a ball of radius C and may depend on all that was released before. Neighbours replace one
example. q = b/n, and s is the noise's deviation over the sensitivity 2C/b.

**From above.** 1. P and Q, a step's laws on neighbours, share the part where the example is not in the batch:
P = (1-q) R + q P_1, Q = (1-q) R + q Q_1. By advanced joint convexity (Balle, Barthe and Gaboardi 2018, theorem 2),
for c = 1 + q (c' - 1) and c' >= 1 there is a beta in [0, 1] with H_c(P, Q) = q H_c'(P_1, (1-beta) R + beta Q_1), at
most the larger of q H_c'(P_1, R) and q H_c'(P_1, Q_1).
2. P_1 and Q_1 are mixtures, over the rest of the batch, of Gaussians whose means are at most 2C/b apart. So are P_1 and
R: exchange the example for a uniform one outside of the batch. By joint convexity both are at most q H_c'(N(1, s^2),
N(0, s^2)), which is H_c(A, B) = h(c) with A = (1-q) N(0, s^2) + q N(1, s^2) and B = N(0, s^2). The neighbours may
change places. So H_c <= h(c) for c >= 1, and H_c(P, Q) = 1 - c + c H_(1/c)(Q, P) <= 1 - c + c h(1/c) for c < 1 (Zhu,
Dong and Wang 2022, theorem 11).
3. This bound is convex (``losses.grid``) and so the profile of a pair, which is neither (A, B) nor (B, A): (A, B) alone
bounds a single step, not their composition (Lebeda, Regehr, Kamath and Steinke 2024). If a pair dominates each step
given all that was released before, their product dominates all steps (Zhu, Dong and Wang 2022, theorem 10).

**From below.** Let the one example have a vector of length C in a direction, and all others, and the one that replaces
it, the opposite one, at each step. The losses of the steps are then independent, and their pair is (A, B) at each; the
likelihood ratio is the test.

**Between.** The profile of step 3 takes (A, B) above the loss 0 and (B, A) below it. Data that choose one of the two at
each step, in the best way for the losses so far (by a recursion from the last step), reach an epsilon at most 0.4%
above the lower bound at (q, s, steps) = (0.3, 1, 100), (0.1, 2, 1000) and (0.1, 0.5, 100), where the upper bound is 10,
14 and 8% above it. So the choice step by step does not open the gap. A sharper upper bound needs the worst pair for a
sum of losses. By joint convexity, given the rest of the batch, three points in a ball of diameter 1 determine it: the
means of R, P_1 and Q_1 in units of the sensitivity. No proof is known here that (A, B) and (B, A) are the worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Matrix, Vector
from dpverify.privacy.losses.curves import UpperBound, loss_curves, lower_epsilon, upper_bound
from dpverify.privacy.participation import Bounds

LEAST_DELTA: Final = 1e-200  # smaller tails of single steps would be no floats
LEAST_EPSILON: Final = 1e-6  # what noise is looked for
MOST_EPSILON: Final = 300.0
WIDE: Final = 0.99  # a lower bound of less than this part of the upper one is explained
GAP: Final = (
    "one data set reaches the lower bound; none is known to reach the upper one, "
    "which takes the worse order of the neighbours at each loss"
)
"""Where the space between the bounds of batches comes from."""
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
        How many, at least 1.

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
    """Bound the smallest epsilon of many Gaussian steps on batches without replacement, for replacing one example.

    Parameters
    ----------
    steps : sequence of BatchSteps
        Of each kind of step the part of the data in a batch, the noise and how many there are, in any order.
    delta : float
        Privacy parameter in (0, 1).

    Returns
    -------
    Bounds
        ``upper`` holds for all data; ``lower`` is reached by the data set of this module's head. ``method`` says how
        ``upper`` was found, and where the two are more than 1% apart, why.

    Raises
    ------
    ValueError
        If a number is out of its range.
    """
    check_delta(delta)
    _check_steps(steps)
    return _bounds(steps, delta, upper_bound(steps, delta, "upper"), f"; {GAP}")


def batch_delta(steps: Sequence[BatchSteps], epsilon: float, near: float = 1e-5) -> Bounds:
    """Bound the smallest delta at an epsilon of at least 0; sharpest where it is of the size of ``near``."""
    check.not_negative(epsilon=epsilon)
    check_delta(near)
    _check_steps(steps)
    high = min([1.0, *(bound.curve.delta(epsilon, 1) for bound in loss_curves(steps, near, "upper"))])
    low = max([0.0, *(bound.curve.delta(epsilon, -1) for bound in loss_curves(steps, near, "lower"))])
    return Bounds(min(low, high), high, exact=False)


def poisson_epsilon(steps: Sequence[BatchSteps], delta: float) -> Bounds:
    """Bound the smallest epsilon where each example is drawn with probability q, for one example more or less.

    A step's pair is (A, B) or (B, A), in units of the clip length: with R that lacks the example, the argument of this
    module's head gives H_c(B, A) <= h(c) for c >= 1, and both orders are reached by one fixed example.
    """
    check_delta(delta)
    return _bounds(steps, delta, _poisson_bound(steps, delta))


def poisson_upper(steps: Sequence[BatchSteps], delta: float) -> float:
    """Give the upper bound of :func:`poisson_epsilon` alone: the larger of both orders."""
    return _poisson_bound(steps, delta).epsilon


def removed_upper(steps: Sequence[BatchSteps], delta: float) -> float:
    """Give the upper bound for the order (A, B) alone, which is not enough by itself."""
    return upper_bound(steps, delta, "removed").epsilon


def upper_epsilon(steps: Sequence[BatchSteps], delta: float) -> float:
    """Give the upper bound of :func:`batch_epsilon` alone."""
    check_delta(delta)
    _check_steps(steps)
    return upper_bound(steps, delta, "upper").epsilon


def least_factor(
    steps: Callable[[float], Sequence[BatchSteps]],
    epsilon: float,
    delta: float,
    upper: Callable[[Sequence[BatchSteps], float], float] = upper_epsilon,
) -> float:
    """Find a factor of the noise, as small as an upper bound allows to six digits, that is certain to do.

    ``steps``: of a factor, the steps; epsilon falls as it grows. At most 25 evaluations from a factor near 1.
    """
    check_epsilon(epsilon)

    def excess(log_factor: float) -> float:
        upper_epsilon = upper(steps(math.exp(log_factor)), delta)
        return math.log(max(upper_epsilon, 1e-300) / epsilon) if upper_epsilon < math.inf else 800.0

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
        # between a secant, moved a little to the safe side, and the middle
        cut = low + (high - low) * at_low / (at_low - at_high) if at_low < 100.0 else 0.5 * (low + high)
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
    """Give the neighbours that reach the bound from below, as signs: all examples alike, and one against the others."""
    signs = -np.ones(examples)
    signs[0] = 1.0
    return -np.ones(examples), signs


def log_ratio_of(released: Matrix, steps: BatchSteps) -> Vector:
    """Logarithm of the likelihood of the second of ``opposed`` over that of the first, a sum over steps.

    ``released``: a row for each run, in units of the sensitivity, 0 where no example is against the others.
    """
    ratios: Matrix = np.log1p(steps.rate * np.expm1((released - 0.5) / steps.noise**2))
    return np.asarray(ratios.sum(axis=1), np.float64)


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon for which no noise is looked for."""
    if not LEAST_EPSILON <= check.positive(epsilon=epsilon) <= MOST_EPSILON:
        raise check.ArgumentError("epsilon", epsilon, f"must be from {LEAST_EPSILON} to {MOST_EPSILON:g} here")


def check_delta(delta: float) -> float:
    """Take a delta below 1 whose tails are floats."""
    if not LEAST_DELTA <= check.positive(delta=delta) < 1.0:
        raise check.ArgumentError("delta", delta, f"must be from {LEAST_DELTA} to below 1 here")
    return delta


def _check_steps(steps: Sequence[BatchSteps]) -> None:
    if not steps:
        raise check.ArgumentError("steps", 0, "must be at least one")


def _poisson_bound(steps: Sequence[BatchSteps], delta: float) -> UpperBound:
    _check_steps(steps)
    removed = upper_bound(steps, delta, "removed")
    # No loss of (B, A) is above -log(1 - q).
    largest = math.fsum(-s.count * math.log1p(-s.rate) if s.rate < 1.0 else math.inf for s in steps)
    return removed if largest * (1.0 + 1e-12) <= removed.epsilon else max(removed, upper_bound(steps, delta, "added"))


def _bounds(steps: Sequence[BatchSteps], delta: float, upper: UpperBound, gap: str = "") -> Bounds:
    """Put a lower bound beside an upper one; ``gap`` says where the space between them comes from, if there is much."""
    lower = min(lower_epsilon(steps, delta), upper.epsilon) if upper.epsilon > 0.0 else 0.0
    method = upper.method + gap if lower < WIDE * upper.epsilon else upper.method
    return Bounds(lower, upper.epsilon, exact=False, method=method)
