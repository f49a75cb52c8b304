"""Sum over a batch of what the recursive momentum of DP-SRM asks of each example, for linear models, in one pass.

The loss of an example is ``f(<x, w>, y)``, so that its gradient and the change of it are slopes times its row x:

    gamma clip(s_new x, C) + (1 - gamma) clip((s_new - s_old) x, C'),      clip(v, C) = v min(1, C / |v|).

Both products of a row are taken while it is near, and it is added up once: no gradient of an example is ever stored.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from dpverify.kernels.cache_lines import prefetch_row
from dpverify.kernels.clipping import AHEAD, GROUP, Slope, add_four, add_up, fold_products
from dpverify.kernels.jit import kernel
from dpverify.kernels.typing import Indices, Matrix, Vector

RecursiveSum: TypeAlias = Callable[[Matrix, Indices, Vector, Vector, float, float, float, Vector], None]


@kernel
def shortened(slope: float, length: float, clip: float) -> float:
    """``slope`` times ``min(1, clip / (|slope| length))``: the factor of a row of this length after clipping."""
    product = abs(slope) * length
    return slope * min(1.0, clip / product) if product > 0.0 else slope  # NaN stays NaN


@lru_cache(maxsize=32)
def recursive_sum(slope: Slope) -> RecursiveSum:
    """Make the kernel for a loss, ``total(rows, batch, new, old, gamma, clip, change_clip, out)``.

    ``rows`` (n, p) from ``clipping.pad_rows``; ``batch`` (B,) examples; ``new``, ``old`` and ``out`` (p,), zeros behind
    their d numbers; ``clip`` and ``change_clip``: C and C', above 0, infinite where nothing is clipped.
    """

    @kernel
    def total(
        rows: Matrix,
        batch: Indices,
        new: Vector,
        old: Vector,
        gamma: float,
        clip: float,
        change_clip: float,
        out: Vector,
    ) -> None:
        n, width = rows.shape
        p = np.uint64(width)
        q = np.uint64(width // 4)
        B = batch.shape[0]
        flat = rows.reshape(n * width)
        folded = np.empty(width // 4)
        weights = np.zeros(GROUP)
        at = np.zeros(GROUP, dtype=np.int64)
        for j in range(p):
            out[j] = 0.0
        for i in range(min(AHEAD, B)):
            prefetch_row(flat, np.uint64(batch[i] * width), p)
        for done in range(0, B, GROUP):
            size = min(GROUP, B - done)
            for i in range(size):
                if done + i + AHEAD < B:
                    prefetch_row(flat, np.uint64(batch[done + i + AHEAD] * width), p)
                at[i] = batch[done + i] * width
                first = np.uint64(at[i])
                label = flat[first + p - np.uint64(2)]
                length = flat[first + p - np.uint64(1)]
                fold_products(flat, first, new, q, folded)
                s_new = slope(add_up(folded, q), label)
                fold_products(flat, first, old, q, folded)
                s_old = slope(add_up(folded, q), label)
                now = shortened(s_new, length, clip)
                change = shortened(s_new - s_old, length, change_clip)
                weights[i] = gamma * now + (1.0 - gamma) * change
            for i in range(size, GROUP):
                weights[i], at[i] = 0.0, at[0]
            for i in range(0, size, 4):
                add_four(flat, at, weights, i, p, out)
        out[width - 2] = out[width - 1] = 0.0

    return total
