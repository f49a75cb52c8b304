r"""The smallest c_2 of Theorems 2.1 and 3.1 at one setting, as an interval; and one c_2 for a whole region, proved.

Theorem 2.1 is about Poisson sampling, where adding or removing one example moves a sum
by up to L. Algorithm 1 uses batches of fixed size, where replacing one example moves it
by up to 2 L. With noise s in units of that sensitivity, the bounds of
``dpverify.privacy.batches`` hold for both. With Poisson sampling the neighbours are R
and (1-q) R + q R_1, where R_1 is one sensitivity from R. Advanced joint convexity
bounds H_c by q H_c'(N(1, s^2), N(0, s^2)) in both directions, and the pair (A, B) is
one of these pairs. So s is the same, and c_2 for batches is twice that for Poisson
sampling.

**One constant.** Let l = log(1/delta), epsilon < c_1 q^2 T, epsilon <= r l, and s = c q
sqrt(T l)/epsilon. With u = 1/s^2, alpha = 1 + kappa l/epsilon and m = c_1 (kappa +
r)/c^2 we have u <= c_1 r/c^2 and alpha u <= m.

1. Let R = A/B, psi(a) = log E_B R^a. As psi(0) = psi(1) = 0, psi(alpha) and psi(1 - alpha), which determine the
divergences of order alpha of (A, B) and (B, A), are alpha (alpha - 1)/2 times psi'' somewhere in [1 - alpha, alpha].

2. psi''(a) is the variance of log R under the law of density phi(g) R^a at x = s g. The derivative of log R in g is
sqrt(u) w, with w = q e^y/(1 - q + q e^y), y = sqrt(u) g - u/2, and w' = sqrt(u) w (1 - w). So the law is strongly
log-concave with k = 1 - m/4, and by Brascamp and Lieb psi''(a) <= u W^2/k with W^2 = E_a w^2.

3. E_a g = a sqrt(u) E_a w, and g is sub-Gaussian with 1/k. As 1 - q + q e^y >= e^(q y), w <= q e^((1-q) y). Hence
W <= q exp((1-q) m W + (1-q) u ((1-q)/k - 1/2)), and w <= 1. Starting from W <= 1, iteration gives smaller and smaller
h >= W/q.

4. So each divergence of a step is at most alpha u q^2 h^2/(2 k). For batches of fixed size the excess over 1 of the
moment of order alpha is at most the sum of those of (A, B) and (B, A), since H_c is at most H_c(A, B) for c >= 1 and
H_c(B, A) for c < 1: twice that divergence is enough.

5. T steps and Mironov's conversion give epsilon times ``needed``, which must be at most 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from flint import arb

from dpverify.privacy.batches import (
    BatchSteps,
    batch_epsilon,
    check_delta,
    least_factor,
)
from dpverify.privacy.participation import Bounds
from dpverify.symbolic.exact.numbers import ball

Sampling: TypeAlias = Literal["poisson", "batches"]

SENSITIVITY: Final[dict[Sampling, int]] = {"poisson": 1, "batches": 2}  # in units of L
# at c_1 = r = 1
PROVEN: Final[dict[Sampling, Fraction]] = {
    "poisson": Fraction(23, 10),
    "batches": Fraction(29, 5),
}
KAPPA: Final = Fraction(11, 5)
ROUNDS: Final = 40  # iterations of step 3
# of the interval from too little noise (lower bound) to enough (upper bound)
HALVINGS: Final = 10
ROUNDING: Final = 1e-12  # relative error of floats


def printed_steps(
    c_2: float,
    rate: float,
    steps: int,
    epsilon: float,
    delta: float,
    sampling: Sampling,
) -> BatchSteps:
    """Return all steps of a run, with the noise that Theorem 2.1 or equation 4 requires for this c_2."""
    noise = c_2 * rate * math.sqrt(-steps * math.log(delta)) / epsilon
    return BatchSteps(rate, noise / SENSITIVITY[sampling], steps)


def least_constant(
    rate: float, steps: int, epsilon: float, delta: float, sampling: Sampling
) -> Bounds:
    """Return bounds on the smallest c_2 for which all steps are (epsilon, delta)-DP: certified above, attained below.

    ``rate`` is the fraction of the data in a batch. The function raises ArgumentError if a number is out of range.
    """
    check_delta(delta)

    def at(c_2: float) -> list[BatchSteps]:
        return [printed_steps(c_2, rate, steps, epsilon, delta, sampling)]

    def fails(c_2: float) -> bool:
        return batch_epsilon(at(c_2), delta).lower > epsilon

    high = upper = least_factor(at, epsilon, delta)
    lower = 0.5 * upper if fails(0.5 * upper) else 0.0  # 0 is the trivial lower bound
    for _ in range(HALVINGS if lower else 0):
        middle = 0.5 * (lower + high)
        lower, high = (middle, high) if fails(middle) else (lower, middle)
    return Bounds(lower * (1.0 - ROUNDING), upper * (1.0 + ROUNDING), exact=False)


def needed(
    c_2: Fraction,
    rate: arb,
    sampling: Sampling,
    c_1: Fraction = Fraction(1),
    r: Fraction = Fraction(1),
) -> arb:
    """Return a bound on epsilon over the promised one, for all T, epsilon and delta of the region and q in ``rate``."""
    c = c_2 / SENSITIVITY[sampling]
    twice = SENSITIVITY[sampling]
    most_u = ball(c_1 * r / c**2)
    m = ball(c_1 * (KAPPA + r) / c**2)
    k = 1 - m / 4
    complement = 1 - rate
    if not k > 0:
        return arb.pos_inf()
    correction = (complement * (complement / k - arb(1) / 2)).max(arb(0)) * most_u
    h = (complement * m + correction).exp()
    for _ in range(ROUNDS):
        h = h.min((complement * m * (rate * h).min(arb(1)) + correction).exp())
    return twice * h**2 / k * ball((r + KAPPA) / (2 * c**2)) + 1 / ball(KAPPA)
