"""Names for the arrays that kernels take; shapes stand in each docstring."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]  # Shape (d,)

Matrix: TypeAlias = NDArray[np.float64]  # Shape (n, d)

Tape: TypeAlias = NDArray[np.float64]
"""Standard normal numbers drawn before the run, shape (T, d); row t - 1 belongs to step t."""

Intervals: TypeAlias = NDArray[np.int64]  # Closed intervals [y, z], shape (n, 2)

Indices: TypeAlias = NDArray[np.int64]  # Numbers of examples, shape (n,)

ExampleGradient: TypeAlias = Callable[[Vector, Vector, float, Vector], None]
"""Kernel ``gradient(w, x_row, y, out)``: writes the gradient of one example's loss at ``w`` into ``out``."""
