"""Bounds on epsilon for fixed and shuffled epochs and for truncated Poisson samples.

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
   ``balls_in_bins``.

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

    P'(S) <= P(S) + T p <= exp(epsilon) Q(S) + delta + T p <= exp(epsilon) (Q'(S) + T
    p) + delta + T p.

So delta' <= delta + (1 + exp(epsilon)) T p, and delta' >= delta - (1 + exp(epsilon)) T
p in the same way (Chua et al. 2024, "Scalable DP-SGD", have the upper bound).

If batches are often cut, another bound is smaller. With probability 1 - q the example is not drawn. Otherwise the
kept batches with and without it can be coupled so that it is added, or replaces one other example, or is cut. This
changes the sum by at most 2. So a step is dominated by one with Poisson samples and noise sigma/2; see ``batches``.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from flint import arb, ctx
from scipy.special import log_ndtr

from dpverify.privacy.balls_in_bins import lower_epsilon
from dpverify.privacy.batches import LEAST_DELTA, BatchSteps, poisson_epsilon
from dpverify.privacy.gaussian_safe import safe_epsilon, violated_epsilon
from dpverify.privacy.losses.grid import Vector
from dpverify.privacy.participation import Bounds

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
    # The logarithm is accurate to a few units in
    # the last place of itself and of x^2/2 <= 100.
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
