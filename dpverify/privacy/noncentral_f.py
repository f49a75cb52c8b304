"""The noncentral F distribution: solving for its noncentrality, and for its quantiles.

As a function of the root of the noncentrality, the distribution function drops from 1 to 0 within a few units and is
flat elsewhere, so that a search on it is slow. Its standard normal quantile is nearly linear in that root.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import special

# largest product of numerator degrees of freedom and F for which bounds use the
# distribution function
MAX_TOTAL = 1e6

# largest noncentrality for which the distribution function is evaluated
MAX_NONCENTRALITY = 1e7

# standard normal quantile that represents the probabilities 0 and 1
QUANTILE_LIMIT = 40.0

# consecutive steps of false position to one side before the bracket is halved
MAX_SAME_SIDE = 3


def cdf(first: int, second: int, noncentrality: float, value: float) -> float:
    """Return the distribution function at ``value``."""
    return float(special.ncfdtr(first, second, noncentrality, value))


def lower_noncentrality(
    statistic: float, first: int, second: int, alpha: float
) -> float:
    """Return a lower confidence bound on the noncentrality of an F statistic.

    If the statistic is beyond ``MAX_TOTAL``, the numerator and the denominator are bounded separately at level alpha/2
    each; the result is never larger than the exact bound.
    """
    total = first * statistic
    if total > MAX_TOTAL:
        least = 2.0 * float(special.gammaincinv(second / 2.0, alpha / 2.0)) / second
        root = math.sqrt(total * least) - math.sqrt(
            2.0 * float(special.gammainccinv(first / 2.0, alpha / 2.0))
        )
        return max(0.0, root) ** 2
    return noncentrality_of(statistic, first, second, 1.0 - alpha)


def noncentrality_of(statistic: float, first: int, second: int, chance: float) -> float:
    """Return the noncentrality at which F is below ``statistic`` with probability ``chance``.

    The result is 0 if even without noncentrality that probability is at most ``chance``.
    """
    if cdf(first, second, 0.0, statistic) <= chance:
        return 0.0
    target = _normal(chance)

    def excess(root: float) -> float:
        return _normal(cdf(first, second, root * root, statistic)) - target

    middle = math.sqrt(max(0.0, first * statistic - first)) - target
    return root_of_decreasing(excess, middle, 0.5 + 1e-3 * abs(middle), least=0.0) ** 2


def quantile(first: int, second: int, noncentrality: float, chance: float) -> float:
    """Return the value that F stays below with probability ``chance``, with a relative error of about 1e-9."""
    target = _normal(chance)

    def lack(root: float) -> float:
        return target - _normal(cdf(first, second, noncentrality, root * root / first))

    middle = math.sqrt(noncentrality + first) + target
    return (
        root_of_decreasing(lack, middle, 0.5 + 1e-3 * abs(middle), least=0.0) ** 2
        / first
    )


def root_of_decreasing(
    function: Callable[[float], float], guess: float, step: float, *, least: float
) -> float:
    """Return the lower end of a bracket, of relative width 5e-10, of the zero of a decreasing function.

    scipy.optimize is not used because it takes longer to load.
    """
    a = b = max(guess, least)
    above = below = function(a)
    while below >= 0.0:
        a = b
        above = below
        b = b + step
        step = 2.0 * step
        below = function(b)
    while above < 0.0 and a > least:
        b = a
        below = above
        a = max(least, a - step)
        step = 2.0 * step
        above = function(a)
    if above < 0.0:
        return least
    tolerance = 5e-10 * b
    same_side_steps = 0
    while b - a > tolerance:
        middle = (a * -below + b * above) / (above - below)
        # near probability 1 the function is a step function of rounding errors: only
        # the sign of its values can be trusted
        if abs(same_side_steps) > MAX_SAME_SIDE:
            middle = 0.5 * (a + b)
        middle = min(max(middle, a + 0.5 * tolerance), b - 0.5 * tolerance)
        value = function(middle)
        if value >= 0.0:
            a = middle
            above = value
            below, same_side_steps = (
                (0.5 * below, same_side_steps + 1)
                if same_side_steps > 0
                else (below, 1)
            )
        else:
            b = middle
            below = value
            above, same_side_steps = (
                (0.5 * above, same_side_steps - 1)
                if same_side_steps < 0
                else (above, -1)
            )
    return a


def _normal(chance: float) -> float:
    """Return the quantile of the standard normal distribution, limited to finite values."""
    return min(max(float(special.ndtri(chance)), -QUANTILE_LIMIT), QUANTILE_LIMIT)
