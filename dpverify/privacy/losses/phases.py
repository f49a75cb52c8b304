"""Sums of weights times exp(i phase) - 1, for phases on a grid, with small rounding errors if the phases are small."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Vector

# number of frequencies between two that use sine and cosine directly
BLOCK: Final = 256


@kernel
def phase_sums(
    weights: Vector,
    places: np.ndarray[tuple[int], np.dtype[np.int64]],
    cells: int,
    count: int,
) -> tuple[Vector, Vector, Vector]:
    """Return the sum of w_j (exp(i 2 pi n p_j/cells) - 1) over j for n = 0, 1, .., and a bound for its rounding error.

    Each block starts from exp(i x) - 1 = -2 sin(x/2)^2 + i sin(x). Within a block, (1 +
    a)(1 + b) - 1 = a + b + a b adds a rounding error of at most 8 units in the last
    place of the largest a so far, for each n.

    ``weights`` and ``places`` are w_j >= 0 and whole numbers p_j, shape (k,). ``count * cells`` must be below 2^63. The
    third result is the sum over j of w_j times the largest real or imaginary part so far in the block.
    """
    real = np.zeros(count)
    imaginary = np.zeros(count)
    bound = np.zeros(count)
    unit = 2.0 * math.pi / cells
    for j in range(len(weights)):
        weight = weights[j]
        place = places[j] % cells
        if 2 * place > cells:
            place -= cells
        b_real = -2.0 * math.sin(0.5 * unit * place) ** 2
        b_imaginary = math.sin(unit * place)
        for first in range(0, count, BLOCK):
            turned = (first * place) % cells
            if 2 * turned > cells:
                turned -= cells
            a_real = -2.0 * math.sin(0.5 * unit * turned) ** 2
            a_imaginary = math.sin(unit * turned)
            largest = max(abs(b_real), abs(b_imaginary))
            for n in range(first, min(first + BLOCK, count)):
                real[n] += weight * a_real
                imaginary[n] += weight * a_imaginary
                largest = max(largest, abs(a_real), abs(a_imaginary))
                bound[n] += weight * largest
                product = a_real * b_real - a_imaginary * b_imaginary
                a_imaginary = (
                    a_imaginary
                    + b_imaginary
                    + (a_real * b_imaginary + a_imaginary * b_real)
                )
                a_real = a_real + b_real + product
    return real, imaginary, bound
