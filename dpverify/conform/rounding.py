"""What rounding may add to a change of one example and to the law of the noise, by the type of an optimizer."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

Dtype: TypeAlias = Literal["float64", "float32", "bfloat16", "float16"]
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
BITS: dict[Dtype, int] = {"float64": 53, "float32": 24, "bfloat16": 8, "float16": 11}
"""Significant bits, the leading one included: rounding to nearest changes a number by at most 2^-bits of its size."""
SMALLEST: dict[Dtype, float] = {"float64": 0.0, "float32": 2.0**-149, "bfloat16": 2.0**-133, "float16": 2.0**-24}
"""Distance of two numbers next to 0; that of float64 is too small to matter."""
LARGEST: dict[Dtype, float] = {"float64": 1e308, "float32": 3.4e38, "bfloat16": 3.3e38, "float16": 65504.0}
COARSER: dict[Dtype, tuple[Dtype, ...]] = {
    "float64": ("float32",),  # whose numbers include those of both 16-bit types
    "float32": ("float16", "bfloat16"),
    "float16": ("bfloat16",),
    "bfloat16": (),
}
INNER = 2.0**-24  # unit roundoff of float32, in which an optimizer of any type must clip, sum and draw
UNLIKELY = 1e-9  # probability that the rounding of a sum exceeds its bound
CLIPPING = 4  # roundings of a clipped number besides those of its norm: root, quotient, product, division
ADDING = 2  # roundings of a sum besides its terms: the noise is added, and the divisor
SCALING = 3  # roundings of the deviation of the noise: sigma, times the clip length, over the divisor


def unit_roundoff(dtype: Dtype) -> float:
    """Return the largest relative change by rounding to nearest."""
    return 2.0 ** -BITS[dtype]


def rounded(x: Any, dtype: Dtype) -> Any:
    """Round numbers to the significant bits of a type, without its limits."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(mantissa, BITS[dtype])), exponent - BITS[dtype])


def accumulated(operations: float) -> float:
    """Bound the relative error of so many operations in float32.

    Each rounds by at most INNER. If the errors have mean 0 given earlier ones, a sum of n of them is above
    ``a * sqrt(n) * INNER`` with probability at most ``2 n exp(-a**2 / 2)`` (Higham and Mary, A new approach to
    probabilistic rounding error analysis, SIAM J. Sci. Comput. 41, 2019). The bound in the worst case, n * INNER, is
    6% for the norm of a million numbers, which no library's sum comes near to.
    """
    factor = math.sqrt(2.0 * math.log(2.0 * operations / UNLIKELY))
    return min(factor * math.sqrt(operations), operations) * INNER


def change_rounding(
    dtype: Dtype, *, dimension: int, allowed: float, clipped: float, terms: int, released: Any, neighbour: Any
) -> float:
    """Bound what rounding adds to the difference of two releases, in the Euclidean norm.

    An optimizer of any type can keep its promise if it clips, sums and draws in float32 and rounds what it releases
    once to its type, which costs no privacy. So three things are allowed for.

    - The norm of ``dimension`` numbers and the factor that clips have an error of float32. It stretches the gradient of
      the example that changes, and with it the change that is ``allowed``. All other gradients are the same in both.
    - Each of the two sums has ``terms`` terms and the noise. Its error is that of float32 in the sum of their lengths:
      at most ``clipped``, the total length of the other clipped gradients, the example's, and the noise, which is at
      most the release less these.
    - Each release is rounded to its type: ``unit_roundoff`` times its length, and half the smallest distance per
      coordinate. Float64 is treated like float32, whose digits have a test of their own.
    """
    lengths = float(np.linalg.norm(released) + np.linalg.norm(neighbour))
    stretching = accumulated(dimension + CLIPPING) * allowed
    summing = accumulated(terms + ADDING) * (lengths + 4.0 * (clipped + allowed))
    releasing = max(unit_roundoff(dtype), INNER) * lengths + SMALLEST[dtype] * math.sqrt(dimension)
    return stretching + summing + releasing


def deviation_rounding(dtype: Dtype) -> float:
    """Bound the relative error of the noise's deviation, computed in the type.

    Rounding of single numbers of noise has mean 0 and adds at most ``unit_roundoff(dtype)**2 / 3`` to their relative
    variance, which is less than the bound leaves over.
    """
    return (1.0 + unit_roundoff(dtype)) ** SCALING - 1.0


def longest(dtype: Dtype, clip: float) -> float:
    """Return the length of the longest gradients that are tried, in clip lengths: the type must have its numbers."""
    return min(1e6, LARGEST[dtype] / 8.0 / clip)


def has_digits_of(x: Any, coarse: Dtype, dtype: Dtype) -> bool:
    """Whether all numbers are those of a coarser type, but for what a few operations in the type itself have added."""
    few = 8.0 * unit_roundoff(dtype)
    few = few if few < unit_roundoff(coarse) / 64.0 else 0.0  # otherwise any number is as near to the coarser type
    return bool(np.all(np.abs(x - rounded(x, coarse)) <= few * np.abs(x)))
