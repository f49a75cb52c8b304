"""Epochs that use each example once: batches in a fixed order, and in a shuffled one.

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
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.special import log_ndtr

from dpverify.privacy.gaussian_safe import missed_epsilon, safe_epsilon
from dpverify.privacy.losses.grid import Vector
from dpverify.privacy.schedules.discrete import lower_epsilon

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
