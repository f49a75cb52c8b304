"""Confidence bounds on epsilon from right and wrong guesses: in independent rounds, and in one run with many examples.

**Independent rounds**, without any assumption on the mechanism's output distribution.

The game. In each round a fair coin b is tossed and the mechanism is run on the data set
D_b. A rule that was fixed beforehand looks at the output and guesses "D_0" or "D_1", or
abstains. After N independent rounds, K guesses are right and J are wrong.

The statement. Let the mechanism be (epsilon, delta)-DP,
``s = e^epsilon / (1 + e^epsilon)``, and c a whole number with
``P(Bin(N, delta) > c) <= alpha - a``. Then, with K and J random and the inner
probability a function of them,

    P( P(Bin(K - c + J, s) >= K - c) <= a ) <= alpha.

So every epsilon at which the inner probability is at most a is excluded at level alpha.
The smallest epsilon that is not excluded is the log odds of the Clopper-Pearson lower
limit for K - c successes in K - c + J trials.

Proof.

1. Because the coin is random, guesses of both kinds are counted together. Let A and B be the sets of outputs at which
   the rule guesses D_1 and D_0. A round is right with probability
   ``pi = (P_1(A) + P_0(B)) / 2`` and wrong with probability
   ``kappa = (P_0(A) + P_1(B)) / 2``. Rounds are independent and identically
   distributed, so that (K, J, N - K - J) is exactly multinomial. (If the number of runs
   on each data set were fixed, K and J would be sums of binomials with different means.
   Hoeffding (1956) shows that such a sum is more concentrated than a binomial variable
   of the same mean, but only for tails that begin at least 1 away from the mean, and
   makes no statement on the ratio of two such sums.)
2. Privacy of the two events, ``P_1(A) <= e^epsilon P_0(A) + delta`` and ``P_0(B) <= e^epsilon P_1(B) + delta``, gives
   ``pi <= e^epsilon kappa + delta``. So ``pi = r + d`` with ``r <= e^epsilon kappa``
   and ``0 <= d <= delta``.
3. Mark each right round with probability d/pi, independently. The number of marks is M ~ Bin(N, d), so that
   ``P(M > c) <= P(Bin(N, delta) > c) <= alpha - a``.
4. Condition on the set of rounds with an unmarked guess, and let g be their number. Each of these guesses is right with
   probability ``r/(r + kappa) <= s``, independently. So given g, ``K - M`` is binomial
   with a success probability of at most s, and ``P(Bin(g, s) >= x)`` at ``x = K - M``
   is at most a with probability at most a.
5. ``P(Bin(k + j, s) >= k)``, the probability of at most j failures in k + j trials, decreases in k. If M <= c, it is
   therefore larger for K - c than for K - M, with the same J: an epsilon that K - M
   does not exclude is not excluded by K - c. The exceptional events of steps 3 and 4
   have probability at most ``(alpha - a) + a``. QED.

Steps 3 and 4 do not need identically distributed rounds. It is enough that rounds are
independent and each call is (epsilon, delta)-DP. The bound then holds for the largest
epsilon of the calls.

**One run** whose privacy is described by a trade-off function (f-DP): a bound on the
number of right guesses.

Let m examples have independent fair coins. Exactly r of the coins are guessed from the
released output, and R guesses are right. An event of probability p on one data set has
at least the probability g(p) on its neighbours. Here g(p) = f(1 - p) for the trade-off
function f, and g is convex. (Mahloujifar, Melis and Chaudhuri 2024 use the same curve.)

*Inequality.* Take the event "the guess of example i is right, and R >= v". If coin i is
flipped, the same release makes this guess wrong, and the number of right guesses is
R - 1. After the flip the coins are still fair and independent, so that

    P[i is wrong, R >= v - 1] >= g(P[i is right, R >= v]).

The mean over all m examples, with g convex, gives for every v

    E[(r - R) 1{R >= v - 1}] / m >= g(E[R 1{R >= v}] / m).                                                         (1)

*Bound.* Let P[R >= v] = beta. If probability mass at R = j is moved to R = j - 1, the
right side of (1) decreases, and the left side increases for each index up to j. So all
mass above v may be moved to v. Then, from j = v - 1 down, all mass at j that (1) does
not need at the index j + 1 may be moved to j - 1. The masses that remain at v, v - 1,
... are the least ones that satisfy (1). If their sum exceeds 1, P[R >= v] is less than
beta.

*Rounding.* The computed masses are those of a curve that is smaller by a factor of 1 -
1e-9, which exceeds all rounding errors. A smaller curve needs less mass, so rounding
errors can only increase the bound on P[R >= v].

For pure epsilon-DP the bound is within a tenth of the binomial bound of Steinke, Nasr and Jagielski. It is smaller for
a curve, or for few guesses with a delta above 0.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from scipy import special
from scipy.special import bdtrc, ndtr, ndtri

from dpverify.privacy.audit.records import Floats

# largest fraction of alpha for the event that delta explains more right guesses than
# the number that is subtracted
DELTA_SHARE = 0.1


@lru_cache(maxsize=64)
def allowance(trials: int, delta: float, alpha: float) -> tuple[int, float]:
    """Return the smallest c with ``P(Bin(N, delta) > c) <= alpha/10``, and a: alpha minus this probability.

    The bound on epsilon subtracts c right guesses, which delta may explain. The level a remains for the binomial test.
    """
    if trials == 0 or delta <= 0.0:
        return 0, alpha
    if delta >= 1.0:
        return trials, alpha
    mean = trials * delta
    rare = -math.log(DELTA_SHARE * alpha)
    # an upper bound on c, by Bernstein's inequality
    enough = math.ceil(mean + math.sqrt(2.0 * mean * rare) + rare)
    choices = range(min(trials, enough))
    rounds = bisect_left(
        choices, True, key=lambda c: _above(c, trials, delta) <= DELTA_SHARE * alpha
    )
    return rounds, alpha - _above(rounds, trials, delta)


def lower_epsilon(
    right: Floats, wrong: Floats, trials: int, delta: float, alpha: float
) -> Floats:
    """Return a lower bound on epsilon at delta, at least 0, from guesses of a rule that is fixed before the rounds."""
    c, a = allowance(trials, delta, alpha)
    right_after_loss, lost = np.broadcast_arrays(
        np.maximum(np.asarray(right, dtype=np.float64) - c, 0.0), wrong
    )
    safe = np.maximum(right_after_loss, 1e-300)
    share = np.asarray(special.betaincinv(safe, lost + 1.0, a))
    complement = np.array(1.0 - share)
    near = share > 0.9
    # avoids cancellation
    complement[near] = special.betainccinv(lost[near] + 1.0, safe[near], a)
    with np.errstate(divide="ignore"):
        odds = np.log(share) - np.log(complement)
    bound: Floats = np.where(right_after_loss > 0.0, np.maximum(odds, 0.0), 0.0)
    return bound


def nearly_lower_epsilon(
    right: Floats, wrong: Floats, trials: int, delta: float, alpha: float
) -> Floats:
    """Approximate :func:`lower_epsilon`, by Paulson's approximation of the F quantile; only for comparing thresholds.

    No statement about a mechanism may depend on this approximation.
    """
    c, level = allowance(trials, delta, alpha)
    guesses = np.maximum(right - c, 1.0)
    lost = wrong + 1.0
    z = -float(special.ndtri(min(level, 0.5)))
    variance_of_lost = 1.0 / (9.0 * lost)
    less = 1.0 / (9.0 * guesses)
    above = 1.0 - variance_of_lost
    below = 1.0 - less
    steep = below**2 - z * z * less
    root = np.sqrt(np.maximum(steep * variance_of_lost + less * above**2, 0.0))
    cube_root = (above * below + z * root) / np.maximum(steep, 1e-9)
    odds = np.log(guesses / (lost * cube_root * cube_root * cube_root))
    return np.where(right > c, np.maximum(odds, 0.0), 0.0)


def largest_bound(trials: int, delta: float, alpha: float) -> float:
    """Return the largest bound that N rounds can give, by N right guesses: about ``log(N / log(1/alpha))``."""
    bound = lower_epsilon(np.array(float(trials)), np.array(0.0), trials, delta, alpha)
    return float(bound) if math.isfinite(float(bound)) else math.inf


def largest_refuted(
    is_refuted: Callable[[float], bool], limit: float, width: float = 1e-9
) -> float:
    """Return the largest refuted value up to a limit, with relative error ``width``; 0 if 0 is not refuted.

    If a value is refuted, all smaller values must be refuted too.
    """
    if not is_refuted(0.0):
        return 0.0
    low = 0.0
    high = limit
    while high - low > width * high:
        middle = 0.5 * (low + high)
        if is_refuted(middle):
            low = middle
        else:
            high = middle
    return low


def _above(count: int, trials: int, chance: float) -> float:
    """Return P(Bin(trials, chance) > count)."""
    return (
        0.0
        if count >= trials
        else float(special.betainc(count + 1, trials - count, chance))
    )


Tradeoff: TypeAlias = Callable[[float], float]
"""Smallest probability, on a neighbouring data set, of an event with the given probability."""

SMALLER = 1.0 - 1e-9  # curves are multiplied by it to cover rounding errors
# smaller masses at a number of right guesses are left out; the bound stays valid
NEGLIGIBLE = 1e-18
STEP = 1e-4  # absolute error of the logarithm of a bound on a probability


def gaussian_tradeoff(mu: float) -> Tradeoff:
    """Return the trade-off curve of N(0, 1) against N(mu, 1)."""

    def least_chance(chance: float) -> float:
        return 1.0 if chance >= 1.0 else float(ndtr(ndtri(chance) - mu))

    return least_chance


def curve_tradeoff(points: Sequence[tuple[float, float]]) -> Tradeoff:
    """Return the trade-off curve of a mechanism that is (epsilon, delta)-DP for each of the points."""
    factors = [
        (math.exp(-epsilon), math.exp(epsilon), delta) for epsilon, delta in points
    ]

    def least_chance(chance: float) -> float:
        return max(
            max(0.0, (chance - delta) * inverse, 1.0 - delta - factor * (1.0 - chance))
            for inverse, factor, delta in factors
        )

    return least_chance


def least_mass(
    tradeoff: Tradeoff, examples: int, guesses: int, right: int, chance: float
) -> float:
    """Return the least total probability mass if at least ``right`` guesses are right with probability ``chance``.

    A result above 1 shows that no distribution has this probability.
    """
    of_right = right * chance / examples
    of_wrong = (guesses - right) * chance / examples
    total = chance
    for reached in range(right, 0, -1):
        missing = tradeoff(min(1.0, of_right * SMALLER)) * SMALLER - of_wrong
        mass = missing * examples / (guesses - reached + 1)
        if mass <= NEGLIGIBLE or total > 1.0:
            break
        total += mass
        of_right += (reached - 1) * mass / examples
        of_wrong += (guesses - reached + 1) * mass / examples
    return total * SMALLER


def is_rarer(
    tradeoff: Tradeoff, examples: int, guesses: int, right: int, level: float
) -> bool:
    """Return whether at least ``right`` right guesses have a probability below ``level`` under the curve."""
    return least_mass(tradeoff, examples, guesses, right, level) > 1.0


def chance_under(tradeoff: Tradeoff, examples: int, guesses: int, right: int) -> float:
    """Return a bound on the probability of at least ``right`` right guesses under the curve, not below 1e-300."""
    if not is_rarer(tradeoff, examples, guesses, right, 1.0 - 1e-6):
        return 1.0
    low = math.log(1e-300)
    high = 0.0
    while high - low > STEP:
        middle = 0.5 * (low + high)
        if is_rarer(tradeoff, examples, guesses, right, math.exp(middle)):
            high = middle
        else:
            low = middle
    return math.exp(high)


# largest epsilon and mu; a run with at most a million examples cannot show a larger one
MAX_PARAMETER = 64.0

ROUNDING_FACTOR = 1.0 + 1e-9  # covers the rounding errors of probabilities


def one_run_chance(
    examples: int, guesses: int, right: int, epsilon: float, delta: float
) -> float:
    """Return a bound on the probability of at least ``right`` right guesses if the run is (epsilon, delta)-DP.

    The bound increases with epsilon.
    """
    chance = 1.0 / (1.0 + math.exp(-epsilon))
    if right == 0:
        return 1.0
    above = float(bdtrc(right - 1, guesses, chance))
    if delta == 0.0:
        return min(1.0, above * ROUNDING_FACTOR)
    missing = np.arange(1, right + 1)
    reached = np.where(
        missing == right,
        1.0,
        bdtrc(np.maximum(right - missing - 1, 0), guesses, chance),
    )
    return min(
        1.0,
        (above + 2.0 * examples * delta * float((reached / missing).max()))
        * ROUNDING_FACTOR,
    )


@lru_cache(maxsize=4096)
def one_run_epsilon(
    examples: int, guesses: int, right: int, delta: float, level: float
) -> float:
    """Return the largest epsilon at which at least ``right`` right guesses have probability <= ``level``; 0 if none."""

    def is_refuted(epsilon: float) -> bool:
        if is_rarer(
            curve_tradeoff([(epsilon, delta)]), examples, guesses, right, level
        ):
            return True
        # the second test, because it takes longer
        return one_run_chance(examples, guesses, right, epsilon, delta) <= level

    return largest_refuted(is_refuted, MAX_PARAMETER)


@lru_cache(maxsize=4096)
def one_run_mu(examples: int, guesses: int, right: int, level: float) -> float:
    """Return the largest mu of Gaussian DP at which at least ``right`` right guesses have probability <= ``level``."""
    return largest_refuted(
        lambda mu: is_rarer(gaussian_tradeoff(mu), examples, guesses, right, level),
        MAX_PARAMETER,
    )
