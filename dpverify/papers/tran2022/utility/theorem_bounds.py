"""Exact lower bounds, for Theorems 6 and 9, on the expected gradient of every run of normalized steps.

All examples have the same loss of one variable: slope s down to a distance ``drop`` below the start, then flat as fast
as smoothness L allows, so that ``F(w_1) - inf F = s*drop + s^2/(2L)``. Then m_t has no sampling error, and Algorithm 4
reconstructs it exactly. *Travel.* T - 1 steps of length eta go no further than ``eta (T-1)``: with that drop the
gradient is s at every iterate. *Coupling.* Where the noise n_t of m_hat_t is large against s, the walk is nearly that
of sign(n_t), which is above the start as often as below. *Lemma 5's proof at its worst*, with g = grad F(w_t),
e = m_hat_t - g, u = m_hat_t/|m_hat_t|: in two dimensions or more ``-<g, u>`` is at most ``-sqrt(|g|^2 - |e|^2)`` where
|e| < |g| (e is perpendicular to m_hat), 0 where |e| = |g| (not attained), |g| where |e| > |g| (m_hat points against g).

*Uphill.* A walk uphill shows that 1/sqrt(N) is needed, for Algorithm 1 and, under one
permutation, for Algorithm 2.

Linear losses have the gradients 1, -10/21, -10/21, with mean 1/63. The momentum with alpha = 1/3 is negative at two of
three steps under one permutation and at 51.4% under fresh ones, so the walk goes uphill for ever. Below the start the
losses flatten: G = 1, R is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Final

from flint import arb

from dpverify.shared_types import Ordering
from dpverify.symbolic.exact.numbers import DomainError, Exact, to_ball, to_value

# After ANCHORS/(2 gamma) epochs, the windows'
# weights reach the fraction 1 - exp(-ANCHORS).
ANCHORS: Final = 2


def travel_bound(
    lipschitz: Fraction, smoothness: Fraction, gap: Fraction, distance: arb
) -> arb:
    """Return the largest slope s <= G that no steps within a distance can leave: ``s*distance + s^2/(2L) = R``."""
    if smoothness == 0 or gap == 0:
        return arb(0)
    r = to_ball(to_value(gap))
    curvature = to_ball(to_value(smoothness))
    slope = 2 * r / (distance + (distance**2 + 2 * r / curvature).sqrt())
    return slope.min(to_ball(to_value(lipschitz)))


def coupling_bound(
    lipschitz: Fraction,
    smoothness: Fraction,
    gap: Fraction,
    steps: int,
    eta: arb,
    spread: arb,
) -> arb:
    """Return the gradient that remains where the noise decides the direction of the steps, in one dimension."""
    # The result is ``s (1/2 - eta T s/(spread sqrt(2 pi) drop))`` or 0, ``drop = R/s -
    # s/(2L)``, at a nearly best slope s. The harmonic mean over the steps of the
    # standard deviation nu_t of m_hat_t's noise is at least ``spread``. m_t lies in [0,
    # s], so sign(m_hat_t) differs from sign(n_t) only if n_t lies in [-s, 0], which has
    # probability at most ``s/(nu_t sqrt(2 pi))``. Each time the walk moves by 2 eta
    # against the walk with sign(n_t), which by symmetry is at or above the start half
    # of the time. Markov's inequality bounds the number of such steps before t. The
    # mean over t of ``2 eta (t-1)`` is below eta T.
    if smoothness == 0 or gap == 0:
        return arb(0)
    r = to_ball(to_value(gap))
    curvature = to_ball(to_value(smoothness))
    pull = eta * steps / (spread * (2 * arb.pi()).sqrt())
    slope = (r / (6 * pull)).sqrt().min(to_ball(to_value(lipschitz)))
    drop = r / slope - slope / (2 * curvature)
    if not drop > 0:
        return arb(0)
    left = slope * (arb(1) / 2 - pull * slope / drop)
    return left if left > 0 else arb(0)


def least_spread(n_examples: int, steps: int, lipschitz: Fraction, sigma: arb) -> arb:
    """Return a lower bound on the run's harmonic mean of the standard deviation of Algorithm 2's noise in m_hat_t."""
    # The last node of COMPOSE(1, t), or of the latest window, has the weight 1. So the
    # variance is at least ``48 log2(N)`` times ``(alpha G sigma)^2`` for every t (3*16
    # while G nodes end by 2N and count fully; then ``gamma^2 * 16 * 4 (T/N) log2 N``,
    # which is 64 log2 N). With q - 1 whole windows after the first the G nodes give
    # ``64 log2(N) sum_{i<q} c_i^2`` with ``c_i >= (1-gamma)^(i-1)``, so at least ``64
    # log2(N) (1 - exp(-2 gamma (q-1)))/(2 gamma)``. For t >= (1/gamma + 3) N this is at
    # least ``(1 - exp(-2)) 32 log2(N)/gamma``.
    gamma = (arb(n_examples) / steps).sqrt()
    unit = (
        to_ball(to_value(lipschitz))
        * sigma
        / n_examples
        * (arb(n_examples).log() / arb(2).log()).sqrt()
    )
    early = arb(48).sqrt() * unit
    late = (32 * (1 - arb(-ANCHORS).exp()) / gamma).sqrt() * unit
    share = (1 / gamma + 3) * n_examples / steps
    return 1 / (1 / late + share / early)


def implicit_steps(
    n_examples: int, dimensions: int, epsilon: Fraction, delta: Fraction
) -> int:
    """Return Theorem 6's T with alpha >= 1/N: the largest with ``T log2(T) sqrt(d log(1/delta)) <= epsilon N^2``."""
    root = (dimensions * (1 / to_ball(to_value(delta))).log()).sqrt()
    cap = to_ball(to_value(epsilon)) * n_examples**2 / root

    def fits(steps: int) -> bool:
        return bool(steps * arb(steps).log() / arb(2).log() <= cap)

    if not fits(2):
        raise ValueError(
            f"epsilon N^2/sqrt(d log(1/delta)) must be at least 2, got {float(cap)}: Theorem 6 has no number of steps."
        )
    return largest_integer(fits)


