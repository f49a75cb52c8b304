"""What an audit of a given size would have seen: the power that "not refuted" rests on."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import special

from dpverify.privacy.audit.counting import largest_bound, nearly_lower_epsilon
from dpverify.privacy.audit.game import rounds_of, training_of
from dpverify.privacy.audit.records import Bits, Floats, Power, number
from dpverify.privacy.gaussian import mu_of
from dpverify.privacy.noncentral_f import REACH, SERIES, noncentrality_of, quantile

CHANCE = 0.9  # with which probability the smallest fault is seen

MISPLACED = 0.45  # how far from the best place a learned threshold may lie, in standard deviations of the noise

PLACES = np.linspace(0.0, 8.0, 161)  # of a threshold, from the middle, in standard deviations of the noise

STEP = 1.1  # from one ratio of sigmas that is tried to the next

# ratios that are tried at once, and how often they part a step: to 0.00003
PARTS = 8
ROUNDS = 4

MOST = 1e3  # about the largest ratio of the claimed sigma to the real one that is looked at


def power_of_any(epsilon: float, delta: float, trials: int, alpha: float) -> Power:
    """Power with nothing assumed on a Gaussian in one dimension, its threshold off by ``MISPLACED``; approximate."""
    claimed = mu_of(epsilon, delta)
    short = np.array([claimed / 0.85])
    if trials < 1:
        return Power(chance=CHANCE, shortfall=None, largest_epsilon=0.0)
    return Power(
        chance=CHANCE,
        shortfall=_shortfall(lambda mu: _seen(mu, epsilon, delta, trials, alpha), claimed),
        n_for_15_percent=_smallest_n(lambda n: bool(_seen(short, epsilon, delta, rounds(n), alpha).all())),
        largest_epsilon=number(largest_bound(trials, delta, alpha)),
    )


def rounds(n: int) -> int:
    """Rounds that are judged of a game with about n numbers per data set: all but those for training."""
    total = rounds_of(n)
    return total - training_of(total, 1)


def _seen(mu: Floats, epsilon: float, delta: float, trials: int, alpha: float) -> Bits:
    """Whether N(0, 1) against N(mu, 1) is refuted with the chance, for each mu."""
    if trials < 1:
        return np.zeros(len(mu), dtype=np.bool_)
    steps = round(MISPLACED / float(PLACES[1]))
    right, wrong = (trials * special.ndtr(shift[:, None] - PLACES) for shift in (mu / 2.0, -mu / 2.0))
    error = np.sqrt(1.0 / np.maximum(right, 1e-9) + 1.0 / np.maximum(wrong, 1.0))
    bound = nearly_lower_epsilon(right, wrong, trials, delta, alpha) - float(special.ndtri(CHANCE)) * error
    worse = np.minimum(bound[:, : -2 * steps], bound[:, 2 * steps :])
    result: Bits = (worse.max(axis=1) > epsilon) & (mu > 0.0) & (mu < math.inf)
    return result


def _smallest_n(enough: Callable[[int], bool]) -> int | None:
    """Smallest n with two digits, by bisection."""
    choices = [digits * 10 ** (exponent - 1) for exponent in range(1, 8) for digits in range(10, 100)]
    place = bisect_left(choices, True, key=enough)
    return choices[place] if place < len(choices) else None


@lru_cache(maxsize=64)
def power_of_gaussian(epsilon: float, delta: float, n: int, rank: int, alpha: float) -> Power:
    """Power of the audit of a Gaussian law in so many dimensions, from the exact noncentral F distribution.

    Cached, as audits of one claim in a loop over seeds or mechanisms have one power.
    """
    second = 2 * n - 1 - rank
    if second < 1 or rank < 1:
        return Power(chance=CHANCE, shortfall=None, largest_epsilon="inf")
    claimed = mu_of(epsilon, delta)
    null = 0.5 * n * claimed**2
    if null > SERIES:
        z = float(special.ndtri(1.0 - alpha) + special.ndtri(CHANCE))
        ratio = 1.0 + z * math.sqrt(2.0 / n + claimed**2 / (2.0 * second)) / claimed
        return Power(chance=CHANCE, shortfall=1.0 - 1.0 / ratio, largest_epsilon="inf")
    critical = quantile(rank, second, null, 1.0 - alpha)
    if rank * critical > REACH:
        return Power(chance=CHANCE, shortfall=None, largest_epsilon="inf")
    detectable = math.sqrt(noncentrality_of(critical, rank, second, 1.0 - CHANCE) * 2.0 / n)
    shortfall = 1.0 - claimed / detectable if 0.0 < claimed < detectable <= claimed * MOST else None
    return Power(chance=CHANCE, shortfall=shortfall, largest_epsilon="inf")


def _shortfall(is_detected: Callable[[Floats], Bits], claimed: float) -> float | None:
    """Smallest share that sigma may fall short by and be seen; ``seen(mu)`` is asked of larger and larger mu."""
    if not 0.0 < claimed < math.inf:
        return None
    steps = STEP ** np.arange(PARTS, dtype=np.float64)
    ratio = 1.0
    while not (detected := is_detected(claimed * ratio * steps)).any():
        ratio *= STEP**PARTS
        if ratio > MOST:
            return None
    high = float(ratio * steps[detected.argmax()])
    low = max(1.0, high / STEP)
    for _ in range(ROUNDS):
        tried = np.linspace(low, high, PARTS + 1)
        first = int(np.append(is_detected(claimed * tried[1:-1]), True).argmax())
        low, high = tried[first : first + 2].tolist()
    return 1.0 - 1.0 / high
