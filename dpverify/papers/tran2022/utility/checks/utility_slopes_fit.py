"""Exponents from replicated runs: least squares for each replication, Student's interval over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

LEVEL = 0.99
"""Of every interval."""

Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """A power fitted to runs.

    Attributes
    ----------
    middle, low, high : float
        Mean over the replications of the least-squares slope, and its t interval.
    bound, unit : float
        Slopes of the corrected bound and of sqrt(N/T) over the same sizes.
    """

    middle: float
    low: float
    high: float
    bound: float
    unit: float


def slopes(logs: Values, along: Values) -> Values:
    """Fit a line to each row.

    Parameters
    ----------
    logs : (..., sizes) array of float
        Logarithms of what is measured.
    along : (sizes,) array of float
        Logarithms of the size.

    Returns
    -------
    (...) array of float
        Slopes by least squares.
    """
    x = along - along.mean()
    found: Values = (logs * x).sum(axis=-1) / (x * x).sum()
    return found


def interval(values: Values) -> tuple[float, float, float]:
    """Mean of independent values with Student's t interval.

    Parameters
    ----------
    values : (n,) array of float
        n >= 2.

    Returns
    -------
    (float, float, float)
        Mean, low, high.
    """
    middle = float(values.mean())
    reach = float(stats.t.ppf(0.5 + LEVEL / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return middle, middle - reach, middle + reach
