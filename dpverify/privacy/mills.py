"""The Mills ratio of the normal law, and differences of it that do not cancel.

With phi the density and Phi the distribution of N(0, 1), M(x) = Phi(-x)/phi(x) = sqrt(pi/2) erfcx(x/sqrt(2)) is also
the integral of exp(-x t - t^2/2) over t > 0. Hence M(u - h) - M(u + h) = 2 sum J_k(u) h^k over odd k, with
J_k(u) = (1/k!) integral of t^k exp(-u t - t^2/2): a sum of positive terms.
"""

from __future__ import annotations

import math

from scipy.special import erfcx

ROOT_HALF = math.sqrt(0.5)
ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)

NARROW = 0.01  # from h = NARROW (1 + u) on, a difference of two values loses less than two digits
FORWARD = 3.0  # up to here the recursion of J_k may run upwards; beyond it is a continued fraction
FRACTION = 40  # steps of the continued fraction; from u = 3 on they give all digits


def mills(x: float) -> float:
    """Mills ratio Phi(-x)/phi(x) of the standard normal law: sqrt(pi/2) erfcx(x/sqrt(2))."""
    return ROOT_HALF_PI * float(erfcx(ROOT_HALF * x))


def mills_gap(u: float, h: float, left: float | None = None) -> float:
    """Difference M(u - h) - M(u + h) of two Mills ratios, to nearly all digits."""
    if h < NARROW * (1.0 + u):
        return _narrow_gap(u, h)
    return mills(u - h if left is None else left) - mills(u + h)


def _narrow_gap(u: float, h: float) -> float:
    """Sum the first four terms of the series in h; the next is below 1e-16 of it."""
    if u < FORWARD:
        i0 = mills(u)
        i1 = 1.0 - u * i0
        i2 = i0 - u * i1
        i3 = 2.0 * i1 - u * i2
        i4 = 3.0 * i2 - u * i3
        i5 = 4.0 * i3 - u * i4
        i7 = 6.0 * i5 - u * (5.0 * i4 - u * i5)
    else:
        ratio = 0.5 * (math.sqrt(u * u + 4.0 * FRACTION) - u)  # I_k/I_(k-1) = k/(u + I_(k+1)/I_k), fixed for a large k
        ratios = [0.0] * (FRACTION + 1)
        for k in range(FRACTION, 0, -1):
            ratio = k / (u + ratio)
            ratios[k] = ratio
        i1 = ratios[1] * mills(u)
        i3 = i1 * ratios[2] * ratios[3]
        i5 = i3 * ratios[4] * ratios[5]
        i7 = i5 * ratios[6] * ratios[7]
    square = h * h
    return 2.0 * h * (i1 + square * (i3 / 6.0 + square * (i5 / 120.0 + square * i7 / 5040.0)))