def printed_steps(n_examples: int, dimensions: int, epsilon: Fraction) -> int:
    """Return Theorem 9's T, rounded down: the largest T with ``T^3 d^2 <= N^7 epsilon^4``."""
    target = Fraction(n_examples**7) * epsilon**4 / dimensions**2
    return largest_integer(lambda steps: steps**3 <= target)


def largest_integer(is_small_enough: Callable[[int], bool]) -> int:
    """Return the largest integer from 0 on that fits, by bisection; ``fits`` must be monotone."""
    low, high = 0, 1
    while is_small_enough(high):
        low = high
        high = 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_small_enough(middle) else (low, middle)
    return low


def worst_alignment(grad_norm: Fraction, error_norm: Fraction) -> Exact:
    """Return the largest ``-<g, u>`` over all vectors of the given lengths; a ball if a root is taken."""
    if grad_norm < 0 or error_norm < 0:
        raise ValueError(
            f"lengths must be at least 0, got grad_norm={grad_norm}, error_norm={error_norm}."
        )
    if error_norm > grad_norm:
        return grad_norm
    if error_norm == grad_norm:
        return Fraction(0)
    return -to_ball(to_value(grad_norm**2 - error_norm**2)).sqrt()


def attained_loss(
    loss: Fraction, alignment: Fraction, eta: Fraction, smoothness: Fraction
) -> Fraction:
    """Return the loss after a step on ``F(w + v) = loss + <g, v> + L |v|^2/2``: the bound of smoothness, attained."""
    return loss - eta * alignment + smoothness * eta**2 / 2


def attained_gradient(
    drop: Fraction,
    eta: Fraction,
    steps: Fraction,
    smoothness: Fraction,
    error_sum: Fraction,
) -> Fraction:
    """Return the mean gradient norm of a run on a line that attains the bound (``tran2022:lemma-5-telescoped``)."""
    # If the drop is large enough, the run goes downhill on ``L w^2/2``: the gradients
    # ``g, g - L eta, ...`` are at least 0, their mean is ``drop/(eta T) + L eta/2``,
    # and errors along the gradient change nothing. Otherwise it goes uphill on a
    # straight slope, with errors slightly larger than the gradient that turn the
    # momentum: ``-drop/(eta T)``.
    mean = drop / (eta * steps) + smoothness * eta / 2
    if mean >= (steps - 1) * smoothness * eta / 2:
        return mean
    if 0 <= -drop / eta < error_sum:
        return -drop / (eta * steps)
    raise DomainError(
        f"no run on a line has drop={drop} with eta={eta}, T={steps}, L={smoothness}."
    )


