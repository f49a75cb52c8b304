"""Bounds on the effect of rounding on the sensitivity and on the noise, for each floating-point type."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

Dtype: TypeAlias = Literal["float64", "float32", "bfloat16", "float16"]
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
SIGNIFICANT_BITS: dict[Dtype, int] = {
    "float64": 53,
    "float32": 24,
    "bfloat16": 8,
    "float16": 11,
}
"""Significant bits, the leading one included: rounding to nearest changes a number by at most 2^-bits of its size."""
SMALLEST_SPACING: dict[Dtype, float] = {
    "float64": 0.0,
    "float32": 2.0**-149,
    "bfloat16": 2.0**-133,
    "float16": 2.0**-24,
}
"""Distance between adjacent numbers near 0; that of float64 is too small to matter."""
LARGEST_NUMBER: dict[Dtype, float] = {
    "float64": 1e308,
    "float32": 3.4e38,
    "bfloat16": 3.3e38,
    "float16": 65504.0,
}
COARSER_DTYPES: dict[Dtype, tuple[Dtype, ...]] = {
    "float64": ("float32",),  # float32 represents all numbers of both 16-bit types
    "float32": ("float16", "bfloat16"),
    "float16": ("bfloat16",),
    "bfloat16": (),
}
# unit roundoff of float32, in which an optimizer of any type must clip, sum and draw
FLOAT32_ROUNDOFF = 2.0**-24
EXCESS_PROBABILITY = 1e-9  # probability that the rounding of a sum exceeds its bound
# roundings of a clipped number, without those of the sum in its norm: root, quotient,
# product, division
CLIPPING_ROUNDINGS = 4
# further roundings of a sum: adding the noise and dividing by the divisor
SUM_ROUNDINGS = 2
# roundings of the noise deviation: sigma, its product with the clip length, the
# quotient by the divisor
SCALING_ROUNDINGS = 3


def unit_roundoff(dtype: Dtype) -> float:
    """Return the largest relative error of rounding to nearest."""
    return 2.0 ** -SIGNIFICANT_BITS[dtype]


def round_to(x: Any, dtype: Dtype) -> Any:
    """Round numbers to the significant bits of a type, ignoring its exponent range."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(
        np.rint(np.ldexp(mantissa, SIGNIFICANT_BITS[dtype])),
        exponent - SIGNIFICANT_BITS[dtype],
    )


def accumulated_error(operations: float) -> float:
    """Bound the relative error of this many operations in float32.

    Each operation rounds by at most u = FLOAT32_ROUNDOFF. If the errors have mean 0 given earlier ones, a sum of n of
    them is above ``a * sqrt(n) * u`` with probability at most ``2 n exp(-a**2 / 2)`` (Higham and Mary, A new approach
    to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019). The bound in the worst case, n * u, is
    6% for the norm of a million numbers, far above the error of any library's sum.
    """
    factor = math.sqrt(2.0 * math.log(2.0 * operations / EXCESS_PROBABILITY))
    return min(factor * math.sqrt(operations), operations) * FLOAT32_ROUNDOFF


def change_rounding(
    dtype: Dtype,
    *,
    dimension: int,
    allowed: float,
    clipped_norm_sum: float,
    terms: int,
    released: Any,
    neighbour_released: Any,
) -> float:
    """Bound what rounding adds to the difference of two releases, in the Euclidean norm.

    An optimizer of any type can keep its promise if it clips, sums and draws in
    float32, and then rounds the release once to its type, which costs no privacy. So
    the bound allows for three errors.

    - The norm of ``dimension`` numbers and the clipping factor have float32 errors. They can lengthen the gradient of
      the changed example, and thus the ``allowed`` change. All other gradients are the
      same in both batches.
    - Each of the two sums has ``terms`` terms and the noise. Its float32 error is relative to the sum of their lengths:
      at most ``clipped_norm_sum`` for the other clipped gradients, ``allowed`` for the example,
      and for the noise at most the length of the release plus these.
    - Each release is rounded to its type: ``unit_roundoff`` times its length, and half the smallest distance per
      coordinate. Float64 is treated like float32; the "precision" test checks the
      digits of the noise.
    """
    total_length = float(np.linalg.norm(released) + np.linalg.norm(neighbour_released))
    clipping_error = accumulated_error(dimension + CLIPPING_ROUNDINGS) * allowed
    sum_error = accumulated_error(terms + SUM_ROUNDINGS) * (
        total_length + 4.0 * (clipped_norm_sum + allowed)
    )
    release_error = max(
        unit_roundoff(dtype), FLOAT32_ROUNDOFF
    ) * total_length + SMALLEST_SPACING[dtype] * math.sqrt(dimension)
    return clipping_error + sum_error + release_error


def deviation_rounding(dtype: Dtype) -> float:
    """Bound the relative error of the noise deviation if it is computed in this type.

    Rounding the individual noise values has mean 0 and adds at most ``unit_roundoff(dtype)**2 / 3`` to their relative
    variance, which is less than the slack of the bound.
    """
    return (1.0 + unit_roundoff(dtype)) ** SCALING_ROUNDINGS - 1.0


def max_gradient_length(dtype: Dtype, clip: float) -> float:
    """Return the length of the longest gradients tried, in clip lengths, such that the type represents them."""
    return min(1e6, LARGEST_NUMBER[dtype] / 8.0 / clip)


def has_digits_of(x: Any, coarse_dtype: Dtype, dtype: Dtype) -> bool:
    """Test whether all numbers are of a coarser type, up to the rounding of a few operations in ``dtype``."""
    tolerance = 8.0 * unit_roundoff(dtype)
    # else every number is near a coarser one
    tolerance = tolerance if tolerance < unit_roundoff(coarse_dtype) / 64.0 else 0.0
    return bool(np.all(np.abs(x - round_to(x, coarse_dtype)) <= tolerance * np.abs(x)))
