"""Delta of many sampled Gaussian steps from below: losses of a step are rounded down to a grid and added up exactly.

With L the privacy loss of all steps, delta at epsilon is E(1 - exp(epsilon - L))_+, which rises with L: what the losses
are rounded down by, and what lies beyond the grid, can only lower it. The sum's law is a power of the step's transform.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

CELLS: Final = 1 << 17
ROUNDING: Final = 1e-12  # more than the transforms' rounding moves a probability; it is taken off


@lru_cache(maxsize=64)
def losses(q: float, sigma: float, T: int, swapped: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Law of the summed loss of T steps of (1-q) N(0, s^2) + q N(1, s^2) against N(0, s^2), or the other way round.

    Losses, rising, and their probabilities, both shape (n,).
    """
    spread = 12.0 * sigma
    x = np.linspace(-spread, spread + 1.0, 20_001)
    alone = special.ndtr(x / sigma)
    moved = special.ndtr((x - 1.0) / sigma)
    mixed = (1.0 - q) * alone + q * moved
    law = np.diff(alone if swapped else mixed)
    at = np.logaddexp(np.log1p(-q) if q < 1.0 else -np.inf, np.log(q) + (2.0 * x - 1.0) / (2.0 * sigma**2))
    least = -at[1:] if swapped else at[:-1]  # the loss is monotone: its least value in each piece
    width = 1.5 * float(np.ptp(least)) if T == 1 else _width(least, law, T)
    step = width / CELLS
    cells = np.floor(least / step).astype(np.int64)
    first = int(cells.min())
    cells = cells - first
    inside = cells < CELLS
    table = np.bincount(cells[inside], law[inside], minlength=CELLS)
    # The power wraps around: the window of CELLS values that holds the sum's mean in its middle is read off.
    power = np.fft.irfft(np.fft.rfft(table) ** T, CELLS)
    middle = T * float((np.arange(CELLS) * table).sum())
    lowest = int(middle) - CELLS // 2
    places = np.arange(lowest, lowest + CELLS)
    chances: NDArray[np.float64] = np.maximum(power[places % CELLS] - ROUNDING, 0.0)
    values = np.asarray((places + T * first) * step, dtype=np.float64)
    return values, chances


def _width(least: NDArray[np.float64], law: NDArray[np.float64], T: int) -> float:
    """A width of the window far beyond which the sum does not go: thirty deviations, and what one step can do."""
    mean = float((least * law).sum())
    deviation = float(np.sqrt(((least - mean) ** 2 * law).sum()))
    return 30.0 * deviation * math.sqrt(T) + 2.0 * float(np.ptp(least[law > 1e-18]))


def seen_delta(q: float, sigma: float, T: int, epsilon: float) -> float:
    """Bound delta at epsilon from below, for the worse direction; epsilon at least 0."""
    deltas = []
    for swapped in (False, True):
        loss, law = losses(q, sigma, T, swapped)
        above = loss > epsilon
        deltas.append(float((law[above] * -np.expm1(epsilon - loss[above])).sum()))
    return max(deltas)