# Gradients of the examples: one example has BIG, two have SMALL.
BIG = Fraction(1)
SMALL = Fraction(-10, 21)
EXAMPLES: Final = 3
# The orders of this many epochs decide the sign
# of the momentum, for every earlier state.
EPOCHS: Final = 6


@dataclass(frozen=True)
class Signs:
    """Effect of the momentum's signs over an epoch."""

    drift: Fraction  # expected number of steps uphill minus steps downhill in an epoch
    margin: Fraction  # lower bound on |m_t| from epoch ``EPOCHS`` on


@cache
def signs(ordering: Ordering, big: Fraction = BIG) -> Signs:
    """Enumerate all orders of the last ``EPOCHS`` epochs, for every possible value of the earlier momentum."""
    places = product(range(EXAMPLES), repeat=EPOCHS)
    runs = [run for run in places if ordering == "fresh" or len(set(run)) == 1]
    uphill = 0
    margin = big
    for run in runs:
        low, high = SMALL, big
        ends: list[tuple[Fraction, Fraction]] = []
        for place in run:
            ends.clear()
            for step in range(EXAMPLES):
                gradient = big if step == place else SMALL
                low = (2 * low + gradient) / 3
                high = (2 * high + gradient) / 3
                ends.append((low, high))
        for low_end, high_end in ends:
            if low_end <= 0 <= high_end:
                raise ValueError(
                    f"the sign of the momentum must be decided, got [{low_end}, {high_end}]."
                )
            uphill += 1 if high_end < 0 else -1
            margin = min(margin, max(low_end, -high_end))
    return Signs(Fraction(uphill, len(runs)), margin)


def noise_variance_1(steps: int) -> arb:
    """Bound the variance of Algorithm 1's noise in m_hat_t: Lemma 12 corrected, N = 3, d = G = 1, printed alpha."""
    logs = arb(steps).log() / arb(2).log()
    ones = arb(steps + 1).log() / arb(2).log()
    scale = 9 / (steps * logs)  # sqrt(log(1/delta))/epsilon
    return 16 * (2 * scale) ** 2 / 9 * (4 * logs * steps / 3) * ones


def noise_variance_2(steps: int, smoothness: Fraction, delta: Fraction) -> arb:
    """Return a bound on Algorithm 2's noise variance in m_hat_t: corrected Lemma 7, N = 3, d = G = 1, printed alpha."""
    x = (arb(3) / steps).sqrt()
    curvature = to_ball(to_value(smoothness))
    log_n = arb(3).log() / arb(2).log()
    ones = arb(steps + 1).log() / arb(2).log()
    windows = (
        (6 + 2 / x * (4 + curvature**2) / (2 - x)) * (arb(5) / 2).log() / arb(2).log()
    )
    inside = 3 * log_n + windows / (1 - arb(-1).exp()) ** 2 + curvature**2 * ones
    return 256 * x**3 * (1 / to_ball(to_value(delta))).log() * log_n * inside


def uphill_bound(
    ordering: Ordering, steps: int, variance: arb, big: Fraction = BIG
) -> arb:
    """Return the lower bound ``1/63 (1 - p)`` on the expected gradient, or 0 if p >= 1."""
    # p bounds the probability that the walk ever goes more than 1 below its start, ``D
    # = sqrt(3T)`` steps. By Chebyshev's inequality, the noise turns at most ``T
    # variance/margin^2`` steps in the mean. By Markov's inequality, the probability of
    # D/4 such steps is at most 4/D times that. Without noise, under one order no window
    # of steps goes down by more than a few steps. Under fresh orders the sums over
    # every sixth epoch have independent terms in [-3, 3] with the mean -drift, and the
    # probability that they ever exceed y is at most ``exp(-drift y/4.5)``.
    sign_terms = signs(ordering, big)
    mean = (big + 2 * SMALL) / 3
    if sign_terms.drift <= 0 or mean <= 0:
        return arb(0)
    path_length = (arb(3) * steps).sqrt()
    turned = (
        4 * steps * variance / to_ball(to_value(sign_terms.margin)) ** 2 / path_length
    )
    height = path_length / 2 - 4 * EXAMPLES * EPOCHS
    lost = arb(0)
    if ordering == "fresh":
        lost = (
            EPOCHS
            * (
                -to_ball(to_value(sign_terms.drift)) * height / EPOCHS / (arb(9) / 2)
            ).exp()
        )
    chance = turned + lost
    if not (height > 0 and chance < 1):
        return arb(0)
    return to_ball(to_value(mean)) * (1 - chance)
