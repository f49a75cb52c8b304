r"""Plain private gradient descent, to compare with: full batches, and batches drawn without replacement.

    w_{t+1} = w_t - eta ((1/B) sum over the batch of grad f(w_t, x_i) + Z_t),    Z_t ~ N(0, std^2 I)

No example's gradient is longer than G, and replacing one example moves the mean by at most 2G/B where it is drawn. The
part of a gradient that depends on the example is clipped at the bound on rows, which it never exceeds.

**Full batch** (dp-gd): T Gaussian steps, composed exactly, mu = sqrt(T) 2G / (N std). Smaller
batches (dp-sgd): ``privacy.sampled``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Vector
from dpverify.privacy.gaussian_safe import certify, safe_mu
from dpverify.problems.batch_gradient import BatchGradient
from dpverify.problems.logistic import LogisticRegression

BATCH_STREAM, NOISE_STREAM = 4, 5
"""Streams of the seed; those of permutations, noise, choice of examples and split are 0 to 3."""

UP = 1.0 + 1e-12


@dataclass(frozen=True)
class Descent:
    """Numbers of a run."""

    batch: int
    steps: int
    std: float  # deviation of a coordinate of the noise
    eta: float  # factor of the gradient


@dataclass(frozen=True)
class Iterates:
    """Iterates of a run: ``some`` of w_1, .., w_T, evenly spaced as :func:`looks` has them, and ``last``, w_{T+1}."""

    some: list[Vector]
    last: Vector


LOOKS = 50  # at how many iterates a run is looked at, at most, besides the last one


def looks(steps: int) -> list[int]:
    """After how many steps to look at a run: at most 50 numbers from 0 to T - 1, evenly spaced, 0 among them."""
    return sorted({place * steps // LOOKS for place in range(LOOKS)})


def full_batch_std(examples: int, steps: int, lipschitz: float, epsilon: float, delta: float) -> float:
    """Smallest deviation of full batches, ``sqrt(T) 2G/(N mu)``, that balls show to be (epsilon, delta)-DP."""
    mu = safe_mu(epsilon, delta)
    if mu > 0.0 and certify(mu, epsilon, delta):
        return math.sqrt(steps) * 2.0 * lipschitz / (examples * mu) * UP
    raise check.ArgumentError("epsilon", epsilon, f"is out of reach at delta={delta!r}: nothing could be certified")


def step_length(problem: LogisticRegression, batch: int, steps: int, std: float) -> float:
    """The eta that makes the textbook bound ``2R/(eta T) + L eta V`` on the squared gradient smallest, at most 1/L.

    ``min(1/L, sqrt(2R/(L T V)))``, V being ``d std^2``, and G^2/B more for sampled batches (Ghadimi and Lan 2013, 2.1).
    """
    sampling = 0.0 if batch == len(problem.x) else problem.lipschitz**2 / batch
    variance = len(problem.start) * std * std + sampling
    longest = 1.0 / problem.smoothness
    if variance == 0.0:
        return longest
    return min(longest, math.sqrt(2.0 * problem.gap / (problem.smoothness * steps * variance)))


def descend(problem: LogisticRegression, run: Descent, seed: int) -> Iterates:
    """Do the steps from w_1 = 0."""
    batches, noise = generator(seed, BATCH_STREAM), generator(seed, NOISE_STREAM)
    n, w, gradient = len(problem.x), problem.start.copy(), np.empty_like(problem.start)
    gradient_of, everyone = BatchGradient(problem), np.arange(n)
    looked_at, some = set(looks(run.steps)), []
    for step in range(run.steps):
        if step in looked_at:
            some.append(w.copy())
        drawn = everyone if run.batch == n else batches.choice(n, run.batch, replace=False, shuffle=False)
        gradient_of(w, drawn, gradient)
        w -= run.eta * (gradient + run.std * noise.standard_normal(len(w)))
    return Iterates(some, w)
