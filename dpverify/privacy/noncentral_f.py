"""The noncentral F distribution solved for its noncentrality, and for its quantile.

Its distribution function goes from 1 to 0 within a few steps of the root of the noncentrality and is flat elsewhere,
so that a search on it crawls. As a quantile of the standard normal, over that root, it is nearly a straight line.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import special

SERIES = 1e6  # numerator degrees of freedom times F up to which the distribution function is computed for a bound

REACH = 1e7  # noncentrality up to which the distribution function is asked for at all

STEEPEST = 40.0  # standard normal quantile that stands for the probabilities 0 and 1

PATIENCE = 3  # steps of false position to one side before a bracket is halved


def cdf(first: int, second: int, noncentrality: float, value: float) -> float:
    """Compute the distribution function."""
    return float(special.ncfdtr(first, second, noncentrality, value))


def lower_noncentrality(statistic: float, first: int, second: int, alpha: float) -> float:
    """Lower confidence bound on the noncentrality of an F statistic.

    Beyond the reach of the series, from numerator and denominator apart, alpha/2 each, which never excludes more.
    """
    total = first * statistic
    if total > SERIES:
        least = 2.0 * float(special.gammaincinv(second / 2.0, alpha / 2.0)) / second
        root = math.sqrt(total * least) - math.sqrt(2.0 * float(special.gammainccinv(first / 2.0, alpha / 2.0)))
        return max(0.0, root) ** 2
    return noncentrality_of(statistic, first, second, 1.0 - alpha)


def noncentrality_of(statistic: float, first: int, second: int, chance: float) -> float:
    """Find the noncentrality at which F stays below a value with a chance; 0 where that is too much without any."""
    if cdf(first, second, 0.0, statistic) <= chance:
        return 0.0
    goal = _normal(chance)

    def excess(root: float) -> float:
        return _normal(cdf(first, second, root * root, statistic)) - goal

    middle = math.sqrt(max(0.0, first * statistic - first)) - goal
    return falling_root(excess, middle, 0.5 + 1e-3 * abs(middle), least=0.0) ** 2


def quantile(first: int, second: int, noncentrality: float, chance: float) -> float:
    """Smallest value that F stays below with a chance, with a relative error of some 1e-9."""
    goal = _normal(chance)

    def lack(root: float) -> float:
        return goal - _normal(cdf(first, second, noncentrality, root * root / first))

    middle = math.sqrt(noncentrality + first) + goal
    return falling_root(lack, middle, 0.5 + 1e-3 * abs(middle), least=0.0) ** 2 / first


def falling_root(of: Callable[[float], float], guess: float, step: float, *, least: float) -> float:
    """Lower end of a bracket, 5e-10 wide, of a falling function's 0; scipy.optimize would take longer to load."""
    a = b = max(guess, least)
    above = below = of(a)
    while below >= 0.0:
        a = b
        above = below
        b = b + step
        step = 2.0 * step
        below = of(b)
    while above < 0.0 and a > least:
        b = a
        below = above
        a = max(least, a - step)
        step = 2.0 * step
        above = of(a)
    if above < 0.0:
        return least
    close = 5e-10 * b
    stayed = 0
    while b - a > close:
        middle = (a * -below + b * above) / (above - below)
        if abs(stayed) > PATIENCE:  # steps of rounding, near probability 1: only their order can be trusted
            middle = 0.5 * (a + b)
        middle = min(max(middle, a + 0.5 * close), b - 0.5 * close)
        value = of(middle)
        if value >= 0.0:
            a = middle
            above = value
            below, stayed = (0.5 * below, stayed + 1) if stayed > 0 else (below, 1)
        else:
            b = middle
            below = value
            above, stayed = (0.5 * above, stayed - 1) if stayed < 0 else (above, -1)
    return a


def _normal(chance: float) -> float:
    """Quantile of the standard normal, finite."""
    return min(max(float(special.ndtri(chance)), -STEEPEST), STEEPEST)
