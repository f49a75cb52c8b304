"""Exponents from replicated runs: least squares for each replication, Student's interval over them."""

from __future__ import annotations

import numpy as np
from scipy import special  # scipy.stats takes half a second to load

from dpverify.kernels.typing import Vector

LEVEL = 0.99  # of every interval


def slopes(logs: Vector, along: Vector) -> Vector:
    """Fit a line to each row. Shapes: ``logs`` (..., sizes), ``along`` (sizes,), returns (...)."""
    x = along - along.mean()
    slope: Vector = (logs * x).sum(axis=-1) / (x * x).sum()
    return slope


def interval(values: Vector) -> tuple[float, float, float]:
    """Mean of independent values with Student's t interval. Shapes: ``values`` (n,), returns (float, float, float)."""
    middle = float(values.mean())
    reach = float(special.stdtrit(len(values) - 1, 0.5 + LEVEL / 2) * values.std(ddof=1) / np.sqrt(len(values)))
    return middle, middle - reach, middle + reach
