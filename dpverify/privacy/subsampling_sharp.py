"""The sharpest published bound for Gaussian mechanisms on a part of the data drawn without replacement.

Wang, Balle and Kasiviswanathan 2019, theorem 27: theorem 9's terms from j = 3 on, 2 exp((j-1) r(j)), do not shrink as
the noise grows; here they may be replaced by 4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), with B(l) the l-th moment of
P/Q - 1 for Gaussians P and Q one sensitivity apart. At whole orders.
"""

from __future__ import annotations

import math
from functools import lru_cache

from flint import arb, ctx, fmpz

SHARP_ORDER = 256  # beyond it theorem 9 is used
ROUNDING = 2.0**-40  # relative radius of a moment that is good enough
MAX_BITS = 1 << 15


@lru_cache(maxsize=64)
def log_chi_moments(sigma: float, top: int) -> tuple[float, ...]:
    """Logarithms of the even moments of the likelihood ratio minus 1 of two Gaussians.

    log E_Q[(P/Q - 1)^l] for l = 2, 4, .., top. The alternating sum over C(top, i) exp(i (i-1)/(2 sigma^2)) cancels to a
    fraction sigma^-l of its terms; balls of more and more bits show when enough digits are left.
    """
    before, bits = ctx.prec, 128
    try:
        while bits <= MAX_BITS:
            ctx.prec = bits
            unit = 1 / (2 * arb(sigma) ** 2)
            powers = [(i * (i - 1) * unit).exp() for i in range(top + 1)]
            moments = [_moment(powers, degree) for degree in range(2, top + 1, 2)]
            if all(moment > 0 and moment.rel_accuracy_bits() > 40 for moment in moments):
                return tuple(float(moment.log()) for moment in moments)
            bits *= 2
    finally:
        ctx.prec = before
    raise ArithmeticError(f"moment {top} of two Gaussians needs more than {MAX_BITS} bits at sigma={sigma}.")


def without_replacement_gaussian_sharp(order: int, rate: float, sigma: float) -> float:
    """Bound the divergence of a Gaussian mechanism on a uniform part of the data; neighbours replace one example.

    The bound; never above the divergence order/(2 sigma^2) without subsampling.
    """
    if order != int(order) or not 2 <= order <= SHARP_ORDER:
        raise ValueError(f"order must be a whole number from 2 to {SHARP_ORDER}, got order={order}.")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be in [0, 1], got rate={rate}.")
    if not sigma > 0:
        raise ValueError(f"sigma must be above 0, got sigma={sigma}.")
    if rate == 0:
        return 0.0
    unit = 1.0 / (2.0 * sigma * sigma)
    moments = log_chi_moments(sigma, order + order % 2)
    logs = []
    for j in range(2, order + 1):
        direct = math.log(2.0) + j * (j - 1) * unit
        low, high = moments[j // 2 - 1], moments[(j + 1) // 2 - 1]
        logs.append(
            min(direct, math.log(4.0) + 0.5 * (low + high)) + j * math.log(rate) + math.log(math.comb(order, j))
        )
    top = max(logs)
    log_sum = top + math.log(math.fsum(math.exp(value - top) for value in logs))
    log_moment = math.log1p(math.exp(log_sum)) if log_sum < 30.0 else log_sum
    return min(log_moment / (order - 1), order * unit)


def _moment(powers: list[arb], degree: int) -> arb:
    terms = ((-1) ** (degree - i) * fmpz(math.comb(degree, i)) * powers[i] for i in range(degree + 1))
    return sum((arb(term) for term in terms), start=arb(0))
