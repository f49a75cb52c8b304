"""Poisson samples whose batches are cut to a largest size B, as physical batches of a fixed size are.

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
from typing import Final

from flint import arb, ctx

from dpverify.privacy.batches import LEAST_DELTA, BatchSteps, poisson_epsilon
from dpverify.privacy.participation import Bounds

ROUNDS: Final = 40
BITS: Final = 256
CLOSE: Final = 1.0 + 1e-7


def chance_above(examples: int, rate: float, largest: int) -> float:
    """Bound P(Bin(examples, rate) > largest) from above, without rounding errors."""
    if largest >= examples:
        return 0.0
    with ctx.workprec(BITS):
        tail = arb(rate).beta_lower(arb(largest + 1), arb(examples - largest), regularized=True)
        bound = float(tail.upper()) if tail.is_finite() else 1.0
    return min(1.0, max(bound, 0.0) * (1.0 + 1e-15) + 1e-300)


def truncated_epsilon(step: BatchSteps, delta: float, examples: int, largest: int) -> Bounds:
    """Bound the epsilon of Poisson samples of at most ``largest`` examples, for one more than ``examples`` or less."""
    lost = step.count * chance_above(examples + 1, step.rate, largest) * (1.0 + 1e-15)
    poisson = poisson_epsilon([step], delta)
    doubled = poisson_epsilon([BatchSteps(step.rate, 0.5 * step.noise, step.count)], delta)
    upper = _upper(step, delta, lost, poisson.upper)
    lower = _lower(step, delta, lost, poisson.lower)
    method = f"Poisson samples, and {lost:.3g} for the chance that a batch is cut; both bounds certified"
    if doubled.upper < upper:
        upper = doubled.upper
        method = "Poisson samples with twice the sensitivity; both bounds certified"
    return Bounds(min(lower, upper), upper, exact=False, method=method)


def _upper(step: BatchSteps, delta: float, lost: float, epsilon: float) -> float:
    """Find an epsilon at which delta less the lost chance is enough for Poisson samples."""
    for _ in range(ROUNDS):
        epsilon *= CLOSE
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


def _lower(step: BatchSteps, delta: float, lost: float, epsilon: float) -> float:
    """Find an epsilon that Poisson samples miss, also with the lost chance on top of delta."""
    for _ in range(ROUNDS):
        if epsilon > 700.0:
            return 0.0
        larger = (delta + (1.0 + math.exp(epsilon)) * lost) * (1.0 + 1e-12)
        if larger >= 1.0:
            epsilon *= 0.9
            continue
        missed = poisson_epsilon([step], larger).lower
        if missed >= epsilon / CLOSE:
            return min(missed, epsilon / CLOSE)
        epsilon = max(missed, 0.5 * epsilon)
    return 0.0
